package io.sluice.flink.lookup;

import io.sluice.flink.types.RowDataColumns;
import io.sluice.store.ColumnBuffers;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.RowType;

/** Keys on their way into the engine. Keys are copied when added, so the rows that held them may change afterwards. One thread at a time. */
public final class KeyBatch implements AutoCloseable {
  /** Ends a batch of extraordinarily long keys. */
  private static final long BYTES_MAX = 4L << 20;

  private final ColumnBuffers buffers;
  private final RowDataColumns columns;

  /**
   * An empty batch.
   *
   * @param rowType the rows that will be added
   * @param fields which of their fields are the key's columns, in the key's order
   * @param rowsMax the number of keys that makes it full
   */
  public KeyBatch(RowType rowType, int[] fields, int rowsMax) {
    this.buffers = new ColumnBuffers(RowDataColumns.layouts(rowType, fields), rowsMax, BYTES_MAX);
    this.columns = new RowDataColumns(rowType, fields, buffers);
  }

  /** Adds the key in a row. */
  public void add(RowData row) {
    columns.add(row, (byte) 0);
  }

  /** Whether the batch should be looked up before more is added. */
  public boolean isFull() {
    return buffers.isFull();
  }

  /** Forgets all keys. */
  public void reset() {
    buffers.reset();
  }

  ColumnBuffers buffers() {
    return buffers;
  }

  @Override
  public void close() {
    buffers.close();
  }
}
