package io.sluice.flink.generated;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;

/** A generated table: how it is made, and what should be in it. */
final class SqlTable {
  /** What becomes of a second row of a key. */
  enum Engine {
    LOG,
    LAST_ROW,
    FIRST_ROW,
    VERSIONED,
    AGGREGATION
  }

  private static final Map<String, List<SqlType>> FUNCTIONS =
      Map.of(
          "sum", List.of(SqlType.INT, SqlType.BIGINT),
          "max", List.of(SqlType.INT, SqlType.BIGINT, SqlType.STRING, SqlType.DECIMAL, SqlType.DATE, SqlType.TIMESTAMP),
          "min", List.of(SqlType.INT, SqlType.STRING, SqlType.DECIMAL, SqlType.DATE),
          "last_value", List.of(SqlType.values()),
          "last_value_ignore_nulls", List.of(SqlType.values()),
          "first_value", List.of(SqlType.values()),
          "bool_or", List.of(SqlType.BOOLEAN));

  final Engine engine;
  final List<SqlColumn> columns = new ArrayList<>();
  /** Positions of the key's columns. */
  final List<Integer> key = new ArrayList<>();

  private final boolean partitioned;
  private final int buckets;
  private final boolean wal;
  private final Map<List<Object>, Object[]> rows = new LinkedHashMap<>();
  private int appended;

  /** A table that a seed decides. */
  SqlTable(Random random) {
    engine = Engine.values()[random.nextInt(Engine.values().length)];
    partitioned = random.nextInt(3) == 0;
    buckets = 1 + random.nextInt(4);
    wal = engine == Engine.LAST_ROW && random.nextInt(4) == 0;
    SqlType keyType = List.of(SqlType.INT, SqlType.STRING, SqlType.BIGINT, SqlType.DATE).get(random.nextInt(4));
    columns.add(new SqlColumn("k", keyType, null));
    if (partitioned) {
      columns.add(new SqlColumn("p", SqlType.BOOLEAN, null));
    } else if (random.nextInt(3) == 0) {
      columns.add(new SqlColumn("k2", SqlType.INT, null));
    }
    for (int i = 0; engine != Engine.LOG && i < columns.size(); i++) {
      key.add(i);
    }
    if (engine == Engine.VERSIONED) {
      columns.add(new SqlColumn("v", SqlType.BIGINT, null));
    }
    for (int i = 1 + random.nextInt(4); i > 0; i--) {
      add(random, engine == Engine.AGGREGATION);
    }
  }

  /** Adds a column behind the others, in which the rows that are there have NULL. */
  SqlColumn addColumn(Random random) {
    return add(random, false);
  }

  private SqlColumn add(Random random, boolean withFunction) {
    SqlType type = SqlType.values()[random.nextInt(SqlType.values().length)];
    String function = null;
    if (withFunction) {
      List<String> fitting =
          FUNCTIONS.entrySet().stream().filter(f -> f.getValue().contains(type)).map(Map.Entry::getKey).sorted().collect(Collectors.toList());
      function = fitting.get(random.nextInt(fitting.size()));
    }
    SqlColumn column = new SqlColumn("c" + columns.size(), type, function);
    columns.add(column);
    rows.replaceAll((k, row) -> Arrays.copyOf(row, columns.size()));
    return column;
  }

  String create() {
    List<String> lines = columns.stream().map(c -> c.name + " " + c.type.sql).collect(Collectors.toCollection(ArrayList::new));
    if (!key.isEmpty()) {
      lines.add("PRIMARY KEY (" + key.stream().map(i -> columns.get(i).name).collect(Collectors.joining(", ")) + ") NOT ENFORCED");
    }
    List<String> options = new ArrayList<>(List.of("'bucket.num' = '" + buckets + "'"));
    if (engine == Engine.FIRST_ROW || engine == Engine.AGGREGATION || engine == Engine.VERSIONED) {
      options.add("'table.merge-engine' = '" + engine.name().toLowerCase(java.util.Locale.ROOT) + "'");
    }
    if (engine == Engine.VERSIONED) {
      options.add("'table.merge-engine.versioned.ver-column' = 'v'");
    }
    if (wal) {
      options.add("'table.changelog.image' = 'WAL'");
    }
    columns.stream().filter(c -> c.function != null).forEach(c -> options.add("'fields." + c.name + ".agg' = '" + c.function + "'"));
    return "CREATE TABLE t ("
        + String.join(", ", lines)
        + (partitioned ? ") PARTITIONED BY (p)" : ")")
        + " WITH ("
        + String.join(", ", options)
        + ")";
  }

  /** The columns that an INSERT may leave out. */
  List<Integer> optional() {
    List<Integer> all = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) {
      if (!key.contains(i)) {
        all.add(i);
      }
    }
    return engine == Engine.LAST_ROW || engine == Engine.AGGREGATION ? all : List.of();
  }

  boolean isKey(int column) {
    return key.contains(column) || columns.get(column).name.equals("p");
  }

  Collection<Object[]> rows() {
    return rows.values();
  }

  /** Puts a row in, of which some columns were named. */
  void insert(Object[] row, List<Integer> named) {
    if (engine == Engine.LOG) {
      rows.put(List.of(appended++), row);
      return;
    }
    List<Object> id = key.stream().map(i -> row[i]).collect(Collectors.toList());
    Object[] old = rows.get(id);
    if (old == null) {
      rows.put(id, row);
      return;
    }
    switch (engine) {
      case FIRST_ROW:
        break;
      case VERSIONED:
        int v = key.size();
        if (old[v] == null || row[v] != null && SqlCondition.compare(row[v], old[v]) >= 0) {
          rows.put(id, row);
        }
        break;
      default:
        Object[] merged = old.clone();
        for (int i : named) {
          merged[i] = engine == Engine.AGGREGATION && !key.contains(i) ? aggregate(columns.get(i).function, old[i], row[i]) : row[i];
        }
        rows.put(id, merged);
    }
  }

  private static Object aggregate(String function, Object old, Object value) {
    if ("last_value".equals(function)) {
      return value;
    }
    if (value == null || old == null) {
      return value == null ? old : value;
    }
    switch (function == null ? "last_value_ignore_nulls" : function) {
      case "sum":
        return value instanceof Integer ? (Object) ((Integer) old + (Integer) value) : (Object) ((Long) old + (Long) value);
      case "max":
        return SqlCondition.compare(old, value) >= 0 ? old : value;
      case "min":
        return SqlCondition.compare(old, value) <= 0 ? old : value;
      case "bool_or":
        return (Boolean) old || (Boolean) value;
      case "first_value":
        return old;
      default:
        return value;
    }
  }

  void delete(SqlCondition condition) {
    rows.values().removeIf(condition::holds);
  }

  void update(SqlCondition condition, int column, Object value) {
    rows.values().stream().filter(condition::holds).forEach(row -> row[column] = value);
  }

  /** A row as Flink prints it. */
  static String print(List<Object> fields) {
    return fields.stream().map(f -> f instanceof BigDecimal ? ((BigDecimal) f).toPlainString() : String.valueOf(f)).collect(Collectors.joining(", ", "+I[", "]"));
  }
}
