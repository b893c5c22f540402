package io.sluice.flink.partition;

import java.util.List;

/** A partition as the store lists it. Immutable. */
public final class TablePartition {
  private final long id;
  private final List<String> values;
  private final int bucketCount;

  /**
   * @param id its id, which a DROP and ADD changes
   * @param values its value for each partition column as text, in the order of the columns
   */
  public TablePartition(long id, List<String> values, int bucketCount) {
    this.id = id;
    this.values = List.copyOf(values);
    this.bucketCount = bucketCount;
  }

  public long id() {
    return id;
  }

  /** Whether only the lake has it: it was dropped or has expired in the store. */
  public boolean isOfLake() {
    return isOfLake(id);
  }

  /** Whether an id is that of a partition that only the lake has. */
  public static boolean isOfLake(long id) {
    return id < 0;
  }

  /** Its values as text. */
  public List<String> values() {
    return values;
  }

  /** The number of its own buckets; partitions of one table may differ. */
  public int bucketCount() {
    return bucketCount;
  }

  @Override
  public String toString() {
    return "partition " + id + " " + values;
  }
}
