package io.sluice.flink.source.reader;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

import io.sluice.flink.StoreTable;
import io.sluice.flink.source.record.TableDeserializationSchema;
import io.sluice.flink.source.scan.NothingToRead;
import io.sluice.flink.source.scan.ScanSettings;
import io.sluice.flink.source.scan.ScanTask;
import io.sluice.flink.source.scan.SnapshotsRead;
import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.flink.source.split.SluiceSplitState;
import io.sluice.flink.source.split.SplitStart;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.connector.base.source.reader.SingleThreadMultiplexSourceReaderBase;
import org.apache.flink.core.io.InputStatus;

/**
 * Reads all splits of one subtask through one thread and one native scanner.
 *
 * @param <T> what becomes of the rows
 */
public final class SluiceSourceReader<T> extends SingleThreadMultiplexSourceReaderBase<SplitRecord, T, SluiceSplit, SluiceSplitState> {
  private final boolean leasesSnapshots;
  /** Splits that a checkpoint holds behind their snapshot, by the checkpoint's id. */
  private final NavigableMap<Long, List<String>> behindSnapshot = new TreeMap<>();

  private final Set<String> reported = new HashSet<>();
  private boolean markIdle;

  private SluiceSourceReader(
      SourceReaderContext context,
      StoreTable table,
      ScanSettings settings,
      ScanTask task,
      ReaderMetrics metrics,
      RowEmitter<T> emitter) {
    super(() -> new SluiceSplitReader(table, task, metrics), emitter, context.getConfiguration(), context);
    this.leasesSnapshots = settings.readsSnapshots(table.kind());
  }

  /**
   * A reader for one subtask.
   *
   * @param schema opened
   * @param stamps whether each value carries the time of its commit
   */
  public static <T> SluiceSourceReader<T> create(
      SourceReaderContext context,
      StoreTable table,
      ScanSettings settings,
      ScanTask task,
      TableDeserializationSchema<T> schema,
      boolean stamps) {
    Consumer<SluiceSplitState> leftSnapshot =
        state -> context.sendSourceEventToCoordinator(new SnapshotsRead(List.of(state.splitId()), false));
    RowEmitter<T> emitter = new RowEmitter<>(schema, stamps, leftSnapshot);
    return new SluiceSourceReader<>(context, table, settings, task, new ReaderMetrics(context), emitter);
  }

  @Override
  public void start() {
    if (getNumberOfCurrentlyAssignedSplits() == 0) {
      context.sendSplitRequest();
    }
  }

  @Override
  public void handleSourceEvents(SourceEvent event) {
    if (event instanceof NothingToRead) {
      markIdle = true;
      splitFetcherManager.getQueue().notifyAvailable();
    } else {
      super.handleSourceEvents(event);
    }
  }

  @Override
  public InputStatus pollNext(ReaderOutput<T> output) throws Exception {
    if (markIdle) {
      markIdle = false;
      if (getNumberOfCurrentlyAssignedSplits() == 0) {
        output.markIdle();
      }
    }
    return super.pollNext(output);
  }

  @Override
  public List<SluiceSplit> snapshotState(long checkpointId) {
    List<SluiceSplit> splits = super.snapshotState(checkpointId);
    if (leasesSnapshots) {
      List<String> behind = new ArrayList<>();
      for (SluiceSplit split : splits) {
        if (split.start().kind() == SplitStart.Kind.LOG && !reported.contains(split.splitId())) {
          behind.add(split.splitId());
        }
      }
      if (!behind.isEmpty()) {
        behindSnapshot.put(checkpointId, behind);
      }
    }
    return splits;
  }

  @Override
  public void notifyCheckpointComplete(long checkpointId) throws Exception {
    super.notifyCheckpointComplete(checkpointId);
    NavigableMap<Long, List<String>> covered = behindSnapshot.headMap(checkpointId, true);
    Set<String> done = new HashSet<>();
    covered.values().forEach(done::addAll);
    done.removeAll(reported);
    covered.clear();
    if (!done.isEmpty()) {
      reported.addAll(done);
      context.sendSourceEventToCoordinator(new SnapshotsRead(done, true));
    }
  }

  @Override
  protected void onSplitFinished(Map<String, SluiceSplitState> finished) {
    // Nothing to ask for: the enumerator gives out all splits at once.
  }

  @Override
  protected SluiceSplitState initializedState(SluiceSplit split) {
    return new SluiceSplitState(split);
  }

  @Override
  protected SluiceSplit toSplitType(String splitId, SluiceSplitState state) {
    return state.toSplit();
  }
}
