package io.sluice.flink.source.reader;

import javax.annotation.Nullable;

import io.sluice.flink.source.record.TableRecord;
import org.apache.flink.table.data.RowData;

/**
 * One row on its way to Flink together with the position behind it. One instance serves all rows of a block, so that a row costs no
 * object of its own.
 */
final class SplitRecord {
  /** What {@link #position} counts. */
  enum Phase {
    /** Nothing: the split is read whole or not at all. */
    NONE,
    /** Rows read of the snapshot. */
    SNAPSHOT,
    /** Offsets of the log. */
    LOG
  }

  /** The row; null where only the position moves. */
  @Nullable RowData row;

  Phase phase = Phase.NONE;

  /** The position after this row. */
  long position;

  /** When the row was committed, ms since 1970; -1 for rows of a snapshot. */
  long timestampMs = TableRecord.NONE;

  /** The row's offset in the log; -1 for rows of a snapshot. */
  long offset() {
    return phase == Phase.LOG ? position - 1 : TableRecord.NONE;
  }
}
