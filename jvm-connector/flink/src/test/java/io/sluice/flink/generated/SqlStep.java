package io.sluice.flink.generated;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** One generated statement, with what it does to the model or what it should answer. */
final class SqlStep {
  /** Stands for closing the store and opening it again. */
  static final String RESTART = "-- the store is closed and opened again";
  /** Stands for the end of the process without a word: what is on the disk at that moment is opened. */
  static final String CRASH = "-- the store is left as it is and opened again";

  final String sql;
  private final Consumer<SqlTable> effect;
  private final Function<SqlTable, List<String>> answer;
  /** For a LIMIT: any so many of the answer's rows. */
  private final int limit;

  private SqlStep(String sql, Consumer<SqlTable> effect, Function<SqlTable, List<String>> answer, int limit) {
    this.sql = sql;
    this.effect = effect;
    this.answer = answer;
    this.limit = limit;
  }

  /** A statement for a table as it is by now. */
  static SqlStep random(SqlTable table, Random random) {
    int kind = random.nextInt(20);
    if (kind == 0) {
      return new SqlStep(random.nextBoolean() ? RESTART : CRASH, t -> {}, null, 0);
    }
    if (kind == 1) {
      long seed = random.nextLong();
      // The name is known only once the column is there, so the very same column is made twice: in the text and in the model.
      SqlColumn column = table.addColumn(new Random(seed));
      return new SqlStep("ALTER TABLE t ADD " + column.name + " " + column.type.sql, t -> t.addColumn(new Random(seed)), null, 0);
    }
    if (kind < 8) {
      return insert(table, random);
    }
    if (kind < 10 && table.engine == SqlTable.Engine.LAST_ROW) {
      SqlCondition condition = condition(table, random);
      return new SqlStep("DELETE FROM t WHERE " + condition.sql, t -> t.delete(condition), null, 0);
    }
    if (kind < 12 && (table.engine == SqlTable.Engine.LAST_ROW || table.engine == SqlTable.Engine.VERSIONED)) {
      return update(table, random);
    }
    return select(table, random);
  }

  private static SqlCondition condition(SqlTable table, Random random) {
    List<SqlColumn> columns = List.copyOf(table.columns);
    if (!table.key.isEmpty() && random.nextInt(4) == 0) {
      List<Object> values = table.key.stream().map(i -> columns.get(i).type.random(random)).collect(Collectors.toList());
      return SqlCondition.equal(columns, List.copyOf(table.key), values);
    }
    return SqlCondition.random(columns, random);
  }

  private static SqlStep insert(SqlTable table, Random random) {
    int width = table.columns.size();
    List<Integer> named = IntStream.range(0, width).boxed().collect(Collectors.toCollection(ArrayList::new));
    if (random.nextInt(3) == 0) {
      named.removeAll(table.optional().stream().filter(i -> random.nextBoolean()).collect(Collectors.toList()));
      Collections.shuffle(named, random);
    }
    List<Object[]> rows = new ArrayList<>();
    List<String> texts = new ArrayList<>();
    Set<List<Object>> keys = new HashSet<>();
    for (int n = 1 + random.nextInt(random.nextInt(4) == 0 ? 40 : 6); n > 0; n--) {
      Object[] row = new Object[width];
      for (int i : named) {
        row[i] = !table.isKey(i) && random.nextInt(5) == 0 ? null : table.columns.get(i).type.random(random);
      }
      // Flink may make a union of the rows of one VALUES, which has no order: of one key there is one row.
      if (!table.key.isEmpty() && !keys.add(table.key.stream().map(i -> row[i]).collect(Collectors.toList()))) {
        continue;
      }
      rows.add(row);
      texts.add(named.stream().map(i -> table.columns.get(i).type.orNull(row[i])).collect(Collectors.joining(", ", "(", ")")));
    }
    String names = named.stream().map(i -> table.columns.get(i).name).collect(Collectors.joining(", "));
    List<Integer> written = List.copyOf(named);
    return new SqlStep(
        "INSERT INTO t (" + names + ") VALUES " + String.join(", ", texts),
        t -> rows.forEach(row -> t.insert(row.clone(), written)),
        null,
        0);
  }

  private static SqlStep update(SqlTable table, Random random) {
    List<Integer> free =
        IntStream.range(0, table.columns.size())
            .filter(i -> !table.isKey(i) && !table.columns.get(i).name.equals("v"))
            .boxed()
            .collect(Collectors.toList());
    int column = free.get(random.nextInt(free.size()));
    SqlColumn changed = table.columns.get(column);
    Object value = random.nextInt(4) == 0 ? null : changed.type.random(random);
    SqlCondition condition = condition(table, random);
    return new SqlStep(
        "UPDATE t SET " + changed.name + " = " + changed.type.orNull(value) + " WHERE " + condition.sql,
        t -> t.update(condition, column, value),
        null,
        0);
  }

  private static SqlStep select(SqlTable table, Random random) {
    SqlCondition condition = random.nextInt(4) == 0 ? null : condition(table, random);
    String where = condition == null ? "" : " WHERE " + condition.sql;
    int width = table.columns.size();
    int kind = random.nextInt(6);
    if (kind == 0) {
      return new SqlStep("SELECT COUNT(*) FROM t" + where, null, t -> List.of("+I[" + matching(t, condition, width).size() + "]"), 0);
    }
    if (kind == 1) {
      int column = random.nextInt(width);
      String name = table.columns.get(column).name;
      if (table.columns.get(column).type != SqlType.BOOLEAN) {
        return new SqlStep(
            "SELECT COUNT(" + name + "), MIN(" + name + "), MAX(" + name + ") FROM t" + where, null, t -> extremes(t, condition, column, width), 0);
      }
    }
    List<Integer> shown = IntStream.range(0, width).boxed().collect(Collectors.toCollection(ArrayList::new));
    if (kind == 2) {
      Collections.shuffle(shown, random);
      shown = new ArrayList<>(shown.subList(0, 1 + random.nextInt(width)));
    }
    List<Integer> fields = List.copyOf(shown);
    int limit = kind == 3 ? 1 + random.nextInt(8) : 0;
    String names = fields.stream().map(i -> table.columns.get(i).name).collect(Collectors.joining(", "));
    return new SqlStep(
        "SELECT " + names + " FROM t" + where + (limit > 0 ? " LIMIT " + limit : ""),
        null,
        t ->
            matching(t, condition, width).stream()
                .map(row -> SqlTable.print(fields.stream().map(i -> row[i]).collect(Collectors.toList())))
                .sorted()
                .collect(Collectors.toList()),
        limit);
  }

  private static List<Object[]> matching(SqlTable table, SqlCondition condition, int width) {
    return table.rows().stream()
        .map(row -> Arrays.copyOf(row, width))
        .filter(row -> condition == null || condition.holds(row))
        .collect(Collectors.toList());
  }

  private static List<String> extremes(SqlTable table, SqlCondition condition, int column, int width) {
    List<Object> values =
        matching(table, condition, width).stream().map(row -> row[column]).filter(v -> v != null).collect(Collectors.toList());
    Object min = values.stream().min(SqlCondition::compare).orElse(null);
    Object max = values.stream().max(SqlCondition::compare).orElse(null);
    return List.of(SqlTable.print(Arrays.asList((Object) (long) values.size(), min, max)));
  }

  boolean isQuery() {
    return answer != null;
  }

  void applyTo(SqlTable table) {
    effect.accept(table);
  }

  /** What is wrong with an answer, or null. */
  String wrong(SqlTable table, List<String> found) {
    List<String> all = answer.apply(table);
    if (limit == 0) {
      return found.equals(all) ? null : "found    " + found + "\nexpected " + all;
    }
    List<String> left = new ArrayList<>(all);
    boolean known = found.stream().allMatch(left::remove);
    return known && found.size() == Math.min(limit, all.size()) ? null : "found    " + found + "\nexpected " + limit + " of " + all;
  }
}
