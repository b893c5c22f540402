package io.sluice.flink.source.reader;

import java.util.function.Consumer;

import io.sluice.flink.source.split.SluiceSplitState;
import org.apache.flink.api.connector.source.SourceOutput;
import org.apache.flink.connector.base.source.reader.RecordEmitter;
import org.apache.flink.table.data.RowData;

/** Hands a row to Flink, then moves the split's position behind it. */
final class RowEmitter implements RecordEmitter<SplitRecord, RowData, SluiceSplitState> {
  private final Consumer<SluiceSplitState> leftSnapshot;

  /** @param leftSnapshot told of each split whose snapshot has been read to its end */
  RowEmitter(Consumer<SluiceSplitState> leftSnapshot) {
    this.leftSnapshot = leftSnapshot;
  }

  @Override
  public void emitRecord(SplitRecord record, SourceOutput<RowData> output, SluiceSplitState state) {
    if (record.row != null) {
      output.collect(record.row);
    }
    if (record.phase == SplitRecord.Phase.LOG) {
      boolean wasSnapshot = state.readsSnapshot();
      state.movedToOffset(record.position);
      if (wasSnapshot) {
        leftSnapshot.accept(state);
      }
    } else if (record.phase == SplitRecord.Phase.SNAPSHOT) {
      state.movedInSnapshot(record.position);
    }
  }
}
