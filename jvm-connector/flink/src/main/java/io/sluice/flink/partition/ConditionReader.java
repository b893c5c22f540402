package io.sluice.flink.partition;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

import javax.annotation.Nullable;

import io.sluice.flink.partition.Condition.Comparison;
import org.apache.flink.table.expressions.CallExpression;
import org.apache.flink.table.expressions.FieldReferenceExpression;
import org.apache.flink.table.expressions.ResolvedExpression;
import org.apache.flink.table.expressions.ValueLiteralExpression;
import org.apache.flink.table.functions.BuiltInFunctionDefinitions;
import org.apache.flink.table.functions.FunctionDefinition;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeRoot;

/** Reads a filter as a condition on partition columns. */
final class ConditionReader {
  private static final Map<FunctionDefinition, Comparison> COMPARISONS =
      Map.of(
          BuiltInFunctionDefinitions.EQUALS, Comparison.EQUAL,
          BuiltInFunctionDefinitions.NOT_EQUALS, Comparison.NOT_EQUAL,
          BuiltInFunctionDefinitions.LESS_THAN, Comparison.LESS,
          BuiltInFunctionDefinitions.LESS_THAN_OR_EQUAL, Comparison.LESS_OR_EQUAL,
          BuiltInFunctionDefinitions.GREATER_THAN, Comparison.GREATER,
          BuiltInFunctionDefinitions.GREATER_THAN_OR_EQUAL, Comparison.GREATER_OR_EQUAL);

  private final List<String> columns;
  private final List<LogicalType> types;

  ConditionReader(List<String> columns, List<LogicalType> types) {
    this.columns = columns;
    this.types = types;
  }

  /** A condition that holds for every partition that has a row for which the filter holds; empty when there is none to speak of. */
  Optional<Condition> read(ResolvedExpression filter) {
    return Optional.ofNullable(condition(filter, false));
  }

  /**
   * @param exact whether the condition must be just that of the expression; else it may also hold where that does not
   * @return null when there is none
   */
  @Nullable
  private Condition condition(ResolvedExpression expression, boolean exact) {
    if (expression instanceof ValueLiteralExpression) {
      ValueLiteralExpression literal = (ValueLiteralExpression) expression;
      return isBoolean(expression) ? Condition.constant(literal.getValueAs(Boolean.class).orElse(null)) : null;
    }
    if (expression instanceof FieldReferenceExpression) {
      int column = column(expression);
      return column >= 0 && isBoolean(expression) ? Condition.column(column) : null;
    }
    if (!(expression instanceof CallExpression)) {
      return null;
    }
    FunctionDefinition function = ((CallExpression) expression).getFunctionDefinition();
    List<ResolvedExpression> arguments = expression.getResolvedChildren();
    if (function == BuiltInFunctionDefinitions.AND) {
      return all(arguments, exact);
    }
    if (function == BuiltInFunctionDefinitions.OR) {
      return any(arguments, exact);
    }
    if (function == BuiltInFunctionDefinitions.NOT) {
      Condition inner = condition(arguments.get(0), true);
      return inner == null ? null : Condition.not(inner);
    }
    Comparison comparison = COMPARISONS.get(function);
    return comparison == null ? special(function, arguments) : comparison(comparison, arguments.get(0), arguments.get(1));
  }

  private static boolean isBoolean(ResolvedExpression expression) {
    return expression.getOutputDataType().getLogicalType().is(LogicalTypeRoot.BOOLEAN);
  }

  /** What is not understood may be left out of an AND: that only lets more through. */
  @Nullable
  private Condition all(List<ResolvedExpression> arguments, boolean exact) {
    List<Condition> parts = new ArrayList<>();
    for (ResolvedExpression argument : arguments) {
      Condition part = condition(argument, exact);
      if (part != null) {
        parts.add(part);
      } else if (exact) {
        return null;
      }
    }
    return parts.isEmpty() ? null : Condition.join(true, parts);
  }

  @Nullable
  private Condition any(List<ResolvedExpression> arguments, boolean exact) {
    List<Condition> parts = new ArrayList<>();
    for (ResolvedExpression argument : arguments) {
      Condition part = condition(argument, exact);
      if (part == null) {
        return null;
      }
      parts.add(part);
    }
    return Condition.join(false, parts);
  }

  @Nullable
  private Condition special(FunctionDefinition function, List<ResolvedExpression> arguments) {
    if (function == BuiltInFunctionDefinitions.IN) {
      return in(arguments);
    }
    if (function == BuiltInFunctionDefinitions.BETWEEN) {
      return between(arguments);
    }
    if (function == BuiltInFunctionDefinitions.NOT_BETWEEN) {
      Condition between = between(arguments);
      return between == null ? null : Condition.not(between);
    }
    if (function == BuiltInFunctionDefinitions.IS_NULL) {
      // No partition has a NULL.
      return column(arguments.get(0)) < 0 ? null : Condition.constant(false);
    }
    if (function == BuiltInFunctionDefinitions.IS_NOT_NULL) {
      return column(arguments.get(0)) < 0 ? null : Condition.constant(true);
    }
    if (function == BuiltInFunctionDefinitions.LIKE) {
      return like(arguments);
    }
    return truth(function, arguments);
  }

  @Nullable
  private Condition truth(FunctionDefinition function, List<ResolvedExpression> arguments) {
    boolean isTrue = function == BuiltInFunctionDefinitions.IS_TRUE;
    boolean isNotTrue = function == BuiltInFunctionDefinitions.IS_NOT_TRUE;
    boolean isFalse = function == BuiltInFunctionDefinitions.IS_FALSE;
    boolean isNotFalse = function == BuiltInFunctionDefinitions.IS_NOT_FALSE;
    if (!isTrue && !isNotTrue && !isFalse && !isNotFalse) {
      return null;
    }
    Condition inner = condition(arguments.get(0), true);
    if (inner == null) {
      return null;
    }
    Condition is = Condition.is(inner, isTrue || isNotTrue);
    return isTrue || isFalse ? is : Condition.not(is);
  }

  @Nullable
  private Condition in(List<ResolvedExpression> arguments) {
    List<Condition> parts = new ArrayList<>();
    for (ResolvedExpression value : arguments.subList(1, arguments.size())) {
      Condition part = comparison(Comparison.EQUAL, arguments.get(0), value);
      if (part == null) {
        return null;
      }
      parts.add(part);
    }
    return Condition.join(false, parts);
  }

  @Nullable
  private Condition between(List<ResolvedExpression> arguments) {
    Condition low = comparison(Comparison.GREATER_OR_EQUAL, arguments.get(0), arguments.get(1));
    Condition high = comparison(Comparison.LESS_OR_EQUAL, arguments.get(0), arguments.get(2));
    return low == null || high == null ? null : Condition.join(true, List.of(low, high));
  }

  @Nullable
  private Condition comparison(Comparison comparison, ResolvedExpression left, ResolvedExpression right) {
    int leftColumn = column(left);
    int rightColumn = column(right);
    if (leftColumn >= 0 && rightColumn >= 0) {
      boolean sameType = types.get(leftColumn).copy(true).equals(types.get(rightColumn).copy(true));
      return sameType ? Condition.compareColumns(leftColumn, comparison, rightColumn) : null;
    }
    if (leftColumn >= 0) {
      return comparison(comparison, leftColumn, left, right);
    }
    return rightColumn < 0 ? null : comparison(comparison.exchanged(), rightColumn, right, left);
  }

  @Nullable
  private static Condition comparison(Comparison comparison, int column, ResolvedExpression reference, ResolvedExpression constant) {
    if (!(constant instanceof ValueLiteralExpression)) {
      return null;
    }
    ValueLiteralExpression literal = (ValueLiteralExpression) constant;
    if (literal.isNull()) {
      return Condition.constant(null);
    }
    Comparable<?> value = ValueText.literal(literal, reference.getOutputDataType().getLogicalType());
    return value == null ? null : Condition.compare(column, comparison, value);
  }

  @Nullable
  private Condition like(List<ResolvedExpression> arguments) {
    int column = column(arguments.get(0));
    boolean isText = column >= 0 && types.get(column).is(LogicalTypeRoot.VARCHAR);
    if (!isText || arguments.size() != 2 || !(arguments.get(1) instanceof ValueLiteralExpression)) {
      return null;
    }
    ValueLiteralExpression literal = (ValueLiteralExpression) arguments.get(1);
    if (literal.isNull()) {
      return Condition.constant(null);
    }
    return literal.getValueAs(String.class).map(pattern -> Condition.like(column, pattern(pattern))).orElse(null);
  }

  private static Pattern pattern(String like) {
    StringBuilder regex = new StringBuilder();
    for (char c : like.toCharArray()) {
      if (c == '%') {
        regex.append(".*");
      } else if (c == '_') {
        regex.append('.');
      } else {
        regex.append(Pattern.quote(String.valueOf(c)));
      }
    }
    return Pattern.compile(regex.toString(), Pattern.DOTALL);
  }

  /** The partition column that an expression is, as it stands or widened; -1 for none. */
  private int column(ResolvedExpression expression) {
    if (expression instanceof FieldReferenceExpression) {
      return columns.indexOf(((FieldReferenceExpression) expression).getName());
    }
    if (expression instanceof CallExpression && ((CallExpression) expression).getFunctionDefinition() == BuiltInFunctionDefinitions.CAST) {
      ResolvedExpression inner = expression.getResolvedChildren().get(0);
      boolean widens = widens(inner.getOutputDataType().getLogicalType(), expression.getOutputDataType().getLogicalType());
      return inner instanceof FieldReferenceExpression && widens ? column(inner) : -1;
    }
    return -1;
  }

  /** Whether a cast keeps every value, so that the column can be compared as if it had the other type. */
  private static boolean widens(LogicalType from, LogicalType to) {
    int rank = rank(from);
    return rank > 0 && rank <= rank(to) || from.is(LogicalTypeRoot.FLOAT) && to.is(LogicalTypeRoot.DOUBLE);
  }

  private static int rank(LogicalType type) {
    switch (type.getTypeRoot()) {
      case TINYINT:
        return 1;
      case SMALLINT:
        return 2;
      case INTEGER:
        return 3;
      case BIGINT:
        return 4;
      default:
        return 0;
    }
  }
}
