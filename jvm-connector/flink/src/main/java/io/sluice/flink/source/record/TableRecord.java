package io.sluice.flink.source.record;

import org.apache.flink.table.data.RowData;

/** One row as a source reads it, and what the log says of it. Serves one row after the other: valid during a call, not to be kept. */
public final class TableRecord {
  /** Stands for an offset or a time that a row does not have, for it comes from a snapshot. */
  public static final long NONE = -1;

  private RowData row;
  private long offset;
  private long timestampMs;

  /** Makes it stand for a row. */
  public TableRecord set(RowData newRow, long newOffset, long newTimestampMs) {
    row = newRow;
    offset = newOffset;
    timestampMs = newTimestampMs;
    return this;
  }

  /** The row, with the kind of change that it is. It may be kept. */
  public RowData row() {
    return row;
  }

  /** The row's offset in the log of its bucket, or {@link #NONE}. */
  public long offset() {
    return offset;
  }

  /** When the row was committed, ms since 1970, or {@link #NONE}. */
  public long timestampMs() {
    return timestampMs;
  }
}
