package io.sluice.store;

import java.util.Arrays;

/** Reads column buffers back, as the engine would, for tests of what was put into them. */
public final class ColumnContents {
  private final ColumnBuffers buffers;

  public ColumnContents(ColumnBuffers buffers) {
    this.buffers = buffers;
  }

  private long word(int column, int which) {
    long at = buffers.address() + (column * 5L + which) * 8;
    return (OffHeap.getInt(at) & 0xFFFFFFFFL) | ((long) OffHeap.getInt(at + 4) << 32);
  }

  public boolean isNull(int column, int row) {
    long validity = word(column, 0);
    return validity != 0 && (OffHeap.getByte(validity + row / 8) >> (row % 8) & 1) == 0;
  }

  /** Returns the bytes of a value of fixed width, little-endian. */
  public byte[] fixed(int column, int row, int width) {
    return bytes(word(column, 1) + (long) row * width, width);
  }

  /** Returns the bytes of a value of variable length. */
  public byte[] variable(int column, int row) {
    long offsets = word(column, 2);
    int start = OffHeap.getInt(offsets + 4L * row);
    return bytes(word(column, 1) + start, OffHeap.getInt(offsets + 4L * row + 4) - start);
  }

  /** Returns the nanoseconds within the millisecond of a timestamp. */
  public int nanos(int column, int row) {
    return OffHeap.getInt(word(column, 4) + 4L * row);
  }

  /** Returns the kinds of all rows; all zero when none was given. */
  public byte[] kinds() {
    byte[] kinds = new byte[buffers.rowCount()];
    return buffers.kindsAddress() == 0 ? kinds : bytes(buffers.kindsAddress(), kinds.length);
  }

  private static byte[] bytes(long address, int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = OffHeap.getByte(address + i);
    }
    return Arrays.copyOf(bytes, length);
  }
}
