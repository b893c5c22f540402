package io.sluice.flink.generated;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.Collectors;

/** A generated condition: its text, and what it says of a row, where NULL is unknown as in SQL. */
final class SqlCondition {
  final String sql;
  private final Function<Object[], Boolean> says;

  private SqlCondition(String sql, Function<Object[], Boolean> says) {
    this.sql = sql;
    this.says = says;
  }

  /** Whether a row is among those that are meant. */
  boolean holds(Object[] row) {
    return Boolean.TRUE.equals(says.apply(row));
  }

  /** A condition over some columns. */
  static SqlCondition random(List<SqlColumn> columns, Random random) {
    return random(columns, random, 2);
  }

  private static SqlCondition random(List<SqlColumn> columns, Random random, int depth) {
    int kind = depth == 0 ? 9 : random.nextInt(10);
    if (kind < 2) {
      SqlCondition a = random(columns, random, depth - 1);
      SqlCondition b = random(columns, random, depth - 1);
      return new SqlCondition("(" + a.sql + " AND " + b.sql + ")", row -> and(a.says.apply(row), b.says.apply(row)));
    }
    if (kind < 4) {
      SqlCondition a = random(columns, random, depth - 1);
      SqlCondition b = random(columns, random, depth - 1);
      return new SqlCondition("(" + a.sql + " OR " + b.sql + ")", row -> not(and(not(a.says.apply(row)), not(b.says.apply(row)))));
    }
    if (kind == 4) {
      SqlCondition a = random(columns, random, depth - 1);
      return new SqlCondition("NOT (" + a.sql + ")", row -> not(a.says.apply(row)));
    }
    int at = random.nextInt(columns.size());
    return simple(columns.get(at), at, random);
  }

  /** All columns of a key, each equal to a value. */
  static SqlCondition equal(List<SqlColumn> columns, List<Integer> at, List<Object> values) {
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < at.size(); i++) {
      SqlColumn column = columns.get(at.get(i));
      texts.add(column.name + " = " + column.type.literal(values.get(i)));
    }
    return new SqlCondition(
        String.join(" AND ", texts), row -> at.stream().map(i -> row[i]).collect(Collectors.toList()).equals(values));
  }

  private static SqlCondition simple(SqlColumn column, int at, Random random) {
    SqlType type = column.type;
    String name = column.name;
    Object value = type.random(random);
    switch (random.nextInt(type == SqlType.STRING ? 8 : 7)) {
      case 0:
        return new SqlCondition(name + " IS NULL", row -> row[at] == null);
      case 1:
        return new SqlCondition(name + " IS NOT NULL", row -> row[at] != null);
      case 2:
        if (type != SqlType.BOOLEAN) {
          Object other = type.random(random);
          return new SqlCondition(
              name + " BETWEEN " + type.literal(value) + " AND " + type.literal(other),
              row -> row[at] == null ? null : Boolean.valueOf(compare(row[at], value) >= 0 && compare(row[at], other) <= 0));
        }
        return new SqlCondition(name, row -> (Boolean) row[at]);
      case 3:
        List<Object> values = List.of(value, type.random(random), type.random(random));
        String list = values.stream().map(type::literal).collect(Collectors.joining(", "));
        return new SqlCondition(
            name + " IN (" + list + ")", row -> row[at] == null ? null : Boolean.valueOf(values.stream().anyMatch(v -> compare(row[at], v) == 0)));
      case 7:
        String prefix = value.toString().replaceAll("[%']", "");
        return new SqlCondition(
            name + " LIKE '" + prefix + "%'", row -> row[at] == null ? null : Boolean.valueOf(row[at].toString().startsWith(prefix)));
      default:
        return comparison(column, at, value, random.nextInt(6));
    }
  }

  private static SqlCondition comparison(SqlColumn column, int at, Object value, int operator) {
    String[] operators = {"=", "<>", "<", "<=", ">", ">="};
    return new SqlCondition(
        column.name + " " + operators[operator] + " " + column.type.literal(value),
        row -> {
          if (row[at] == null) {
            return null;
          }
          int order = compare(row[at], value);
          boolean[] answers = {order == 0, order != 0, order < 0, order <= 0, order > 0, order >= 0};
          return answers[operator];
        });
  }

  @SuppressWarnings("unchecked")
  static int compare(Object a, Object b) {
    return ((Comparable<Object>) Objects.requireNonNull(a)).compareTo(b);
  }

  private static Boolean not(Boolean a) {
    return a == null ? null : Boolean.valueOf(!a);
  }

  private static Boolean and(Boolean a, Boolean b) {
    if (Boolean.FALSE.equals(a) || Boolean.FALSE.equals(b)) {
      return false;
    }
    return a == null || b == null ? null : Boolean.TRUE;
  }
}
