package io.sluice.flink.source.scan;

import java.util.List;
import java.util.OptionalLong;

import io.sluice.flink.partition.TablePartition;
import io.sluice.flink.source.split.SluiceSplit;

/**
 * What a scan asks of the store besides rows. Splits stand for their buckets here. Calls block, and fail with
 * {@link io.sluice.store.StoreException}.
 */
public interface TableClient extends AutoCloseable {

  /** The table's id; a DROP and CREATE changes it. */
  long tableId();

  /** Number of buckets; of partitions to come, in a table that has partitions. */
  int bucketCount();

  /** The partitions of a table that has partition columns. */
  List<TablePartition> partitions();

  /** Whether the table's rows flow on into a lake. */
  boolean hasLake();

  /** The partitions that only the lake has; none for a table without a lake. */
  List<TablePartition> lakePartitions();

  /** For each bucket the first offset that can be read. */
  long[] earliestOffsets(List<SluiceSplit> buckets);

  /** For each bucket the offset after the last row that readers may see. */
  long[] latestOffsets(List<SluiceSplit> buckets);

  /** For each bucket the first offset committed at or after a time (ms since 1970), which must not lie in the future. */
  long[] offsetsAt(List<SluiceSplit> buckets, long timestampMs);

  /** The number of rows that a full batch scan would return, if the store knows it without one. */
  OptionalLong rowCount();

  /** Leases a snapshot of each bucket, with all rows acknowledged so far, and returns the snapshots' ids. */
  long[] acquireSnapshots(List<SluiceSplit> buckets, String lease, long leaseMs);

  /** Lets a lease last for {@code leaseMs} from now. */
  void renewLease(String lease, long leaseMs);

  /** Gives the snapshots of some buckets back. */
  void releaseSnapshots(List<SluiceSplit> buckets, String lease);

  @Override
  void close();
}
