package io.sluice.flink.sink;

import java.util.Map;
import java.util.TreeMap;

import io.sluice.flink.StoreTable;
import io.sluice.flink.source.scan.StoreTableClient;
import io.sluice.store.Connection;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** What the store knows of a job's beginning and of where a table's buckets end now. */
final class WriterBaseline {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final StoreTable table;
  private final Connection connection;
  private final long tableId;

  WriterBaseline(StoreTable table, Connection connection) {
    this.table = table;
    this.connection = connection;
    this.tableId = call("table", path()).required("table_id").asLong();
  }

  long tableId() {
    return tableId;
  }

  /** Where each bucket ended when the producer asked for the first time. */
  Map<Integer, Long> atStart(String producer) {
    Map<Integer, Long> offsets = new TreeMap<>();
    call("producer_offsets", path().put("producer", producer)).forEach(pair -> offsets.put(pair.get(0).asInt(), pair.get(1).asLong()));
    return offsets;
  }

  /** Says that one of the producer's parts has ended well. */
  void ended(String producer, int part, int parts) {
    call("end_producer", path().put("producer", producer).put("part", part).put("parts", parts));
  }

  /** Where some buckets end now. */
  Map<Integer, Long> now(Iterable<Integer> buckets) {
    ObjectNode arguments = JSON.createObjectNode().put("spec", "latest");
    ArrayNode ids = arguments.putArray("buckets");
    buckets.forEach(bucket -> ids.add(id(bucket)));
    JsonNode ends = call("list_offsets", arguments);
    Map<Integer, Long> offsets = new TreeMap<>();
    int next = 0;
    for (int bucket : buckets) {
      offsets.put(bucket, ends.get(next++).asLong());
    }
    return offsets;
  }

  /** A bucket as calls want it. */
  ObjectNode id(int bucket) {
    return JSON.createObjectNode().put("table_id", tableId).putNull("partition_id").put("bucket", bucket);
  }

  private ObjectNode path() {
    ObjectNode arguments = JSON.createObjectNode();
    arguments.set("path", StoreTableClient.path(table));
    return arguments;
  }

  private JsonNode call(String operation, ObjectNode arguments) {
    return StoreTableClient.call(connection, operation, arguments);
  }
}
