package io.sluice.flink.sink;

import java.util.List;
import java.util.Random;
import java.util.function.Function;

/** A condition in SQL and what it must come to: true, false or, as {@code null}, unknown. */
final class Truth {
  private final String sql;
  private final Function<ModelRow, Boolean> answer;

  private Truth(String sql, Function<ModelRow, Boolean> answer) {
    this.sql = sql;
    this.answer = answer;
  }

  /** Conditions that are made of nothing else. */
  private static final List<Truth> PLAIN =
      List.of(
          new Truth("k < 17", row -> row.k < 17),
          new Truth("k = 3", row -> row.k == 3),
          new Truth("k BETWEEN 20 AND 40", row -> row.k >= 20 && row.k <= 40),
          new Truth("MOD(k, 3) = 1", row -> row.k % 3 == 1),
          new Truth("p = 'b'", row -> row.p.equals("b")),
          new Truth("p <> 'a'", row -> !row.p.equals("a")),
          new Truth("p IN ('a', 'c')", row -> row.p.equals("a") || row.p.equals("c")),
          new Truth("v > 5", row -> row.v == null ? null : row.v > 5),
          new Truth("v <> 4", row -> row.v == null ? null : row.v != 4),
          new Truth("v = k", row -> row.v == null ? null : row.v == row.k),
          new Truth("v IN (1, 2, 7)", row -> row.v == null ? null : row.v == 1 || row.v == 2 || row.v == 7),
          new Truth("v NOT IN (1, NULL)", row -> row.v == null || row.v != 1 ? null : false),
          new Truth("v IS NULL", row -> row.v == null),
          new Truth("w IS NOT NULL", row -> row.w != null),
          new Truth("w LIKE 'x%'", row -> row.w == null ? null : row.w.startsWith("x")),
          new Truth("w = 'x1'", row -> row.w == null ? null : row.w.equals("x1")));

  /** A condition of up to some depth. */
  static Truth any(Random random, int depth) {
    if (depth == 0 || random.nextInt(3) == 0) {
      return PLAIN.get(random.nextInt(PLAIN.size()));
    }
    Truth left = any(random, depth - 1);
    if (random.nextInt(4) == 0) {
      return new Truth("NOT (" + left.sql + ")", row -> not(left.answer.apply(row)));
    }
    Truth right = any(random, depth - 1);
    if (random.nextBoolean()) {
      return new Truth("(" + left.sql + ") AND (" + right.sql + ")", row -> and(left.answer.apply(row), right.answer.apply(row)));
    }
    return new Truth(
        "(" + left.sql + ") OR (" + right.sql + ")", row -> not(and(not(left.answer.apply(row)), not(right.answer.apply(row)))));
  }

  private static Boolean not(Boolean one) {
    return one == null ? null : Boolean.valueOf(!one);
  }

  private static Boolean and(Boolean one, Boolean other) {
    if (Boolean.FALSE.equals(one) || Boolean.FALSE.equals(other)) {
      return false;
    }
    return one == null || other == null ? null : Boolean.TRUE;
  }

  boolean holds(ModelRow row) {
    return Boolean.TRUE.equals(answer.apply(row));
  }

  @Override
  public String toString() {
    return sql;
  }
}
