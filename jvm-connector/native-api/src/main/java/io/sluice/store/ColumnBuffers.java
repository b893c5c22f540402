package io.sluice.store;

import java.lang.ref.Cleaner;
import java.util.List;

/**
 * A batch of rows on its way into the engine, column by column, outside the heap. Put one value into every {@linkplain #column column},
 * then {@link #endRow}; when {@link #isFull}, write the batch and {@link #reset}. Memory stays for the next batch; what it holds is bounded
 * by the limits given at construction plus one row, and counted ({@link #allocatedBytes}).
 *
 * <p>One thread at a time. A forgotten object frees its memory when it is collected.
 */
public final class ColumnBuffers implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();
  private static final int COLUMN_BYTES = 5 * 8;

  private final ColumnBuffer[] columns;
  private final Memory memory = new Memory();
  private final Region table = memory.region();
  private final Region kinds = memory.region();
  private final Cleaner.Cleanable cleanable;
  private final int rowsMax;
  private final long bytesMax;
  private final long fixedRowBytes;

  /** Bytes of variable values in all columns. */
  long variableBytes;

  private int rows;
  private boolean hasKinds;
  private boolean closed;

  /**
   * Buffers without rows.
   *
   * @param layouts the layout of each column
   * @param rowsMax rows that make a batch full
   * @param bytesMax bytes that make a batch full; the row that reaches it is still taken
   */
  public ColumnBuffers(List<ColumnLayout> layouts, int rowsMax, long bytesMax) {
    this.rowsMax = rowsMax;
    this.bytesMax = bytesMax;
    this.columns = new ColumnBuffer[layouts.size()];
    long fixed = 0;
    for (int i = 0; i < columns.length; i++) {
      columns[i] = new ColumnBuffer(layouts.get(i), this, memory);
      fixed += layouts.get(i).rowBytes;
    }
    this.fixedRowBytes = fixed;
    this.cleanable = CLEANER.register(this, memory);
  }

  /** Returns a column, for putting values. */
  public ColumnBuffer column(int index) {
    return columns[index];
  }

  public int columnCount() {
    return columns.length;
  }

  /** Ends a row that is an insert. */
  public void endRow() {
    endRow((byte) 0);
  }

  /**
   * Ends a row.
   *
   * @param kind the byte value of Flink's {@code RowKind}
   * @throws IllegalStateException when a column did not get exactly one value
   */
  public void endRow(byte kind) {
    requireOpen();
    int next = rows + 1;
    for (ColumnBuffer column : columns) {
      if (column.rows() != next) {
        throw unequal();
      }
    }
    if (kind != 0 || hasKinds) {
      putKind(kind);
    }
    rows = next;
  }

  /** Takes back the values of a row that cannot be finished. */
  public void dropRow() {
    for (ColumnBuffer column : columns) {
      column.truncate(Math.min(column.rows(), rows));
    }
  }

  /** Returns the number of finished rows. */
  public int rowCount() {
    return rows;
  }

  /** Returns the bytes that the rows take, NULL bits and kinds not counted. */
  public long bytes() {
    return rows * fixedRowBytes + variableBytes;
  }

  /** Returns whether the batch should be written now. */
  public boolean isFull() {
    return rows >= rowsMax || bytes() >= bytesMax;
  }

  /** Forgets all rows and keeps the memory, unless an extraordinary row made it grow far over the limit. */
  public void reset() {
    for (ColumnBuffer column : columns) {
      column.reset(2 * bytesMax);
    }
    rows = 0;
    variableBytes = 0;
    hasKinds = false;
  }

  /** Returns the bytes of memory held. */
  public long allocatedBytes() {
    return memory.bytes();
  }

  /** Frees the memory; every later put throws kind CLOSED. Waits for a write of another thread that reads it. */
  @Override
  public synchronized void close() {
    closed = true;
    rows = 0;
    variableBytes = 0;
    hasKinds = false;
    cleanable.clean();
    for (ColumnBuffer column : columns) {
      column.close();
    }
  }

  /** Returns the address of the table that "Columns in" of {@code docs/jni.md} describes, good until the next put. */
  long address() {
    requireOpen();
    for (ColumnBuffer column : columns) {
      if (column.rows() != rows) {
        throw unequal();
      }
    }
    if (table.bytes() == 0) {
      table.resize(Math.max(1, columns.length * COLUMN_BYTES));
    }
    for (int i = 0; i < columns.length; i++) {
      columns[i].describe(table.address() + (long) i * COLUMN_BYTES);
    }
    return table.address();
  }

  /** Returns the address of one kind a row; 0 when all rows are inserts. */
  long kindsAddress() {
    return hasKinds ? kinds.address() : 0;
  }

  void requireOpen() {
    if (closed) {
      throw new StoreException(ErrorKind.CLOSED, Subject.NONE, "these column buffers are closed; make new ones", null);
    }
  }

  private void putKind(byte kind) {
    if (rows >= kinds.bytes()) {
      kinds.resize(Math.max(256, 2L * rows));
    }
    if (!hasKinds) {
      OffHeap.fill(kinds.address(), rows, (byte) 0);
      hasKinds = true;
    }
    OffHeap.putByte(kinds.address() + rows, kind);
  }

  private IllegalStateException unequal() {
    StringBuilder counts = new StringBuilder();
    for (ColumnBuffer column : columns) {
      counts.append(' ').append(column.rows() - rows);
    }
    return new IllegalStateException("every column needs one value before a row ends; since the last row they got" + counts);
  }
}
