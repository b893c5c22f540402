package io.sluice.flink.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.sluice.flink.FlinkSession;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Batch queries: every row that was there, once, with pushdowns and without. */
final class BatchReadITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  @TempDir Path directory;
  private FlinkSession sql;

  @BeforeEach
  void open() {
    sql = FlinkSession.batch(directory.resolve("store"), 2);
  }

  @AfterEach
  void nothingLeaks() throws Exception {
    sql.close();
    FlinkSession.assertNothingLeaks();
  }

  private static String values(int from, int to) {
    return IntStream.range(from, to).mapToObj(i -> "(" + i + ",'n" + i + "'," + i * 10 + ")").collect(Collectors.joining(","));
  }

  private static List<String> expected(int from, int to) {
    return IntStream.range(from, to).mapToObj(i -> "+I[" + i + ", n" + i + ", " + i * 10 + "]").sorted().collect(Collectors.toList());
  }

  private void logTable(int buckets) {
    sql.run("CREATE TABLE l (id INT NOT NULL, name STRING, v BIGINT) WITH ('bucket.num'='" + buckets + "')");
  }

  private void keyedTable(int buckets) {
    sql.run("CREATE TABLE k (id INT, name STRING, v BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='" + buckets + "')");
  }

  @Test
  void aLogTableIsReadWhole() {
    logTable(4);
    assertThat(sql.rows("SELECT * FROM l")).isEmpty();
    sql.run("INSERT INTO l VALUES " + values(0, 50), "INSERT INTO l VALUES " + values(50, 100));
    assertThat(sql.rows("SELECT * FROM l")).isEqualTo(expected(0, 100));
    assertThat(sql.rows("SELECT * FROM l /*+ OPTIONS('scan.startup.mode'='earliest') */")).isEqualTo(expected(0, 100));
    assertThat(sql.rows("SELECT * FROM l /*+ OPTIONS('scan.startup.mode'='latest') */")).isEmpty();
  }

  @Test
  void aLogTableIsReadFromATimestamp() throws Exception {
    logTable(2);
    sql.run("INSERT INTO l VALUES " + values(0, 10));
    Thread.sleep(20);
    long between = System.currentTimeMillis();
    Thread.sleep(20);
    sql.run("INSERT INTO l VALUES " + values(10, 20));
    String from = "SELECT * FROM l /*+ OPTIONS('scan.startup.mode'='timestamp', 'scan.startup.timestamp'='%d') */";
    assertThat(sql.rows(String.format(from, between))).isEqualTo(expected(10, 20));
    assertThat(sql.rows(String.format(from, 0))).isEqualTo(expected(0, 20));
    assertThat(sql.rows(String.format(from, System.currentTimeMillis() + 3_600_000))).isEmpty();
  }

  @Test
  void aPrimaryKeyTableIsReadAsItIsNow() {
    keyedTable(3);
    assertThat(sql.rows("SELECT * FROM k")).isEmpty();
    sql.run("INSERT INTO k VALUES " + values(0, 100), "INSERT INTO k VALUES (5,'new',-5),(7,CAST(NULL AS STRING),CAST(NULL AS BIGINT))");
    List<String> rows = new ArrayList<>(expected(0, 100));
    rows.remove("+I[5, n5, 50]");
    rows.remove("+I[7, n7, 70]");
    rows.add("+I[5, new, -5]");
    rows.add("+I[7, null, null]");
    rows.sort(null);
    assertThat(sql.rows("SELECT * FROM k")).isEqualTo(rows);
  }

  @Test
  void aBatchReadOfAPrimaryKeyTableHasNoOtherStart() {
    keyedTable(1);
    assertThatThrownBy(() -> sql.rows("SELECT * FROM k /*+ OPTIONS('scan.startup.mode'='earliest') */"))
        .hasStackTraceContaining("A batch read of primary-key table fluss.k only supports 'scan.startup.mode' = 'full', not 'earliest'.");
  }

  @Test
  void columnsAreReadInAnyOrderAndNumber() {
    logTable(2);
    keyedTable(2);
    sql.run("INSERT INTO l VALUES (1,'a',10)", "INSERT INTO k VALUES (1,'a',10)");
    for (String table : List.of("l", "k")) {
      assertThat(sql.rows("SELECT v, id FROM " + table)).containsExactly("+I[10, 1]");
      assertThat(sql.rows("SELECT name FROM " + table)).containsExactly("+I[a]");
      assertThat(sql.rows("SELECT 'x' FROM " + table)).containsExactly("+I[x]");
      assertThat(sql.rows("SELECT v, v + 1, UPPER(name) FROM " + table)).containsExactly("+I[10, 11, A]");
      assertThat(sql.explain("SELECT v, id FROM " + table)).contains("project=[v, id]");
    }
  }

  @Test
  void limitsAreRightWhateverTheirSize() {
    logTable(3);
    keyedTable(3);
    sql.run("INSERT INTO l VALUES " + values(0, 30), "INSERT INTO k VALUES " + values(0, 30));
    for (String table : List.of("l", "k")) {
      assertThat(sql.explain("SELECT * FROM " + table + " LIMIT 7")).contains("limit=[7]");
      assertSome(sql.rows("SELECT * FROM " + table + " LIMIT 7"), 7);
      assertSome(sql.rows("SELECT * FROM " + table + " LIMIT 1"), 1);
      assertSome(sql.rows("SELECT * FROM " + table + " LIMIT 5000"), 30);
      assertThat(sql.rows("SELECT * FROM " + table + " LIMIT 0")).isEmpty();
      assertSome(sql.rows("SELECT * FROM " + table + " LIMIT 5 OFFSET 28"), 2);
      assertSome(sql.rows("SELECT * FROM " + table + " LIMIT 5 OFFSET 3"), 5);
      assertThat(sql.rows("SELECT * FROM " + table + " LIMIT 5 OFFSET 30")).isEmpty();
      assertThat(sql.inOrder("SELECT id FROM " + table + " ORDER BY id DESC LIMIT 2")).containsExactly("+I[29]", "+I[28]");
      assertThat(sql.rows("SELECT id FROM " + table + " WHERE v > 270 LIMIT 2")).containsExactly("+I[28]", "+I[29]");
    }
  }

  private static void assertSome(List<String> rows, int count) {
    assertThat(rows).hasSize(count).doesNotHaveDuplicates().isSubsetOf(expected(0, 30));
  }

  @Test
  void aLimitFollowsTheStartOfTheScan() {
    logTable(1);
    sql.run("INSERT INTO l VALUES " + values(0, 5), "INSERT INTO l VALUES " + values(5, 30));
    assertThat(sql.rows("SELECT * FROM l /*+ OPTIONS('scan.startup.mode'='earliest') */ LIMIT 2")).hasSize(2).isSubsetOf(expected(0, 5));
    assertThat(sql.rows("SELECT id FROM l /*+ OPTIONS('scan.startup.mode'='latest') */ LIMIT 2")).isEmpty();
  }

  @Test
  void countsAreThoseOfAScan() {
    sql.run(
        "CREATE TABLE people (id INT, addr STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='3')",
        "CREATE TABLE visits (id INT NOT NULL, addr STRING) WITH ('bucket.num'='3')");
    String counts =
        String.join(
            " UNION ALL ",
            "SELECT 'all', COUNT(*) FROM t",
            "SELECT 'two', COUNT(id) + COUNT(1) FROM t",
            "SELECT 'nullable', COUNT(addr) FROM t",
            "SELECT 'mixed', COUNT(*) * 1000 + COUNT(1) * 100 + COUNT(id) * 10 + COUNT(addr) FROM t",
            "SELECT 'filtered', COUNT(*) FROM t WHERE addr IS NULL",
            "SELECT 'distinct', COUNT(DISTINCT addr) FROM t",
            "SELECT 'distinct key', COUNT(DISTINCT id) FROM t",
            "SELECT 'limited', COUNT(*) FROM (SELECT * FROM t LIMIT 2)",
            "SELECT 'grouped ' || addr, COUNT(*) FROM t WHERE addr IS NOT NULL GROUP BY addr",
            "SELECT 'with maximum', MAX(id) + COUNT(*) FROM t",
            "SELECT 'filter clause', COUNT(*) FILTER (WHERE id > 1) FROM t",
            "SELECT 'case', COUNT(CASE WHEN id > 1 THEN 1 END) FROM t",
            "SELECT 'cases', COUNT(*) * 10 + COUNT(NULLIF(id, 2)) FROM t");
    for (String table : List.of("people", "visits")) {
      String query = counts.replace("FROM t", "FROM " + table);
      assertThat(sql.rows("SELECT COUNT(*) FROM " + table)).containsExactly("+I[0]");
      sql.run("INSERT INTO " + table + " VALUES (1,'x'),(2,CAST(NULL AS STRING)),(3,'y')");
      assertThat(sql.rows("SELECT COUNT(*) FROM " + table)).containsExactly("+I[3]");
      assertThat(sql.rows("SELECT COUNT(*), COUNT(1), COUNT(id), COUNT(addr) FROM " + table)).containsExactly("+I[3, 3, 3, 2]");
      for (String pushdown : List.of("true", "false")) {
        sql.set("table.optimizer.source.aggregate-pushdown-enabled", pushdown);
        assertThat(sql.rows(query))
            .containsExactlyInAnyOrder(
                "+I[all, 3]",
                "+I[two, 6]",
                "+I[nullable, 2]",
                "+I[mixed, 3332]",
                "+I[filtered, 1]",
                "+I[distinct, 2]",
                "+I[distinct key, 3]",
                "+I[limited, 2]",
                "+I[grouped x, 1]",
                "+I[grouped y, 1]",
                "+I[with maximum, 6]",
                "+I[filter clause, 2]",
                "+I[case, 2]",
                "+I[cases, 32]");
      }
      sql.set("table.optimizer.source.aggregate-pushdown-enabled", "true");
      assertThat(sql.explain("SELECT COUNT(*) FROM " + table)).contains("aggregates=[");
      assertThat(sql.explain("SELECT COUNT(id) FROM " + table)).contains("aggregates=[");
      assertThat(sql.explain("SELECT COUNT(addr) FROM " + table)).doesNotContain("aggregates=[");
      assertThat(sql.explain("SELECT COUNT(*) FROM " + table + " WHERE id > 1")).doesNotContain("aggregates=[");
    }
    assertThat(sql.rows("SELECT COUNT(*) FROM visits /*+ OPTIONS('scan.startup.mode'='latest') */")).containsExactly("+I[0]");
  }

  @Test
  void countsFollowUpdatesAndDeletes() {
    keyedTable(2);
    sql.run("INSERT INTO k VALUES " + values(0, 100), "INSERT INTO k VALUES " + values(50, 150));
    assertThat(sql.rows("SELECT COUNT(*), MIN(id), MAX(id) FROM k")).containsExactly("+I[150, 0, 149]");
    assertThat(sql.rows("SELECT COUNT(*) FROM k")).containsExactly("+I[150]");
  }

  @Test
  void rowsBehindTheNewestSnapshotAreReadToo() throws Exception {
    keyedTable(1);
    sql.run("INSERT INTO k VALUES " + values(100, 200));
    // A streaming read makes the store take a snapshot.
    try (FlinkSession streaming = FlinkSession.streaming(directory.resolve("store"), 1);
        FlinkSession.Running reader = streaming.start("SELECT id FROM k")) {
      reader.next(100);
    }
    sql.run("INSERT INTO k VALUES " + values(200, 300), "INSERT INTO k VALUES " + values(0, 100), "INSERT INTO k VALUES (150,'mid',0)");
    assertThat(sql.rows("SELECT COUNT(*), MIN(id), MAX(id) FROM k")).containsExactly("+I[300, 0, 299]");
    assertThat(sql.rows("SELECT COUNT(*), COUNT(name) FROM k WHERE v >= 0")).containsExactly("+I[300, 300]");
    assertThat(sql.rows("SELECT name FROM k WHERE id = 150")).containsExactly("+I[mid]");
  }

  @Test
  void keysThatAreNotTheLeadingColumnsAreFound() {
    sql.run(
        "CREATE TABLE k_last (amount INT, note STRING, k2 STRING, k1 INT, PRIMARY KEY (k1, k2) NOT ENFORCED) WITH ('bucket.num'='3')",
        "INSERT INTO k_last VALUES (1,'a','x',10),(2,'b','y',20)",
        "INSERT INTO k_last VALUES (9,'z','x',10)");
    assertThat(sql.rows("SELECT note FROM k_last WHERE k1 = 10 AND k2 = 'x'")).containsExactly("+I[z]");
    assertThat(sql.rows("SELECT note FROM k_last WHERE 'x' = k2 AND 10 = k1")).containsExactly("+I[z]");
    assertThat(sql.rows("SELECT * FROM k_last")).containsExactly("+I[2, b, y, 20]", "+I[9, z, x, 10]");
    assertThat(sql.rows("SELECT k1, amount FROM k_last")).containsExactly("+I[10, 9]", "+I[20, 2]");
  }

  @Test
  void pointQueriesAreThoseOfAScan() {
    keyedTable(3);
    sql.run("INSERT INTO k VALUES " + values(0, 100));
    assertThat(sql.explain("SELECT * FROM k WHERE id = 7")).contains("filter=[=(id, 7)]");
    assertThat(sql.rows("SELECT * FROM k WHERE id = 7")).containsExactly("+I[7, n7, 70]");
    assertThat(sql.rows("SELECT v FROM k WHERE id = 7")).containsExactly("+I[70]");
    assertThat(sql.rows("SELECT v FROM k WHERE id = 7 AND name = 'n7'")).containsExactly("+I[70]");
    assertThat(sql.rows("SELECT v FROM k WHERE id = 7 AND name = 'n8'")).isEmpty();
    assertThat(sql.rows("SELECT v FROM k WHERE id = 1000")).isEmpty();
    assertThat(sql.rows("SELECT v FROM k WHERE id = 7 AND id = 8")).isEmpty();
    assertThat(sql.rows("SELECT v FROM k WHERE id = 7 OR id = 8")).containsExactly("+I[70]", "+I[80]");
    assertThat(sql.rows("SELECT COUNT(*) FROM k WHERE id = 7")).containsExactly("+I[1]");
    assertThat(sql.rows("SELECT v FROM k WHERE id = 7 LIMIT 3")).containsExactly("+I[70]");
    assertThat(sql.rows("SELECT v FROM k WHERE id = CAST(NULL AS INT)")).isEmpty();
  }

  @Test
  void twoPointQueriesOfOnePlanKeepTheirKeys() {
    keyedTable(3);
    sql.run("INSERT INTO k VALUES " + values(0, 10));
    assertThat(sql.rows("SELECT v FROM k WHERE id = 3 UNION ALL SELECT v FROM k WHERE id = 4 UNION ALL SELECT v FROM k WHERE v > 80"))
        .containsExactly("+I[30]", "+I[40]", "+I[90]");
    assertThat(sql.rows("SELECT a.v, b.v FROM k AS a, k AS b WHERE a.id = 3 AND b.id = 4")).containsExactly("+I[30, 40]");
    assertThat(sql.rows("SELECT (SELECT COUNT(*) FROM k), v FROM k WHERE id = 3")).containsExactly("+I[10, 30]");
  }

  @Test
  void columnsAddedLaterAreNullInOlderRows() {
    logTable(2);
    keyedTable(2);
    for (String table : List.of("l", "k")) {
      sql.run(
          "INSERT INTO " + table + " VALUES " + values(0, 100),
          "ALTER TABLE " + table + " ADD extra BIGINT",
          "INSERT INTO " + table + " SELECT id, name, v, CAST(id AS BIGINT) FROM (VALUES " + values(100, 110) + ") AS n(id, name, v)");
      String summed = "SELECT COUNT(*), COUNT(extra), MIN(extra), SUM(id), SUM(extra) FROM " + table;
      assertThat(sql.rows(summed)).containsExactly("+I[110, 10, 100, 5995, 1045]");
      List<String> extras = sql.rows("SELECT extra FROM " + table);
      assertThat(extras).hasSize(110);
      assertThat(extras.stream().filter("+I[null]"::equals)).hasSize(100);
      assertThat(sql.rows("SELECT extra, id FROM " + table + " WHERE id IN (7, 107)")).containsExactly("+I[107, 107]", "+I[null, 7]");
      assertThat(sql.rows("SELECT * FROM " + table + " LIMIT 5")).hasSize(5);
      assertThat(sql.rows("SELECT * FROM " + table + " LIMIT 500")).hasSize(110);
      assertThat(sql.rows("SELECT COUNT(extra) FROM " + table)).containsExactly("+I[10]");
    }
    assertThat(sql.rows("SELECT * FROM k WHERE id = 7")).containsExactly("+I[7, n7, 70, null]");
  }

  @Test
  void pointQueriesOfAllTypesOfKeysAreThoseOfAScan() {
    String[][] keys = {
      {"BOOLEAN", "TRUE"},
      {"TINYINT", "CAST(-3 AS TINYINT)"},
      {"SMALLINT", "CAST(300 AS SMALLINT)"},
      {"INT", "-5"},
      {"BIGINT", "9223372036854775807"},
      {"FLOAT", "CAST(1.5 AS FLOAT)"},
      {"DOUBLE", "CAST(-2.5 AS DOUBLE)"},
      {"DECIMAL(5,2)", "CAST(1.5 AS DECIMAL(5,2))"},
      {"DECIMAL(38,10)", "CAST('12345678901234567890.0123456789' AS DECIMAL(38,10))"},
      {"STRING", "'größe'"},
      {"CHAR(3)", "CAST('ab ' AS CHAR(3))"},
      {"BYTES", "x'00ff'"},
      {"DATE", "DATE '1969-07-20'"},
      {"TIME", "TIME '23:59:59'"},
      {"TIMESTAMP(3)", "TIMESTAMP '1969-07-20 20:17:40.123'"},
      {"TIMESTAMP(9)", "CAST('2024-01-01 00:00:00.123456789' AS TIMESTAMP(9))"},
      {"TIMESTAMP_LTZ(3)", "CAST(TIMESTAMP '2024-01-01 00:00:00.123' AS TIMESTAMP_LTZ(3))"}
    };
    List<String> inserts = new ArrayList<>();
    List<String> queries = new ArrayList<>();
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < keys.length; i++) {
      sql.run("CREATE TABLE k" + i + " (k " + keys[i][0] + ", v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num'='2')");
      inserts.add("INSERT INTO k" + i + " VALUES (" + keys[i][1] + ", " + i + ");");
      queries.add("SELECT v, '" + keys[i][0] + "' FROM k" + i + " WHERE k = " + keys[i][1]);
      expected.add("+I[" + i + ", " + keys[i][0] + "]");
    }
    sql.run("EXECUTE STATEMENT SET BEGIN " + String.join(" ", inserts) + " END");
    expected.sort(null);
    assertThat(sql.rows(String.join(" UNION ALL ", queries))).isEqualTo(expected);
  }
}
