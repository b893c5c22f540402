package io.sluice.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.sluice.flink.FlinkSession;
import io.sluice.flink.Refusal;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** DELETE and UPDATE in batch mode, against a model. */
final class StatementITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  private static final int STATEMENTS = 14;
  private static final int KEYS = 60;

  @TempDir Path directory;

  private FlinkSession session;

  @BeforeEach
  void open() {
    session = FlinkSession.batch(directory, 2);
  }

  @AfterEach
  void close() throws Exception {
    session.close();
    FlinkSession.assertNothingLeaks();
  }

  private void refused(String statement, String... parts) {
    Refusal.assertRefused(session, statement, UnsupportedOperationException.class, parts);
  }

  /** Runs a statement, and returns whether that took a job. */
  private boolean needsJob(String statement) throws Exception {
    var result = session.submit(statement);
    result.await();
    return result.getJobClient().isPresent();
  }

  // ---- any condition

  /** What a SET clause does to a row. */
  private enum Change {
    ADD("v = v + 1", row -> new ModelRow(row.p, row.k, row.v == null ? null : row.v + 1, row.w)),
    FORGET("v = CAST(NULL AS INT)", row -> new ModelRow(row.p, row.k, null, row.w)),
    TEXT("w = CONCAT('x', w)", row -> new ModelRow(row.p, row.k, row.v, row.w == null ? null : "x" + row.w)),
    CROSS("v = k, w = CAST(v AS STRING)", row -> new ModelRow(row.p, row.k, row.k, row.v == null ? null : row.v.toString()));

    private final String sql;
    private final UnaryOperator<ModelRow> change;

    Change(String sql, UnaryOperator<ModelRow> change) {
      this.sql = sql;
      this.change = change;
    }
  }

  private List<ModelRow> fill(String table, Random random) {
    List<ModelRow> rows = new ArrayList<>();
    for (int k = 0; k < KEYS; k++) {
      for (String p : List.of("a", "b", "c")) {
        Integer v = random.nextInt(5) == 0 ? null : Integer.valueOf(random.nextInt(10));
        rows.add(new ModelRow(p, k, v, random.nextInt(5) == 0 ? null : random.nextBoolean() ? "x1" : "y"));
      }
    }
    // Literals alone: with a CAST among them the planner would make a source of each row.
    session.run("INSERT INTO " + table + " SELECT p, k, NULLIF(v, -1), NULLIF(w, '') FROM (VALUES "
        + rows.stream().map(ModelRow::literals).collect(Collectors.joining(", ")) + ") AS t(p, k, v, w)");
    return rows;
  }

  private void equalsModel(String table, long seed) {
    Random random = new Random(seed);
    List<ModelRow> model = fill(table, random);
    List<String> done = new ArrayList<>();
    for (int i = 0; i < STATEMENTS; i++) {
      if (model.size() < KEYS) {
        model = fill(table, random);
      }
      Truth condition = Truth.any(random, 2);
      if (random.nextInt(3) == 0) {
        done.add("DELETE FROM " + table + " WHERE " + condition);
        model = model.stream().filter(row -> !condition.holds(row)).collect(Collectors.toList());
      } else {
        Change change = Change.values()[random.nextInt(Change.values().length)];
        done.add("UPDATE " + table + " SET " + change.sql + " WHERE " + condition);
        model = model.stream().map(row -> condition.holds(row) ? change.change.apply(row) : row).collect(Collectors.toList());
      }
      session.run(done.get(i));
      List<String> expected = model.stream().map(ModelRow::toString).sorted().collect(Collectors.toList());
      assertThat(session.rows("SELECT * FROM " + table)).as("seed %d, after %s", seed, done).isEqualTo(expected);
    }
  }

  @Test
  void anyConditionOnATable() {
    session.run("CREATE TABLE t (p STRING, k INT, v INT, w STRING, PRIMARY KEY (k, p) NOT ENFORCED) WITH ('bucket.num' = '3')");
    equalsModel("t", 1);
  }

  @Test
  void anyConditionOnAPartitionedTable() {
    session.run(
        "CREATE TABLE t (p STRING, k INT, v INT, w STRING, PRIMARY KEY (k, p) NOT ENFORCED) PARTITIONED BY (p) WITH ('bucket.num' = '2')");
    equalsModel("t", 2);
  }

  @Test
  void everyRowOnceThoughTheTableIsReadMeanwhile() {
    session.run("CREATE TABLE t (k BIGINT, v BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num' = '3')");
    session.run("CREATE TEMPORARY TABLE src (k BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '50000', 'fields.k.kind' = 'sequence',"
        + " 'fields.k.start' = '1', 'fields.k.end' = '50000')");
    session.run("INSERT INTO t SELECT k, k FROM src");
    session.run("UPDATE t SET v = v + 1");
    assertThat(session.rows("SELECT COUNT(*), SUM(v - k), MIN(v - k), MAX(v - k) FROM t")).containsExactly("+I[50000, 50000, 1, 1]");
    session.run("UPDATE t SET v = v * 2 WHERE v > 25001");
    assertThat(session.rows("SELECT COUNT(*), SUM(v) FROM t")).containsExactly("+I[50000, 2187612500]");
    session.run("DELETE FROM t WHERE MOD(k, 2) = 0");
    assertThat(session.rows("SELECT COUNT(*), MIN(k), MAX(k) FROM t")).containsExactly("+I[25000, 1, 49999]");
    session.run("DELETE FROM t");
    assertThat(session.rows("SELECT COUNT(*) FROM t")).containsExactly("+I[0]");
  }

  @Test
  void otherTablesMayDecide() {
    session.run("CREATE TABLE t (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED)", "CREATE TABLE seen (x INT, y INT)");
    session.run("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, CAST(NULL AS INT))");
    session.run("INSERT INTO seen VALUES (1, 10), (4, 7), (CAST(NULL AS INT), 20)");
    session.run("DELETE FROM t WHERE k NOT IN (SELECT x FROM seen)");
    assertThat(session.rows("SELECT COUNT(*) FROM t")).as("NULL among them: unknown for every row").containsExactly("+I[5]");
    session.run("DELETE FROM t WHERE k IN (SELECT x FROM seen WHERE y < 10)");
    session.run("UPDATE t SET v = -1 WHERE v > (SELECT AVG(v) FROM t)");
    session.run("UPDATE t SET v = 0 WHERE EXISTS (SELECT 1 FROM seen WHERE x = k AND y = v)");
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[1, 0]", "+I[2, 20]", "+I[3, -1]", "+I[5, null]");
    session.run("DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM seen WHERE y = v)");
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[2, 20]");
  }

  // ---- one key

  @Test
  void oneKeyNeedsNoJob() throws Exception {
    session.run(
        "CREATE TABLE t (w STRING NOT NULL, b STRING, d DECIMAL(10, 2), a BIGINT, f BOOLEAN, PRIMARY KEY (a, b, d) NOT ENFORCED)"
            + " WITH ('bucket.num' = '3')");
    session.run("INSERT INTO t VALUES ('one', 'x', 1.50, 1, TRUE), ('two', 'y', 1.50, 1, FALSE), ('three', 'x', 2.50, 1, TRUE)");
    assertThat(needsJob("DELETE FROM t WHERE a = 1 AND d = CAST(1.50 AS DECIMAL(10, 2)) AND 'x' = b")).isFalse();
    assertThat(session.rows("SELECT w FROM t")).containsExactly("+I[three]", "+I[two]");
    assertThat(needsJob("DELETE FROM t WHERE a = 1 AND d = CAST(1.50 AS DECIMAL(10, 2)) AND b = 'x'")).as("gone already").isFalse();
    assertThat(needsJob("DELETE FROM t WHERE a = 1 AND d = CAST(1.50 AS DECIMAL(10, 2)) AND b = 'y' AND f")).isTrue();
    assertThat(session.rows("SELECT w FROM t")).as("the last condition does not hold").containsExactly("+I[three]", "+I[two]");
    assertThat(needsJob("DELETE FROM t WHERE a = 1 AND a = 2 AND d = CAST(2.50 AS DECIMAL(10, 2)) AND b = 'x'")).isTrue();
    assertThat(needsJob("DELETE FROM t WHERE a = 1 AND b = 'x'")).isTrue();
    assertThat(session.rows("SELECT w FROM t")).containsExactly("+I[two]");
  }

  @Test
  void oneKeyOfAPartition() throws Exception {
    session.run("CREATE TABLE t (dt STRING, k INT, v INT NOT NULL, PRIMARY KEY (dt, k) NOT ENFORCED) PARTITIONED BY (dt)");
    session.run("INSERT INTO t VALUES ('mon', 1, 1), ('tue', 1, 1), ('tue', 2, 2)");
    assertThat(needsJob("DELETE FROM t WHERE dt = 'tue' AND k = 1")).isFalse();
    assertThat(needsJob("DELETE FROM t WHERE dt = 'sun' AND k = 1")).isFalse();
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[mon, 1, 1]", "+I[tue, 2, 2]");
    assertThat(session.rows("SHOW PARTITIONS t")).as("a delete makes no partition").hasSize(2);
    session.run("UPDATE t SET v = 7 WHERE dt = 'sun'", "DELETE FROM t WHERE dt = 'mon'");
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[tue, 2, 2]");
    assertThat(session.rows("SHOW PARTITIONS t")).hasSize(2);
  }

  @Test
  void keysOfOtherTypes() throws Exception {
    session.run("CREATE TABLE t (d DATE, c CHAR(3), ts TIMESTAMP(3), v INT, PRIMARY KEY (d, c, ts) NOT ENFORCED)");
    session.run("INSERT INTO t VALUES (DATE '1969-12-31', 'abc', TIMESTAMP '1969-12-31 23:59:59.999', 1),"
        + " (DATE '2026-01-02', 'abc', TIMESTAMP '2026-01-02 00:00:00', 2)");
    session.run("DELETE FROM t WHERE d = DATE '1969-12-31' AND c = 'abc' AND ts = TIMESTAMP '1969-12-31 23:59:59.999'");
    assertThat(session.rows("SELECT v FROM t WHERE d < DATE '2000-01-01'")).isEmpty();
    session.run("UPDATE t SET v = 3 WHERE d = DATE '2026-01-02' AND ts = TIMESTAMP '2026-01-02 00:00:00'");
    assertThat(session.rows("SELECT v FROM t")).containsExactly("+I[3]");
  }

  // ---- tables of many kinds

  @Test
  void computedColumnsAreReadAndNotWritten() {
    session.run("CREATE TABLE t (k INT, twice AS k * 2, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED)"
        + " WITH ('bucket.num' = '2')");
    session.run("INSERT INTO t VALUES (1, 1, TIMESTAMP '2026-01-01 00:00:00'), (2, 2, TIMESTAMP '2026-01-02 00:00:00')");
    session.run("UPDATE t SET v = twice WHERE ts > TIMESTAMP '2026-01-01 12:00:00'", "DELETE FROM t WHERE twice = 2");
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[2, 4, 4, 2026-01-02T00:00]");
    session.run("ALTER TABLE t SET ('scan.startup.mode' = 'latest')");
    refused("DELETE FROM t WHERE v = 4", "only supports 'scan.startup.mode' = 'full', not 'latest'");
  }

  @Test
  void readersSeeWhatChanges() throws Exception {
    session.run("CREATE TABLE t (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED)", "INSERT INTO t VALUES (1, 1), (2, 2)");
    try (FlinkSession streaming = FlinkSession.streaming(directory, 1);
        FlinkSession.Running reader = streaming.start("SELECT * FROM t")) {
      assertThat(reader.nextSorted(2)).containsExactly("+I[1, 1]", "+I[2, 2]");
      session.run("UPDATE t SET v = 5 WHERE v = 2");
      assertThat(reader.next(2)).containsExactly("-U[2, 2]", "+U[2, 5]");
      session.run("DELETE FROM t WHERE k = 1", "DELETE FROM t WHERE v > 4");
      assertThat(reader.next(2)).containsExactly("-D[1, 1]", "-D[2, 5]");
    }
  }

  @Test
  void versionedRowsKeepTheirVersion() {
    session.run("CREATE TABLE t (k INT, ver BIGINT, v STRING, PRIMARY KEY (k) NOT ENFORCED)"
        + " WITH ('table.merge-engine' = 'versioned', 'table.merge-engine.versioned.ver-column' = 'ver')");
    session.run("INSERT INTO t VALUES (1, 10, 'a'), (2, CAST(NULL AS BIGINT), 'b'), (3, 30, 'c')");
    session.run("UPDATE t SET v = CONCAT(v, '!') WHERE k < 3");
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[1, 10, a!]", "+I[2, null, b!]", "+I[3, 30, c]");
    refused("UPDATE t SET ver = 1, v = 'x' WHERE k = 1", "UPDATE on table fluss.t is not possible: column 'ver' is the version");
    refused("DELETE FROM t WHERE k = 1", "its merge engine is versioned, and it has its delete behavior set to 'ignore'");
  }

  @Test
  void aggregatesAreDeletedWhereTheTableAllows() throws Exception {
    session.run("CREATE TABLE t (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('table.merge-engine' = 'aggregation',"
        + " 'fields.v.agg' = 'sum', 'table.delete.behavior' = 'allow', 'bucket.num' = '2')");
    session.run("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (1, 10)");
    assertThat(needsJob("DELETE FROM t WHERE k = 2")).isFalse();
    session.run("DELETE FROM t WHERE v > 10");
    session.run("INSERT INTO t VALUES (1, 4), (3, 4)");
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[1, 4]", "+I[3, 7]");
    refused("UPDATE t SET v = 0 WHERE k = 1", "its merge engine is aggregation");
  }

  @Test
  void updatesDoNotAskWhetherDeletesAreTaken() {
    session.run("CREATE TABLE t (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('table.delete.behavior' = 'disable')");
    session.run("INSERT INTO t VALUES (1, 1), (2, 2)", "UPDATE t SET v = 7 WHERE v = 1");
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[1, 7]", "+I[2, 2]");
    refused("DELETE FROM t WHERE v = 7", "DELETE on table fluss.t is not possible: it has its delete behavior set to 'disable'.");
    refused("DELETE FROM t WHERE k = 1", "it has its delete behavior set to 'disable'");
  }

  // ---- refused

  @Test
  void whatCannotBeIsRefusedWhilePlanning() {
    session.run("CREATE TABLE l (a INT, b STRING)", "CREATE TABLE t (a INT, b STRING NOT NULL, PRIMARY KEY (a) NOT ENFORCED)");
    session.run("CREATE TABLE f (a INT, b STRING, PRIMARY KEY (a) NOT ENFORCED) WITH ('table.merge-engine' = 'first_row')");
    session.run("INSERT INTO l VALUES (1, 'x')", "INSERT INTO t VALUES (1, 'x')", "INSERT INTO f VALUES (1, 'x')");
    refused("DELETE FROM l WHERE a = 1", "DELETE on table fluss.l is not possible: it has no primary key.");
    refused("UPDATE l SET b = 'y' WHERE a = 1", "UPDATE on table fluss.l is not possible: it has no primary key.");
    refused("DELETE FROM f WHERE a = 1", "its merge engine is first_row");
    refused("UPDATE f SET b = 'y' WHERE a = 1", "its merge engine is first_row");
    refused("UPDATE t SET a = 2 WHERE a = 1", "updates to primary keys are not supported", "column 'a'");
    Refusal.assertRefused(session, "UPDATE t SET b = CAST(NULL AS STRING) WHERE a = 1", Exception.class, "'b'", "NOT NULL");
    for (String table : List.of("l", "t", "f")) {
      assertThat(session.rows("SELECT * FROM " + table)).containsExactly("+I[1, x]");
    }
  }

  @Test
  void streamingModeIsRefused() {
    session.run("CREATE TABLE t (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED)", "INSERT INTO t VALUES (1, 1)");
    session.close();
    session = FlinkSession.streaming(directory, 2);
    refused("DELETE FROM t WHERE k = 1", "DELETE on table fluss.t is not possible in streaming mode: SET 'execution.runtime-mode' = 'batch'.");
    // These two Flink does not even bring to us.
    Refusal.assertRefused(session, "DELETE FROM t WHERE v = 1", Exception.class, "DELETE", "streaming mode");
    Refusal.assertRefused(session, "UPDATE t SET v = 2 WHERE k = 1", Exception.class, "UPDATE", "streaming mode");
    session.close();
    session = FlinkSession.batch(directory, 2);
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[1, 1]");
  }

  @Test
  void conditionsThatNoRowMeetsChangeNothing() throws Exception {
    session.run("CREATE TABLE t (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num' = '2')");
    session.run("INSERT INTO t VALUES " + IntStream.range(0, 20).mapToObj(k -> "(" + k + ", 1)").collect(Collectors.joining(", ")));
    for (String condition : List.of("FALSE", "v = CAST(NULL AS INT)", "v <> CAST(NULL AS INT)", "k = 1 AND k = 2", "v > 1")) {
      session.run("DELETE FROM t WHERE " + condition, "UPDATE t SET v = 9 WHERE " + condition);
    }
    assertThat(session.rows("SELECT COUNT(*), MIN(v), MAX(v) FROM t")).containsExactly("+I[20, 1, 1]");
  }
}
