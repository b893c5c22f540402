package io.sluice.flink.source.reader;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

import io.sluice.flink.source.record.RowDataDeserializationSchema;
import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.flink.source.split.SluiceSplitState;
import io.sluice.flink.source.split.SplitStart;
import io.sluice.store.BlockBuilder;
import io.sluice.store.RowBlock;
import org.apache.flink.connector.testutils.source.reader.TestingReaderOutput;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.Test;

/** Rows of a block on their way to Flink, and the positions that a checkpoint between any two of them would hold. */
final class BlockRecordsTest {
  private static final RowType TYPE = RowType.of(new BigIntType(), new VarCharType(VarCharType.MAX_LENGTH));
  private static final SplitRecord.Phase LOG = SplitRecord.Phase.LOG;
  private static final SplitRecord.Phase SNAPSHOT = SplitRecord.Phase.SNAPSHOT;
  private static final SplitRecord.Phase NONE = SplitRecord.Phase.NONE;

  private final List<String> leftSnapshot = new ArrayList<>();

  private static GenericRowData row(RowKind kind, long id) {
    return GenericRowData.ofKind(kind, id, StringData.fromString("row " + id));
  }

  private static BlockBuilder block(long... ids) {
    BlockBuilder block = new BlockBuilder(TYPE);
    for (long id : ids) {
      block.row(row(RowKind.INSERT, id));
    }
    return block;
  }

  private static BlockRecords records(RowBlock block, SplitRecord.Phase phase, long first, SplitRecord.Phase endPhase, long end) {
    return new BlockRecords("bucket-0", block, 2, phase, first, endPhase, end, block.finished());
  }

  /** Drains records; after each, notes where the split would be restored. */
  private List<SplitStart> positions(BlockRecords records, SplitStart start, TestingReaderOutput<RowData> output) throws Exception {
    SluiceSplitState state = new SluiceSplitState(new SluiceSplit(1, OptionalLong.empty(), 0, start, OptionalLong.empty()));
    RowEmitter<RowData> emitter =
        new RowEmitter<>(new RowDataDeserializationSchema(), false, split -> leftSnapshot.add(split.splitId()));
    List<SplitStart> positions = new ArrayList<>();
    assertThat(records.nextSplit()).isEqualTo("bucket-0");
    for (SplitRecord record = records.nextRecordFromSplit(); record != null; record = records.nextRecordFromSplit()) {
      emitter.emitRecord(record, output, state);
      positions.add(state.toSplit().start());
    }
    assertThat(records.nextSplit()).isNull();
    return positions;
  }

  @Test
  void eachRowOfTheLogMovesThePositionByOne() throws Exception {
    TestingReaderOutput<RowData> output = new TestingReaderOutput<>();
    List<SplitStart> positions = positions(records(block(1, 2, 3).log(40, 43).build(), LOG, 40, LOG, 43), SplitStart.earliest(), output);
    assertThat(positions).containsExactly(SplitStart.log(41), SplitStart.log(42), SplitStart.log(43));
    assertThat(output.getEmittedRecords()).hasSize(3);
    assertThat(leftSnapshot).isEmpty();
  }

  @Test
  void aGapBehindTheRowsMovesThePositionWithoutARow() throws Exception {
    TestingReaderOutput<RowData> output = new TestingReaderOutput<>();
    assertThat(positions(records(block(1).log(40, 50).build(), LOG, 40, LOG, 50), SplitStart.log(40), output))
        .containsExactly(SplitStart.log(41), SplitStart.log(50));
    assertThat(positions(records(block().log(-1, 60).build(), LOG, 50, LOG, 60), SplitStart.log(50), output)).containsExactly(SplitStart.log(60));
    assertThat(output.getEmittedRecords()).hasSize(1);
  }

  @Test
  void rowsOfASnapshotAreCountedAndItsEndIsTheOffsetOfTheLog() throws Exception {
    TestingReaderOutput<RowData> output = new TestingReaderOutput<>();
    assertThat(positions(records(block(1, 2).snapshot(7).build(), SNAPSHOT, 5, SNAPSHOT, 7), SplitStart.snapshot(9, 5), output))
        .containsExactly(SplitStart.snapshot(9, 6), SplitStart.snapshot(9, 7));
    assertThat(leftSnapshot).isEmpty();
    assertThat(positions(records(block(3).endOfSnapshot(88).build(), SNAPSHOT, 7, LOG, 88), SplitStart.snapshot(9, 7), output))
        .containsExactly(SplitStart.snapshot(9, 8), SplitStart.log(88));
    assertThat(leftSnapshot).containsExactly("bucket-0");
  }

  @Test
  void anEmptySnapshotStillEndsAtItsOffset() throws Exception {
    assertThat(positions(records(block().endOfSnapshot(0).build(), SNAPSHOT, 0, LOG, 0), SplitStart.snapshot(9, 0), new TestingReaderOutput<>()))
        .containsExactly(SplitStart.log(0));
    assertThat(leftSnapshot).containsExactly("bucket-0");
  }

  @Test
  void splitsReadWholeKeepTheirStart() throws Exception {
    BlockRecords records = records(block(1, 2).finished().build(), NONE, 0, NONE, 0);
    assertThat(records.finishedSplits()).containsExactly("bucket-0");
    assertThat(positions(records, SplitStart.current(), new TestingReaderOutput<>())).containsExactly(SplitStart.current(), SplitStart.current());
    assertThat(records(block(1).build(), NONE, 0, NONE, 0).finishedSplits()).isEmpty();
  }

  @Test
  void kindsAndValuesArriveAndRowsStayValidAfterLaterOnes() throws Exception {
    BlockBuilder block = new BlockBuilder(TYPE).withKinds().log(0, 4);
    for (RowKind kind : RowKind.values()) {
      block.row(row(kind, kind.toByteValue()));
    }
    TestingReaderOutput<RowData> output = new TestingReaderOutput<>();
    positions(records(block.build(), LOG, 0, LOG, 4), SplitStart.log(0), output);
    RowDataSerializer serializer = new RowDataSerializer(TYPE);
    for (RowKind kind : RowKind.values()) {
      RowData got = output.getEmittedRecords().get(kind.toByteValue());
      assertThat(got.getRowKind()).isEqualTo(kind);
      assertThat(got).isEqualTo(serializer.toBinaryRow(row(kind, kind.toByteValue())));
    }
  }
}
