package io.sluice.flink.sink;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

import io.sluice.flink.MergeRules;
import io.sluice.flink.StoreTable;

/** Which tables the statements DELETE and UPDATE can change, and why not the others: known before a row is read. */
final class StatementRules {
  private static final String DELETE = "DELETE";
  private static final String UPDATE = "UPDATE";

  private final StoreTable table;
  private final boolean streaming;

  StatementRules(StoreTable table, boolean streaming) {
    this.table = table;
    this.streaming = streaming;
  }

  /**
   * Checks that deletes reach the table's rows.
   *
   * @param ignoresDeletes whether the sink drops them
   * @throws UnsupportedOperationException when they do not, saying why
   */
  void checkDelete(boolean ignoresDeletes) {
    check(DELETE, whyNoDelete(ignoresDeletes));
  }

  private Optional<String> whyNoDelete(boolean ignoresDeletes) {
    if (!table.hasPrimaryKey()) {
      return Optional.of("it has no primary key");
    }
    MergeRules rules = MergeRules.of(table);
    if (rules.deletes() != MergeRules.Deletes.ALLOW) {
      String behavior = rules.deletes().name().toLowerCase(Locale.ROOT);
      String engine = rules.engine() == MergeRules.Engine.LAST_ROW ? "" : "its merge engine is " + rules.engineName() + ", and ";
      return Optional.of(String.format("%sit has its delete behavior set to '%s'", engine, behavior));
    }
    return ignoresDeletes ? Optional.of("its option 'sink.ignore-delete' drops what the statement would delete") : Optional.empty();
  }

  /**
   * Checks that a row written again with new values takes the place of the one that is there.
   *
   * @param updated names of the columns that get new values
   * @throws UnsupportedOperationException when it does not, saying why
   */
  void checkUpdate(List<String> updated) {
    check(UPDATE, whyNoUpdate(updated));
  }

  private Optional<String> whyNoUpdate(List<String> updated) {
    if (!table.hasPrimaryKey()) {
      return Optional.of("it has no primary key");
    }
    for (int key : table.primaryKey()) {
      String column = table.rowType().getFieldNames().get(key);
      if (updated.contains(column)) {
        return Optional.of(
            String.format(
                "updates to primary keys are not supported, and column '%s' is part of it; DELETE the row and INSERT it with its new key",
                column));
      }
    }
    Optional<String> numbered = table.autoIncrement().filter(updated::contains);
    if (numbered.isPresent()) {
      return Optional.of(String.format("the store numbers column '%s' by itself, and a row keeps its number", numbered.get()));
    }
    MergeRules rules = MergeRules.of(table);
    switch (rules.engine()) {
      case FIRST_ROW:
        return Optional.of("its merge engine is first_row, which keeps the first row of each key");
      case AGGREGATION:
        return Optional.of("its merge engine is aggregation, which would merge the new row into the old one instead of replacing it");
      case VERSIONED:
        // A row that keeps its version replaces the one that is there, unless a newer one has come meanwhile: then that one stays.
        return rules.versionColumn()
            .filter(updated::contains)
            .map(name -> String.format("column '%s' is the version by which its merge engine versioned chooses; INSERT the row anew", name));
      default:
        return Optional.empty();
    }
  }

  private void check(String statement, Optional<String> why) {
    if (why.isPresent()) {
      throw new UnsupportedOperationException(String.format("%s on table %s is not possible: %s.", statement, table, why.get()));
    }
    if (streaming) {
      throw new UnsupportedOperationException(
          String.format("%s on table %s is not possible in streaming mode: SET 'execution.runtime-mode' = 'batch'.", statement, table));
    }
  }
}
