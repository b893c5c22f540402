package io.sluice.flink.sink;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

import javax.annotation.Nullable;

import io.sluice.flink.ConnectorOptions;
import io.sluice.flink.ConnectorOptions.DistributionMode;
import io.sluice.flink.MergeRules;
import io.sluice.flink.StoreTable;
import io.sluice.flink.source.scan.PointQuery;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.transformations.PartitionTransformation;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.RowLevelModificationScanContext;
import org.apache.flink.table.connector.sink.DataStreamSinkProvider;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.sink.abilities.SupportsDeletePushDown;
import org.apache.flink.table.connector.sink.abilities.SupportsPartitioning;
import org.apache.flink.table.connector.sink.abilities.SupportsRowLevelDelete;
import org.apache.flink.table.connector.sink.abilities.SupportsRowLevelUpdate;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.expressions.ResolvedExpression;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.types.RowKind;

/**
 * INSERT INTO a table: appends to a log table, upserts and deletes in a primary-key table. DELETE and UPDATE: Flink reads the rows that the
 * condition finds and hands them over, whole, to be deleted or written again; a DELETE that names one key needs no job.
 */
public final class SluiceTableSink
    implements DynamicTableSink, SupportsPartitioning, SupportsDeletePushDown, SupportsRowLevelDelete, SupportsRowLevelUpdate {
  private final StoreTable table;
  private final ResolvedSchema schema;
  private final ReadableConfig options;
  private final boolean streaming;
  /** Columns to which the statement gives one value: {@code PARTITION (p = 'x')}. */
  private Set<String> staticColumns = Set.of();

  /** Whether the rows to come may change or delete others; known once the planner has asked. */
  private boolean changesExpected;

  /** Whether the rows to come are those of a DELETE or UPDATE. */
  private boolean statement;

  /** The one key that a DELETE names. */
  @Nullable private PointQuery deleted;

  private SluiceTableSink(StoreTable table, ResolvedSchema schema, ReadableConfig options, boolean streaming) {
    this.table = table;
    this.schema = schema;
    this.options = options;
    this.streaming = streaming;
  }

  /**
   * Returns the sink of a table.
   *
   * @param schema all columns of the table, computed ones included
   * @param streaming whether the statement runs in streaming mode
   * @throws ValidationException when the options do not fit the table
   */
  public static SluiceTableSink create(StoreTable table, ResolvedSchema schema, ReadableConfig options, boolean streaming) {
    Distribution.check(options.get(ConnectorOptions.SINK_DISTRIBUTION_MODE), table);
    return new SluiceTableSink(table, schema, options, streaming);
  }

  @Override
  public ChangelogMode getChangelogMode(ChangelogMode requested) {
    if (!table.hasPrimaryKey() && !options.get(ConnectorOptions.SINK_IGNORE_DELETE)) {
      return ChangelogMode.insertOnly();
    }
    changesExpected = !requested.containsOnly(RowKind.INSERT);
    boolean needsOldRows = takesBack();
    ChangelogMode.Builder mode = ChangelogMode.newBuilder();
    requested.getContainedKinds().stream()
        .filter(kind -> needsOldRows || kind != RowKind.UPDATE_BEFORE)
        .forEach(mode::addContainedKind);
    return mode.build();
  }

  /** Whether an aggregate takes back what a row brought in when that row changes or goes. */
  private boolean takesBack() {
    return table.hasPrimaryKey()
        && MergeRules.of(table).deletes() == MergeRules.Deletes.RETRACT
        && !options.get(ConnectorOptions.SINK_IGNORE_DELETE);
  }

  /** Flink 2 asks for target columns in another way too, which 1.20 does not know; this one works in both. */
  @Override
  @SuppressWarnings("deprecation")
  public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
    if (statement) {
      return new Provider(table, WrittenColumns.all(table), options, true);
    }
    int[] columns =
        context.getTargetColumns()
            .map(targets -> WrittenColumns.of(table, schema, staticColumns, targets))
            .orElseGet(() -> WrittenColumns.whole(table));
    if (changesExpected && takesBack()) {
      List<String> stuck = MergeRules.of(table).notInvertible(WrittenColumns.values(table, columns));
      if (!stuck.isEmpty()) {
        throw new ValidationException(
            String.format(
                "Table %s takes changed rows back, which the aggregation function of column '%s' cannot do (only sum and product can): leave"
                    + " the column out of the INSERT, or insert from a query that never changes its rows.",
                table, stuck.get(0)));
      }
    }
    return new Provider(table, columns, options, false);
  }

  /** The values come in the rows too, so only the names matter. */
  @Override
  public void applyStaticPartition(Map<String, String> partition) {
    staticColumns = Set.copyOf(partition.keySet());
  }

  /** Takes a DELETE whose condition is one key; every other one comes as rows. */
  @Override
  public boolean applyDeleteFilters(List<ResolvedExpression> filters) {
    PointQuery point = PointQuery.of(table.rowType(), table.primaryKey(), filters).orElse(null);
    if (point == null || point.filters().size() != filters.size()) {
      return false;
    }
    rules().checkDelete(options.get(ConnectorOptions.SINK_IGNORE_DELETE));
    deleted = point;
    return true;
  }

  /** Nobody knows whether the row was there: to find out would take a read. */
  @Override
  public Optional<Long> executeDeletion() {
    new KeyDeletion(table, WriterSettings.of(options)).run(deleted);
    return Optional.empty();
  }

  @Override
  public RowLevelDeleteInfo applyRowLevelDelete(@Nullable RowLevelModificationScanContext context) {
    rules().checkDelete(options.get(ConnectorOptions.SINK_IGNORE_DELETE));
    statement = true;
    return new RowLevelDeleteInfo() {
      @Override
      public Optional<List<Column>> requiredColumns() {
        return Optional.of(storedColumns());
      }
    };
  }

  @Override
  public RowLevelUpdateInfo applyRowLevelUpdate(List<Column> updatedColumns, @Nullable RowLevelModificationScanContext context) {
    rules().checkUpdate(updatedColumns.stream().map(Column::getName).collect(Collectors.toList()));
    statement = true;
    return new RowLevelUpdateInfo() {
      @Override
      public Optional<List<Column>> requiredColumns() {
        return Optional.of(storedColumns());
      }
    };
  }

  private StatementRules rules() {
    return new StatementRules(table, streaming);
  }

  private List<Column> storedColumns() {
    return schema.getColumns().stream().filter(Column::isPhysical).collect(Collectors.toList());
  }

  @Override
  public DynamicTableSink copy() {
    SluiceTableSink copy = new SluiceTableSink(table, schema, options, streaming);
    copy.changesExpected = changesExpected;
    copy.statement = statement;
    copy.deleted = deleted;
    copy.staticColumns = staticColumns;
    return copy;
  }

  @Override
  public String asSummaryString() {
    return "fluss table " + table;
  }

  /** Puts the sink behind a stream of rows, with a shuffle by bucket where the mode asks for one. */
  private static final class Provider implements DataStreamSinkProvider {
    private final StoreTable table;
    private final int[] columns;
    private final WriterSettings settings;
    private final DistributionMode mode;
    private final String producerId;
    private final Optional<Integer> parallelism;
    private final boolean statement;

    Provider(StoreTable table, int[] columns, ReadableConfig options, boolean statement) {
      this.table = table;
      this.columns = columns;
      this.settings = WriterSettings.of(options);
      this.mode = options.get(ConnectorOptions.SINK_DISTRIBUTION_MODE);
      this.producerId = options.getOptional(ConnectorOptions.SINK_PRODUCER_ID).orElse(null);
      this.parallelism = options.getOptional(FactoryUtil.SINK_PARALLELISM);
      this.statement = statement;
    }

    @Override
    public DataStreamSink<?> consumeDataStream(ProviderContext context, DataStream<RowData> input) {
      // To delete a row twice is to delete it once, so a statement's rows need no state.
      if (!statement && table.hasPrimaryKey() && MergeRules.of(table).engine() == MergeRules.Engine.AGGREGATION) {
        return aggregate(context, input);
      }
      // As many subtasks as the input has unless the user says otherwise: left unset, the job's default would apply, and where that
      // differs Flink would deal rows out in turn and so mix up the order of a key's rows.
      int subtasks = parallelism.orElse(input.getParallelism());
      boolean byBucket = Distribution.byBucket(mode, table, subtasks == input.getParallelism());
      SluiceSink sink = new SluiceSink(table, columns, settings);
      DataStreamSink<RowData> output = (byBucket ? byBucket(input, true) : input).sinkTo(sink).name("fluss " + table);
      context.generateUid("writer").ifPresent(output::uid);
      output.setParallelism(subtasks);
      return output;
    }

    /** Rows that count once each: by bucket always, into an operator with state of its own. */
    private DataStreamSink<?> aggregate(ProviderContext context, DataStream<RowData> input) {
      refuseMaterializer(input);
      int subtasks = parallelism.orElse(input.getParallelism());
      SingleOutputStreamOperator<RowData> written =
          byBucket(input, false)
              .transform("fluss " + table, input.getType(), new AggregateWriterOperator(table, columns, settings, producerId))
              .setParallelism(subtasks);
      context.generateUid("writer").ifPresent(written::uid);
      DataStreamSink<RowData> end = written.sinkTo(new DiscardingSink<>()).name("end of fluss " + table).setParallelism(subtasks);
      context.generateUid("end").ifPresent(end::uid);
      return end;
    }

    /**
     * Flink may put an operator before the sink that keeps all rows of a key and sends the last one again when it changes. An aggregate
     * would count it again.
     */
    private void refuseMaterializer(DataStream<RowData> input) {
      if (input.getTransformation().getName().startsWith("SinkMaterializer")) {
        throw new ValidationException(
            String.format(
                "INSERT INTO aggregation table %s from a query that changes its rows needs SET 'table.exec.sink.upsert-materialize' = 'NONE':"
                    + " else Flink sends a row again that the table has counted already.",
                table));
      }
    }

    private DataStream<RowData> byBucket(DataStream<RowData> input, boolean spreadPartitions) {
      BucketPartitioner partitioner = new BucketPartitioner(table, spreadPartitions);
      return new DataStream<>(input.getExecutionEnvironment(), new PartitionTransformation<>(input.getTransformation(), partitioner));
    }

    @Override
    public Optional<Integer> getParallelism() {
      return parallelism;
    }
  }
}
