package io.sluice.flink.types;

import java.util.ArrayList;
import java.util.List;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.table.types.logical.ArrayType;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.BinaryType;
import org.apache.flink.table.types.logical.BooleanType;
import org.apache.flink.table.types.logical.CharType;
import org.apache.flink.table.types.logical.DateType;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.DoubleType;
import org.apache.flink.table.types.logical.FloatType;
import org.apache.flink.table.types.logical.IntType;
import org.apache.flink.table.types.logical.LocalZonedTimestampType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.MapType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.SmallIntType;
import org.apache.flink.table.types.logical.TimeType;
import org.apache.flink.table.types.logical.TimestampType;
import org.apache.flink.table.types.logical.TinyIntType;
import org.apache.flink.table.types.logical.VarBinaryType;
import org.apache.flink.table.types.logical.VarCharType;

/**
 * Flink's types and the JSON in which a schema crosses to the store, one as the other. The two agree on every type that the store
 * has, except that a MAP's key, which the store never lets be NULL, is nullable on Flink's side: Flink would otherwise refuse to
 * insert a map whose key type does not say NOT NULL.
 */
public final class TypeMapping {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private TypeMapping() {}

  /**
   * Returns the JSON of a column's type.
   *
   * @param column the column's name, for the message
   * @throws UnsupportedOperationException naming the column and the type when the store has no such type
   */
  public static ObjectNode toJson(LogicalType type, String column) {
    ObjectNode json = JSON.objectNode();
    switch (type.getTypeRoot()) {
      case BOOLEAN:
        json.put("type", "BOOLEAN");
        break;
      case TINYINT:
        json.put("type", "TINYINT");
        break;
      case SMALLINT:
        json.put("type", "SMALLINT");
        break;
      case INTEGER:
        json.put("type", "INTEGER");
        break;
      case BIGINT:
        json.put("type", "BIGINT");
        break;
      case FLOAT:
        json.put("type", "FLOAT");
        break;
      case DOUBLE:
        json.put("type", "DOUBLE");
        break;
      case DATE:
        json.put("type", "DATE");
        break;
      case CHAR:
        json.put("type", "CHAR").put("length", ((CharType) type).getLength());
        break;
      case BINARY:
        json.put("type", "BINARY").put("length", ((BinaryType) type).getLength());
        break;
      case DECIMAL:
        json.put("type", "DECIMAL")
            .put("precision", ((DecimalType) type).getPrecision())
            .put("scale", ((DecimalType) type).getScale());
        break;
      case TIME_WITHOUT_TIME_ZONE:
        json.put("type", "TIME_WITHOUT_TIME_ZONE").put("precision", ((TimeType) type).getPrecision());
        break;
      case TIMESTAMP_WITHOUT_TIME_ZONE:
        json.put("type", "TIMESTAMP_WITHOUT_TIME_ZONE").put("precision", ((TimestampType) type).getPrecision());
        break;
      case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
        json.put("type", "TIMESTAMP_WITH_LOCAL_TIME_ZONE").put("precision", ((LocalZonedTimestampType) type).getPrecision());
        break;
      case VARCHAR:
        requireUnbounded(((VarCharType) type).getLength() == VarCharType.MAX_LENGTH, type, "STRING", column);
        json.put("type", "STRING");
        break;
      case VARBINARY:
        requireUnbounded(((VarBinaryType) type).getLength() == VarBinaryType.MAX_LENGTH, type, "BYTES", column);
        json.put("type", "BYTES");
        break;
      case ARRAY:
        json.put("type", "ARRAY").set("element_type", toJson(((ArrayType) type).getElementType(), column));
        break;
      case MAP:
        json.put("type", "MAP").set("key_type", toJson(((MapType) type).getKeyType().copy(false), column));
        json.set("value_type", toJson(((MapType) type).getValueType(), column));
        break;
      case ROW:
        json.put("type", "ROW").set("fields", fieldsToJson((RowType) type, column));
        break;
      default:
        throw new UnsupportedOperationException(String.format("Unsupported data type %s of column '%s'.", summary(type), column));
    }
    return type.isNullable() ? json : json.put("nullable", false);
  }

  private static void requireUnbounded(boolean unbounded, LogicalType type, String instead, String column) {
    if (!unbounded) {
      throw new UnsupportedOperationException(
          String.format("Unsupported data type %s of column '%s'; use %s instead.", summary(type), column, instead));
    }
  }

  private static String summary(LogicalType type) {
    return type.copy(true).asSummaryString();
  }

  private static ArrayNode fieldsToJson(RowType row, String column) {
    ArrayNode fields = JSON.arrayNode();
    for (RowType.RowField field : row.getFields()) {
      ObjectNode json = fields.addObject();
      json.put("name", field.getName());
      json.set("field_type", toJson(field.getType(), column + "." + field.getName()));
      json.put("field_id", -1);
      field.getDescription().ifPresent(description -> json.put("description", description));
    }
    return fields;
  }

  /**
   * Returns the type behind a JSON that the store gave.
   *
   * @throws UnsupportedOperationException naming the type when this version does not know it
   */
  public static LogicalType fromJson(JsonNode json) {
    boolean nullable = json.path("nullable").asBoolean(true);
    String root = json.path("type").asText();
    switch (root) {
      case "BOOLEAN":
        return new BooleanType(nullable);
      case "TINYINT":
        return new TinyIntType(nullable);
      case "SMALLINT":
        return new SmallIntType(nullable);
      case "INTEGER":
        return new IntType(nullable);
      case "BIGINT":
        return new BigIntType(nullable);
      case "FLOAT":
        return new FloatType(nullable);
      case "DOUBLE":
        return new DoubleType(nullable);
      case "DATE":
        return new DateType(nullable);
      case "CHAR":
        return new CharType(nullable, json.path("length").asInt());
      case "BINARY":
        return new BinaryType(nullable, json.path("length").asInt());
      case "DECIMAL":
        return new DecimalType(nullable, json.path("precision").asInt(), json.path("scale").asInt());
      case "TIME_WITHOUT_TIME_ZONE":
        return new TimeType(nullable, json.path("precision").asInt());
      case "TIMESTAMP_WITHOUT_TIME_ZONE":
        return new TimestampType(nullable, json.path("precision").asInt());
      case "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
        return new LocalZonedTimestampType(nullable, json.path("precision").asInt());
      case "STRING":
        return new VarCharType(nullable, VarCharType.MAX_LENGTH);
      case "BYTES":
        return new VarBinaryType(nullable, VarBinaryType.MAX_LENGTH);
      case "ARRAY":
        return new ArrayType(nullable, fromJson(json.path("element_type")));
      case "MAP":
        return new MapType(nullable, fromJson(json.path("key_type")).copy(true), fromJson(json.path("value_type")));
      case "ROW":
        return new RowType(nullable, fieldsFromJson(json.path("fields")));
      default:
        throw new UnsupportedOperationException(String.format("The store has a data type '%s' that this version does not know.", root));
    }
  }

  private static List<RowType.RowField> fieldsFromJson(JsonNode fields) {
    List<RowType.RowField> result = new ArrayList<>();
    for (JsonNode field : fields) {
      JsonNode description = field.get("description");
      result.add(
          new RowType.RowField(
              field.path("name").asText(), fromJson(field.path("field_type")), description == null ? null : description.asText()));
    }
    return result;
  }
}
