package io.sluice.flink.sink;

import org.apache.flink.table.data.RowData;
import org.apache.flink.types.RowKind;

/** Rows as they are; their kind says what to do with them. */
public final class RowDataSerializationSchema implements TableSerializationSchema<RowData> {
  private static final long serialVersionUID = 1L;

  private final boolean isAppendOnly;
  private final boolean ignoreDelete;

  /**
   * @param isAppendOnly whether the table is a log table: rows are added whatever their kind
   * @param ignoreDelete whether rows that go are dropped
   */
  public RowDataSerializationSchema(boolean isAppendOnly, boolean ignoreDelete) {
    this.isAppendOnly = isAppendOnly;
    this.ignoreDelete = ignoreDelete;
  }

  @Override
  public RowWithOp serialize(RowData row) {
    boolean gone = row.getRowKind() == RowKind.DELETE || row.getRowKind() == RowKind.UPDATE_BEFORE;
    if (gone && ignoreDelete) {
      return new RowWithOp(row, RowWithOp.Op.IGNORE);
    }
    if (isAppendOnly) {
      return new RowWithOp(row, RowWithOp.Op.APPEND);
    }
    return new RowWithOp(row, gone ? RowWithOp.Op.DELETE : RowWithOp.Op.UPSERT);
  }
}
