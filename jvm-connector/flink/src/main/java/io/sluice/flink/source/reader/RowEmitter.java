package io.sluice.flink.source.reader;

import java.util.function.Consumer;

import io.sluice.flink.source.record.TableDeserializationSchema;
import io.sluice.flink.source.record.TableRecord;
import io.sluice.flink.source.split.SluiceSplitState;
import org.apache.flink.api.connector.source.SourceOutput;
import org.apache.flink.connector.base.source.reader.RecordEmitter;

/** Hands a row's value to Flink, then moves the split's position behind it. */
final class RowEmitter<T> implements RecordEmitter<SplitRecord, T, SluiceSplitState> {
  private final TableDeserializationSchema<T> schema;
  private final boolean stamps;
  private final Consumer<SluiceSplitState> leftSnapshot;
  private final TableRecord view = new TableRecord();

  /**
   * @param stamps whether a value carries the time of its commit
   * @param leftSnapshot told of each split whose snapshot has been read to its end
   */
  RowEmitter(TableDeserializationSchema<T> schema, boolean stamps, Consumer<SluiceSplitState> leftSnapshot) {
    this.schema = schema;
    this.stamps = stamps;
    this.leftSnapshot = leftSnapshot;
  }

  @Override
  public void emitRecord(SplitRecord record, SourceOutput<T> output, SluiceSplitState state) throws Exception {
    if (record.row != null) {
      T value = schema.deserialize(view.set(record.row, record.offset(), record.timestampMs));
      if (stamps && record.timestampMs != TableRecord.NONE) {
        output.collect(value, record.timestampMs);
      } else {
        output.collect(value);
      }
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
