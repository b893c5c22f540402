package io.sluice.flink.source.split;

import java.util.Objects;
import java.util.OptionalLong;

import io.sluice.flink.partition.TablePartition;
import org.apache.flink.api.connector.source.SourceSplit;

/** One bucket's part of a scan: watermarks are kept for each split, so a split never spans buckets. Immutable. */
public final class SluiceSplit implements SourceSplit {
  private final long tableId;
  private final OptionalLong partition;
  private final int bucket;
  private final SplitStart start;
  private final OptionalLong stop;

  /**
   * @param tableId the table's id, which a DROP and CREATE changes
   * @param partition the partition's id, for partitioned tables only
   * @param bucket the bucket's number from 0 (0 for the kinds of start that belong to the whole table)
   * @param stop the log offset to stop before; empty = read for ever
   */
  public SluiceSplit(long tableId, OptionalLong partition, int bucket, SplitStart start, OptionalLong stop) {
    this.tableId = tableId;
    this.partition = Objects.requireNonNull(partition);
    this.bucket = bucket;
    this.start = Objects.requireNonNull(start);
    this.stop = Objects.requireNonNull(stop);
  }

  /** The table's id. */
  public long tableId() {
    return tableId;
  }

  /** The partition's id, for partitioned tables only. */
  public OptionalLong partition() {
    return partition;
  }

  /** Whether it is of a partition that only the lake has. */
  public boolean isOfLake() {
    return partition.isPresent() && TablePartition.isOfLake(partition.getAsLong());
  }

  /** The bucket's number. */
  public int bucket() {
    return bucket;
  }

  /** Where to start. */
  public SplitStart start() {
    return start;
  }

  /** The log offset to stop before; empty = never. */
  public OptionalLong stop() {
    return stop;
  }

  /** The same split from another start. */
  public SluiceSplit startingAt(SplitStart other) {
    return new SluiceSplit(tableId, partition, bucket, other, stop);
  }

  /** The same split, ending before an offset of the log. */
  public SluiceSplit stoppingAt(long offset) {
    return new SluiceSplit(tableId, partition, bucket, start, OptionalLong.of(offset));
  }

  @Override
  public String splitId() {
    return partition.isPresent() ? "partition-" + partition.getAsLong() + "-bucket-" + bucket : "bucket-" + bucket;
  }

  @Override
  public boolean equals(Object other) {
    if (!(other instanceof SluiceSplit)) {
      return false;
    }
    SluiceSplit that = (SluiceSplit) other;
    return tableId == that.tableId
        && partition.equals(that.partition)
        && bucket == that.bucket
        && start.equals(that.start)
        && stop.equals(that.stop);
  }

  @Override
  public int hashCode() {
    return Objects.hash(tableId, partition, bucket, start, stop);
  }

  @Override
  public String toString() {
    return splitId() + " of table " + tableId + " from " + start
        + (stop.isPresent() ? " to " + stop.getAsLong() : "");
  }
}
