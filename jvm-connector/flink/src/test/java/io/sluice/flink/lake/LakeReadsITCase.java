package io.sluice.flink.lake;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import io.sluice.flink.FlinkSession;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.test.junit5.InjectMiniCluster;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Questions whose answer must not depend on which rows are in the lake already. */
final class LakeReadsITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  private static final String LAKE = "'table.datalake.enabled' = 'true'";

  @TempDir Path directory;

  private MiniCluster cluster;
  private PaimonJars jars;
  private FlinkSession session;

  @BeforeEach
  void open(@InjectMiniCluster MiniCluster miniCluster) {
    cluster = miniCluster;
    jars = new PaimonJars();
    session = over(jars.batch(cluster));
  }

  private FlinkSession over(TableEnvironment environment) {
    Map<String, String> options = Map.of("datalake.format", "paimon", "datalake.paimon.warehouse", directory.resolve("lake").toString());
    return FlinkSession.over(environment, directory.resolve("store"), 2, options);
  }

  @AfterEach
  void close() throws Exception {
    session.close();
    jars.close();
    FlinkSession.assertNothingLeaks();
  }

  private void tier(String table) {
    session.run("CALL sys.tier('fluss." + table + "')");
  }

  /** Rows of two partitions of a type, asked for before, with and behind the lake. */
  private void assertOncePerRow(String table, String type, String key, String first, String second) {
    session.run(
        "CREATE TABLE " + table + " (id INT, d " + type + (key.isEmpty() ? "" : ", PRIMARY KEY (" + key + ") NOT ENFORCED") + ") PARTITIONED BY (d)"
            + " WITH ('bucket.num' = '2', " + LAKE + ")",
        "INSERT INTO " + table + " VALUES (1, " + first + "), (2, " + second + ")");
    List<String> one = session.rows("SELECT * FROM (VALUES (1, " + first + ")) AS v (id, d)");
    String all = "SELECT * FROM " + table;
    List<String> before = session.rows(all);
    assertThat(before).hasSize(2).containsAll(one);
    tier(table);
    assertThat(session.rows(all)).isEqualTo(before);
    assertThat(session.rows("SELECT id, d FROM " + table + "$lake")).isEqualTo(before);
    session.run("INSERT INTO " + table + " VALUES (3, " + second + ")");
    assertThat(session.rows("SELECT COUNT(*), MIN(id), MAX(id) FROM " + table)).containsExactly("+I[3, 1, 3]");
    assertThat(session.rows(all + " WHERE d = " + first)).isEqualTo(one);
    assertThat(session.rows("SELECT id FROM " + table + " WHERE d <> " + first)).containsExactly("+I[2]", "+I[3]");
    assertThat(session.rows(all + " WHERE d = " + first + " LIMIT 5")).isEqualTo(one);
    session.run("DROP TABLE " + table);
  }

  @Test
  void partitionsOfEveryTypeCountOnce() {
    String[][] kinds = {
      {"DATE", "DATE '2024-03-01'", "DATE '1969-12-31'"},
      {"INT", "-7", "2147483647"},
      {"BOOLEAN", "TRUE", "FALSE"},
      {"TIMESTAMP(3)", "TIMESTAMP '1969-12-31 23:59:59.999'", "TIMESTAMP '2026-07-21 12:44:10'"},
      {"STRING", "'A-b_c'", "'0'"},
    };
    for (String[] kind : kinds) {
      // The lake keeps what a dropped table had, under its name.
      String name = kind[0].toLowerCase(Locale.ROOT).replaceAll("[^a-z]", "");
      assertOncePerRow("log_" + name, kind[0], "", kind[1], kind[2]);
      assertOncePerRow("keyed_" + name, kind[0], "id, d", kind[1], kind[2]);
    }
  }

  /** Some buckets have rows in the lake only, some in the log only, some in both, and the partition is the first part of the key. */
  @Test
  void bucketsThatTheLakeDoesNotHaveYet() {
    for (int buckets : new int[] {1, 4}) {
      String table = "orders" + buckets;
      session.run(
          "CREATE TABLE " + table + " (region STRING, oid INT, amt INT, PRIMARY KEY (region, oid) NOT ENFORCED) PARTITIONED BY (region)"
              + " WITH ('bucket.num' = '" + buckets + "', " + LAKE + ")",
          "INSERT INTO " + table + " VALUES ('eu', 1, 10), ('us', 1, 11)");
      tier(table);
      session.run("INSERT INTO " + table + " VALUES ('eu', 7, 70), ('us', 1, 12), ('eu', 8, 80), ('eu', 9, 90), ('asia', 1, 1)");
      assertThat(session.rows("SELECT * FROM " + table))
          .containsExactly("+I[asia, 1, 1]", "+I[eu, 1, 10]", "+I[eu, 7, 70]", "+I[eu, 8, 80]", "+I[eu, 9, 90]", "+I[us, 1, 12]");
      assertThat(session.rows("SELECT amt FROM " + table + " WHERE region = 'us'")).containsExactly("+I[12]");
      assertThat(session.rows("SELECT COUNT(*) FROM " + table + " WHERE amt > 11")).containsExactly("+I[4]");
    }
  }

  /** The point query, the partition and the limit of C22 find what only the lake has. */
  @Test
  void whatOnlyTheLakeHasIsFoundEveryWay() {
    session.run(
        "CREATE TABLE t (dt STRING, id INT, v INT, PRIMARY KEY (dt, id) NOT ENFORCED) PARTITIONED BY (dt) WITH ('bucket.num' = '2', " + LAKE + ")",
        "INSERT INTO t VALUES ('20240101', 7, 70), ('20240101', 8, 80), ('20240102', 7, 71)");
    tier("t");
    session.run("ALTER TABLE t DROP PARTITION (dt = '20240101')");
    assertThat(session.rows("SELECT v FROM t WHERE dt = '20240101' AND id = 7")).containsExactly("+I[70]");
    assertThat(session.rows("SELECT v FROM t WHERE dt = '20240101'")).containsExactly("+I[70]", "+I[80]");
    assertThat(session.rows("SELECT v FROM t WHERE dt = '20240101' LIMIT 1")).hasSize(1).isSubsetOf("+I[70]", "+I[80]");
    assertThat(session.rows("SELECT v FROM t WHERE dt = '20240102' LIMIT 5")).containsExactly("+I[71]");
    assertThat(session.rows("SELECT v FROM t WHERE v > 70 LIMIT 5")).containsExactly("+I[71]", "+I[80]");
    assertThat(session.rows("SELECT COUNT(*) FROM t WHERE dt = '20240101'")).containsExactly("+I[2]");
  }

  /** A condition on a value holds for the row as it is now, wherever its older pieces are. */
  @Test
  void aConditionOnAValueSeesTheMergedRow() {
    session.run(
        "CREATE TABLE agg (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num' = '1', 'table.merge-engine' = 'aggregation',"
            + " 'fields.v.agg' = 'sum', " + LAKE + ")",
        "CREATE TABLE newest (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num' = '1', " + LAKE + ")",
        "INSERT INTO agg VALUES (1, 1), (2, 1)",
        "INSERT INTO newest VALUES (1, 'old')");
    tier("agg");
    tier("newest");
    session.run("INSERT INTO agg VALUES (1, 2)", "INSERT INTO newest VALUES (1, 'new')");
    for (boolean tiered : new boolean[] {false, true}) {
      if (tiered) {
        tier("agg");
        tier("newest");
      }
      assertThat(session.rows("SELECT k, v FROM agg WHERE v = 3")).containsExactly("+I[1, 3]");
      assertThat(session.rows("SELECT k, v FROM agg WHERE v < 2")).containsExactly("+I[2, 1]");
      assertThat(session.rows("SELECT * FROM newest WHERE v = 'old'")).isEmpty();
      assertThat(session.rows("SELECT * FROM newest WHERE v = 'new'")).containsExactly("+I[1, new]");
    }
  }

  /** A job that began at a time reads no history after it was restored either. */
  @Test
  void aStreamThatBeganInTheLogIsNotGivenTheLakeWhenRestored() throws Exception {
    session.run(
        "CREATE TABLE t (id INT, v STRING, more STRING) WITH ('bucket.num' = '2', " + LAKE + ")",
        "CREATE TABLE seen (id INT) WITH ('bucket.num' = '1')",
        "INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'x')");
    tier("t");
    Thread.sleep(20);
    long now = System.currentTimeMillis();
    session.run("INSERT INTO t VALUES (3, 'c', 'y')");
    String job = "INSERT INTO seen SELECT id FROM t /*+ OPTIONS('scan.startup.mode' = 'timestamp', 'scan.startup.timestamp' = '" + now + "') */";
    String savepoint;
    try (FlinkSession stream = over(jars.streaming(cluster))) {
      JobClient first = stream.submit(job).getJobClient().orElseThrow();
      FlinkSession.eventually(() -> session.rows("SELECT id FROM seen"), List.of("+I[3]"));
      savepoint = first.stopWithSavepoint(false, directory.resolve("savepoints").toUri().toString(), SavepointFormatType.CANONICAL).get(60, TimeUnit.SECONDS);
      FlinkSession.eventually(() -> first.getJobStatus().get(), JobStatus.FINISHED);
    }
    session.run("INSERT INTO t VALUES (4, 'd', 'y')");
    try (FlinkSession stream = over(jars.streaming(cluster)).set("execution.state-recovery.path", savepoint)) {
      JobClient second = stream.submit(job).getJobClient().orElseThrow();
      FlinkSession.eventually(() -> session.rows("SELECT id FROM seen"), List.of("+I[3]", "+I[4]"));
      second.cancel().get();
      FlinkSession.eventually(() -> second.getJobStatus().get().isGloballyTerminalState(), true);
    }
    // A time to come waits; in a query that ends nothing is at or after it.
    String later = "/*+ OPTIONS('scan.startup.mode' = 'timestamp', 'scan.startup.timestamp' = '" + (now + 3_600_000) + "') */";
    assertThat(session.rows("SELECT id FROM t " + later)).isEmpty();
  }
}
