package io.sluice.flink.sink;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import io.sluice.flink.ConnectorOptions;
import io.sluice.flink.ConnectorOptions.DistributionMode;
import io.sluice.flink.StoreTable;
import io.sluice.flink.types.BucketHash;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.transformations.PartitionTransformation;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.RowLevelModificationScanContext;
import org.apache.flink.table.connector.sink.DataStreamSinkProvider;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.sink.abilities.SupportsRowLevelDelete;
import org.apache.flink.table.connector.sink.abilities.SupportsRowLevelUpdate;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.types.RowKind;

/**
 * INSERT INTO a table: appends to a log table, upserts and deletes in a primary-key table. DELETE and UPDATE statements are taken
 * only to be refused with a sentence of our own.
 */
public final class SluiceTableSink implements DynamicTableSink, SupportsRowLevelDelete, SupportsRowLevelUpdate {
  private final StoreTable table;
  private final ResolvedSchema schema;
  private final ReadableConfig options;

  private SluiceTableSink(StoreTable table, ResolvedSchema schema, ReadableConfig options) {
    this.table = table;
    this.schema = schema;
    this.options = options;
  }

  /**
   * Returns the sink of a table.
   *
   * @param schema all columns of the table, computed ones included
   * @throws ValidationException when the options do not fit the table
   */
  public static SluiceTableSink create(StoreTable table, ResolvedSchema schema, ReadableConfig options) {
    Distribution.check(options.get(ConnectorOptions.SINK_DISTRIBUTION_MODE), table);
    return new SluiceTableSink(table, schema, options);
  }

  @Override
  public ChangelogMode getChangelogMode(ChangelogMode requested) {
    if (!table.hasPrimaryKey() && !options.get(ConnectorOptions.SINK_IGNORE_DELETE)) {
      return ChangelogMode.insertOnly();
    }
    ChangelogMode.Builder mode = ChangelogMode.newBuilder();
    requested.getContainedKinds().stream().filter(kind -> kind != RowKind.UPDATE_BEFORE).forEach(mode::addContainedKind);
    return mode.build();
  }

  /** Flink 2 asks for target columns in another way too, which 1.20 does not know; this one works in both. */
  @Override
  @SuppressWarnings("deprecation")
  public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
    context.getTargetColumns().ifPresent(this::checkTargetColumns);
    SluiceSink sink = new SluiceSink(table, WriterSettings.of(options));
    DistributionMode mode = options.get(ConnectorOptions.SINK_DISTRIBUTION_MODE);
    return new Provider(table, sink, mode, options.getOptional(FactoryUtil.SINK_PARALLELISM));
  }

  /** Refuses an INSERT that names only some of the columns; naming all of them in any order is an ordinary INSERT. */
  private void checkTargetColumns(int[][] targets) {
    List<String> named = new ArrayList<>();
    for (int[] target : targets) {
      String column = schema.getColumns().get(target[0]).getName();
      if (target.length > 1) {
        throw new ValidationException(
            String.format("INSERT INTO %s cannot write a single field of the nested column '%s'.", table, column));
      }
      named.add(column);
    }
    List<String> missing = new ArrayList<>();
    for (Column column : schema.getColumns()) {
      if (column.isPhysical() && !named.contains(column.getName())) {
        missing.add(column.getName());
      }
    }
    if (!missing.isEmpty()) {
      throw partialUpdateRefused(named, missing);
    }
  }

  private ValidationException partialUpdateRefused(List<String> named, List<String> missing) {
    String columns = String.join(", ", missing);
    if (!table.hasPrimaryKey()) {
      return new ValidationException(
          String.format(
              "Table %s does not support partial updates for table without primary key: the INSERT leaves out %s; name all columns.",
              table, columns));
    }
    for (int key : table.primaryKey()) {
      String column = table.rowType().getFieldNames().get(key);
      if (!named.contains(column)) {
        return new ValidationException(
            String.format(
                "INSERT INTO %s without fully specifying the primary key columns is not possible: it leaves out '%s'.", table, column));
      }
    }
    return new ValidationException(
        String.format("INSERT INTO %s leaves out %s, which is a partial update and not supported yet; name all columns.", table, columns));
  }

  @Override
  public RowLevelDeleteInfo applyRowLevelDelete(RowLevelModificationScanContext context) {
    throw statementRefused("DELETE");
  }

  @Override
  public RowLevelUpdateInfo applyRowLevelUpdate(List<Column> updatedColumns, RowLevelModificationScanContext context) {
    throw statementRefused("UPDATE");
  }

  private UnsupportedOperationException statementRefused(String statement) {
    String why = table.hasPrimaryKey() ? "is not supported yet" : "is not possible: it has no primary key";
    return new UnsupportedOperationException(String.format("%s on table %s %s.", statement, table, why));
  }

  @Override
  public DynamicTableSink copy() {
    return new SluiceTableSink(table, schema, options);
  }

  @Override
  public String asSummaryString() {
    return "fluss table " + table;
  }

  /** Puts the sink behind a stream of rows, with a shuffle by bucket where the mode asks for one. */
  private static final class Provider implements DataStreamSinkProvider {
    private final StoreTable table;
    private final SluiceSink sink;
    private final DistributionMode mode;
    private final Optional<Integer> parallelism;

    Provider(StoreTable table, SluiceSink sink, DistributionMode mode, Optional<Integer> parallelism) {
      this.table = table;
      this.sink = sink;
      this.mode = mode;
      this.parallelism = parallelism;
    }

    @Override
    public DataStreamSink<?> consumeDataStream(ProviderContext context, DataStream<RowData> input) {
      // As many subtasks as the input has unless the user says otherwise: left unset, the job's default would apply, and where that
      // differs Flink would deal rows out in turn and so mix up the order of a key's rows.
      int subtasks = parallelism.orElse(input.getParallelism());
      boolean byBucket = Distribution.byBucket(mode, table, subtasks == input.getParallelism());
      DataStreamSink<RowData> output = (byBucket ? byBucket(input) : input).sinkTo(sink).name("fluss " + table);
      context.generateUid("writer").ifPresent(output::uid);
      output.setParallelism(subtasks);
      return output;
    }

    private DataStream<RowData> byBucket(DataStream<RowData> input) {
      BucketHash hash = new BucketHash(table.rowType(), table.bucketKey(), table.bucketCount());
      return new DataStream<>(
          input.getExecutionEnvironment(), new PartitionTransformation<>(input.getTransformation(), new BucketPartitioner(hash)));
    }

    @Override
    public Optional<Integer> getParallelism() {
      return parallelism;
    }
  }
}
