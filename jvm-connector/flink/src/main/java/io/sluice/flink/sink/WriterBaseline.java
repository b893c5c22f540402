package io.sluice.flink.sink;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import io.sluice.flink.StoreTable;
import io.sluice.flink.source.scan.StoreTableClient;
import io.sluice.store.Connection;
import io.sluice.store.ErrorKind;
import io.sluice.store.StoreException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** What the store knows of a job's beginning and of where a table's buckets end now. */
final class WriterBaseline {
  private static final ObjectMapper JSON = new ObjectMapper();
  /** How often partitions may be dropped while they are asked about. */
  private static final int TRIES = 10;

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

  /** Where each bucket ended when the producer asked for the first time. Those of partitions made since are not among them. */
  Map<BucketId, Long> atStart(String producer) {
    Map<BucketId, Long> offsets = new HashMap<>();
    for (JsonNode entry : call("producer_offsets", path().put("producer", producer))) {
      Long partition = entry.get(0).isNull() ? null : (Long) entry.get(0).asLong();
      offsets.put(new BucketId(partition, entry.get(1).asInt()), entry.get(2).asLong());
    }
    return offsets;
  }

  /** The buckets of some numbers, in all partitions that are there now. */
  List<BucketId> buckets(List<Integer> numbers) {
    List<Long> partitions = new ArrayList<>();
    if (table.partitionKeys().isEmpty()) {
      partitions = Collections.singletonList(null);
    } else {
      for (JsonNode partition : call("list_partitions", path())) {
        partitions.add(partition.required("partition_id").asLong());
      }
    }
    List<BucketId> buckets = new ArrayList<>();
    partitions.forEach(partition -> numbers.forEach(number -> buckets.add(new BucketId(partition, number))));
    return buckets;
  }

  /** Says that one of the producer's parts has ended well. */
  void ended(String producer, int part, int parts) {
    call("end_producer", path().put("producer", producer).put("part", part).put("parts", parts));
  }

  /** Where the buckets of some numbers end now, in all partitions. */
  Map<BucketId, Long> now(List<Integer> numbers) {
    for (int tries = 1; ; tries++) {
      try {
        return ends(buckets(numbers));
      } catch (StoreException e) {
        // A partition was dropped between the two questions.
        if (e.kind() != ErrorKind.NOT_FOUND || tries == TRIES) {
          throw e;
        }
      }
    }
  }

  private Map<BucketId, Long> ends(List<BucketId> buckets) {
    ObjectNode arguments = JSON.createObjectNode().put("spec", "latest");
    ArrayNode ids = arguments.putArray("buckets");
    buckets.forEach(bucket -> ids.add(id(bucket)));
    JsonNode ends = call("list_offsets", arguments);
    Map<BucketId, Long> offsets = new LinkedHashMap<>();
    for (int i = 0; i < buckets.size(); i++) {
      offsets.put(buckets.get(i), ends.get(i).asLong());
    }
    return offsets;
  }

  /** A bucket as calls want it. */
  ObjectNode id(BucketId bucket) {
    return JSON.createObjectNode().put("table_id", tableId).put("partition_id", bucket.partition).put("bucket", bucket.bucket);
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
