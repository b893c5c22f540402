package io.sluice.store;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Rows that came out of the engine, as one array ("Rows out" of {@code docs/jni.md}). Each row is in the binary row layout of Flink,
 * 8-byte aligned from the start of the array. The array is an ordinary one and nobody else's: rows may point into it for ever.
 */
public final class RowBlock {
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final int FORMAT_VERSION = 1;
  private static final int HAS_KINDS = 1;
  private static final int FINISHED = 2;
  private static final int NEXT_COUNTS_SNAPSHOT_ROWS = 4;
  private static final int IS_LOOKUP = 8;
  private static final int STARTS = 48;

  private final byte[] bytes;
  private final int rowCount;
  private final int flags;
  private final int keyCount;
  private final int keyEnds;
  private final int kinds;

  RowBlock(byte[] bytes) {
    int version = (int) INT.get(bytes, 0);
    if (version != FORMAT_VERSION) {
      throw new StoreException(
          ErrorKind.INTERNAL, Subject.NONE, "the native library sent rows in format " + version + ", this class reads " + FORMAT_VERSION, null);
    }
    this.bytes = bytes;
    this.rowCount = (int) INT.get(bytes, 8);
    this.flags = (int) INT.get(bytes, 12);
    this.keyCount = (int) INT.get(bytes, 40);
    this.keyEnds = STARTS + 4 * (rowCount + 1);
    this.kinds = keyEnds + 4 * keyCount;
  }

  /** Returns the array that holds the rows. */
  public byte[] bytes() {
    return bytes;
  }

  /** Returns the number that the split was subscribed with; 0 for a lookup. */
  public int splitId() {
    return (int) INT.get(bytes, 4);
  }

  public int rowCount() {
    return rowCount;
  }

  /** Returns where a row starts in {@link #bytes}. */
  public int rowStart(int row) {
    return (int) INT.get(bytes, STARTS + 4 * row);
  }

  /** Returns a row's length in bytes. */
  public int rowLength(int row) {
    return (int) INT.get(bytes, STARTS + 4 * row + 4) - rowStart(row);
  }

  /** Returns a row's kind as the byte value of Flink's {@code RowKind}; 0, an insert, when the block has no kinds. */
  public byte kind(int row) {
    return (flags & HAS_KINDS) == 0 ? 0 : bytes[kinds + row];
  }

  /** Returns whether any row may be something else than an insert. */
  public boolean hasKinds() {
    return (flags & HAS_KINDS) != 0;
  }

  /** Returns whether the split ends with this block, which may be empty. */
  public boolean finished() {
    return (flags & FINISHED) != 0;
  }

  /** Returns whether the rows come from a snapshot (or are a table's current rows) and so have no offset. */
  public boolean isSnapshot() {
    return baseOffset() < 0;
  }

  /** Returns whether reading goes on inside the snapshot, at {@link #nextSnapshotRows}; else in the log, at {@link #nextOffset}. */
  public boolean nextIsSnapshot() {
    return (flags & NEXT_COUNTS_SNAPSHOT_ROWS) != 0;
  }

  /** Returns the log offset to go on at, or -1 while {@link #nextIsSnapshot}. */
  public long nextOffset() {
    return nextIsSnapshot() ? -1 : (long) LONG.get(bytes, 16);
  }

  /** Returns how many rows of the snapshot were read so far, this block's included; -1 unless {@link #nextIsSnapshot}. */
  public long nextSnapshotRows() {
    return nextIsSnapshot() ? (long) LONG.get(bytes, 16) : -1;
  }

  /** Returns the log offset of the first row, the others follow it one by one; -1 for rows of a snapshot. */
  public long baseOffset() {
    return (long) LONG.get(bytes, 24);
  }

  /** Returns when the rows were committed, in ms since 1970; -1 for rows of a snapshot. */
  public long timestampMs() {
    return (long) LONG.get(bytes, 32);
  }

  /** Returns how many keys were looked up; 0 unless the block answers a lookup. */
  public int keyCount() {
    return keyCount;
  }

  /** Returns the end (exclusive) of the rows of a key; they start at the end of the key before, or at 0. */
  public int keyEnd(int key) {
    if ((flags & IS_LOOKUP) == 0 || key < 0 || key >= keyCount) {
      throw new IndexOutOfBoundsException("key " + key + " of " + keyCount);
    }
    return (int) INT.get(bytes, keyEnds + 4 * key);
  }
}
