package io.sluice.flink.catalog;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

import org.apache.flink.table.api.Schema;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.catalog.WatermarkSpec;

/**
 * Computed columns and the watermark, which the store does not know: they are kept as custom properties of the table, under keys
 * that no user option may have, and put back between the physical columns when the table is read.
 */
final class SchemaProperties {
  private static final String WATERMARK = "schema.watermark.0.";
  private static final Pattern COLUMN_KEY = Pattern.compile("schema\\.\\d+\\.(name|expr|data-type|comment)");

  private SchemaProperties() {}

  /** Returns whether a property's key is one of those that hold a schema's virtual parts. */
  static boolean owns(String key) {
    return key.startsWith(WATERMARK) || COLUMN_KEY.matcher(key).matches();
  }

  /**
   * Returns the properties for the computed columns and the watermark of a schema; empty when it has neither.
   *
   * @throws UnsupportedOperationException naming the column, for a METADATA column
   */
  static Map<String, String> of(ResolvedSchema schema) {
    Map<String, String> properties = new TreeMap<>();
    List<Column> columns = schema.getColumns();
    for (int i = 0; i < columns.size(); i++) {
      Column column = columns.get(i);
      if (column instanceof Column.MetadataColumn) {
        throw new UnsupportedOperationException(String.format("Metadata column '%s' is not supported.", column.getName()));
      }
      if (column instanceof Column.ComputedColumn) {
        Column.ComputedColumn computed = (Column.ComputedColumn) column;
        properties.put(columnKey(i, "name"), computed.getName());
        properties.put(columnKey(i, "expr"), computed.getExpression().asSerializableString());
        properties.put(columnKey(i, "data-type"), computed.getDataType().getLogicalType().asSerializableString());
        int position = i;
        computed.getComment().ifPresent(comment -> properties.put(columnKey(position, "comment"), comment));
      }
    }
    for (WatermarkSpec watermark : schema.getWatermarkSpecs()) {
      properties.put(WATERMARK + "rowtime", watermark.getRowtimeAttribute());
      properties.put(WATERMARK + "strategy.expr", watermark.getWatermarkExpression().asSerializableString());
      properties.put(
          WATERMARK + "strategy.data-type",
          watermark.getWatermarkExpression().getOutputDataType().getLogicalType().asSerializableString());
    }
    return properties;
  }

  private static String columnKey(int position, String part) {
    return "schema." + position + "." + part;
  }

  /**
   * Returns all columns in the order in which the user declared them.
   *
   * @param physical the columns that the store has, in its order
   */
  static List<Schema.UnresolvedColumn> columns(List<Schema.UnresolvedColumn> physical, Map<String, String> properties) {
    List<Schema.UnresolvedColumn> columns = new ArrayList<>(physical);
    // In ascending order of position, so that each insertion finds all columns before it in place.
    TreeMap<Integer, Schema.UnresolvedColumn> computed = new TreeMap<>();
    properties.forEach(
        (key, name) -> {
          if (COLUMN_KEY.matcher(key).matches() && key.endsWith(".name")) {
            int position = Integer.parseInt(key.substring("schema.".length(), key.length() - ".name".length()));
            String expression = properties.get(columnKey(position, "expr"));
            computed.put(position, column(name, expression, properties.get(columnKey(position, "comment"))));
          }
        });
    computed.forEach((position, column) -> columns.add(Math.min(position, columns.size()), column));
    return columns;
  }

  private static Schema.UnresolvedColumn column(String name, String expression, String comment) {
    Schema.Builder one = Schema.newBuilder().columnByExpression(name, expression);
    return (comment == null ? one : one.withComment(comment)).build().getColumns().get(0);
  }

  /** Adds the watermark to a schema, if there is one. */
  static void addWatermark(Schema.Builder schema, Map<String, String> properties) {
    String rowtime = properties.get(WATERMARK + "rowtime");
    String expression = properties.get(WATERMARK + "strategy.expr");
    if (rowtime != null && expression != null) {
      schema.watermark(rowtime, expression);
    }
  }
}
