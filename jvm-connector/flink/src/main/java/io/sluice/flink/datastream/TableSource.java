package io.sluice.flink.datastream;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import io.sluice.flink.ConnectorOptions;
import io.sluice.flink.ConnectorOptions.ScanStartupMode;
import io.sluice.flink.StoreTable;
import io.sluice.flink.source.SluiceSource;
import io.sluice.flink.source.record.TableDeserializationSchema;
import io.sluice.flink.source.scan.ScanSettings;
import io.sluice.flink.source.scan.ScanTask;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.types.logical.RowType;

/**
 * Builds the source of a table for DataStream jobs.
 *
 * <pre>{@code
 * SluiceSource<RowData> orders = TableSource.<RowData>builder()
 *     .setBootstrapServers("embedded:/data/store")
 *     .setDatabase("shop")
 *     .setTable("orders")
 *     .setDeserializationSchema(new RowDataDeserializationSchema())
 *     .build();
 * environment.fromSource(orders, WatermarkStrategy.noWatermarks(), "orders");
 * }</pre>
 *
 * <p>Rows of the log carry the time of their commit as their own, and the watermarks of buckets are taken together, so that a
 * strategy of bounded lateness works. A log table gives inserts, a primary-key table its rows and then their changes.
 *
 * @param <T> what becomes of the rows
 */
public final class TableSource<T> {
  private final TableAddress address = new TableAddress();
  private StartingOffsets start = StartingOffsets.full();
  private boolean bounded;
  private List<String> projected;
  private TableDeserializationSchema<T> schema;

  private TableSource() {}

  /** Begins to build. */
  public static <T> TableSource<T> builder() {
    return new TableSource<>();
  }

  /** Where the store is, as in {@code 'bootstrap.servers'} of a catalog. Required. */
  public TableSource<T> setBootstrapServers(String servers) {
    address.setBootstrapServers(servers);
    return this;
  }

  /** Required. */
  public TableSource<T> setDatabase(String database) {
    address.setDatabase(database);
    return this;
  }

  /** Required. */
  public TableSource<T> setTable(String table) {
    address.setTable(table);
    return this;
  }

  /** What makes values of rows. Required. */
  public TableSource<T> setDeserializationSchema(TableDeserializationSchema<T> deserializationSchema) {
    schema = deserializationSchema;
    return this;
  }

  /** Where to start; all rows present and then their changes unless said otherwise. */
  public TableSource<T> setStartingOffsets(StartingOffsets offsets) {
    start = offsets;
    return this;
  }

  /** Reads these columns only, in this order. */
  public TableSource<T> setProjectedFields(String... columns) {
    projected = List.of(columns);
    return this;
  }

  /** Ends with what is there when the job starts. */
  public TableSource<T> setBounded() {
    bounded = true;
    return this;
  }

  /** Time between two looks for new partitions; zero or less turns them off. */
  public TableSource<T> setScanPartitionDiscoveryIntervalMs(long intervalMs) {
    return setOption(ConnectorOptions.SCAN_PARTITION_DISCOVERY_INTERVAL.key(), intervalMs + " ms");
  }

  /** Sets an option as a hint does in SQL, for example {@code client.security.protocol}. */
  public TableSource<T> setOption(String key, String value) {
    address.setOption(key, value);
    return this;
  }

  /** The same of several options. */
  public TableSource<T> setOptions(Map<String, String> options) {
    options.forEach(address::setOption);
    return this;
  }

  /**
   * Finds the table and makes the source.
   *
   * @throws IllegalArgumentException when something is missing, or a column or a start does not fit the table
   * @throws org.apache.flink.table.api.ValidationException when there is no such table
   */
  public SluiceSource<T> build() {
    TableAddress.required(schema, "DeserializationSchema");
    StoreTable table = address.find();
    if (bounded && table.hasPrimaryKey() && start.mode() != ScanStartupMode.FULL) {
      throw new IllegalArgumentException(
          String.format("A bounded read of primary-key table %s requires full mode: leave the starting offsets out.", table));
    }
    Configuration options = new Configuration(address.options());
    start.addTo(options);
    ScanSettings settings = ScanSettings.of(options, new Configuration(), !bounded);
    return new SluiceSource<>(table, settings, ScanTask.rows(columns(table)), schema, true);
  }

  private RowType columns(StoreTable table) {
    if (projected == null) {
      return table.rowType();
    }
    List<RowType.RowField> fields = new ArrayList<>();
    for (String column : projected) {
      int index = table.rowType().getFieldIndex(column);
      if (index < 0) {
        throw new IllegalArgumentException(
            String.format("Projected field '%s' not found in table schema: %s has %s.", column, table, table.rowType().getFieldNames()));
      }
      fields.add(table.rowType().getFields().get(index));
    }
    return new RowType(false, fields);
  }
}
