package io.sluice.flink.source;

import io.sluice.flink.StoreTable;
import io.sluice.flink.partition.TablePartition;
import io.sluice.flink.source.enumerator.SluiceSplitEnumerator;
import io.sluice.flink.source.enumerator.SourceState;
import io.sluice.flink.source.enumerator.SourceStateSerializer;
import io.sluice.flink.source.enumerator.SplitPlanner;
import io.sluice.flink.source.reader.SluiceSourceReader;
import io.sluice.flink.source.record.TableDeserializationSchema;
import io.sluice.flink.source.scan.ScanSettings;
import io.sluice.flink.source.scan.ScanTask;
import io.sluice.flink.source.scan.StoreTableClient;
import io.sluice.flink.source.scan.TableClient;
import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.flink.source.split.SluiceSplitSerializer;
import io.sluice.store.StoreException;
import org.apache.flink.api.common.serialization.DeserializationSchema;
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
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.util.UserCodeClassLoader;

/**
 * The rows of one table, bounded or for ever.
 *
 * @param <T> what becomes of them
 */
public final class SluiceSource<T>
    implements Source<T, SluiceSplit, SourceState>, ResultTypeQueryable<T>, DynamicParallelismInference {
  private static final long serialVersionUID = 1L;

  private final StoreTable table;
  private final ScanSettings settings;
  private final ScanTask task;
  private final TableDeserializationSchema<T> schema;
  private final boolean stamps;

  /** @param stamps whether each value carries the time of its commit as its own time */
  public SluiceSource(StoreTable table, ScanSettings settings, ScanTask task, TableDeserializationSchema<T> schema, boolean stamps) {
    this.table = table;
    this.settings = settings;
    this.task = task;
    this.schema = schema;
    this.stamps = stamps;
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
  public SourceReader<T, SluiceSplit> createReader(SourceReaderContext context) throws Exception {
    schema.open(new ReaderContext(context));
    return SluiceSourceReader.create(context, table, settings, task, schema, stamps);
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
  public TypeInformation<T> getProducedType() {
    return schema.getProducedType(task.rowType());
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

  /** What a schema may use. */
  private static final class ReaderContext implements DeserializationSchema.InitializationContext {
    private final SourceReaderContext reader;

    ReaderContext(SourceReaderContext reader) {
      this.reader = reader;
    }

    @Override
    public MetricGroup getMetricGroup() {
      return reader.metricGroup().addGroup("deserializer");
    }

    @Override
    public UserCodeClassLoader getUserCodeClassLoader() {
      return reader.getUserCodeClassLoader();
    }
  }
}
