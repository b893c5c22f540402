package io.sluice.flink.sink;

import java.util.Objects;

import javax.annotation.Nullable;

/** A bucket of a table, in one of its partitions if it has any. Immutable. */
final class BucketId {
  /** Null in a table without partitions. */
  @Nullable final Long partition;

  final int bucket;

  BucketId(@Nullable Long partition, int bucket) {
    this.partition = partition;
    this.bucket = bucket;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof BucketId && Objects.equals(partition, ((BucketId) other).partition) && bucket == ((BucketId) other).bucket;
  }

  @Override
  public int hashCode() {
    return Objects.hash(partition, bucket);
  }
}
