package io.sluice.flink.lookup;

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

/** Lookup joins, synchronous and asynchronous, with a cache and without: all give the same rows. */
final class LookupJoinITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  private static final String[] WAYS = {
    "'lookup.async'='false'",
    "'lookup.async'='true'",
    "'lookup.async'='false', 'lookup.cache'='PARTIAL', 'lookup.partial-cache.max-rows'='2'",
    "'lookup.async'='true', 'lookup.cache'='PARTIAL', 'lookup.partial-cache.max-rows'='2'"
  };

  @TempDir Path directory;
  private FlinkSession sql;

  @BeforeEach
  void open() {
    sql = FlinkSession.streaming(directory.resolve("store"), 2);
  }

  @AfterEach
  void nothingLeaks() throws Exception {
    sql.close();
    FlinkSession.assertNothingLeaks();
  }

  private static String probe(String columns, String values) {
    return "(SELECT *, PROCTIME() AS pt FROM (VALUES " + values + ") AS v(" + columns + ")) AS p";
  }

  /** Runs a join in all ways at once and checks that each gives the rows expected. */
  private void assertJoin(String query, String... rows) {
    List<String> branches = new ArrayList<>();
    List<String> expected = new ArrayList<>();
    for (int way = 0; way < WAYS.length; way++) {
      String hinted = query.replace("dim FOR", "dim /*+ OPTIONS(" + WAYS[way] + ") */ FOR");
      branches.add(hinted.replaceFirst("SELECT ", "SELECT " + way + ", "));
      for (String row : rows) {
        expected.add("+I[" + way + ", " + row + "]");
      }
    }
    expected.sort(null);
    assertThat(sql.rows(String.join(" UNION ALL ", branches))).isEqualTo(expected);
  }

  @Test
  void nullMatchesNothingAndAnEmptyStringIsNotNull() {
    sql.run(
        "CREATE TABLE dim (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num'='3')",
        "INSERT INTO dim VALUES ('a', 1), ('', 2), ('b', CAST(NULL AS INT))");
    String from = " FROM " + probe("k", "('a'), (CAST(NULL AS STRING)), ('zz'), (''), ('b'), ('a')") + " %s JOIN dim FOR SYSTEM_TIME AS OF p.pt AS d ON p.k = d.k";
    assertJoin("SELECT p.k, d.v" + String.format(from, "LEFT"), "a, 1", "a, 1", "null, null", "zz, null", ", 2", "b, null");
    assertJoin("SELECT p.k, d.v" + String.format(from, ""), "a, 1", "a, 1", ", 2", "b, null");
  }

  @Test
  void compositeKeysMatchInAnyOrderAndOtherConditionsAreCheckedToo() {
    sql.run(
        "CREATE TABLE dim (v STRING, k2 STRING, k1 INT, n BIGINT, PRIMARY KEY (k1, k2) NOT ENFORCED) WITH ('bucket.num'='3')",
        "INSERT INTO dim VALUES ('one', 'x', 1, 10), ('two', 'y', 2, 20), ('three', 'x', 3, 30)");
    String probe = probe("a, b, w", "(1, 'x', 'one'), (2, 'y', 'other'), (3, CAST(NULL AS STRING), 'three'), (CAST(NULL AS INT), 'x', 'one'), (1, 'y', 'one')");
    String join = " FROM " + probe + " LEFT JOIN dim FOR SYSTEM_TIME AS OF p.pt AS d ON ";
    String[] whole = {"1, x, one", "2, y, two", "3, null, null", "null, x, null", "1, y, null"};
    assertJoin("SELECT p.a, p.b, d.v" + join + "p.a = d.k1 AND p.b = d.k2", whole);
    assertJoin("SELECT p.a, p.b, d.v" + join + "d.k2 = p.b AND d.k1 = p.a", whole);
    String[] more = {"1, x, one", "2, y, null", "3, null, null", "null, x, null", "1, y, null"};
    assertJoin("SELECT p.a, p.b, d.v" + join + "p.w = d.v AND p.b = d.k2 AND p.a = d.k1", more);
    assertJoin("SELECT p.a, p.b, d.n" + join + "p.b = d.k2 AND p.a = d.k1 AND d.n > 15", "1, x, null", "2, y, 20", "3, null, null", "null, x, null", "1, y, null");
    assertJoin("SELECT p.a, p.b, d.n" + join + "p.a = d.k1 AND d.k2 = 'x'", "1, x, 10", "2, y, null", "3, null, 30", "null, x, null", "1, y, 10");
    assertJoin("SELECT p.a, d.v" + join.replace("LEFT", "") + "p.a = d.k1 AND p.b = d.k2 WHERE d.n < 15", "1, one");
  }

  @Test
  void aBucketKeyThatIsAPrefixFindsAllItsRows() {
    sql.run(
        "CREATE TABLE dim (k1 INT, k2 STRING, v INT, PRIMARY KEY (k1, k2) NOT ENFORCED) WITH ('bucket.num'='3', 'bucket.key'='k1')",
        "INSERT INTO dim VALUES (1, 'a', 10), (1, 'b', 11), (1, '', 12), (2, 'a', 20), (257, 'a', 30)");
    String join = " FROM " + probe("k", "(1), (2), (3), (CAST(NULL AS INT)), (257)") + " LEFT JOIN dim FOR SYSTEM_TIME AS OF p.pt AS d ON p.k = d.k1";
    assertJoin("SELECT p.k, d.v" + join, "1, 10", "1, 11", "1, 12", "2, 20", "3, null", "null, null", "257, 30");
    assertJoin("SELECT p.k, d.v" + join + " AND d.v = 11", "1, 11", "2, null", "3, null", "null, null", "257, null");
    assertJoin("SELECT p.k, d.v" + join + " AND d.k2 = 'a'", "1, 10", "2, 20", "3, null", "null, null", "257, 30");
  }

  @Test
  void everyAnswerOfManyBelongsToItsProbe() {
    sql.run(
        "CREATE TABLE dim (k BIGINT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num'='4')",
        "CREATE TEMPORARY TABLE default_catalog.default_database.probes (k BIGINT, pt AS PROCTIME()) WITH ('connector'='datagen', "
            + "'fields.k.kind'='sequence', 'fields.k.start'='0', 'fields.k.end'='9999')",
        "INSERT INTO dim SELECT k, 'v' || CAST(k AS STRING) FROM default_catalog.default_database.probes WHERE MOD(k, 10) <> 0");
    String query =
        "SELECT COUNT(*), COUNT(d.v), SUM(CASE WHEN MOD(p.k, 10) = 0 THEN 1 WHEN d.v = 'v' || CAST(p.k AS STRING) THEN 1 ELSE 0 END)"
            + " FROM default_catalog.default_database.probes AS p LEFT JOIN dim FOR SYSTEM_TIME AS OF p.pt AS d ON p.k = d.k";
    for (String way : new String[] {WAYS[1], WAYS[3].replace("'2'", "'100'")}) {
      for (String capacity : List.of("10", "3000")) {
        sql.set("table.exec.async-lookup.buffer-capacity", capacity);
        List<String> counts = sql.inOrder(query.replace("dim FOR", "dim /*+ OPTIONS(" + way + ") */ FOR"));
        assertThat(counts.get(counts.size() - 1)).isEqualTo("+U[10000, 9000, 10000]");
      }
    }
  }

  @Test
  void retriesOfMissesWork() {
    sql.run(
        "CREATE TABLE dim (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED)",
        "INSERT INTO dim VALUES (1, 'one')");
    String hint =
        "/*+ LOOKUP('table'='d', 'async'='true', 'output-mode'='allow_unordered', 'retry-predicate'='lookup_miss', 'retry-strategy'='fixed_delay',"
            + " 'fixed-delay'='10ms', 'max-attempts'='3') */";
    assertThat(sql.rows("SELECT " + hint + " p.k, d.v FROM " + probe("k", "(1), (2)") + " LEFT JOIN dim FOR SYSTEM_TIME AS OF p.pt AS d ON p.k = d.k"))
        .containsExactly("+I[1, one]", "+I[2, null]");
  }

  @Test
  void lookupsSeeWhatWasWrittenBefore() {
    sql.run("CREATE TABLE dim (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num'='2')");
    String query = "SELECT d.v FROM " + probe("k", "(1)") + " LEFT JOIN dim FOR SYSTEM_TIME AS OF p.pt AS d ON p.k = d.k";
    assertThat(sql.rows(query)).containsExactly("+I[null]");
    for (int i = 0; i < 3; i++) {
      sql.run("INSERT INTO dim VALUES (1, " + i + ")");
      assertThat(sql.rows(query)).containsExactly("+I[" + i + "]");
    }
  }

  @Test
  void whatCannotBeLookedUpIsRefusedByName() {
    sql.run(
        "CREATE TABLE log_dim (k INT, v INT)",
        "CREATE TABLE dim (k1 INT, k2 INT, v INT, PRIMARY KEY (k1, k2) NOT ENFORCED)");
    String join = "SELECT d.v FROM " + probe("k", "(1)") + " JOIN %s FOR SYSTEM_TIME AS OF p.pt AS d ON p.k = d.%s";
    assertThatThrownBy(() -> sql.rows(String.format(join, "log_dim", "k"))).hasStackTraceContaining("only support lookup table with primary key");
    assertThatThrownBy(() -> sql.rows(String.format(join, "dim", "k1")))
        .hasStackTraceContaining("requires lookup keys to include all primary keys [k1, k2], but the join has equalities on [k1] only");
    String both = String.format(join, "dim /*+ OPTIONS(%s) */", "k1 AND p.k = d.k2");
    assertThatThrownBy(() -> sql.rows(String.format(both, "'lookup.cache'='FULL'"))).hasStackTraceContaining("Full lookup caching is not supported yet");
  }

  @Test
  void onlyWantedColumnsAreRead() {
    String columns = IntStream.range(0, 8).mapToObj(i -> "c" + i + " STRING").collect(Collectors.joining(", "));
    String values = IntStream.range(0, 8).mapToObj(i -> "'v" + i + "'").collect(Collectors.joining(", "));
    sql.run("CREATE TABLE dim (" + columns + ", k INT, PRIMARY KEY (k) NOT ENFORCED)", "INSERT INTO dim VALUES (" + values + ", 1)");
    String query = "SELECT d.c6, d.c2 FROM " + probe("a", "(1)") + " JOIN dim FOR SYSTEM_TIME AS OF p.pt AS d ON p.a = d.k";
    assertThat(sql.explain(query)).doesNotContain("c7");
    assertJoin(query, "v6, v2");
  }
}
