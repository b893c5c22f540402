package io.sluice.store;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.RowType;

/** Builds row blocks as "Rows out" of {@code docs/jni.md} has them, for tests without the engine. */
public final class BlockBuilder {
  private static final int KINDS = 1;
  private static final int FINISHED = 2;
  private static final int NEXT_IN_SNAPSHOT = 4;
  private static final int LOOKUP = 8;

  private final RowDataSerializer serializer;
  private final List<BinaryRowData> rows = new ArrayList<>();
  private final List<Byte> kinds = new ArrayList<>();
  private final List<Integer> ends = new ArrayList<>();
  private int flags;
  private long next;
  private long base = -1;

  public BlockBuilder(RowType type) {
    this.serializer = new RowDataSerializer(type);
  }

  /** Adds a row; a kind other than insert gives the whole block kinds. */
  public BlockBuilder row(RowData row) {
    rows.add(serializer.toBinaryRow(row).copy());
    kinds.add(row.getRowKind().toByteValue());
    return this;
  }

  /** Ends the rows of a key. */
  public BlockBuilder endKey() {
    flags |= LOOKUP;
    ends.add(rows.size());
    return this;
  }

  /** The rows start at one offset of the log, and reading goes on at another. */
  public BlockBuilder log(long first, long goOn) {
    base = first;
    next = goOn;
    return this;
  }

  /** The rows are of a snapshot of which so many rows have been read then. */
  public BlockBuilder snapshot(long rowsRead) {
    flags |= NEXT_IN_SNAPSHOT;
    next = rowsRead;
    return this;
  }

  /** The rows are the last of a snapshot. */
  public BlockBuilder endOfSnapshot(long offset) {
    next = offset;
    return this;
  }

  public BlockBuilder withKinds() {
    flags |= KINDS;
    return this;
  }

  public BlockBuilder finished() {
    flags |= FINISHED;
    return this;
  }

  public RowBlock build() {
    int head = 48 + 4 * (rows.size() + 1) + 4 * ends.size() + ((flags & KINDS) == 0 ? 0 : rows.size());
    int start = (head + 7) / 8 * 8;
    int total = start + rows.stream().mapToInt(BinaryRowData::getSizeInBytes).sum();
    ByteBuffer out = ByteBuffer.allocate(total).order(ByteOrder.LITTLE_ENDIAN);
    out.putInt(1).putInt(0).putInt(rows.size()).putInt(flags).putLong(next).putLong(base).putLong(base < 0 ? -1 : 1_000);
    out.putInt(ends.size()).putInt(0);
    int at = start;
    for (BinaryRowData row : rows) {
      out.putInt(at);
      at += row.getSizeInBytes();
    }
    out.putInt(at);
    ends.forEach(out::putInt);
    if ((flags & KINDS) != 0) {
      kinds.forEach(out::put);
    }
    out.position(start);
    for (BinaryRowData row : rows) {
      byte[] bytes = new byte[row.getSizeInBytes()];
      row.getSegments()[0].get(row.getOffset(), bytes);
      bytes[0] = 0;
      out.put(bytes);
    }
    return new RowBlock(out.array());
  }
}
