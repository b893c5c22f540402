package io.sluice.flink.sink;

/** A row of {@code (p STRING, k INT, v INT, w STRING)}, as a model keeps it. */
final class ModelRow {
  final String p;
  final int k;
  final Integer v;
  final String w;

  ModelRow(String p, int k, Integer v, String w) {
    this.p = p;
    this.k = k;
    this.v = v;
    this.w = w;
  }

  /** As VALUES has it, with -1 and an empty text for NULL. */
  String literals() {
    return "('" + p + "', " + k + ", " + (v == null ? -1 : v) + ", '" + (w == null ? "" : w) + "')";
  }

  /** As a row of an answer prints. */
  @Override
  public String toString() {
    return "+I[" + p + ", " + k + ", " + v + ", " + w + "]";
  }
}
