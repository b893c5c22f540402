package io.sluice.flink.catalog;

import java.util.List;
import java.util.Map;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.TableException;
import org.apache.flink.table.catalog.CatalogView;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ResolvedCatalogView;
import org.apache.flink.table.types.logical.LocalZonedTimestampType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.TimestampKind;
import org.apache.flink.table.types.logical.TimestampType;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.apache.flink.table.types.utils.TypeConversions;

/** Flink's description of a view and the store's, one as the other. The store keeps types as text, for views have types that tables have not. */
final class ViewDescriptors {
  /** What follows the type of a column that is a time attribute: without it a window over the view would find no time. */
  private static final String ROWTIME = " *ROWTIME*";

  private static final String PROCTIME = " *PROCTIME*";

  private ViewDescriptors() {}

  /**
   * Returns the descriptor of a view.
   *
   * @throws UnsupportedOperationException naming the column, for a type that has no text
   */
  static ObjectNode toJson(ResolvedCatalogView view) {
    ObjectNode json = JsonNodeFactory.instance.objectNode().put("version", 1);
    ArrayNode columns = json.putArray("columns");
    for (Column column : view.getResolvedSchema().getColumns()) {
      ObjectNode one = columns.addObject().put("name", column.getName()).put("data_type", typeToText(column));
      column.getComment().ifPresent(comment -> one.put("comment", comment));
    }
    if (view.getComment() != null && !view.getComment().isEmpty()) {
      json.put("comment", view.getComment());
    }
    json.put("original_query", view.getOriginalQuery()).put("expanded_query", view.getExpandedQuery());
    ObjectNode properties = json.putObject("properties");
    view.getOptions().forEach(properties::put);
    return json;
  }

  private static String typeToText(Column column) {
    LogicalType type = column.getDataType().getLogicalType();
    try {
      if (LogicalTypeChecks.isRowtimeAttribute(type)) {
        return type.asSerializableString() + ROWTIME;
      }
      return type.asSerializableString() + (LogicalTypeChecks.isProctimeAttribute(type) ? PROCTIME : "");
    } catch (TableException e) {
      throw new UnsupportedOperationException(
          String.format(
              "Column '%s' of the view has type %s, which cannot be kept in a catalog; use CREATE TEMPORARY VIEW.",
              column.getName(), type.asSummaryString()),
          e);
    }
  }

  /**
   * Returns the view as Flink sees it.
   *
   * @param info a view as the store gives it
   */
  static CatalogView fromJson(JsonNode info) {
    JsonNode descriptor = info.path("descriptor");
    Schema.Builder schema = Schema.newBuilder();
    for (JsonNode column : descriptor.path("columns")) {
      schema.column(
          column.path("name").asText(), TypeConversions.fromLogicalToDataType(typeFromText(column.path("data_type").asText())));
      if (column.hasNonNull("comment")) {
        schema.withComment(column.path("comment").asText());
      }
    }
    Map<String, String> properties = TableDescriptors.strings(descriptor.path("properties"));
    return CatalogView.of(
        schema.build(),
        descriptor.path("comment").asText(""),
        descriptor.path("original_query").asText(),
        descriptor.path("expanded_query").asText(),
        properties);
  }

  private static LogicalType typeFromText(String text) {
    for (String suffix : List.of(ROWTIME, PROCTIME)) {
      if (text.endsWith(suffix)) {
        TimestampKind kind = suffix.equals(ROWTIME) ? TimestampKind.ROWTIME : TimestampKind.PROCTIME;
        return withKind(parse(text.substring(0, text.length() - suffix.length())), kind);
      }
    }
    return parse(text);
  }

  private static LogicalType parse(String text) {
    return LogicalTypeParser.parse(text, Thread.currentThread().getContextClassLoader());
  }

  private static LogicalType withKind(LogicalType type, TimestampKind kind) {
    int precision = LogicalTypeChecks.getPrecision(type);
    return type instanceof TimestampType
        ? new TimestampType(type.isNullable(), kind, precision)
        : new LocalZonedTimestampType(type.isNullable(), kind, precision);
  }
}
