package io.sluice.store;

import java.util.Objects;

/**
 * One column of a {@link ColumnBuffers}: each {@code put} writes the value of the next row. A put that does not fit the column's layout is an
 * {@link IllegalStateException} and writes nothing.
 */
public final class ColumnBuffer {
  /** Rows that a fresh column has room for. */
  private static final int ROWS_MIN = 256;
  /** Bytes that a fresh variable column has room for. */
  private static final int BYTES_MIN = 4096;
  /** Offsets are ints, so one column of one batch cannot hold more. */
  private static final int BYTES_MAX = Integer.MAX_VALUE - 64;

  private final ColumnLayout layout;
  private final ColumnBuffers owner;
  private final Region validity;
  private final Region data;
  private final Region second;

  /** Rows put so far, the unfinished one included. */
  private int rows;
  /** Bytes of variable values put so far. */
  private int dataEnd;
  private boolean hasNulls;

  // Where the memory is now, and for how many rows. Of the limits only that of the column's own layout is not zero, so that one
  // comparison in a put finds out "full", "other layout" and "closed" alike.
  private long dataAddress;
  private long secondAddress;
  private long dataCapacity;
  private int rowCapacity;
  private int byteRows;
  private int shortRows;
  private int intRows;
  private int longRows;
  private int timestampRows;
  private int variableRows;

  ColumnBuffer(ColumnLayout layout, ColumnBuffers owner, Memory memory) {
    this.layout = layout;
    this.owner = owner;
    this.validity = memory.region();
    this.data = memory.region();
    this.second = memory.region();
  }

  /** Writes NULL. */
  public void putNull() {
    makeRoom(layout, 0);
    int row = rows;
    switch (layout) {
      case BYTE:
        OffHeap.putByte(dataAddress + row, (byte) 0);
        break;
      case SHORT:
        OffHeap.putShort(dataAddress + 2L * row, (short) 0);
        break;
      case INT:
        OffHeap.putInt(dataAddress + 4L * row, 0);
        break;
      case TIMESTAMP:
        OffHeap.putInt(secondAddress + 4L * row, 0);
        OffHeap.putLong(dataAddress + 8L * row, 0);
        break;
      case LONG:
        OffHeap.putLong(dataAddress + 8L * row, 0);
        break;
      case VARIABLE:
        OffHeap.putInt(secondAddress + 4L * row + 4, dataEnd);
        break;
    }
    long at = validity.address() + (row >>> 3);
    OffHeap.putByte(at, (byte) (OffHeap.getByte(at) & ~(1 << (row & 7))));
    hasNulls = true;
    rows = row + 1;
  }

  /** Writes a BOOLEAN. */
  public void putBoolean(boolean value) {
    putByte((byte) (value ? 1 : 0));
  }

  /** Writes a TINYINT. */
  public void putByte(byte value) {
    int row = rows;
    if (row >= byteRows) {
      makeRoom(ColumnLayout.BYTE, 0);
    }
    OffHeap.putByte(dataAddress + row, value);
    rows = row + 1;
  }

  /** Writes a SMALLINT. */
  public void putShort(short value) {
    int row = rows;
    if (row >= shortRows) {
      makeRoom(ColumnLayout.SHORT, 0);
    }
    OffHeap.putShort(dataAddress + ((long) row << 1), value);
    rows = row + 1;
  }

  /** Writes an INT, a DATE or a TIME. */
  public void putInt(int value) {
    int row = rows;
    if (row >= intRows) {
      makeRoom(ColumnLayout.INT, 0);
    }
    OffHeap.putInt(dataAddress + ((long) row << 2), value);
    rows = row + 1;
  }

  /** Writes a FLOAT. */
  public void putFloat(float value) {
    putInt(Float.floatToRawIntBits(value));
  }

  /** Writes a BIGINT, the unscaled value of a DECIMAL, or the milliseconds of a TIMESTAMP with precision up to 3. */
  public void putLong(long value) {
    int row = rows;
    if (row >= longRows) {
      makeRoom(ColumnLayout.LONG, 0);
    }
    OffHeap.putLong(dataAddress + ((long) row << 3), value);
    rows = row + 1;
  }

  /** Writes a DOUBLE. */
  public void putDouble(double value) {
    putLong(Double.doubleToRawLongBits(value));
  }

  /** Writes a TIMESTAMP with precision above 3. */
  public void putTimestamp(long milliseconds, int nanosOfMillisecond) {
    int row = rows;
    if (row >= timestampRows) {
      makeRoom(ColumnLayout.TIMESTAMP, 0);
    }
    OffHeap.putLong(dataAddress + ((long) row << 3), milliseconds);
    OffHeap.putInt(secondAddress + ((long) row << 2), nanosOfMillisecond);
    rows = row + 1;
  }

  /** Writes a value of variable length. */
  public void putBytes(byte[] value) {
    putBytes(value, 0, value.length);
  }

  /** Writes a value of variable length that is part of an array. */
  public void putBytes(byte[] value, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, value.length);
    OffHeap.copy(value, offset, claim(length), length);
    rows++;
  }

  /** Writes a value of variable length that lies outside the heap. The caller vouches for the memory. */
  public void putMemory(long address, int length) {
    OffHeap.copy(address, claim(length), length);
    rows++;
  }

  /** Makes the next {@code length} bytes the value of the next row, and returns their address. */
  private long claim(int length) {
    int row = rows;
    int start = dataEnd;
    if (row >= variableRows || length > dataCapacity - start) {
      makeRoom(ColumnLayout.VARIABLE, length);
    }
    int end = start + length;
    OffHeap.putInt(secondAddress + ((long) row << 2) + 4, end);
    dataEnd = end;
    owner.variableBytes += length;
    return dataAddress + start;
  }

  int rows() {
    return rows;
  }

  /** Forgets all rows from {@code count} on. */
  void truncate(int count) {
    if (rows == count) {
      return;
    }
    if (hasNulls) {
      for (int row = count; row < rows; row++) {
        long at = validity.address() + (row >>> 3);
        OffHeap.putByte(at, (byte) (OffHeap.getByte(at) | 1 << (row & 7)));
      }
    }
    if (layout == ColumnLayout.VARIABLE) {
      int end = OffHeap.getInt(second.address() + 4L * count);
      owner.variableBytes -= dataEnd - end;
      dataEnd = end;
    }
    rows = count;
  }

  /** Forgets all rows; gives memory back that one extraordinary batch made this column take. */
  void reset(long keepBytes) {
    if (hasNulls) {
      OffHeap.fill(validity.address(), (rows + 7L) / 8, (byte) -1);
      hasNulls = false;
    }
    rows = 0;
    dataEnd = 0;
    if (data.bytes() > keepBytes && data.bytes() > BYTES_MIN) {
      data.free();
      second.free();
      validity.free();
      setCapacity(0);
    }
  }

  /** Forgets the memory, which the owner frees, and refuses every further put. */
  void close() {
    rows = 0;
    dataEnd = 0;
    hasNulls = false;
    setCapacity(0);
  }

  /** Writes this column's five numbers of the table that the engine reads. */
  void describe(long at) {
    boolean variable = layout == ColumnLayout.VARIABLE;
    OffHeap.putLong(at, hasNulls ? validity.address() : 0);
    OffHeap.putLong(at + 8, data.address());
    OffHeap.putLong(at + 16, variable ? second.address() : 0);
    OffHeap.putLong(at + 24, variable ? dataEnd : (long) dataWidth() * rows);
    OffHeap.putLong(at + 32, layout == ColumnLayout.TIMESTAMP ? second.address() : 0);
  }

  private int dataWidth() {
    return layout == ColumnLayout.TIMESTAMP ? 8 : layout.rowBytes;
  }

  /** Makes room for one more row with {@code length} bytes, after checking that such a value may be put at all. */
  private void makeRoom(ColumnLayout wanted, int length) {
    if (wanted != layout) {
      throw new IllegalStateException("a value of layout " + wanted + " does not fit a column of layout " + layout);
    }
    owner.requireOpen();
    if (rows >= rowCapacity) {
      growRows();
    }
    if (layout == ColumnLayout.VARIABLE && length > dataCapacity - dataEnd) {
      growData((long) dataEnd + length);
    }
  }

  private void growRows() {
    int capacity = Math.max(ROWS_MIN, Math.multiplyExact(rowCapacity, 2));
    long validityUsed = validity.bytes();
    validity.resize(capacity / 8L);
    OffHeap.fill(validity.address() + validityUsed, validity.bytes() - validityUsed, (byte) -1);
    if (layout == ColumnLayout.VARIABLE) {
      boolean fresh = second.bytes() == 0;
      second.resize(4L * (capacity + 1));
      if (fresh) {
        OffHeap.putInt(second.address(), 0);
      }
      if (data.bytes() == 0) {
        data.resize(BYTES_MIN);
      }
    } else {
      data.resize((long) dataWidth() * capacity);
      if (layout == ColumnLayout.TIMESTAMP) {
        second.resize(4L * capacity);
      }
    }
    setCapacity(capacity);
  }

  private void growData(long needed) {
    if (needed > BYTES_MAX) {
      throw new StoreException(
          ErrorKind.INVALID, Subject.ROW, "a batch cannot hold a value that brings one of its columns to " + needed + " bytes; write smaller values", null);
    }
    data.resize(Math.min(BYTES_MAX, Math.max(needed, 2 * data.bytes())));
    setCapacity(rowCapacity);
  }

  private void setCapacity(int capacity) {
    rowCapacity = capacity;
    dataAddress = data.address();
    secondAddress = second.address();
    dataCapacity = data.bytes();
    byteRows = layout == ColumnLayout.BYTE ? capacity : 0;
    shortRows = layout == ColumnLayout.SHORT ? capacity : 0;
    intRows = layout == ColumnLayout.INT ? capacity : 0;
    longRows = layout == ColumnLayout.LONG ? capacity : 0;
    timestampRows = layout == ColumnLayout.TIMESTAMP ? capacity : 0;
    variableRows = layout == ColumnLayout.VARIABLE ? capacity : 0;
  }
}
