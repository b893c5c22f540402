package io.sluice.flink.source;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import io.sluice.flink.FlinkSession;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Every query answers the same with and without what is pushed into the source. */
final class PushdownITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(4).build());

  /** Rows of a log table that fill an entry of the statistics each. */
  private static final String LARGE = "REPEAT('p', 70000)";

  private static final String UNPACKED = " WITH ('table.log.arrow.compression.type' = 'NONE')";

  @TempDir Path directory;

  private FlinkSession sql;

  @BeforeEach
  void open() {
    Map<String, String> lake = Map.of("datalake.format", "paimon", "datalake.paimon.warehouse", directory.resolve("lake").toString());
    sql = FlinkSession.batch(directory.resolve("store"), 1, lake);
  }

  @AfterEach
  void close() throws Exception {
    sql.close();
    FlinkSession.assertNothingLeaks();
  }

  private void pushDown(boolean on) {
    sql.set("table.optimizer.source.predicate-pushdown-enabled", Boolean.toString(on));
    sql.set("table.optimizer.source.aggregate-pushdown-enabled", Boolean.toString(on));
  }

  private List<String> same(String query) {
    pushDown(false);
    List<String> plain = sql.rows(query);
    pushDown(true);
    assertThat(sql.rows(query)).as(query).isEqualTo(plain);
    return plain;
  }

  /** The numbers of the rows of {@code kinds} for which a condition holds, all conditions in one statement each way. */
  private void sameForAll(String table, List<String> conditions) {
    StringBuilder query = new StringBuilder();
    for (int i = 0; i < conditions.size(); i++) {
      query.append(i == 0 ? "" : " UNION ALL ");
      query.append("SELECT ").append(i).append(" AS q, id FROM ").append(table).append(" WHERE ").append(conditions.get(i));
    }
    same(query.toString());
  }

  @Test
  void conditionsOnEveryType() {
    checkEveryType("");
  }

  /** Most rows are in files of the lake, each in one of its own, the rest in the log. */
  @Test
  void conditionsOnEveryTypeInTheLake() {
    checkEveryType(", 'table.datalake.enabled' = 'true'");
  }

  private void checkEveryType(String lake) {
    sql.run(
        "CREATE TABLE kinds (id INT, b BOOLEAN, y TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, c CHAR(3), v STRING,"
            + " e DECIMAL(10, 2), h DECIMAL(38, 10), dt DATE, at0 TIME(0), at3 TIME(3), t0 TIMESTAMP(0), t3 TIMESTAMP(3), t6 TIMESTAMP(6),"
            + " t9 TIMESTAMP(9), z3 TIMESTAMP_LTZ(3), z9 TIMESTAMP_LTZ(9), y1 BYTES, pad STRING) WITH ('table.log.arrow.compression.type' = 'NONE'"
            + lake
            + ")");
    // The planner cannot fold an expression that comes to NaN, so that one is computed from a row.
    sql.run("CREATE TABLE zero (z DOUBLE)", "INSERT INTO zero VALUES (0.0E0)");
    String[] rows = {
      "1, TRUE, CAST(1 AS TINYINT), CAST(1 AS SMALLINT), 1, CAST(1 AS BIGINT), CAST(0.1 AS FLOAT), 0.1E0, 'ab', 'ab', 1.50, 1.5, DATE '2026-07-21',"
          + " TIME '12:44:10', TIME '12:44:10', TIMESTAMP '2026-07-21 12:44:10', TIMESTAMP '2026-07-21 12:44:10', TIMESTAMP '2026-07-21 12:44:10.000001',"
          + " TIMESTAMP '2026-07-21 12:44:10.000000001', TO_TIMESTAMP_LTZ(1784637850000, 3), TO_TIMESTAMP_LTZ(1784637850001, 3), X'01'",
      "2, FALSE, CAST(-128 AS TINYINT), CAST(-1 AS SMALLINT), -1, CAST(-9223372036854775808 AS BIGINT), CAST(-1.5 AS FLOAT), -0.0E0, '', '', -1.50, CAST('-99999999999999999999.5' AS DECIMAL(38, 10)),"
          + " DATE '1969-12-31', TIME '00:00:00', TIME '23:59:59', TIMESTAMP '1969-12-31 23:59:59', TIMESTAMP '1969-12-31 23:59:59.999',"
          + " TIMESTAMP '1969-12-31 23:59:59.999999', TIMESTAMP '1969-12-31 23:59:59.999999999', TO_TIMESTAMP_LTZ(-1, 3), TO_TIMESTAMP_LTZ(-1, 3), X'FF'",
      "3, CAST(NULL AS BOOLEAN), CAST(NULL AS TINYINT), CAST(NULL AS SMALLINT), CAST(NULL AS INT), CAST(NULL AS BIGINT), CAST(NULL AS FLOAT), CAST(NULL AS DOUBLE),"
          + " CAST(NULL AS CHAR(3)), CAST(NULL AS STRING), CAST(NULL AS DECIMAL(10, 2)), CAST(NULL AS DECIMAL(38, 10)), CAST(NULL AS DATE), CAST(NULL AS TIME(0)),"
          + " CAST(NULL AS TIME(3)), CAST(NULL AS TIMESTAMP(0)), CAST(NULL AS TIMESTAMP(3)), CAST(NULL AS TIMESTAMP(6)), CAST(NULL AS TIMESTAMP(9)),"
          + " CAST(NULL AS TIMESTAMP_LTZ(3)), CAST(NULL AS TIMESTAMP_LTZ(9)), CAST(NULL AS BYTES)",
      "4, TRUE, CAST(127 AS TINYINT), CAST(2 AS SMALLINT), 2147483647, CAST(9223372036854775807 AS BIGINT), CAST(z / z AS FLOAT), z / z, 'abc',"
          + " CONCAT(REPEAT('prefix', 6), 'x'), 99999999.99, 0.0000000001, DATE '0001-01-01', TIME '00:00:01', TIME '00:00:01', TIMESTAMP '0001-01-01 00:00:00',"
          + " TIMESTAMP '9999-12-31 23:59:59.999', TIMESTAMP '2026-07-21 12:44:10.000002', TIMESTAMP '2262-04-11 23:47:16.854775807', TO_TIMESTAMP_LTZ(0, 3), TO_TIMESTAMP_LTZ(0, 3), X''",
      "5, FALSE, CAST(0 AS TINYINT), CAST(0 AS SMALLINT), 0, CAST(0 AS BIGINT), CAST(0 AS FLOAT), 0.0E0, '中文', CONCAT(REPEAT('prefix', 6), 'y'), 0, 0,"
          + " DATE '1970-01-01', TIME '12:44:10', TIME '12:44:10', TIMESTAMP '1970-01-01 00:00:00', TIMESTAMP '1970-01-01 00:00:00', TIMESTAMP '1970-01-01 00:00:00',"
          + " TIMESTAMP '1970-01-01 00:00:00', TO_TIMESTAMP_LTZ(1784637850000, 3), TO_TIMESTAMP_LTZ(1784637850000, 3), X'00'",
    };
    for (int i = 0; i < rows.length; i++) {
      sql.run("INSERT INTO kinds SELECT " + rows[i] + ", " + LARGE + " FROM zero");
      if (!lake.isEmpty() && i < rows.length - 1) {
        sql.run("CALL sys.tier('fluss.kinds')");
      }
    }
    sameForAll("kinds", List.of("b", "NOT b", "b IS TRUE", "b IS NOT TRUE", "b IS FALSE", "b IS NOT FALSE", "b = TRUE OR i > 100", "b <> TRUE", "b IS NULL"));
    for (String column : List.of("y", "s", "i", "l")) {
      sameForAll("kinds", conditions(column, "1", "-1", "2"));
    }
    sameForAll("kinds", List.of("y = 300", "y < 300", "l > 9223372036854775806", "i = 1.5", "i > 0.5", "i < 1E0", "s = CAST(1 AS BIGINT)", "y + 1 = 2"));
    sameForAll("kinds", conditions("d", "0.0E0", "0.1E0", "-0.0E0"));
    sameForAll("kinds", conditions("d", "1", "-1.5E0", "2.5"));
    sameForAll("kinds", conditions("f", "CAST(0.1 AS FLOAT)", "0.1", "CAST(0 AS FLOAT)"));
    sameForAll("kinds", conditions("c", "'ab'", "'ab '", "'中文'"));
    sameForAll("kinds", conditions("v", "'ab'", "''", "CONCAT(REPEAT('prefix', 6), 'x')"));
    sameForAll("kinds", conditions("v", "REPEAT('prefix', 6)", "'prefixprefixprefixprefixprefixpre'", "'zz'"));
    sameForAll("kinds", List.of("v LIKE 'pre%'", "v > 'prefix' AND v < 'prefiy'", "UPPER(v) = 'AB'", "v || 'x' = 'abx'", "CHAR_LENGTH(v) > 3"));
    sameForAll("kinds", conditions("e", "1.5", "-1.50", "99999999.99"));
    sameForAll("kinds", conditions("e", "1.505", "1", "1E0"));
    sameForAll("kinds", conditions("h", "0.0000000001", "CAST('-99999999999999999999.5' AS DECIMAL(38, 10))", "0"));
    sameForAll("kinds", conditions("dt", "DATE '1970-01-01'", "DATE '1969-12-31'", "DATE '0001-01-01'"));
    sameForAll("kinds", conditions("at0", "TIME '12:44:10'", "TIME '00:00:00'", "TIME '23:59:59'"));
    sameForAll("kinds", conditions("at3", "TIME '12:44:10'", "TIME '23:59:59'", "TIME '00:00:01'"));
    for (String column : List.of("t0", "t3", "t6", "t9")) {
      sameForAll("kinds", conditions(column, "TIMESTAMP '2026-07-21 12:44:10'", "TIMESTAMP '1969-12-31 23:59:59.999999999'", "TIMESTAMP '1970-01-01 00:00:00'"));
    }
    sameForAll("kinds", conditions("t9", "TIMESTAMP '2026-07-21 12:44:10.000000001'", "TIMESTAMP '2026-07-21 12:44:10.000000002'", "TIMESTAMP '2262-04-11 23:47:16.854775807'"));
    for (String column : List.of("z3", "z9")) {
      sameForAll("kinds", conditions(column, "TO_TIMESTAMP_LTZ(1784637850000, 3)", "TO_TIMESTAMP_LTZ(-1, 3)", "CAST(TIMESTAMP '2026-07-21 12:44:10' AS TIMESTAMP_LTZ(3))"));
    }
    sameForAll("kinds", List.of("y1 IS NULL", "y1 IS NOT NULL", "y1 = X'01'", "y1 <> X'01'"));
  }

  private static List<String> conditions(String x, String a, String b, String c) {
    return List.of(
        x + " = " + a,
        b + " = " + x,
        x + " <> " + a,
        x + " < " + a,
        x + " <= " + b,
        x + " > " + c,
        a + " > " + x,
        x + " >= " + a,
        x + " IN (" + a + ", " + b + ")",
        x + " IN (" + a + ", " + b + ", NULL)",
        x + " NOT IN (" + a + ", " + c + ")",
        x + " BETWEEN " + a + " AND " + b,
        x + " NOT BETWEEN " + b + " AND " + a,
        x + " IS NULL",
        x + " IS NOT NULL",
        x + " IS NULL OR " + x + " = " + c,
        "NOT (" + x + " < " + a + " AND id > 1)",
        "(" + x + " = " + a + ") IS NOT TRUE",
        x + " = " + a + " AND " + x + " = " + b);
  }

  @Test
  void columnsThatOldRowsLack() {
    sql.run("CREATE TABLE s (id INT, v STRING, pad STRING)" + UNPACKED);
    for (int i = 1; i <= 3; i++) {
      sql.run("INSERT INTO s SELECT " + i + ", '" + (8 + i) + "', " + LARGE);
    }
    sql.run("ALTER TABLE s ADD n INT");
    sql.run("INSERT INTO s SELECT 4, '12', " + LARGE + ", 40", "INSERT INTO s SELECT 5, '13', " + LARGE + ", CAST(NULL AS INT)");
    for (int round = 0; round < 2; round++) {
      assertThat(same("SELECT id FROM s WHERE n IS NULL")).containsExactly("+I[1]", "+I[2]", "+I[3]", "+I[5]");
      assertThat(same("SELECT id FROM s WHERE n = 40")).containsExactly("+I[4]");
      assertThat(same("SELECT id FROM s WHERE n IS NOT NULL")).containsExactly("+I[4]");
      assertThat(same("SELECT id FROM s WHERE n <> 40 OR v = '9'")).containsExactly("+I[1]");
      assertThat(same("SELECT id FROM s WHERE NOT (n = 40)")).isEmpty();
      assertThat(same("SELECT id FROM s WHERE COALESCE(n, 0) = 0 AND id > 1")).containsExactly("+I[2]", "+I[3]", "+I[5]");
      sql.close();
      Map<String, String> lake = Map.of("datalake.format", "paimon", "datalake.paimon.warehouse", directory.resolve("lake").toString());
    sql = FlinkSession.batch(directory.resolve("store"), 1, lake);
    }
  }

  @Test
  void limitsAndCountsOverFilters() {
    sql.run("CREATE TABLE l (id INT, v INT, pad STRING)" + UNPACKED);
    for (int i = 0; i < 6; i++) {
      sql.run("INSERT INTO l SELECT id, v, " + LARGE + " FROM (VALUES (" + 2 * i + ", " + 20 * i + "), (" + (2 * i + 1) + ", CAST(NULL AS INT))) AS r(id, v)");
    }
    assertThat(sql.rows("SELECT id FROM l WHERE v > 90 LIMIT 2")).containsExactly("+I[10]");
    assertThat(sql.rows("SELECT id FROM l WHERE v > 70 LIMIT 2")).containsExactly("+I[10]", "+I[8]");
    assertThat(sql.rows("SELECT id FROM l WHERE v > 70 LIMIT 1")).hasSize(1);
    assertThat(sql.rows("SELECT id FROM l LIMIT 5 OFFSET 10")).hasSize(2);
    assertThat(same("SELECT COUNT(*) FROM l WHERE v >= 40")).containsExactly("+I[4]");
    assertThat(same("SELECT COUNT(*), COUNT(v), MAX(v), MIN(id) FROM l WHERE id BETWEEN 3 AND 9")).containsExactly("+I[7, 3, 80, 3]");
    assertThat(same("SELECT COUNT(*) FROM l")).containsExactly("+I[12]");
    assertThat(same("SELECT COUNT(v) FROM l")).containsExactly("+I[6]");
    assertThat(same("SELECT a.id, b.id FROM l a JOIN l b ON a.v = b.v WHERE a.id < 3 AND b.id > 1")).containsExactly("+I[2, 2]");
    assertThat(same("SELECT id FROM l WHERE v = 20 UNION ALL SELECT id FROM l WHERE v = 40")).containsExactly("+I[2]", "+I[4]");
  }

  @Test
  void partitionsAndOtherColumnsTogether() {
    sql.run("CREATE TABLE l (id INT, p STRING, v INT, pad STRING) PARTITIONED BY (p)" + UNPACKED);
    for (int i = 0; i < 6; i++) {
      sql.run("INSERT INTO l SELECT " + i + ", '" + "abc".charAt(i % 3) + "', NULLIF(" + i + ", 4), " + LARGE);
    }
    assertThat(same("SELECT id FROM l WHERE p = 'a' AND v > 2")).containsExactly("+I[3]");
    assertThat(same("SELECT id FROM l WHERE p <> 'a' AND v IS NULL")).containsExactly("+I[4]");
    assertThat(same("SELECT id FROM l WHERE p = 'b' OR v < 1")).containsExactly("+I[0]", "+I[1]", "+I[4]");
    assertThat(same("SELECT p, COUNT(*) FROM l WHERE v BETWEEN 1 AND 3 GROUP BY p")).containsExactly("+I[a, 1]", "+I[b, 1]", "+I[c, 1]");
    assertThat(same("SELECT id FROM l WHERE p = 'z' OR v = 99")).isEmpty();
  }

  @Test
  void aKeyedTableIsFilteredByItsNewestRows() {
    sql.run(
        "CREATE TABLE k (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)",
        "INSERT INTO k VALUES (1, 'old'), (2, 'other')",
        "INSERT INTO k VALUES (1, 'new')");
    assertThat(same("SELECT * FROM k WHERE v = 'old'")).isEmpty();
    assertThat(same("SELECT * FROM k WHERE v = 'new'")).containsExactly("+I[1, new]");
    assertThat(same("SELECT COUNT(*) FROM k WHERE v <> 'new'")).containsExactly("+I[1]");
  }

  @Test
  void theFilterIsInThePlanOfALogTableOnly() {
    sql.run("CREATE TABLE l (id INT, v STRING)", "CREATE TABLE k (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)");
    pushDown(true);
    assertThat(sql.explain("SELECT * FROM l WHERE id > 7 AND v LIKE 'x%'")).contains("filter=[>(id, 7)]", "where=[((id > 7)");
    assertThat(sql.explain("SELECT * FROM k WHERE v = 'x'")).contains("filter=[]");
  }

  @Test
  void aStreamGoesOnBehindWhatItSkipsAlsoAfterItHasSeenNothing() throws Exception {
    sql.run("CREATE TABLE l (id INT, pad STRING)" + UNPACKED);
    for (int i = 1; i <= 3; i++) {
      sql.run("INSERT INTO l SELECT " + i + ", " + LARGE);
    }
    try (FlinkSession streaming = FlinkSession.streaming(directory.resolve("store"), 1);
        FlinkSession.Running running = streaming.start("SELECT id FROM l WHERE id = 2 OR id > 4")) {
      assertThat(running.next(1)).containsExactly("+I[2]");
      sql.run("INSERT INTO l SELECT 4, " + LARGE, "INSERT INTO l SELECT 5, " + LARGE);
      assertThat(running.next(1)).containsExactly("+I[5]");
      assertThat(running.more()).isEmpty();
    }
  }
}
