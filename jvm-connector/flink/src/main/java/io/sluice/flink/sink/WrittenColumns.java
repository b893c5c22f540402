package io.sluice.flink.sink;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.sluice.flink.MergeRules;
import io.sluice.flink.StoreTable;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.ResolvedSchema;

/** Which columns of a table an INSERT writes, and whether it may. */
final class WrittenColumns {
  private WrittenColumns() {}

  /** All that rows are written with: the store numbers a column by itself. */
  static int[] all(StoreTable table) {
    List<String> columns = table.rowType().getFieldNames();
    return IntStream.range(0, columns.size()).filter(i -> !isNumbered(table, columns.get(i))).toArray();
  }

  /**
   * All of them, for rows that come with every column.
   *
   * @throws ValidationException when the store numbers one of them
   */
  static int[] whole(StoreTable table) {
    return named(table, Set.copyOf(table.rowType().getFieldNames()));
  }

  private static boolean isNumbered(StoreTable table, String column) {
    return table.autoIncrement().filter(column::equals).isPresent();
  }

  /**
   * Returns the positions of the columns that an INSERT names, in the table's order. Naming all of them in any order is an ordinary
   * INSERT; naming some is a partial update.
   *
   * @param staticColumns columns to which the statement gives one value, named by its PARTITION clause
   * @param targets positions in the whole schema, as Flink gives them
   * @throws ValidationException when the table cannot be written so, saying why
   */
  static int[] of(StoreTable table, ResolvedSchema schema, Set<String> staticColumns, int[][] targets) {
    Set<String> named = new HashSet<>(staticColumns);
    for (int[] target : targets) {
      String column = schema.getColumns().get(target[0]).getName();
      if (target.length > 1) {
        throw new ValidationException(
            String.format("INSERT INTO %s cannot write a single field of the nested column '%s'.", table, column));
      }
      named.add(column);
    }
    return named(table, named);
  }

  /**
   * Returns the positions of columns by name, in the table's order.
   *
   * @throws ValidationException when the table cannot be written so, saying why
   */
  static int[] named(StoreTable table, Set<String> named) {
    List<String> columns = table.rowType().getFieldNames();
    table.autoIncrement()
        .filter(named::contains)
        .ifPresent(
            column -> {
              throw new ValidationException(
                  String.format(
                      "Explicitly specifying values for an auto increment column is not allowed: name the columns that the INSERT INTO %s writes,"
                          + " without '%s'.",
                      table, column));
            });
    List<String> missing = columns.stream().filter(name -> !named.contains(name)).collect(Collectors.toList());
    // A table whose store numbers a column is always written in parts.
    if (!missing.isEmpty()) {
      checkPartial(table, named, missing);
    }
    return IntStream.range(0, columns.size()).filter(i -> named.contains(columns.get(i))).toArray();
  }

  private static void checkPartial(StoreTable table, Set<String> named, List<String> missing) {
    String columns = String.join(", ", missing);
    if (!table.hasPrimaryKey()) {
      throw new ValidationException(
          String.format(
              "Table %s does not support partial updates for table without primary key: the INSERT leaves out %s; name all columns.",
              table, columns));
    }
    for (int key : table.primaryKey()) {
      String column = table.rowType().getFieldNames().get(key);
      if (!named.contains(column)) {
        throw new ValidationException(
            String.format(
                "INSERT INTO %s without fully specifying the primary key columns is not possible: it leaves out '%s'.", table, column));
      }
    }
    MergeRules rules = MergeRules.of(table);
    if (!rules.takesPartialUpdates()) {
      throw new ValidationException(
          String.format(
              "Table %s with merge engine %s does not support partial updates: the INSERT leaves out %s; name all columns.",
              table, rules.engineName(), columns));
    }
    for (int i = 0; i < table.rowType().getFieldCount(); i++) {
      String column = table.rowType().getFieldNames().get(i);
      if (missing.contains(column) && !isNumbered(table, column) && !table.rowType().getTypeAt(i).isNullable()) {
        throw new ValidationException(
            String.format("INSERT INTO %s leaves out '%s', which is NOT NULL: a new key would have no value for it.", table, column));
      }
    }
    rules.sequenceGroups().forEach(group -> checkWhole(table, group, named));
  }

  private static void checkWhole(StoreTable table, List<String> group, Set<String> named) {
    List<String> missing = group.stream().filter(column -> !named.contains(column)).collect(Collectors.toList());
    if (!missing.isEmpty() && missing.size() < group.size()) {
      String written = group.stream().filter(named::contains).findFirst().orElseThrow();
      throw new ValidationException(
          String.format(
              "INSERT INTO %s writes '%s' but leaves out %s, which follow one version, that in '%s': name them all, or none.",
              table, written, String.join(", ", missing), group.get(0)));
    }
  }

  /** Returns the names of those that are not part of the key. */
  static String[] values(StoreTable table, int[] columns) {
    int[] key = table.primaryKey();
    return Arrays.stream(columns)
        .filter(column -> Arrays.stream(key).noneMatch(k -> k == column))
        .mapToObj(column -> table.rowType().getFieldNames().get(column))
        .toArray(String[]::new);
  }
}
