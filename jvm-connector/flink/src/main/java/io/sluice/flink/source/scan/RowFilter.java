package io.sluice.flink.source.scan;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.table.expressions.CallExpression;
import org.apache.flink.table.expressions.FieldReferenceExpression;
import org.apache.flink.table.expressions.ResolvedExpression;
import org.apache.flink.table.expressions.ValueLiteralExpression;
import org.apache.flink.table.functions.BuiltInFunctionDefinitions;
import org.apache.flink.table.functions.FunctionDefinition;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeFamily;
import org.apache.flink.table.types.logical.LogicalTypeRoot;
import org.apache.flink.table.types.logical.RowType;

/**
 * A query's filters in the store's words, so that it need not read what cannot meet them. The filters stay in the plan, so what is not
 * understood here, or not exactly, is sent as unknown and costs speed, never a row.
 */
public final class RowFilter {
  /** Deeper conditions are sent as unknown: the store reads them by recursion. */
  private static final int DEPTH_MAX = 30;

  private static final JsonNode UNKNOWN = JsonNodeFactory.instance.textNode("unknown");

  private static final Map<FunctionDefinition, String> COMPARISONS =
      Map.of(
          BuiltInFunctionDefinitions.EQUALS, "=",
          BuiltInFunctionDefinitions.NOT_EQUALS, "<>",
          BuiltInFunctionDefinitions.LESS_THAN, "<",
          BuiltInFunctionDefinitions.LESS_THAN_OR_EQUAL, "<=",
          BuiltInFunctionDefinitions.GREATER_THAN, ">",
          BuiltInFunctionDefinitions.GREATER_THAN_OR_EQUAL, ">=");

  private static final Map<String, String> MIRRORED = Map.of("=", "=", "<>", "<>", "<", ">", "<=", ">=", ">", "<", ">=", "<=");

  private final RowType rowType;

  private RowFilter(RowType rowType) {
    this.rowType = rowType;
  }

  /** What the store is asked, and the filters of which that is made. */
  public static final class Pushed {
    private final String json;
    private final List<ResolvedExpression> filters;

    private Pushed(String json, List<ResolvedExpression> filters) {
      this.json = json;
      this.filters = filters;
    }

    /** The condition as the store reads it. */
    public String json() {
      return json;
    }

    /** The filters that the condition speaks of. */
    public List<ResolvedExpression> filters() {
      return filters;
    }
  }

  /**
   * Translates filters, all of which must hold.
   *
   * @param rowType the table's columns
   * @return empty when none is understood
   */
  public static Optional<Pushed> of(RowType rowType, List<ResolvedExpression> filters) {
    RowFilter translation = new RowFilter(rowType);
    ArrayNode all = JsonNodeFactory.instance.arrayNode();
    List<ResolvedExpression> used = new ArrayList<>();
    for (ResolvedExpression filter : filters) {
      JsonNode json = translation.condition(filter, 1);
      if (json != UNKNOWN) {
        all.add(json);
        used.add(filter);
      }
    }
    return used.isEmpty() ? Optional.empty() : Optional.of(new Pushed(object("and", all).toString(), used));
  }

  private static ObjectNode object(String key, JsonNode value) {
    ObjectNode object = JsonNodeFactory.instance.objectNode();
    object.set(key, value);
    return object;
  }

  private JsonNode condition(ResolvedExpression expression, int depth) {
    if (depth > DEPTH_MAX) {
      return UNKNOWN;
    }
    if (expression instanceof FieldReferenceExpression) {
      // A BOOLEAN column by itself.
      JsonNode yes = object("boolean", JsonNodeFactory.instance.booleanNode(true));
      return column(expression).map(column -> compare(column, "=", yes)).orElse(UNKNOWN);
    }
    return expression instanceof CallExpression ? call((CallExpression) expression, depth) : UNKNOWN;
  }

  private JsonNode call(CallExpression call, int depth) {
    FunctionDefinition function = call.getFunctionDefinition();
    List<ResolvedExpression> children = call.getResolvedChildren();
    if (function == BuiltInFunctionDefinitions.AND || function == BuiltInFunctionDefinitions.OR) {
      return several(function == BuiltInFunctionDefinitions.AND ? "and" : "or", children, depth);
    }
    if (function == BuiltInFunctionDefinitions.NOT) {
      return not(condition(children.get(0), depth + 1));
    }
    if (function == BuiltInFunctionDefinitions.IS_NULL || function == BuiltInFunctionDefinitions.IS_NOT_NULL) {
      JsonNode isNull = isNull(children.get(0));
      return function == BuiltInFunctionDefinitions.IS_NULL ? isNull : not(isNull);
    }
    if (function == BuiltInFunctionDefinitions.IN) {
      return in(children);
    }
    if (function == BuiltInFunctionDefinitions.BETWEEN || function == BuiltInFunctionDefinitions.NOT_BETWEEN) {
      JsonNode between = between(children);
      return function == BuiltInFunctionDefinitions.BETWEEN ? between : not(between);
    }
    String comparison = COMPARISONS.get(function);
    return comparison == null ? truth(function, children, depth) : compare(children, comparison);
  }

  private JsonNode truth(FunctionDefinition function, List<ResolvedExpression> children, int depth) {
    if (function == BuiltInFunctionDefinitions.IS_TRUE || function == BuiltInFunctionDefinitions.IS_NOT_TRUE) {
      JsonNode isTrue = isTrue(condition(children.get(0), depth + 1));
      return function == BuiltInFunctionDefinitions.IS_TRUE ? isTrue : not(isTrue);
    }
    if (function == BuiltInFunctionDefinitions.IS_FALSE || function == BuiltInFunctionDefinitions.IS_NOT_FALSE) {
      JsonNode isFalse = isTrue(not(condition(children.get(0), depth + 1)));
      return function == BuiltInFunctionDefinitions.IS_FALSE ? isFalse : not(isFalse);
    }
    return UNKNOWN;
  }

  private static JsonNode not(JsonNode condition) {
    return condition == UNKNOWN ? UNKNOWN : object("not", condition);
  }

  private static JsonNode isTrue(JsonNode condition) {
    return condition == UNKNOWN ? UNKNOWN : object("is_true", condition);
  }

  private JsonNode several(String what, List<ResolvedExpression> children, int depth) {
    ArrayNode parts = JsonNodeFactory.instance.arrayNode();
    boolean understood = false;
    for (ResolvedExpression child : children) {
      JsonNode part = condition(child, depth + 1);
      understood |= part != UNKNOWN;
      parts.add(part);
    }
    return understood ? object(what, parts) : UNKNOWN;
  }

  private JsonNode isNull(ResolvedExpression operand) {
    Optional<FieldReferenceExpression> column = column(operand);
    return column.isPresent() ? object("is_null", JsonNodeFactory.instance.textNode(column.get().getName())) : UNKNOWN;
  }

  private JsonNode in(List<ResolvedExpression> children) {
    Optional<FieldReferenceExpression> column = column(children.get(0));
    if (column.isEmpty()) {
      return UNKNOWN;
    }
    ArrayNode values = JsonNodeFactory.instance.arrayNode();
    for (ResolvedExpression child : children.subList(1, children.size())) {
      Optional<ObjectNode> value = literal(child, typeOf(column.get()));
      if (value.isEmpty()) {
        return UNKNOWN;
      }
      values.add(value.get());
    }
    return object("in", JsonNodeFactory.instance.objectNode().put("column", column.get().getName()).set("values", values));
  }

  private JsonNode between(List<ResolvedExpression> children) {
    ArrayNode both = JsonNodeFactory.instance.arrayNode();
    both.add(compare(List.of(children.get(0), children.get(1)), ">="));
    both.add(compare(List.of(children.get(0), children.get(2)), "<="));
    return both.get(0) == UNKNOWN && both.get(1) == UNKNOWN ? UNKNOWN : object("and", both);
  }

  private JsonNode compare(List<ResolvedExpression> sides, String comparison) {
    Optional<FieldReferenceExpression> left = column(sides.get(0));
    if (left.isPresent()) {
      return literal(sides.get(1), typeOf(left.get())).map(value -> compare(left.get(), comparison, value)).orElse(UNKNOWN);
    }
    Optional<FieldReferenceExpression> right = column(sides.get(1));
    if (right.isPresent()) {
      return literal(sides.get(0), typeOf(right.get()))
          .map(value -> compare(right.get(), MIRRORED.get(comparison), value))
          .orElse(UNKNOWN);
    }
    return UNKNOWN;
  }

  private static JsonNode compare(FieldReferenceExpression column, String comparison, JsonNode value) {
    ObjectNode json = JsonNodeFactory.instance.objectNode().put("column", column.getName()).put("op", comparison);
    return object("compare", json.set("value", value));
  }

  private LogicalType typeOf(FieldReferenceExpression column) {
    return rowType.getTypeAt(rowType.getFieldIndex(column.getName()));
  }

  /** A column of the table, or an integer one made wider, which changes no value. */
  private Optional<FieldReferenceExpression> column(ResolvedExpression expression) {
    if (expression instanceof FieldReferenceExpression) {
      FieldReferenceExpression column = (FieldReferenceExpression) expression;
      return Optional.of(column).filter(c -> rowType.getFieldIndex(c.getName()) >= 0);
    }
    if (!(expression instanceof CallExpression) || ((CallExpression) expression).getFunctionDefinition() != BuiltInFunctionDefinitions.CAST) {
      return Optional.empty();
    }
    ResolvedExpression operand = expression.getResolvedChildren().get(0);
    boolean widens =
        width(operand.getOutputDataType().getLogicalType()) > 0
            && width(operand.getOutputDataType().getLogicalType()) <= width(expression.getOutputDataType().getLogicalType());
    return widens ? column(operand) : Optional.empty();
  }

  private static int width(LogicalType type) {
    return List.of(LogicalTypeRoot.TINYINT, LogicalTypeRoot.SMALLINT, LogicalTypeRoot.INTEGER, LogicalTypeRoot.BIGINT)
            .indexOf(type.getTypeRoot())
        + 1;
  }

  /** Returns a literal as the store reads it; empty for NULL and for a value that is not of the column's own kind. */
  private static Optional<ObjectNode> literal(ResolvedExpression expression, LogicalType column) {
    if (!(expression instanceof ValueLiteralExpression) || ((ValueLiteralExpression) expression).isNull()) {
      return Optional.empty();
    }
    ValueLiteralExpression literal = (ValueLiteralExpression) expression;
    LogicalType type = literal.getOutputDataType().getLogicalType();
    switch (column.getTypeRoot()) {
      case BOOLEAN:
        return literal.getValueAs(Boolean.class).map(v -> JsonNodeFactory.instance.objectNode().put("boolean", v));
      case TINYINT:
      case SMALLINT:
      case INTEGER:
      case BIGINT:
        return type.is(LogicalTypeFamily.INTEGER_NUMERIC) ? integer(literal) : Optional.empty();
      case DECIMAL:
        return type.is(LogicalTypeFamily.EXACT_NUMERIC) ? decimal(literal) : Optional.empty();
      case FLOAT:
      case DOUBLE:
        return type.is(column.getTypeRoot()) ? floating(literal) : Optional.empty();
      case CHAR:
      case VARCHAR:
        return type.is(LogicalTypeFamily.CHARACTER_STRING)
            ? literal.getValueAs(String.class).filter(RowFilter::isText).map(v -> JsonNodeFactory.instance.objectNode().put("text", v))
            : Optional.empty();
      default:
        return type.is(column.getTypeRoot()) ? time(literal, type) : Optional.empty();
    }
  }

  private static Optional<ObjectNode> integer(ValueLiteralExpression literal) {
    return literal.getValueAs(Number.class).map(v -> JsonNodeFactory.instance.objectNode().put("integer", v.longValue()));
  }

  private static Optional<ObjectNode> decimal(ValueLiteralExpression literal) {
    return literal.getValueAs(BigDecimal.class).map(v -> JsonNodeFactory.instance.objectNode().put("decimal", v.toPlainString()));
  }

  private static Optional<ObjectNode> floating(ValueLiteralExpression literal) {
    return literal.getValueAs(Number.class)
        .map(Number::doubleValue)
        .filter(Double::isFinite)
        .map(v -> JsonNodeFactory.instance.objectNode().put("float", new BigDecimal(v).toPlainString()));
  }

  /** Whether UTF-8 can say it: a lone surrogate would become another character on the way. */
  private static boolean isText(String text) {
    return java.nio.charset.StandardCharsets.UTF_8.newEncoder().canEncode(text);
  }

  private static Optional<ObjectNode> time(ValueLiteralExpression literal, LogicalType type) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    switch (type.getTypeRoot()) {
      case DATE:
        return literal.getValueAs(LocalDate.class).map(v -> json.put("date", Math.toIntExact(v.toEpochDay())));
      case TIME_WITHOUT_TIME_ZONE:
        return literal.getValueAs(LocalTime.class)
            .filter(v -> v.getNano() % 1_000_000 == 0)
            .map(v -> json.put("time", Math.toIntExact(v.toNanoOfDay() / 1_000_000)));
      case TIMESTAMP_WITHOUT_TIME_ZONE:
        return literal.getValueAs(LocalDateTime.class).map(v -> instant(v.toInstant(ZoneOffset.UTC)));
      case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
        return literal.getValueAs(Instant.class).map(RowFilter::instant);
      default:
        return Optional.empty();
    }
  }

  private static ObjectNode instant(Instant instant) {
    ObjectNode value = JsonNodeFactory.instance.objectNode();
    value.put("millis", Math.floorDiv(instant.getNano(), 1_000_000) + Math.multiplyExact(instant.getEpochSecond(), 1_000L));
    value.put("nanos", instant.getNano() % 1_000_000);
    return object("timestamp", value);
  }
}
