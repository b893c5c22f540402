package io.sluice.store;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Reads and makes values in Flink's binary layouts, written from their description, so that tests need no Flink. */
final class BinaryRow {
  private final ByteBuffer row;
  private final int slots;

  BinaryRow(RowBlock block, int index, int columns) {
    this.row = ByteBuffer.wrap(block.bytes(), block.rowStart(index), block.rowLength(index)).slice().order(ByteOrder.LITTLE_ENDIAN);
    this.slots = (columns + 8 + 63) / 64 * 8;
  }

  byte header() {
    return row.get(0);
  }

  boolean isNull(int column) {
    int bit = column + 8;
    return (row.get(bit / 8) >> (bit % 8) & 1) == 1;
  }

  long fixed(int column) {
    return row.getLong(slots + 8 * column);
  }

  /** Returns the bytes that a slot points at, or holds itself when they are at most seven. */
  byte[] variable(int column) {
    long slot = fixed(column);
    if (slot < 0) {
      byte[] inSlot = new byte[(int) (slot >>> 56) & 0x7F];
      for (int i = 0; i < inSlot.length; i++) {
        inSlot[i] = (byte) (slot >> 8 * i);
      }
      return inSlot;
    }
    return at((int) (slot >>> 32), (int) slot);
  }

  /** Returns ms and nanoseconds within the ms of a timestamp that is too wide for its slot. */
  long[] timestamp(int column) {
    long slot = fixed(column);
    return new long[] {row.getLong((int) (slot >>> 32)), (int) slot};
  }

  private byte[] at(int start, int length) {
    return Arrays.copyOfRange(row.array(), row.arrayOffset() + start, row.arrayOffset() + start + length);
  }

  private static ByteBuffer bytes(int length) {
    return ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Returns an array of ints, null for NULL. */
  static byte[] intArray(Integer... values) {
    int elements = 4 + (values.length + 31) / 32 * 4;
    ByteBuffer out = bytes((elements + 4 * values.length + 7) / 8 * 8).putInt(values.length);
    for (int i = 0; i < values.length; i++) {
      if (values[i] == null) {
        int at = 4 + i / 8;
        out.put(at, (byte) (out.get(at) | 1 << i % 8));
      } else {
        out.putInt(elements + 4 * i, values[i]);
      }
    }
    return out.array();
  }

  /** Returns a map from ints to ints. */
  static byte[] intMap(byte[] keys, byte[] values) {
    return bytes(4 + keys.length + values.length).putInt(keys.length).put(keys).put(values).array();
  }

  /** Returns a row of an int and a text of more than seven bytes. */
  static byte[] nestedRow(int number, String text) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    ByteBuffer out = bytes(24 + (utf8.length + 7) / 8 * 8).putLong(0).putLong(number & 0xFFFFFFFFL).putLong(24L << 32 | utf8.length);
    return out.put(utf8).array();
  }
}
