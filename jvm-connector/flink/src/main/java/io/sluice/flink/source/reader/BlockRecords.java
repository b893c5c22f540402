package io.sluice.flink.source.reader;

import java.util.Collections;
import java.util.Set;

import javax.annotation.Nullable;

import io.sluice.store.RowBlock;
import org.apache.flink.connector.base.source.reader.RecordsWithSplitIds;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.types.RowKind;

/**
 * The rows of one block, handed over as one element of the reader's queue. The rows point into the block's own array, so they stay valid
 * for as long as somebody holds them.
 */
final class BlockRecords implements RecordsWithSplitIds<SplitRecord> {
  private final String splitId;
  private final RowBlock block;
  private final int arity;
  private final MemorySegment[] memory;
  private final boolean kinds;
  private final int rows;
  private final long first;
  private final SplitRecord.Phase endPhase;
  private final long end;
  private final boolean finished;
  private final SplitRecord record = new SplitRecord();

  private boolean opened;
  private int row;
  private int start;

  /**
   * @param arity number of columns of a row
   * @param phase what the positions of the rows count
   * @param first the position of the first row
   * @param endPhase what {@code end} counts; a block that ends a snapshot goes on in the log
   * @param end the position behind the block
   * @param finished whether the split ends with the block
   */
  BlockRecords(
      String splitId,
      RowBlock block,
      int arity,
      SplitRecord.Phase phase,
      long first,
      SplitRecord.Phase endPhase,
      long end,
      boolean finished) {
    this.splitId = splitId;
    this.block = block;
    this.arity = arity;
    this.memory = new MemorySegment[] {MemorySegmentFactory.wrap(block.bytes())};
    this.kinds = block.hasKinds();
    this.rows = block.rowCount();
    this.first = first;
    this.endPhase = endPhase;
    this.end = end;
    this.finished = finished;
    this.start = block.rowStart(0);
    record.phase = phase;
    record.position = first;
    record.timestampMs = block.timestampMs();
  }

  @Nullable
  @Override
  public String nextSplit() {
    if (opened) {
      return null;
    }
    opened = true;
    return splitId;
  }

  @Nullable
  @Override
  public SplitRecord nextRecordFromSplit() {
    if (row < rows) {
      int next = block.rowStart(row + 1);
      BinaryRowData data = new BinaryRowData(arity);
      data.pointTo(memory, start, next - start);
      if (kinds) {
        data.setRowKind(RowKind.fromByteValue(block.kind(row)));
      }
      start = next;
      row++;
      record.row = data;
      record.position = first + row;
      return record;
    }
    return moveToEnd();
  }

  /** One more record without a row where the block ends elsewhere than behind its last row. */
  @Nullable
  private SplitRecord moveToEnd() {
    record.row = null;
    if (record.phase == endPhase && (record.position == end || endPhase == SplitRecord.Phase.NONE)) {
      return null;
    }
    record.phase = endPhase;
    record.position = end;
    return record;
  }

  @Override
  public Set<String> finishedSplits() {
    return finished ? Collections.singleton(splitId) : Collections.emptySet();
  }
}
