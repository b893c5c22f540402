package io.sluice.flink.sink;

import javax.annotation.Nullable;

import io.sluice.flink.StoreTable;
import io.sluice.flink.types.BucketHash;
import org.apache.flink.runtime.io.network.api.writer.SubtaskStateMapper;
import org.apache.flink.runtime.plugable.SerializationDelegate;
import org.apache.flink.streaming.runtime.partitioner.StreamPartitioner;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.RowData;

/**
 * Sends all rows of a bucket to one subtask, so that rows of one key that come from one place stay in order. The same bucket of another
 * partition goes elsewhere, unless a subtask is to be known by bucket number alone.
 */
final class BucketPartitioner extends StreamPartitioner<RowData> {
  private static final long serialVersionUID = 1L;

  /** Many enough to spread partitions evenly over any number of subtasks. */
  private static final int PARTITION_SHIFTS = 1 << 20;

  private final BucketHash hash;
  @Nullable private final BucketHash partitionHash;

  /**
   * @param spreadPartitions whether buckets of one number are dealt out by partition; else subtask {@code bucket % subtasks} has them all
   */
  BucketPartitioner(StoreTable table, boolean spreadPartitions) {
    this.hash = new BucketHash(table.rowType(), table.bucketKey(), table.bucketCount());
    int[] partitionKey = table.partitionKeys().stream().mapToInt(table.rowType()::getFieldIndex).toArray();
    this.partitionHash = partitionKey.length == 0 || !spreadPartitions ? null : new BucketHash(table.rowType(), partitionKey, PARTITION_SHIFTS);
  }

  @Override
  public int selectChannel(SerializationDelegate<StreamRecord<RowData>> record) {
    RowData row = record.getInstance().getValue();
    int shift = partitionHash == null ? 0 : partitionHash.bucket(row);
    return (hash.bucket(row) + shift) % numberOfChannels;
  }

  @Override
  public StreamPartitioner<RowData> copy() {
    return this;
  }

  @Override
  public SubtaskStateMapper getDownstreamSubtaskStateMapper() {
    return SubtaskStateMapper.FULL;
  }

  @Override
  public boolean isPointwise() {
    return false;
  }

  @Override
  public String toString() {
    return "BUCKET";
  }
}
