package io.sluice.flink.sink;

import io.sluice.flink.ConnectorOptions.DistributionMode;
import io.sluice.flink.StoreTable;
import org.apache.flink.table.api.ValidationException;

/** How a table's rows reach the sink's subtasks: what a user may ask for, and what is done. */
final class Distribution {
  private Distribution() {}

  /**
   * Refuses a mode that the table cannot have.
   *
   * @throws ValidationException naming the table and what to use instead
   */
  static void check(DistributionMode mode, StoreTable table) {
    boolean merges = table.options().containsKey("table.merge-engine");
    if (merges && mode != DistributionMode.AUTO && mode != DistributionMode.BUCKET) {
      throw refused(mode, table, "a table with a merge engine; it must be 'bucket' or 'auto'");
    }
    if (mode == DistributionMode.BUCKET && table.bucketKey().length == 0) {
      throw refused(mode, table, "it: among log tables it is only supported for log tables with bucket keys");
    }
    if (mode == DistributionMode.PARTITION_DYNAMIC) {
      throw refused(mode, table, "it: the mode is only supported for partitioned log tables, which this version does not have yet");
    }
  }

  private static ValidationException refused(DistributionMode mode, StoreTable table, String why) {
    return new ValidationException(String.format("'sink.distribution-mode' = '%s' of table %s does not fit %s.", mode, table, why));
  }

  /**
   * Returns whether rows are sent to the subtask of their bucket.
   *
   * <p>AUTO does it only where it brings something. As long as each subtask of the input has its own subtask of the sink, rows of
   * one key that come from one place stay in order without it, at no cost; when the numbers differ Flink would deal rows out in
   * turn.
   */
  static boolean byBucket(DistributionMode mode, StoreTable table, boolean sameParallelism) {
    return mode == DistributionMode.BUCKET || mode == DistributionMode.AUTO && table.bucketKey().length > 0 && !sameParallelism;
  }
}
