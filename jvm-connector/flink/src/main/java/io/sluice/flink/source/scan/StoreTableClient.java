package io.sluice.flink.source.scan;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;

import io.sluice.flink.StoreTable;
import io.sluice.flink.partition.TablePartition;
import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.store.Connection;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** A {@link TableClient} over a connection of its own; connections of one process share one store. */
public final class StoreTableClient implements TableClient {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final StoreTable table;
  private final Connection connection;

  private StoreTableClient(StoreTable table, Connection connection) {
    this.table = table;
    this.connection = connection;
  }

  /** Opens a connection for one table. */
  public static StoreTableClient open(StoreTable table) {
    return new StoreTableClient(table, Connection.open(table.connectionOptions()));
  }

  /** The connection beneath, closed with this object. */
  public Connection connection() {
    return connection;
  }

  /** The table's path, as calls want it. */
  public static ObjectNode path(StoreTable table) {
    return JSON.createObjectNode().put("database", table.database()).put("table", table.name());
  }

  @Override
  public long tableId() {
    return info().required("table_id").asLong();
  }

  @Override
  public int bucketCount() {
    return info().required("descriptor").path("bucket_count").asInt(1);
  }

  @Override
  public List<TablePartition> partitions() {
    return partitions("list_partitions");
  }

  @Override
  public boolean hasLake() {
    return table.hasLake();
  }

  @Override
  public List<TablePartition> lakePartitions() {
    return partitions("lake_partitions");
  }

  private List<TablePartition> partitions(String operation) {
    ObjectNode arguments = JSON.createObjectNode();
    arguments.set("path", path(table));
    List<TablePartition> partitions = new ArrayList<>();
    for (JsonNode partition : call(operation, arguments)) {
      List<String> values = new ArrayList<>();
      partition.required("values").forEach(value -> values.add(value.asText()));
      partitions.add(new TablePartition(partition.required("partition_id").asLong(), values, partition.required("bucket_count").asInt()));
    }
    return partitions;
  }

  /** The positions of columns in the table's newest schema. */
  public int[] positions(List<String> columns) {
    JsonNode stored = info().required("descriptor").required("schema").required("columns");
    return columns.stream().mapToInt(name -> position(stored, name)).toArray();
  }

  private int position(JsonNode stored, String name) {
    for (int i = 0; i < stored.size(); i++) {
      if (stored.get(i).required("name").asText().equals(name)) {
        return i;
      }
    }
    throw new IllegalStateException(
        "Table " + table + " no longer has the column '" + name + "' that this job reads. Start the job anew without its savepoint.");
  }

  private JsonNode info() {
    ObjectNode arguments = JSON.createObjectNode();
    arguments.set("path", path(table));
    return call("table", arguments);
  }

  @Override
  public long[] earliestOffsets(List<SluiceSplit> buckets) {
    return offsets(buckets, JSON.getNodeFactory().textNode("earliest"));
  }

  @Override
  public long[] latestOffsets(List<SluiceSplit> buckets) {
    return offsets(buckets, JSON.getNodeFactory().textNode("latest"));
  }

  @Override
  public long[] offsetsAt(List<SluiceSplit> buckets, long timestampMs) {
    return offsets(buckets, JSON.createObjectNode().put("timestamp", timestampMs));
  }

  private long[] offsets(List<SluiceSplit> buckets, JsonNode spec) {
    ObjectNode arguments = JSON.createObjectNode();
    arguments.set("buckets", ids(buckets));
    arguments.set("spec", spec);
    JsonNode offsets = call("list_offsets", arguments);
    return longs(offsets, buckets.size(), "list_offsets");
  }

  @Override
  public OptionalLong rowCount() {
    ObjectNode arguments = JSON.createObjectNode();
    arguments.set("path", path(table));
    JsonNode rows = call("table_stats", arguments).path("row_count");
    return rows.isIntegralNumber() ? OptionalLong.of(rows.asLong()) : OptionalLong.empty();
  }

  @Override
  public long[] acquireSnapshots(List<SluiceSplit> buckets, String lease, long leaseMs) {
    ArrayNode snapshots = JSON.createArrayNode();
    call("acquire_snapshots", lease(buckets, lease).put("lease_ms", leaseMs)).forEach(pair -> snapshots.add(pair.required(0)));
    return longs(snapshots, buckets.size(), "acquire_snapshots");
  }

  @Override
  public void renewLease(String lease, long leaseMs) {
    call("acquire_snapshots", lease(Collections.emptyList(), lease).put("lease_ms", leaseMs));
  }

  @Override
  public void releaseSnapshots(List<SluiceSplit> buckets, String lease) {
    // An empty list would mean all of them.
    if (!buckets.isEmpty()) {
      call("release_snapshots", lease(buckets, lease));
    }
  }

  private static ObjectNode lease(List<SluiceSplit> buckets, String lease) {
    ObjectNode arguments = JSON.createObjectNode();
    arguments.set("buckets", ids(buckets));
    return arguments.put("lease", lease);
  }

  private static ArrayNode ids(List<SluiceSplit> buckets) {
    ArrayNode ids = JSON.createArrayNode();
    buckets.forEach(split -> ids.add(id(split)));
    return ids;
  }

  /** A split's bucket, as calls want it. */
  public static ObjectNode id(SluiceSplit split) {
    ObjectNode id = JSON.createObjectNode().put("table_id", split.tableId());
    if (split.partition().isPresent()) {
      id.put("partition_id", split.partition().getAsLong());
    } else {
      id.putNull("partition_id");
    }
    return id.put("bucket", split.bucket());
  }

  private static long[] longs(JsonNode array, int expected, String operation) {
    if (array.size() != expected) {
      throw new IllegalStateException(operation + " answered " + array.size() + " values for " + expected + " buckets");
    }
    long[] values = new long[expected];
    for (int i = 0; i < expected; i++) {
      values[i] = array.get(i).asLong();
    }
    return values;
  }

  private JsonNode call(String operation, ObjectNode arguments) {
    return call(connection, operation, arguments);
  }

  /** Asks the store; its answer. */
  public static JsonNode call(Connection connection, String operation, ObjectNode arguments) {
    String answer = connection.admin(operation, arguments.toString());
    try {
      return JSON.readTree(answer);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(operation + " answered something that is not JSON: " + answer, e);
    }
  }

  @Override
  public void close() {
    connection.close();
  }
}
