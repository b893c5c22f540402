package io.sluice.flink.sink;

import java.io.IOException;
import java.util.Set;

import javax.annotation.Nullable;

import io.sluice.flink.MergeRules;
import io.sluice.flink.StoreTable;
import org.apache.flink.api.connector.sink2.InitContext;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.api.ValidationException;

/**
 * The sink of a table for values of any kind: stateless writers that flush at each checkpoint.
 *
 * @param <T> the values
 */
public final class SerializingSink<T> implements Sink<T> {
  private static final long serialVersionUID = 1L;

  private final StoreTable table;
  private final int[] columns;
  private final WriterSettings settings;
  private final TableSerializationSchema<T> schema;

  private SerializingSink(StoreTable table, int[] columns, WriterSettings settings, TableSerializationSchema<T> schema) {
    this.table = table;
    this.columns = columns;
    this.settings = settings;
    this.schema = schema;
  }

  /**
   * The sink of a table.
   *
   * @param partial names of the columns that are updated, the others keeping what they have; null = whole rows
   * @throws ValidationException when the table cannot be written so, saying why
   */
  public static <T> SerializingSink<T> create(
      StoreTable table, @Nullable Set<String> partial, ReadableConfig options, TableSerializationSchema<T> schema) {
    if (table.hasPrimaryKey() && MergeRules.of(table).engine() == MergeRules.Engine.AGGREGATION) {
      throw new ValidationException(
          String.format(
              "Table %s has the merge engine 'aggregation', whose rows count once each also when a job restarts; that takes an INSERT in SQL"
                  + " (a DataStream becomes its input with StreamTableEnvironment.createTemporaryView).",
              table));
    }
    int[] columns = partial == null ? WrittenColumns.whole(table) : WrittenColumns.named(table, known(table, partial));
    return new SerializingSink<>(table, columns, WriterSettings.of(options), schema);
  }

  private static Set<String> known(StoreTable table, Set<String> partial) {
    for (String column : partial) {
      if (table.rowType().getFieldIndex(column) < 0) {
        throw new ValidationException(
            String.format("Column '%s' to be updated not found in table schema: %s has %s.", column, table, table.rowType().getFieldNames()));
      }
    }
    return partial;
  }

  @Override
  public SinkWriter<T> createWriter(WriterInitContext context) throws IOException {
    try {
      schema.open(context.asSerializationSchemaInitializationContext(), table.rowType());
    } catch (Exception e) {
      throw new IOException("the serialization schema for table " + table + " could not be opened", e);
    }
    SluiceSinkWriter writer = SluiceSinkWriter.open(table, columns, settings, context.getProcessingTimeService(), context.metricGroup());
    return new SerializingSinkWriter<>(table, schema, writer);
  }

  /** As in {@link SluiceSink}. */
  @SuppressWarnings("deprecation")
  public SinkWriter<T> createWriter(InitContext context) throws IOException {
    throw new UnsupportedOperationException("Flink 1.20 and later make writers from a WriterInitContext.");
  }
}
