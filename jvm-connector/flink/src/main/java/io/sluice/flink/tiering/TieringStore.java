package io.sluice.flink.tiering;

import java.util.List;

/** What the enumerator asks the store. Every call may take long and throws {@link io.sluice.store.StoreException}. */
interface TieringStore extends AutoCloseable {
  /** The tables whose rows flow into the lake, of the databases that the job is for. */
  List<LakeTable> tables();

  /** Which buckets have rows that the lake does not have. */
  List<BucketWork> work(LakeTable table);

  /** Makes one snapshot of files that were written. */
  void commit(LakeTable table, List<Long> parts);

  @Override
  void close();
}
