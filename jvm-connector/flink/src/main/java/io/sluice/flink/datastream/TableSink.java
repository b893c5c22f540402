package io.sluice.flink.datastream;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import io.sluice.flink.StoreTable;
import io.sluice.flink.sink.SerializingSink;
import io.sluice.flink.sink.TableSerializationSchema;

/**
 * Builds the sink of a table for DataStream jobs.
 *
 * <pre>{@code
 * stream.sinkTo(
 *     TableSink.<Order>builder()
 *         .setBootstrapServers("embedded:/data/store")
 *         .setDatabase("shop")
 *         .setTable("orders")
 *         .setSerializationSchema(new OrderSchema())
 *         .build());
 * }</pre>
 *
 * <p>A checkpoint completes when all rows before it are durable. Rows of one key keep their order within a subtask, so key the stream by
 * the primary key before the sink where they may come from several.
 *
 * @param <T> the values that are written
 */
public final class TableSink<T> {
  private final TableAddress address = new TableAddress();
  private TableSerializationSchema<T> schema;
  private Set<String> partial;

  private TableSink() {}

  /** Begins to build. */
  public static <T> TableSink<T> builder() {
    return new TableSink<>();
  }

  /** Where the store is, as in {@code 'bootstrap.servers'} of a catalog. Required. */
  public TableSink<T> setBootstrapServers(String servers) {
    address.setBootstrapServers(servers);
    return this;
  }

  /** Required. */
  public TableSink<T> setDatabase(String database) {
    address.setDatabase(database);
    return this;
  }

  /** Required. */
  public TableSink<T> setTable(String table) {
    address.setTable(table);
    return this;
  }

  /** What makes rows of values. Required. */
  public TableSink<T> setSerializationSchema(TableSerializationSchema<T> serializationSchema) {
    schema = serializationSchema;
    return this;
  }

  /** Updates these columns only, the key's among them; the others of a row keep what they have. Rows still have all fields. */
  public TableSink<T> setPartialUpdateColumns(String... columns) {
    partial = new LinkedHashSet<>(List.of(columns));
    return this;
  }

  /** Sets an option as a hint does in SQL, for example {@code client.writer.batch-size}. */
  public TableSink<T> setOption(String key, String value) {
    address.setOption(key, value);
    return this;
  }

  /** The same of several options. */
  public TableSink<T> setOptions(Map<String, String> options) {
    options.forEach(address::setOption);
    return this;
  }

  /**
   * Finds the table and makes the sink.
   *
   * @throws IllegalArgumentException when something is missing
   * @throws org.apache.flink.table.api.ValidationException when there is no such table, or it cannot be written so
   */
  public SerializingSink<T> build() {
    TableAddress.required(schema, "SerializationSchema");
    StoreTable table = address.find();
    return SerializingSink.create(table, partial, address.options(), schema);
  }
}
