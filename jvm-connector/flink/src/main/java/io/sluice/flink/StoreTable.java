package io.sluice.flink;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.CatalogTable;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.catalog.ResolvedCatalogTable;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.flink.table.types.logical.RowType;

/**
 * A table as a query sees it: where it is, how to reach it, its physical columns and what places a row. Made once by the factory, then
 * carried to the tasks.
 */
public final class StoreTable implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String database;
  private final String name;
  private final Map<String, String> connectionOptions;
  private final Map<String, String> options;
  private final RowType rowType;
  private final int[] primaryKey;
  private final int[] bucketKey;
  private final int bucketCount;
  private final List<String> partitionKeys;

  private StoreTable(
      ObjectPath path,
      Map<String, String> connectionOptions,
      CatalogTable table,
      RowType rowType,
      int[] primaryKey,
      Map<String, String> hints) {
    this.database = path.getDatabaseName();
    this.name = path.getObjectName();
    this.connectionOptions = connectionOptions;
    this.options = new LinkedHashMap<>(table.getOptions());
    options.putAll(hints);
    this.rowType = rowType;
    this.primaryKey = primaryKey;
    this.partitionKeys = List.copyOf(table.getPartitionKeys());
    this.bucketKey = resolveBucketKey();
    this.bucketCount = Integer.parseInt(options.getOrDefault(ConnectorOptions.BUCKET_NUMBER.key(), "1").trim());
  }

  /**
   * The table of a factory's context.
   *
   * @param catalogOptions what the catalog was made with; may be empty, the table's own {@code bootstrap.servers} and {@code client.*} win
   */
  public static StoreTable of(DynamicTableFactory.Context context, Map<String, String> catalogOptions) {
    ResolvedCatalogTable table = context.getCatalogTable();
    Map<String, String> connection = new LinkedHashMap<>(catalogOptions);
    table.getOptions()
        .forEach(
            (key, value) -> {
              if (key.startsWith(ConnectorOptions.CLIENT_PREFIX) || key.equals(ConnectorOptions.BOOTSTRAP_SERVERS.key())) {
                connection.put(key, value);
              }
            });
    RowType rowType = (RowType) context.getPhysicalRowDataType().getLogicalType();
    ObjectPath path = context.getObjectIdentifier().toObjectPath();
    return new StoreTable(path, connection, table, rowType, context.getPrimaryKeyIndexes(), Map.of());
  }

  /**
   * A table that a catalog has described.
   *
   * @param connectionOptions what a connection is opened with
   * @param rowType its physical columns
   * @param primaryKey names of the columns of its key; empty for a log table
   * @param hints options for this use of it
   */
  public static StoreTable of(
      ObjectPath path,
      Map<String, String> connectionOptions,
      CatalogTable table,
      RowType rowType,
      List<String> primaryKey,
      Map<String, String> hints) {
    int[] key = primaryKey.stream().mapToInt(rowType::getFieldIndex).toArray();
    return new StoreTable(path, new LinkedHashMap<>(connectionOptions), table, rowType, key, hints);
  }

  private int[] resolveBucketKey() {
    String named = options.get(ConnectorOptions.BUCKET_KEY.key());
    if (named == null) {
      return Arrays.stream(primaryKey).filter(i -> !partitionKeys.contains(rowType.getFieldNames().get(i))).toArray();
    }
    return Arrays.stream(named.split(",")).map(String::trim).mapToInt(this::indexOf).toArray();
  }

  private int indexOf(String column) {
    int index = rowType.getFieldIndex(column);
    if (index < 0) {
      throw new ValidationException(String.format("Table %s has no column '%s', which 'bucket.key' names.", this, column));
    }
    return index;
  }

  public String database() {
    return database;
  }

  public String name() {
    return name;
  }

  /** Options to open a connection with: the catalog's, and the table's {@code client.*}. */
  public Map<String, String> connectionOptions() {
    return Collections.unmodifiableMap(connectionOptions);
  }

  /** All options of the table, hints included. */
  public Map<String, String> options() {
    return Collections.unmodifiableMap(options);
  }

  /** The physical columns in the order of the table's schema. */
  public RowType rowType() {
    return rowType;
  }

  /** Positions of the primary key's columns in {@link #rowType()}, in key order; empty for a log table. */
  public int[] primaryKey() {
    return primaryKey.clone();
  }

  public boolean hasPrimaryKey() {
    return primaryKey.length > 0;
  }

  /** Where its rows are. */
  public TableKind kind() {
    if (hasPrimaryKey()) {
      return TableKind.PRIMARY_KEY;
    }
    return hasLake() ? TableKind.LOG_WITH_LAKE : TableKind.LOG;
  }

  /** Whether its rows flow on into the lake. */
  public boolean hasLake() {
    return Boolean.parseBoolean(options.get(ConnectorOptions.LAKE_ENABLED));
  }

  /** Positions of the bucket key's columns in the order in which they are hashed; empty when rows have no home bucket. */
  public int[] bucketKey() {
    return bucketKey.clone();
  }

  /** Number of buckets, of each partition if the table has partitions. */
  public int bucketCount() {
    return bucketCount;
  }

  /** The name of the column that the store numbers by itself. */
  public Optional<String> autoIncrement() {
    return Optional.ofNullable(options.get(ConnectorOptions.AUTO_INCREMENT_FIELDS.key())).map(String::trim).filter(name -> !name.isEmpty());
  }

  /** Names of the partition columns; empty when the table has none. */
  public List<String> partitionKeys() {
    return partitionKeys;
  }

  public boolean isPartitioned() {
    return !partitionKeys.isEmpty();
  }

  /** {@code database.table}, for messages. */
  @Override
  public String toString() {
    return database + "." + name;
  }
}
