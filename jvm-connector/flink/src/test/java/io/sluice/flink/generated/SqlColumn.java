package io.sluice.flink.generated;

/** A generated column. */
final class SqlColumn {
  final String name;
  final SqlType type;
  /** What an aggregation table does with it; null elsewhere. */
  final String function;

  SqlColumn(String name, SqlType type, String function) {
    this.name = name;
    this.type = type;
    this.function = function;
  }
}
