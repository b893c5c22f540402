package io.sluice.flink.sink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import javax.annotation.Nullable;

import io.sluice.flink.StoreTable;
import io.sluice.store.Connection;
import io.sluice.store.ErrorKind;
import io.sluice.store.StoreException;
import io.sluice.store.TableWriter;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.runtime.metrics.groups.InternalSinkWriterMetricGroup;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.BoundedOneInput;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.RowData;
import org.apache.flink.util.IOUtils;

/**
 * Writes into a table whose aggregates must count each row once. Before its first row it takes back what an earlier attempt wrote after
 * the last completed checkpoint, or since the job began if there is none. Each subtask does so for the buckets whose rows it gets, so rows must come by
 * bucket.
 *
 * <p>State: for each bucket the offset at which it ended when all rows before a checkpoint had been written, as a list that every
 * subtask gets whole, so that it survives another parallelism. Whatever else is written to these buckets meanwhile is taken back too.
 * A partition that the state does not know was made since; one that is gone has nothing to take back.
 */
final class AggregateWriterOperator extends AbstractStreamOperator<RowData>
    implements OneInputStreamOperator<RowData, RowData>, BoundedOneInput {
  private static final long serialVersionUID = 1L;
  /** Entries of the state are table, bucket, offset and, in a table with partitions, the partition. */
  private static final int PARTITION = 3;

  private final StoreTable table;
  private final int[] columns;
  private final WriterSettings settings;
  @Nullable private final String producerId;

  private transient ListState<long[]> state;
  private transient SluiceSinkWriter writer;
  private transient WriterBaseline baseline;
  private transient Connection connection;
  private transient List<Integer> buckets;
  private transient String producer;
  /** Whether the store still keeps where the job began. */
  private transient boolean started;

  /**
   * @param producerId name under which the store keeps where the job began; {@code null} = the job's id
   */
  AggregateWriterOperator(StoreTable table, int[] columns, WriterSettings settings, @Nullable String producerId) {
    this.table = table;
    this.columns = columns;
    this.settings = settings;
    this.producerId = producerId;
  }

  @Override
  public void initializeState(StateInitializationContext context) throws Exception {
    super.initializeState(context);
    ListStateDescriptor<long[]> descriptor =
        new ListStateDescriptor<>("bucket-offsets", PrimitiveArrayTypeInfo.LONG_PRIMITIVE_ARRAY_TYPE_INFO);
    state = context.getOperatorStateStore().getUnionListState(descriptor);
    int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
    int subtasks = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
    producer = producerId == null ? getRuntimeContext().getJobInfo().getJobId().toString() : producerId;
    buckets = new ArrayList<>();
    for (int bucket = subtask; bucket < table.bucketCount(); bucket += subtasks) {
      buckets.add(bucket);
    }
    try {
      connection = Connection.open(table.connectionOptions());
      baseline = new WriterBaseline(table, connection);
      takeBack(context.isRestored() ? restored() : baseline.atStart(producer));
    } catch (StoreException e) {
      throw WriteFailures.of(table, e);
    }
    started = true;
    writer =
        SluiceSinkWriter.open(table, columns, settings, getProcessingTimeService(), InternalSinkWriterMetricGroup.wrap(getMetricGroup()));
  }

  private Map<BucketId, Long> restored() throws Exception {
    Map<BucketId, Long> offsets = new HashMap<>();
    for (long[] entry : state.get()) {
      if (entry[0] != baseline.tableId()) {
        throw new IOException(
            String.format(
                "Table ID mismatch: the savepoint is of table %d, but %s is table %d now; it was dropped and created again. Restart the job"
                    + " without the savepoint.",
                entry[0], table, baseline.tableId()));
      }
      offsets.put(new BucketId(entry.length > PARTITION ? (Long) entry[PARTITION] : null, (int) entry[1]), entry[2]);
    }
    return offsets;
  }

  /** Brings this subtask's buckets back to where they ended. One that nobody knew has begun since. */
  private void takeBack(Map<BucketId, Long> offsets) throws IOException {
    try (TableWriter undo = connection.writer(WriteRequests.open(table, columns, false))) {
      for (BucketId bucket : baseline.buckets(buckets)) {
        try {
          undo.undo(baseline.id(bucket).toString(), offsets.getOrDefault(bucket, 0L));
        } catch (StoreException e) {
          // Its partition was dropped this moment.
          if (e.kind() != ErrorKind.NOT_FOUND || bucket.partition == null) {
            throw e;
          }
        }
      }
      undo.flush(settings.patience);
    }
  }

  @Override
  public void processElement(StreamRecord<RowData> element) throws Exception {
    writer.write(element.getValue(), null);
  }

  @Override
  public void prepareSnapshotPreBarrier(long checkpointId) throws Exception {
    writer.flush(false);
  }

  @Override
  public void snapshotState(StateSnapshotContext context) throws Exception {
    super.snapshotState(context);
    List<long[]> entries = new ArrayList<>();
    baseline
        .now(buckets)
        .forEach(
            (id, offset) ->
                entries.add(
                    id.partition == null
                        ? new long[] {baseline.tableId(), id.bucket, offset}
                        : new long[] {baseline.tableId(), id.bucket, offset, id.partition}));
    state.update(entries);
  }

  @Override
  public void notifyCheckpointComplete(long checkpointId) throws Exception {
    super.notifyCheckpointComplete(checkpointId);
    forgetStart();
  }

  @Override
  public void endInput() throws Exception {
    writer.flush(true);
    forgetStart();
  }

  /** From here on the job's own state says where to begin. */
  private void forgetStart() {
    if (started) {
      started = false;
      baseline.ended(producer, getRuntimeContext().getTaskInfo().getIndexOfThisSubtask(), getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks());
    }
  }

  @Override
  public void close() throws Exception {
    super.close();
    IOUtils.closeAll(writer, connection);
  }
}
