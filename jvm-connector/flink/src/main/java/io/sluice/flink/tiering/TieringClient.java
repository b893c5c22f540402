package io.sluice.flink.tiering;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

import io.sluice.flink.ConnectorOptions;
import io.sluice.flink.source.scan.StoreTableClient;
import io.sluice.store.Connection;
import io.sluice.store.ErrorKind;
import io.sluice.store.StoreException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.util.TimeUtils;

/** The calls of {@code docs/jni.md} about tiering, over a connection of its own. */
final class TieringClient implements TieringStore {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String FRESHNESS = "table.datalake.freshness";
  private static final Duration FRESHNESS_DEFAULT = Duration.ofMinutes(3);

  private final Connection connection;
  private final Pattern databases;

  private TieringClient(Connection connection, Pattern databases) {
    this.connection = connection;
    this.databases = databases;
  }

  static TieringClient open(TieringSettings settings) {
    return new TieringClient(Connection.open(settings.connection()), settings.databases());
  }

  @Override
  public List<LakeTable> tables() {
    List<LakeTable> tables = new ArrayList<>();
    for (JsonNode database : call("list_databases", JSON.createObjectNode())) {
      if (databases.matcher(database.asText()).matches()) {
        addTables(database.asText(), tables);
      }
    }
    return tables;
  }

  private void addTables(String database, List<LakeTable> tables) {
    for (JsonNode name : ifThere("list_tables", JSON.createObjectNode().put("database", database))) {
      ObjectPath path = new ObjectPath(database, name.asText());
      JsonNode properties = ifThere("table", at(path)).path("descriptor").path("properties");
      if (Boolean.parseBoolean(properties.path(ConnectorOptions.LAKE_ENABLED).asText("false").trim())) {
        tables.add(new LakeTable(path, freshness(properties.path(FRESHNESS).asText(""))));
      }
    }
  }

  /** The answer, an empty one when what it is about has been dropped since it was listed. */
  private JsonNode ifThere(String operation, ObjectNode arguments) {
    try {
      return call(operation, arguments);
    } catch (StoreException e) {
      if (e.kind() == ErrorKind.NOT_FOUND) {
        return JSON.createObjectNode();
      }
      throw e;
    }
  }

  private static Duration freshness(String text) {
    // The store has checked what stands there.
    return text.isEmpty() ? FRESHNESS_DEFAULT : TimeUtils.parseDuration(text);
  }

  @Override
  public List<BucketWork> work(LakeTable table) {
    List<BucketWork> work = new ArrayList<>();
    for (JsonNode bucket : call("tier_work", at(table.path()))) {
      long end = bucket.required("end").asLong();
      String name = bucket.path("partition_id").asText("") + "/" + bucket.required("bucket").asInt();
      work.add(new BucketWork(name, end - bucket.path("start").asLong(0), end, bucket.toString()));
    }
    return work;
  }

  @Override
  public void commit(LakeTable table, List<Long> parts) {
    ObjectNode arguments = at(table.path());
    parts.forEach(arguments.putArray("parts")::add);
    call("tier_commit", arguments);
  }

  /** Has files of a bucket written. */
  WrittenPart write(TieringSplit split) {
    ObjectNode arguments = JSON.createObjectNode().put("timeout_ms", split.timeoutMs());
    try {
      arguments.set("work", JSON.readTree(split.work()));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("A part of a tiering round is not JSON: " + split, e);
    }
    JsonNode part = call("tier_write", arguments);
    return new WrittenPart(part.required("part").asLong(), part.required("end").asLong(), part.required("rows").asLong());
  }

  private static ObjectNode at(ObjectPath path) {
    ObjectNode arguments = JSON.createObjectNode();
    arguments.putObject("path").put("database", path.getDatabaseName()).put("table", path.getObjectName());
    return arguments;
  }

  private JsonNode call(String operation, ObjectNode arguments) {
    return StoreTableClient.call(connection, operation, arguments);
  }

  @Override
  public void close() {
    connection.close();
  }
}
