package io.sluice.flink.sink;

import java.util.Objects;

import org.apache.flink.table.data.RowData;

/** A row for a table, and what is to be done with it. */
public final class RowWithOp {
  private final RowData row;
  private final Op op;

  /**
   * @param row all columns of the table in its order; of a delete only the key's columns count, of a partial update only those updated
   */
  public RowWithOp(RowData row, Op op) {
    this.row = Objects.requireNonNull(row, "the row of a RowWithOp");
    this.op = Objects.requireNonNull(op, "the operation of a RowWithOp");
  }

  public RowData row() {
    return row;
  }

  public Op op() {
    return op;
  }

  /** What is done with a row. */
  public enum Op {
    /** Added to a log table. */
    APPEND,
    /** Put under its key in a primary-key table. */
    UPSERT,
    /** Taken out of a primary-key table. */
    DELETE,
    /** Nothing. */
    IGNORE
  }
}
