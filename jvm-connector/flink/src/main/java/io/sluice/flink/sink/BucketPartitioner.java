package io.sluice.flink.sink;

import io.sluice.flink.types.BucketHash;
import org.apache.flink.runtime.io.network.api.writer.SubtaskStateMapper;
import org.apache.flink.runtime.plugable.SerializationDelegate;
import org.apache.flink.streaming.runtime.partitioner.StreamPartitioner;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.RowData;

/** Sends all rows of a bucket to one subtask, so that rows of one key that come from one place stay in order. */
final class BucketPartitioner extends StreamPartitioner<RowData> {
  private static final long serialVersionUID = 1L;

  private final BucketHash hash;

  BucketPartitioner(BucketHash hash) {
    this.hash = hash;
  }

  @Override
  public int selectChannel(SerializationDelegate<StreamRecord<RowData>> record) {
    return hash.bucket(record.getInstance().getValue()) % numberOfChannels;
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
