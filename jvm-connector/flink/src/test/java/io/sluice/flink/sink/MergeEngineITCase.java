package io.sluice.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.List;

import io.sluice.flink.FlinkSession;
import io.sluice.flink.FlinkSession.Running;
import io.sluice.flink.Refusal;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.typeutils.RowTypeInfo;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.table.api.ExplainDetail;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Merge engines, delete behaviors, changelog images and partial updates, end to end from SQL. */
final class MergeEngineITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  @TempDir Path directory;

  private FlinkSession session;

  @BeforeEach
  void open() {
    session = FlinkSession.streaming(directory, 2);
  }

  @AfterEach
  void close() throws Exception {
    session.close();
    FlinkSession.assertNothingLeaks();
  }

  private List<String> stored(String query) {
    try (FlinkSession reader = FlinkSession.batch(directory, 2)) {
      return reader.rows(query);
    }
  }

  private void refused(String statement, Class<? extends Throwable> type, String... parts) {
    Refusal.assertRefused(session, statement, type, parts);
  }

  private static RowTypeInfo type(String[] names, TypeInformation<?>... types) {
    return new RowTypeInfo(types, names);
  }

  private void change(String table, Row... rows) {
    session.change(table, type(new String[] {"k", "v"}, Types.INT, Types.INT), rows);
  }

  // ---- first_row

  @Test
  void theFirstRowStaysAndItsReadersSeeInsertsAlone() throws Exception {
    session.run("CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('table.merge-engine' = 'first_row')");
    session.run("CREATE TABLE log (k INT, v STRING)");
    session.run("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (1, 'late')", "INSERT INTO t VALUES (2, 'later'), (3, 'c')");
    assertThat(stored("SELECT * FROM t")).containsExactly("+I[1, a]", "+I[2, b]", "+I[3, c]");
    assertThat(session.explain("SELECT * FROM t")).doesNotContain("ChangelogNormalize");
    // Only a stream of inserts may flow into a log table.
    var job = session.submit("INSERT INTO log SELECT * FROM t").getJobClient().orElseThrow();
    FlinkSession.eventually(() -> stored("SELECT * FROM log").size(), 3);
    session.run("INSERT INTO t VALUES (3, 'again'), (4, 'd')");
    try (Running query = session.start("SELECT * FROM t")) {
      assertThat(query.nextSorted(4)).containsExactly("+I[1, a]", "+I[2, b]", "+I[3, c]", "+I[4, d]");
    }
    FlinkSession.eventually(() -> stored("SELECT * FROM log").size(), 4);
    job.cancel().get();
  }

  // ---- versioned

  @Test
  void aLowerVersionIsIgnoredWhateverItsType() throws Exception {
    for (String[] column :
        new String[][] {
          {"INT", "1000", "999", "1001"},
          {"BIGINT", "5000000000", "-1", "5000000001"},
          {"TIMESTAMP(3)", "TIMESTAMP '2024-12-27 12:00:00.123'", "TIMESTAMP '2024-12-27 12:00:00.122'", "TIMESTAMP '2024-12-27 12:00:00.124'"},
          {
            "TIMESTAMP_LTZ(9)",
            "CAST(TIMESTAMP '2024-12-27 12:00:00.123456789' AS TIMESTAMP_LTZ(9))",
            "CAST(TIMESTAMP '2024-12-27 12:00:00.123456788' AS TIMESTAMP_LTZ(9))",
            "CAST(TIMESTAMP '2024-12-27 12:00:00.123456790' AS TIMESTAMP_LTZ(9))"
          }
        }) {
      session.run(
          "CREATE TABLE t (k INT, v STRING, ver " + column[0] + ", PRIMARY KEY (k) NOT ENFORCED) WITH ('table.merge-engine' = 'versioned',"
              + " 'table.merge-engine.versioned.ver-column' = 'ver')");
      try (Running query = session.start("SELECT k, v FROM t")) {
        session.run("INSERT INTO t VALUES (1, 'a', " + column[1] + ")");
        assertThat(query.next(1)).containsExactly("+I[1, a]");
        session.run("INSERT INTO t VALUES (1, 'late', " + column[2] + ")");
        session.run("INSERT INTO t SELECT 1, 'null', CAST(NULL AS " + column[0] + ")");
        session.run("INSERT INTO t VALUES (1, 'same', " + column[1] + ")");
        assertThat(query.next(2)).containsExactly("-U[1, a]", "+U[1, same]");
        session.run("INSERT INTO t VALUES (1, 'new', " + column[3] + ")");
        assertThat(query.next(2)).containsExactly("-U[1, same]", "+U[1, new]");
      }
      session.run("DROP TABLE t");
    }
  }

  @Test
  void nullVersionsAreTheLowest() {
    session.run(
        "CREATE TABLE vv (id INT, b STRING, ver BIGINT, PRIMARY KEY (id) NOT ENFORCED)"
            + " WITH ('table.merge-engine'='versioned','table.merge-engine.versioned.ver-column'='ver')",
        "INSERT INTO vv VALUES (2, 'first-null', CAST(NULL AS BIGINT))",
        "INSERT INTO vv VALUES (2, 'neg', -5)",
        "INSERT INTO vv VALUES (2, 'null again', CAST(NULL AS BIGINT))");
    assertThat(stored("SELECT * FROM vv")).containsExactly("+I[2, neg, -5]");
  }

  // ---- sequence groups

  @Test
  void writersOfDifferentGroupsFollowVersionsOfTheirOwn() throws Exception {
    session.run(
        "CREATE TABLE t (k INT, at1 INT, a STRING, at2 INT NOT NULL, b STRING, c STRING, PRIMARY KEY (k) NOT ENFORCED)"
            + " WITH ('fields.at1.sequence-group' = 'a', 'fields.at2.sequence-group' = 'b, c')");
    try (Running query = session.start("SELECT * FROM t")) {
      session.run("INSERT INTO t (k, at2, b, c) VALUES (1, 20, 'b20', 'c20')");
      assertThat(query.next(1)).containsExactly("+I[1, null, null, 20, b20, c20]");
      session.run("INSERT INTO t (k, at2, b, c) VALUES (1, 19, 'late', 'late')");
      session.run("INSERT INTO t VALUES (1, 5, 'a5', 18, 'late', 'late')");
      assertThat(query.next(2)).containsExactly("-U[1, null, null, 20, b20, c20]", "+U[1, 5, a5, 20, b20, c20]");
      session.run("INSERT INTO t VALUES (1, 4, 'late', 20, 'again', 'again')");
      assertThat(query.next(2)).containsExactly("-U[1, 5, a5, 20, b20, c20]", "+U[1, 5, a5, 20, again, again]");
    }
    refused("INSERT INTO t (k, at2, b) VALUES (1, 1, 'x')", ValidationException.class, "writes 'at2' but leaves out c", "'at2'");
    refused("CREATE TABLE r (k INT, v INT, w STRING) WITH ('fields.v.sequence-group' = 'w')", Exception.class, "'fields.v.sequence-group'", "primary key");
    assertThat(stored("SELECT * FROM t")).containsExactly("+I[1, 5, a5, 20, again, again]");
  }

  @Test
  void statementsThatAnEngineCannotDoAreRefusedByItsName() {
    session.run(
        "CREATE TABLE f (k INT, v INT, w INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('table.merge-engine' = 'first_row')",
        "CREATE TABLE v (k INT, v INT, w INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('table.merge-engine' = 'versioned',"
            + " 'table.merge-engine.versioned.ver-column' = 'v')",
        "CREATE TABLE d (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('table.delete.behavior' = 'disable')");
    try (FlinkSession batch = FlinkSession.batch(directory, 2)) {
      for (String[] table : new String[][] {{"f", "first_row"}, {"v", "versioned"}}) {
        String name = table[0];
        Refusal.assertRefused(
            batch, "INSERT INTO " + name + " (k, w) VALUES (1, 1)", ValidationException.class, table[1], "does not support partial updates");
        Refusal.assertRefused(batch, "DELETE FROM " + name + " WHERE k = 1", UnsupportedOperationException.class, "DELETE", table[1]);
        Refusal.assertRefused(batch, "UPDATE " + name + " SET v = 1 WHERE k = 1", UnsupportedOperationException.class, "UPDATE", table[1]);
      }
      Refusal.assertRefused(batch, "DELETE FROM d WHERE k = 1", UnsupportedOperationException.class, "delete behavior set to 'disable'");
    }
  }

  @Test
  void whatDoesNotGoTogetherIsRefusedByCreate() {
    String columns = "(k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('table.merge-engine' = ";
    refused("CREATE TABLE t " + columns + "'versioned')", Exception.class, "table.merge-engine.versioned.ver-column");
    refused("CREATE TABLE t " + columns + "'first_row', 'table.delete.behavior' = 'allow')", Exception.class, "table.delete.behavior");
    refused("CREATE TABLE t " + columns + "'aggregation', 'table.changelog.image' = 'WAL')", Exception.class, "table.changelog.image");
    refused("CREATE TABLE t " + columns + "'aggregation', 'fields.v.agg' = 'sum')", Exception.class, "Data type for sum column");
    refused("CREATE TABLE t " + columns + "'aggregation', 'fields.v.agg' = 'avg')", Exception.class, "Unknown aggregation function");
    assertThat(session.rows("SHOW TABLES")).isEmpty();
  }

  // ---- aggregation

  @Test
  void everyFunctionInOneTable() {
    session.run(
        "CREATE TABLE t (id BIGINT, s_int INT, s_dec DECIMAL(10, 2), s_dbl DOUBLE, prod BIGINT, mx INT, mn_ts TIMESTAMP(3), mx_str STRING,"
            + " lst STRING, lst_nn STRING, fst STRING, fst_nn STRING, txt STRING, txt2 STRING, ba BOOLEAN, bo BOOLEAN, plain ARRAY<INT>,"
            + " PRIMARY KEY (id) NOT ENFORCED) WITH ('table.merge-engine' = 'aggregation', 'fields.s_int.agg' = 'sum',"
            + " 'fields.s_dec.agg' = 'sum', 'fields.s_dbl.agg' = 'sum', 'fields.prod.agg' = 'product', 'fields.mx.agg' = 'max',"
            + " 'fields.mn_ts.agg' = 'min', 'fields.mx_str.agg' = 'max', 'fields.lst.agg' = 'last_value',"
            + " 'fields.lst_nn.agg' = 'last_value_ignore_nulls', 'fields.fst.agg' = 'first_value',"
            + " 'fields.fst_nn.agg' = 'first_value_ignore_nulls', 'fields.txt.agg' = 'listagg', 'fields.txt2.agg' = 'string_agg',"
            + " 'fields.txt2.string_agg.delimiter' = '|', 'fields.ba.agg' = 'bool_and', 'fields.bo.agg' = 'bool_or')",
        "INSERT INTO t VALUES (1, 10, 1.50, 0.5, 2, 7, TIMESTAMP '2026-01-02 00:00:00', 'b', 'x', 'x', 'x', CAST(NULL AS STRING), 'a', 'a',"
            + " TRUE, FALSE, ARRAY[1])",
        "INSERT INTO t VALUES (1, 5, 2.25, 0.25, 3, 9, TIMESTAMP '2026-01-01 00:00:00', 'a', CAST(NULL AS STRING), CAST(NULL AS STRING),"
            + " 'y', 'y', 'b', 'b', FALSE, TRUE, ARRAY[2, 3])",
        "INSERT INTO t SELECT 1, NULLIF(1, 1), CAST(NULL AS DECIMAL(10, 2)), CAST(NULL AS DOUBLE), CAST(NULL AS BIGINT), 8,"
            + " CAST(NULL AS TIMESTAMP(3)), 'c', CAST(NULL AS STRING), 'z', 'z', 'z', CAST(NULL AS STRING), 'c', TRUE, FALSE,"
            + " CAST(NULL AS ARRAY<INT>)");
    assertThat(stored("SELECT * FROM t"))
        .containsExactly(
            "+I[1, 15, 3.75, 0.75, 6, 9, 2026-01-01T00:00, c, null, z, x, y, a,b, a|b|c, false, true, [2, 3]]");
    assertThat(session.rows("SHOW CREATE TABLE t").get(0)).contains("'fields.txt2.string_agg.delimiter' = '|'");
  }

  @Test
  void aDecimalThatDoesNotFitFailsTheJobByItsColumn() {
    session.run(
        "CREATE TABLE t (k INT, d DECIMAL(4, 2), PRIMARY KEY (k) NOT ENFORCED)"
            + " WITH ('table.merge-engine' = 'aggregation', 'fields.d.agg' = 'sum')",
        "INSERT INTO t VALUES (1, 99.99)");
    refused("INSERT INTO t VALUES (1, 0.01)", Exception.class, "column 'd'", "more digits than DECIMAL(4, 2)");
    assertThat(stored("SELECT * FROM t")).containsExactly("+I[1, 99.99]");
  }

  @Test
  void bitmapsAreUnited() {
    // Portable form: cookie, one container of key 0 with n values, offset 16, the values.
    String one = "x'3A30000001000000000000001000000001" + "00'";
    String two = "x'3A30000001000000000000001000000002" + "00'";
    session.run(
        "CREATE TABLE t (k INT, b BYTES, PRIMARY KEY (k) NOT ENFORCED) WITH ('table.merge-engine' = 'aggregation', 'fields.b.agg' = 'rbm32')",
        "INSERT INTO t VALUES (1, CAST(" + one + " AS BYTES)), (1, CAST(" + two + " AS BYTES))");
    assertThat(stored("SELECT b FROM t")).containsExactly("+I[[58, 48, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 1, 0, 2, 0]]");
    refused("INSERT INTO t VALUES (1, CAST(x'00' AS BYTES))", Exception.class, "column 'b'", "no 32-bit roaring bitmap");
  }

  @Test
  void columnsThatAreNotNamedKeepTheirAggregate() throws Exception {
    session.run(
        "CREATE TABLE t (k INT, s BIGINT, m INT, l STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('table.merge-engine' = 'aggregation',"
            + " 'fields.s.agg' = 'sum', 'fields.m.agg' = 'max', 'fields.l.agg' = 'listagg')");
    try (Running query = session.start("SELECT * FROM t")) {
      session.run("INSERT INTO t (k, s) VALUES (1, 10)");
      assertThat(query.next(1)).containsExactly("+I[1, 10, null, null]");
      session.run("INSERT INTO t (m, k, l) VALUES (5, 1, 'a')");
      assertThat(query.next(2)).containsExactly("-U[1, 10, null, null]", "+U[1, 10, 5, a]");
      session.run("INSERT INTO t (k, s, l) VALUES (1, 20, 'b')");
      assertThat(query.next(2)).containsExactly("-U[1, 10, 5, a]", "+U[1, 30, 5, a,b]");
    }
  }

  // ---- partial updates

  @Test
  void listsOfColumnsChangeWhatTheyName() throws Exception {
    session.run("CREATE TABLE t (k INT, a STRING, b INT, n INT NOT NULL, PRIMARY KEY (k) NOT ENFORCED)");
    session.run("CREATE TABLE p (k INT, a STRING, b INT, PRIMARY KEY (k) NOT ENFORCED)");
    try (Running query = session.start("SELECT * FROM t")) {
      session.run("INSERT INTO t (k, n) VALUES (1, 7)");
      assertThat(query.next(1)).containsExactly("+I[1, null, null, 7]");
      session.run("INSERT INTO t (n, a, k) VALUES (8, 'x', 1)");
      assertThat(query.next(2)).containsExactly("-U[1, null, null, 7]", "+U[1, x, null, 8]");
      session.run("INSERT INTO t (n, k, b, a) VALUES (9, 1, 5, 'y')");
      assertThat(query.next(2)).containsExactly("-U[1, x, null, 8]", "+U[1, y, 5, 9]");
    }
    refused("INSERT INTO t (k, a) VALUES (1, 'x')", Exception.class, "'n'");
    session.run("INSERT INTO p (k) VALUES (1)", "INSERT INTO p (k, b) VALUES (1, 5)", "INSERT INTO p (k) VALUES (1)");
    assertThat(stored("SELECT * FROM p")).containsExactly("+I[1, null, 5]");
  }

  @Test
  void aPartialDeleteClearsAndTheLastOneRemoves() {
    session.run("CREATE TABLE t (k INT, v INT, w INT, PRIMARY KEY (k) NOT ENFORCED)", "INSERT INTO t (k, w) VALUES (1, 5), (2, 6)");
    change("t (k, v)", Row.ofKind(RowKind.INSERT, 1, 10), Row.ofKind(RowKind.INSERT, 3, 30));
    assertThat(stored("SELECT * FROM t")).containsExactly("+I[1, 10, 5]", "+I[2, null, 6]", "+I[3, 30, null]");
    change("t (k, v)", Row.ofKind(RowKind.DELETE, 1, 10), Row.ofKind(RowKind.DELETE, 3, 30), Row.ofKind(RowKind.DELETE, 9, 0));
    assertThat(stored("SELECT * FROM t")).containsExactly("+I[1, null, 5]", "+I[2, null, 6]");
  }

  @Test
  void twoJobsWriteTheirColumnsOfTheSameRows() throws Exception {
    session.run("CREATE TABLE t (k INT, a INT, b INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num' = '3')");
    String source = "WITH ('connector' = 'datagen', 'number-of-rows' = '2000', 'fields.n.kind' = 'sequence', 'fields.n.start' = '0',"
        + " 'fields.n.end' = '1999')";
    session.run("CREATE TEMPORARY TABLE src (n INT) " + source);
    var first = session.submit("INSERT INTO t (k, a) SELECT MOD(n, 100), n FROM src");
    var second = session.submit("INSERT INTO t (k, b) SELECT MOD(n, 100), -n FROM src");
    first.await();
    second.await();
    assertThat(stored("SELECT COUNT(*), COUNT(a), COUNT(b), SUM(MOD(a, 100) - k), SUM(MOD(-b, 100) - k) FROM t"))
        .containsExactly("+I[100, 100, 100, 0, 0]");
  }

  // ---- deletes

  @Test
  void deletesAreAllowedIgnoredOrFailTheJob() {
    Row[] changes = {Row.ofKind(RowKind.INSERT, 1, 5), Row.ofKind(RowKind.INSERT, 2, 6), Row.ofKind(RowKind.DELETE, 1, 5)};
    for (String behavior : List.of("allow", "ignore")) {
      String table = "t_" + behavior;
      session.run("CREATE TABLE " + table + " (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('table.delete.behavior' = '" + behavior + "')");
      change(table, changes);
      boolean allowed = behavior.equals("allow");
      String plan = session.environment().explainSql("SELECT * FROM " + table, ExplainDetail.CHANGELOG_MODE);
      assertThat(plan).contains(allowed ? "changelogMode=[I,UB,UA,D]" : "changelogMode=[I,UB,UA]");
      assertThat(stored("SELECT * FROM " + table)).isEqualTo(allowed ? List.of("+I[2, 6]") : List.of("+I[1, 5]", "+I[2, 6]"));
    }
    session.run("CREATE TABLE d (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('table.delete.behavior' = 'disable')");
    assertThatThrownBy(() -> change("d", changes)).hasStackTraceContaining("refuses deletes").hasStackTraceContaining("'disable'");
  }

  @Test
  void refundsAreTakenBack() {
    String options = " WITH ('table.merge-engine'='aggregation','fields.v.agg'='sum','table.delete.behavior'='";
    Row[] sales = {
      Row.ofKind(RowKind.INSERT, 1, 100),
      Row.ofKind(RowKind.UPDATE_BEFORE, 1, 100),
      Row.ofKind(RowKind.UPDATE_AFTER, 1, 40),
      Row.ofKind(RowKind.DELETE, 1, 40),
      Row.ofKind(RowKind.DELETE, 9, 1),
    };
    for (String behavior : List.of("retract", "ignore")) {
      session.run("CREATE TABLE t_" + behavior + " (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED)" + options + behavior + "')");
      change("t_" + behavior, sales);
    }
    assertThat(stored("SELECT * FROM t_retract")).containsExactly("+I[1, 0]");
    assertThat(stored("SELECT * FROM t_ignore")).containsExactly("+I[1, 140]");
  }

  @Test
  void aChangingQueryIntoAnAggregateThatCannotTakeBackIsRefusedWhilePlanned() {
    session.run(
        "CREATE TABLE src (id INT, shop INT, v INT, PRIMARY KEY (id) NOT ENFORCED)",
        "CREATE TABLE rev (shop INT, total INT, mx INT, PRIMARY KEY (shop) NOT ENFORCED) WITH ('table.merge-engine'='aggregation',"
            + " 'fields.total.agg'='sum','fields.mx.agg'='max','table.delete.behavior'='retract')");
    session.set("table.exec.sink.upsert-materialize", "NONE");
    refused("INSERT INTO rev SELECT shop, v, v FROM src", ValidationException.class, "column 'mx'", "only sum and product");
    assertThat(session.explain("INSERT INTO rev (shop, total) SELECT shop, v FROM src")).contains("Sink");
    session.set("table.exec.sink.upsert-materialize", "AUTO");
    refused("INSERT INTO rev (shop, total) SELECT shop, v FROM src", ValidationException.class, "'table.exec.sink.upsert-materialize' = 'NONE'");
  }

  /** Totals follow the corrections of the orders that they come of. */
  @Test
  void totalsFollowCorrections() throws Exception {
    session.run(
        "CREATE TABLE orders (id INT, shop INT, v INT, PRIMARY KEY (id) NOT ENFORCED)",
        "CREATE TABLE rev (shop INT, total INT, n INT, PRIMARY KEY (shop) NOT ENFORCED) WITH ('table.merge-engine'='aggregation',"
            + " 'fields.total.agg'='sum','fields.n.agg'='sum','table.delete.behavior'='retract')");
    session.set("table.exec.sink.upsert-materialize", "NONE");
    var job = session.submit("INSERT INTO rev SELECT shop, v, 1 FROM orders").getJobClient().orElseThrow();
    session.run("INSERT INTO orders VALUES (1, 7, 100), (2, 7, 50), (3, 8, 1)");
    FlinkSession.eventually(() -> stored("SELECT * FROM rev"), List.of("+I[7, 150, 2]", "+I[8, 1, 1]"));
    session.run("INSERT INTO orders VALUES (1, 8, 30), (2, 7, 60)");
    FlinkSession.eventually(() -> stored("SELECT * FROM rev"), List.of("+I[7, 60, 1]", "+I[8, 31, 2]"));
    job.cancel().get();
  }

  // ---- the WAL image

  @Test
  void withWalFlinkAddsTheRowsFromBefore() throws Exception {
    session.run(
        "CREATE TABLE t (k INT, g STRING, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('table.changelog.image' = 'WAL', 'bucket.num' = '2')",
        "INSERT INTO t VALUES (1, 'a', 10), (2, 'a', 20), (3, 'b', 5)");
    assertThat(session.explain("SELECT g, SUM(v) FROM t GROUP BY g")).contains("ChangelogNormalize");
    assertThat(stored("SELECT COUNT(*) FROM t")).containsExactly("+I[3]");
    try (Running query = session.start("SELECT g, SUM(v) FROM t GROUP BY g")) {
      assertThat(query.more()).isNotNull();
      session.run("INSERT INTO t VALUES (1, 'b', 11)");
      session.change(
          "t", type(new String[] {"k", "g", "v"}, Types.INT, Types.STRING, Types.INT), Row.ofKind(RowKind.DELETE, 2, "a", 20));
      FlinkSession.eventually(() -> query.more().contains("-D[a, 20]") && query.more().contains("+U[b, 16]"), true);
    }
    assertThat(stored("SELECT * FROM t")).containsExactly("+I[1, b, 11]", "+I[3, b, 5]");
  }
}
