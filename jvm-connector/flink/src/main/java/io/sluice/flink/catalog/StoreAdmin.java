package io.sluice.flink.catalog;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import io.sluice.store.Connection;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.table.catalog.ObjectPath;

/** The store's admin calls that a catalog needs, with their arguments' names. Every call throws {@link io.sluice.store.StoreException}. */
final class StoreAdmin implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Connection connection;

  StoreAdmin(Connection connection) {
    this.connection = connection;
  }

  List<String> listDatabases() {
    return TableDescriptors.names(call("list_databases", JSON.createObjectNode()));
  }

  /** Returns a database's descriptor. */
  JsonNode database(String name) {
    return call("database", JSON.createObjectNode().put("name", name)).path("descriptor");
  }

  void createDatabase(String name, JsonNode descriptor, boolean ignoreIfExists) {
    ObjectNode arguments = JSON.createObjectNode().put("name", name).put("ignore_if_exists", ignoreIfExists);
    arguments.set("descriptor", descriptor);
    call("create_database", arguments);
  }

  /** Sets properties of a database; JSON null removes one. */
  void alterDatabase(String name, JsonNode changes) {
    ObjectNode arguments = JSON.createObjectNode().put("name", name);
    arguments.set("changes", changes);
    call("alter_database", arguments);
  }

  void dropDatabase(String name, boolean ignoreIfMissing, boolean cascade) {
    call("drop_database", JSON.createObjectNode().put("name", name).put("ignore_if_missing", ignoreIfMissing).put("cascade", cascade));
  }

  List<String> listTables(String database) {
    return TableDescriptors.names(call("list_tables", JSON.createObjectNode().put("database", database)));
  }

  /** Returns a table with its newest schema. */
  JsonNode table(ObjectPath path) {
    return call("table", at(path));
  }

  void createTable(ObjectPath path, JsonNode descriptor, boolean ignoreIfExists) {
    call("create_table", at(path).put("ignore_if_exists", ignoreIfExists).set("descriptor", descriptor));
  }

  void alterTable(ObjectPath path, ArrayNode changes, boolean ignoreIfMissing) {
    call("alter_table", at(path).put("ignore_if_missing", ignoreIfMissing).set("changes", changes));
  }

  void dropTable(ObjectPath path, boolean ignoreIfMissing) {
    call("drop_table", at(path).put("ignore_if_missing", ignoreIfMissing));
  }

  /** Returns the views of a database. */
  List<String> listViews(String database) {
    return TableDescriptors.names(call("list_views", JSON.createObjectNode().put("database", database)));
  }

  /** Returns a view. */
  JsonNode view(ObjectPath path) {
    return call("view", at(path));
  }

  void createView(ObjectPath path, JsonNode descriptor, boolean ignoreIfExists) {
    call("create_view", at(path).put("ignore_if_exists", ignoreIfExists).set("descriptor", descriptor));
  }

  void alterView(ObjectPath path, JsonNode descriptor, boolean ignoreIfMissing) {
    call("alter_view", at(path).put("ignore_if_missing", ignoreIfMissing).set("descriptor", descriptor));
  }

  void renameView(ObjectPath path, String newName, boolean ignoreIfMissing) {
    call("rename_view", at(path).put("new_name", newName).put("ignore_if_missing", ignoreIfMissing));
  }

  void dropView(ObjectPath path, boolean ignoreIfMissing) {
    call("drop_view", at(path).put("ignore_if_missing", ignoreIfMissing));
  }

  /** Returns what Paimon's own catalog of the store's lake is opened with; empty when the store has none. */
  Optional<Map<String, String>> lakeOptions() {
    JsonNode options = call("lake_options", JSON.createObjectNode());
    return options.isNull() ? Optional.empty() : Optional.of(TableDescriptors.strings(options));
  }

  /** Brings what a table holds now into the lake, in the calling thread; returns the lake's snapshot, null when there is nothing to bring. */
  Long tier(ObjectPath path, long timeoutMs) {
    JsonNode snapshot = call("tier", at(path).put("timeout_ms", timeoutMs)).path("snapshot");
    return snapshot.isIntegralNumber() ? snapshot.asLong() : null;
  }

  /** Allows somebody something. */
  void addRule(JsonNode rule) {
    ObjectNode arguments = JSON.createObjectNode();
    arguments.putArray("rules").add(rule);
    call("add_rules", arguments);
  }

  /** Takes back what rules allow. */
  void dropRules(JsonNode filter) {
    call("drop_rules", JSON.createObjectNode().set("filter", filter));
  }

  /** Returns the rules that a filter means. */
  List<JsonNode> listRules(JsonNode filter) {
    List<JsonNode> rules = new ArrayList<>();
    call("list_rules", JSON.createObjectNode().set("filter", filter)).forEach(rules::add);
    return rules;
  }

  void createPartition(ObjectPath path, Map<String, String> spec, boolean ignoreIfExists) {
    call("create_partition", at(path, spec).put("ignore_if_exists", ignoreIfExists));
  }

  void dropPartition(ObjectPath path, Map<String, String> spec, boolean ignoreIfMissing) {
    call("drop_partition", at(path, spec).put("ignore_if_missing", ignoreIfMissing));
  }

  /** Returns the partitions that have some values, which need not name every partition column. */
  JsonNode listPartitions(ObjectPath path, Map<String, String> spec) {
    return call("list_partitions", at(path, spec));
  }

  private static ObjectNode at(ObjectPath path, Map<String, String> spec) {
    ObjectNode arguments = at(path);
    spec.forEach(arguments.putObject("spec")::put);
    return arguments;
  }

  private static ObjectNode at(ObjectPath path) {
    ObjectNode arguments = JSON.createObjectNode();
    arguments.putObject("path").put("database", path.getDatabaseName()).put("table", path.getObjectName());
    return arguments;
  }

  private JsonNode call(String operation, ObjectNode arguments) {
    String answer = connection.admin(operation, arguments.toString());
    try {
      return JSON.readTree(answer);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("The store's answer to " + operation + " is not JSON: " + answer, e);
    }
  }

  @Override
  public void close() {
    connection.close();
  }
}
