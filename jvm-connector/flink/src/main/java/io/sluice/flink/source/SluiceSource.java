package io.sluice.flink.source;

import io.sluice.flink.StoreTable;
import io.sluice.flink.partition.TablePartition;
import io.sluice.flink.source.enumerator.SluiceSplitEnumerator;
import io.sluice.flink.source.enumerator.SourceState;
import io.sluice.flink.source.enumerator.SourceStateSerializer;
import io.sluice.flink.source.enumerator.SplitPlanner;
import io.sluice.flink.source.reader.SluiceSourceReader;
import io.sluice.flink.source.scan.ScanSettings;
import io.sluice.flink.source.scan.ScanTask;
import io.sluice.flink.source.scan.StoreTableClient;
import io.sluice.flink.source.scan.TableClient;
import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.flink.source.split.SluiceSplitSerializer;
import io.sluice.store.StoreException;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.DynamicParallelismInference;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.table.data.RowData;

/** The rows of one table, bounded or for ever. */
public final class SluiceSource
    implements Source<RowData, SluiceSplit, SourceState>, ResultTypeQueryable<RowData>, DynamicParallelismInference {
  private static final long serialVersionUID = 1L;

  private final StoreTable table;
  private final ScanSettings settings;
  private final ScanTask task;
  private final TypeInformation<RowData> type;

  SluiceSource(StoreTable table, ScanSettings settings, ScanTask task, TypeInformation<RowData> type) {
    this.table = table;
    this.settings = settings;
    this.task = task;
    this.type = type;
  }

  @Override
  public Boundedness getBoundedness() {
    return settings.streaming() ? Boundedness.CONTINUOUS_UNBOUNDED : Boundedness.BOUNDED;
  }

  @Override
  public SplitEnumerator<SluiceSplit, SourceState> createEnumerator(SplitEnumeratorContext<SluiceSplit> context) {
    return restoreEnumerator(context, SourceState.fresh(settings.leaseId()));
  }

  @Override
  public SplitEnumerator<SluiceSplit, SourceState> restoreEnumerator(SplitEnumeratorContext<SluiceSplit> context, SourceState state) {
    SplitPlanner planner = new SplitPlanner(table.toString(), settings, task, table.kind(), table.isPartitioned());
    return new SluiceSplitEnumerator(context, planner, () -> StoreTableClient.open(table), settings, state);
  }

  @Override
  public SourceReader<RowData, SluiceSplit> createReader(SourceReaderContext context) {
    return SluiceSourceReader.create(context, table, settings, task);
  }

  @Override
  public SimpleVersionedSerializer<SluiceSplit> getSplitSerializer() {
    return SluiceSplitSerializer.INSTANCE;
  }

  @Override
  public SimpleVersionedSerializer<SourceState> getEnumeratorCheckpointSerializer() {
    return SourceStateSerializer.INSTANCE;
  }

  @Override
  public TypeInformation<RowData> getProducedType() {
    return type;
  }

  /** The number of buckets to read, at least 1. */
  private int buckets() {
    if (!table.isPartitioned()) {
      return table.bucketCount();
    }
    try (TableClient client = StoreTableClient.open(table)) {
      int buckets = client.partitions().stream().filter(task::wants).mapToInt(TablePartition::bucketCount).sum();
      return Math.max(buckets, 1);
    } catch (StoreException e) {
      // The scan will meet the same trouble and say so.
      return 1;
    }
  }

  @Override
  public int inferParallelism(Context context) {
    return Math.min(task.isSingle() ? 1 : buckets(), context.getParallelismInferenceUpperBound());
  }
}
