package io.sluice.flink.catalog;

import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

import io.sluice.flink.ConnectorOptions;
import io.sluice.flink.types.TypeMapping;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.CatalogTable;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ResolvedCatalogTable;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.catalog.UniqueConstraint;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.utils.TypeConversions;

/** Flink's description of a table and the store's, one as the other. */
final class TableDescriptors {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private static final String AUTO_PARTITION = "table.auto-partition.enabled";
  private static final String TIME_ZONE = "table.auto-partition.time-zone";

  /** What the catalog was made with. Tables inherit some of it when read and therefore must not store it. */
  private final Map<String, String> catalogOptions;

  TableDescriptors(Map<String, String> catalogOptions) {
    this.catalogOptions = catalogOptions;
  }

  // ---- Flink's to the store's

  /**
   * Returns the descriptor of a table that a user asks for. The store checks it and fills in what is missing.
   *
   * @param table its path, for messages
   * @throws ValidationException naming the option, for a value that cannot be understood
   * @throws UnsupportedOperationException naming the column, for a type or a kind of column that the store does not have
   */
  ObjectNode toJson(ResolvedCatalogTable catalogTable, String table) {
    Map<String, String> options = ownOptions(catalogTable.getOptions(), table);
    ConnectorOptions.checkValues(options);
    ResolvedSchema schema = catalogTable.getResolvedSchema();
    Map<String, String> virtual = SchemaProperties.of(schema);

    ObjectNode json = JSON.objectNode();
    json.put("version", 1);
    ObjectNode schemaJson = json.putObject("schema");
    schemaToJson(schema, schemaJson);
    comment(catalogTable.getComment()).ifPresent(comment -> json.put("comment", comment));
    catalogTable.getPartitionKeys().forEach(json.putArray("partition_key")::add);
    String bucketKey = options.remove(ConnectorOptions.BUCKET_KEY.key());
    if (bucketKey != null) {
      Arrays.stream(bucketKey.split(",", -1)).map(String::trim).forEach(json.putArray("bucket_key")::add);
    }
    String numbered = options.remove(ConnectorOptions.AUTO_INCREMENT_FIELDS.key());
    if (numbered != null) {
      Arrays.stream(numbered.split(",")).map(String::trim).filter(name -> !name.isEmpty())
          .forEach(schemaJson.withArray("auto_increment_column")::add);
    }
    String bucketCount = options.remove(ConnectorOptions.BUCKET_NUMBER.key());
    if (bucketCount != null) {
      json.put("bucket_count", Integer.parseInt(bucketCount.trim()));
    }
    ObjectNode properties = json.putObject("properties");
    ObjectNode custom = json.putObject("custom_properties");
    new TreeMap<>(options).forEach((key, value) -> (key.startsWith(ConnectorOptions.TABLE_PREFIX) ? properties : custom).put(key, value));
    virtual.forEach(custom::put);
    zone(properties);
    return json;
  }

  /** Partitions by the clock follow this JVM's zone unless the table names one; kept, for the next JVM may be elsewhere. */
  private static void zone(ObjectNode properties) {
    if (properties.path(AUTO_PARTITION).asText().trim().equalsIgnoreCase("true") && !properties.has(TIME_ZONE)) {
      properties.put(TIME_ZONE, ZoneId.systemDefault().getId());
    }
  }

  /** The options that are the table's own: without what the catalog adds to each table when it is read. */
  private Map<String, String> ownOptions(Map<String, String> options, String table) {
    Map<String, String> own = new LinkedHashMap<>(options);
    String connector = own.remove(FactoryUtil.CONNECTOR.key());
    if (connector != null && !connector.equals(ConnectorOptions.IDENTIFIER)) {
      throw new ValidationException(
          String.format(
              "This catalog only supports fluss tables, but table %s has 'connector' = '%s'; use CREATE TEMPORARY TABLE for it.",
              table, connector));
    }
    String servers = own.remove(ConnectorOptions.BOOTSTRAP_SERVERS.key());
    if (servers != null && !servers.equals(catalogOptions.get(ConnectorOptions.BOOTSTRAP_SERVERS.key()))) {
      throw new ValidationException(
          String.format("Option 'bootstrap.servers' = '%s' of table %s is not the catalog's; leave it out.", servers, table));
    }
    own.entrySet()
        .removeIf(
            option ->
                option.getKey().startsWith(ConnectorOptions.SECURITY_PREFIX)
                    && option.getValue().equals(catalogOptions.get(option.getKey())));
    for (String key : own.keySet()) {
      if (SchemaProperties.owns(key)) {
        throw new ValidationException(String.format("Option '%s' of table %s is reserved for the table's schema.", key, table));
      }
    }
    return own;
  }

  private static void schemaToJson(ResolvedSchema schema, ObjectNode json) {
    json.put("version", 1);
    ArrayNode columns = json.putArray("columns");
    for (Column column : schema.getColumns()) {
      if (column.isPhysical()) {
        columns.add(columnToJson(column));
      }
    }
    schema.getPrimaryKey().map(UniqueConstraint::getColumns).ifPresent(key -> key.forEach(json.putArray("primary_key")::add));
  }

  /** Returns the JSON of one physical column. */
  static ObjectNode columnToJson(Column column) {
    ObjectNode json = JSON.objectNode();
    json.put("name", column.getName());
    json.set("data_type", TypeMapping.toJson(column.getDataType().getLogicalType(), column.getName()));
    column.getComment().ifPresent(comment -> json.put("comment", comment));
    return json;
  }

  private static Optional<String> comment(String comment) {
    return Optional.ofNullable(comment).filter(text -> !text.isEmpty());
  }

  // ---- the store's to Flink's

  /**
   * Returns the table as Flink sees it, with the options that the connector needs to find the store.
   *
   * @param info a table as the store gives it
   */
  CatalogTable fromJson(JsonNode info) {
    JsonNode descriptor = info.path("descriptor");
    Map<String, String> custom = strings(descriptor.path("custom_properties"));
    return CatalogTable.newBuilder()
        .schema(schemaFromJson(descriptor.path("schema"), custom))
        .comment(descriptor.path("comment").asText(""))
        .partitionKeys(names(descriptor.path("partition_key")))
        .options(options(descriptor, custom))
        .build();
  }

  private static Schema schemaFromJson(JsonNode json, Map<String, String> custom) {
    List<Schema.UnresolvedColumn> physical = new ArrayList<>();
    for (JsonNode column : json.path("columns")) {
      physical.add(columnFromJson(column));
    }
    Schema.Builder schema = Schema.newBuilder().fromColumns(SchemaProperties.columns(physical, custom));
    SchemaProperties.addWatermark(schema, custom);
    List<String> primaryKey = names(json.path("primary_key"));
    if (!primaryKey.isEmpty()) {
      schema.primaryKey(primaryKey);
    }
    return schema.build();
  }

  private static Schema.UnresolvedColumn columnFromJson(JsonNode json) {
    Schema.Builder one =
        Schema.newBuilder()
            .column(json.path("name").asText(), TypeConversions.fromLogicalToDataType(TypeMapping.fromJson(json.path("data_type"))));
    if (json.hasNonNull("comment")) {
      one.withComment(json.path("comment").asText());
    }
    return one.build().getColumns().get(0);
  }

  private Map<String, String> options(JsonNode descriptor, Map<String, String> custom) {
    Map<String, String> options = new HashMap<>();
    catalogOptions.forEach(
        (key, value) -> {
          if (key.equals(ConnectorOptions.BOOTSTRAP_SERVERS.key()) || key.startsWith(ConnectorOptions.SECURITY_PREFIX)) {
            options.put(key, value);
          }
        });
    options.put(ConnectorOptions.BUCKET_NUMBER.key(), descriptor.path("bucket_count").asText("1"));
    List<String> bucketKey = names(descriptor.path("bucket_key"));
    // The key that the store fills in by itself is left out: CREATE TABLE LIKE would carry it to a table with another primary key.
    if (!bucketKey.isEmpty() && !bucketKey.equals(defaultBucketKey(descriptor))) {
      options.put(ConnectorOptions.BUCKET_KEY.key(), String.join(",", bucketKey));
    }
    List<String> numbered = names(descriptor.path("schema").path("auto_increment_column"));
    if (!numbered.isEmpty()) {
      options.put(ConnectorOptions.AUTO_INCREMENT_FIELDS.key(), String.join(",", numbered));
    }
    options.putAll(strings(descriptor.path("properties")));
    descriptor.path("schema").path("columns").forEach(column -> addFunction(options, column));
    custom.forEach(
        (key, value) -> {
          if (!SchemaProperties.owns(key)) {
            options.put(key, value);
          }
        });
    return options;
  }

  /** A column's aggregation function in the form in which CREATE TABLE names it; a table made elsewhere has it in its schema alone. */
  private static void addFunction(Map<String, String> options, JsonNode column) {
    JsonNode function = column.path("agg_function");
    if (!function.isMissingNode()) {
      String field = "fields." + column.path("name").asText() + ".";
      String name = function.path("type").asText();
      options.put(field + "agg", name);
      strings(function.path("parameters")).forEach((parameter, value) -> options.put(field + name + "." + parameter, value));
    }
  }

  private static List<String> defaultBucketKey(JsonNode descriptor) {
    List<String> partitionKey = names(descriptor.path("partition_key"));
    return names(descriptor.path("schema").path("primary_key")).stream()
        .filter(column -> !partitionKey.contains(column))
        .collect(Collectors.toList());
  }

  /** Returns a JSON array of strings as a list. */
  static List<String> names(JsonNode array) {
    List<String> names = new ArrayList<>();
    array.forEach(name -> names.add(name.asText()));
    return names;
  }

  /** Returns a JSON object of strings as a map. */
  static Map<String, String> strings(JsonNode object) {
    Map<String, String> strings = new TreeMap<>();
    object.fields().forEachRemaining(member -> strings.put(member.getKey(), member.getValue().asText()));
    return strings;
  }
}
