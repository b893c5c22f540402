package io.sluice.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import io.sluice.flink.FlinkSession;
import io.sluice.flink.Refusal;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.ExplainDetail;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** INSERT of every kind into an embedded store, read back by batch SELECT. */
final class SinkITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  @TempDir Path directory;

  private FlinkSession session;
  private StreamExecutionEnvironment streams;
  private StreamTableEnvironment tables;

  @AfterEach
  void close() throws Exception {
    session.close();
    FlinkSession.assertNothingLeaks();
  }

  private void batch() {
    session = FlinkSession.batch(directory, 2);
  }

  private void streaming() {
    streams = StreamExecutionEnvironment.getExecutionEnvironment();
    tables = StreamTableEnvironment.create(streams);
    session = FlinkSession.over(tables, directory, 2);
  }

  /** Reads back in batch mode, whatever mode the session that wrote has. */
  private List<String> stored(String query) {
    try (FlinkSession reader = FlinkSession.batch(directory, 2)) {
      return reader.rows(query);
    }
  }

  private void refused(String statement, Class<? extends Throwable> type, String... parts) {
    Refusal.assertRefused(session, statement, type, parts);
  }

  /** Registers a stream of changes as the view {@code changes(k, v)}. */
  private void changes(Row... rows) {
    DataStream<Row> stream = streams.fromData(Types.ROW_NAMED(new String[] {"k", "v"}, Types.INT, Types.STRING), rows).setParallelism(1);
    Schema schema =
        Schema.newBuilder().column("k", DataTypes.INT().notNull()).column("v", DataTypes.STRING()).primaryKey("k").build();
    tables.createTemporaryView("changes", tables.fromChangelogStream(stream, schema));
  }

  // ---- ordinary inserts

  @Test
  void rowsAreAppendedInBatchMode() {
    batch();
    session.run("CREATE TABLE t (a INT, b STRING) WITH ('bucket.num' = '3')");
    session.run("INSERT INTO t VALUES (1, 'x'), (2, CAST(NULL AS STRING)), (1, 'x')");
    session.run("INSERT INTO t VALUES (3, '')");
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[1, x]", "+I[1, x]", "+I[2, null]", "+I[3, ]");
  }

  @Test
  void rowsAreAppendedInStreamingMode() {
    streaming();
    session.run("CREATE TEMPORARY TABLE src (a BIGINT, b STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '20000',"
        + " 'fields.a.kind' = 'sequence', 'fields.a.start' = '1', 'fields.a.end' = '20000', 'fields.b.length' = '20')");
    session.run("CREATE TABLE t (a BIGINT, b STRING) WITH ('bucket.num' = '4')");
    session.run("INSERT INTO t SELECT * FROM src");
    assertThat(stored("SELECT COUNT(*), COUNT(DISTINCT a), MIN(a), MAX(a), MIN(CHAR_LENGTH(b)) FROM t"))
        .containsExactly("+I[20000, 20000, 1, 20000, 20]");
  }

  @Test
  void aStatementSetFillsSeveralTablesInOneJob() {
    streaming();
    session.run("CREATE TEMPORARY TABLE src (a INT, b INT) WITH ('connector' = 'datagen', 'number-of-rows' = '5000',"
        + " 'fields.a.kind' = 'sequence', 'fields.a.start' = '1', 'fields.a.end' = '5000', 'fields.b.min' = '0', 'fields.b.max' = '9')");
    session.run("CREATE TABLE log (a INT, b INT) WITH ('bucket.num' = '2')");
    session.run("CREATE TABLE keyed (b INT, a INT, PRIMARY KEY (b) NOT ENFORCED) WITH ('bucket.num' = '2')");
    session.run("EXECUTE STATEMENT SET BEGIN INSERT INTO log SELECT * FROM src; INSERT INTO keyed SELECT b, a FROM src; END");
    assertThat(stored("SELECT COUNT(*), COUNT(DISTINCT a) FROM log")).containsExactly("+I[5000, 5000]");
    assertThat(stored("SELECT b FROM keyed")).hasSize(10);
    assertThat(stored("SELECT k.b FROM keyed k JOIN log l ON k.a = l.a AND k.b = l.b")).hasSize(10);
  }

  /** Flink merges the two scans and asks the catalog's factory for the temporary table of another connector. */
  @Test
  void aTemporaryTableOfAnotherConnectorMayBeReadTwiceInOneJob() throws Exception {
    streaming();
    java.nio.file.Files.write(directory.resolve("in.csv"), List.of("1,x,5", "2,y,6"));
    session.run(
        "CREATE TEMPORARY TABLE src (k INT, v STRING, n INT) WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '"
            + directory.resolve("in.csv") + "')");
    session.run("CREATE TABLE a (k INT, v STRING)", "CREATE TABLE b (k INT, n INT)");
    session.run("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT k, v FROM src; INSERT INTO b SELECT k, n FROM src; END");
    assertThat(stored("SELECT * FROM a")).containsExactly("+I[1, x]", "+I[2, y]");
    assertThat(stored("SELECT * FROM b")).containsExactly("+I[1, 5]", "+I[2, 6]");
  }

  @Test
  void computedColumnsAreNotWritten() {
    batch();
    session.run("CREATE TABLE t (a INT, twice AS a * 2, b STRING)");
    session.run("INSERT INTO t VALUES (1, 'x')");
    session.run("INSERT INTO t (b, a) VALUES ('y', 2)");
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[1, 2, x]", "+I[2, 4, y]");
  }

  // ---- primary keys

  @Test
  void upsertsKeepOneRowAKey() {
    batch();
    session.run("CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num' = '3')");
    session.run("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')");
    session.run("INSERT INTO t VALUES (2, 'B'), (4, 'd')");
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[1, a]", "+I[2, B]", "+I[3, c]", "+I[4, d]");
  }

  @Test
  void updatesAndDeletesArriveInOrder() {
    streaming();
    session.run("CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num' = '3')");
    changes(
        Row.ofKind(RowKind.INSERT, 1, "a"),
        Row.ofKind(RowKind.INSERT, 2, "b"),
        Row.ofKind(RowKind.UPDATE_BEFORE, 1, "a"),
        Row.ofKind(RowKind.UPDATE_AFTER, 1, "A"),
        Row.ofKind(RowKind.DELETE, 2, "b"),
        Row.ofKind(RowKind.INSERT, 3, "c"),
        Row.ofKind(RowKind.DELETE, 3, "c"),
        Row.ofKind(RowKind.INSERT, 3, "again"));
    session.run("INSERT INTO t SELECT * FROM changes");
    assertThat(stored("SELECT * FROM t")).containsExactly("+I[1, A]", "+I[3, again]");
  }

  /** A key of the last columns, in another order than the table's, once broke reading (case C06). */
  @Test
  void theKeyMayBeTheLastColumnsInAnotherOrder() {
    batch();
    session.run("CREATE TABLE k_last (amount INT, note STRING, k2 STRING, k1 INT, PRIMARY KEY (k1, k2) NOT ENFORCED)");
    session.run("INSERT INTO k_last VALUES (1, 'a', 'x', 10), (2, 'b', 'y', 20)");
    session.run("INSERT INTO k_last VALUES (9, 'z', 'x', 10)");
    assertThat(session.rows("SELECT note FROM k_last WHERE k1 = 10 AND k2 = 'x'")).containsExactly("+I[z]");
    assertThat(session.rows("SELECT * FROM k_last")).containsExactly("+I[2, b, y, 20]", "+I[9, z, x, 10]");
  }

  @Test
  void anAggregateKeepsItsLastResult() {
    streaming();
    session.run("CREATE TEMPORARY TABLE src (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3000',"
        + " 'fields.a.kind' = 'sequence', 'fields.a.start' = '0', 'fields.a.end' = '2999')");
    for (String options : List.of("", ", 'sink.parallelism' = '3'", ", 'sink.parallelism' = '3', 'sink.distribution-mode' = 'bucket'")) {
      session.run(
          "CREATE TABLE t (k INT, n BIGINT, s BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num' = '4'" + options + ")",
          "INSERT INTO t SELECT a - (a / 10) * 10, COUNT(*), SUM(CAST(a AS BIGINT)) FROM src GROUP BY a - (a / 10) * 10");
      assertThat(stored("SELECT COUNT(*), SUM(n), SUM(s) FROM t")).as(options).containsExactly("+I[10, 3000, 4498500]");
      assertThat(stored("SELECT * FROM t WHERE k = 3")).as(options).containsExactly("+I[3, 300, 449400]");
      session.run("DROP TABLE t");
    }
  }

  // ---- options

  @Test
  void ignoredDeletesLeaveTheRows() {
    for (String key : List.of("", ", PRIMARY KEY (k) NOT ENFORCED")) {
      streaming();
      String table = key.isEmpty() ? "log" : "keyed";
      session.run("CREATE TABLE " + table + " (k INT, v STRING" + key + ") WITH ('sink.ignore-delete' = 'true')");
      changes(Row.ofKind(RowKind.INSERT, 1, "a"), Row.ofKind(RowKind.INSERT, 2, "b"), Row.ofKind(RowKind.DELETE, 1, "a"));
      session.run("INSERT INTO " + table + " SELECT * FROM changes");
      assertThat(stored("SELECT * FROM " + table)).containsExactly("+I[1, a]", "+I[2, b]");
      session.close();
    }
  }

  @Test
  void everyDistributionWritesTheSameRows() {
    streaming();
    session.run("CREATE TEMPORARY TABLE src (k INT, n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '4000',"
        + " 'fields.k.min' = '0', 'fields.k.max' = '20', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '4000')");
    for (String mode : List.of("auto", "none", "bucket")) {
      for (String parallelism : List.of("1", "3")) {
        String options = String.format("'bucket.num' = '4', 'sink.distribution-mode' = '%s', 'sink.parallelism' = '%s'", mode, parallelism);
        String table = mode + parallelism;
        session.run("CREATE TABLE `" + table + "` (k INT, n INT) WITH ('bucket.key' = 'k', " + options + ")");
        session.run("INSERT INTO `" + table + "` SELECT * FROM src");
        assertThat(stored("SELECT COUNT(*), COUNT(DISTINCT n) FROM `" + table + "`")).containsExactly("+I[4000, 4000]");
      }
    }
    assertThat(tables.explainSql("INSERT INTO bucket3 SELECT * FROM src", ExplainDetail.JSON_EXECUTION_PLAN))
        .contains("\"ship_strategy\" : \"BUCKET\"");
    assertThat(tables.explainSql("INSERT INTO none3 SELECT * FROM src", ExplainDetail.JSON_EXECUTION_PLAN))
        .doesNotContain("BUCKET\"");
  }

  /** With more sink subtasks than source subtasks Flink would deal the rows out in turn. */
  @Test
  void rowsOfOneKeyStayInOrder() {
    streaming();
    session.set("parallelism.default", "1");
    session.run(
        "CREATE TEMPORARY TABLE src (k INT, n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '20000', 'fields.k.min' = '0',"
            + " 'fields.k.max' = '9', 'fields.n.kind' = 'sequence', 'fields.n.start' = '0', 'fields.n.end' = '19999')",
        "CREATE TABLE t (k INT, n INT) WITH ('bucket.num' = '4', 'bucket.key' = 'k', 'sink.parallelism' = '3')",
        "INSERT INTO t SELECT * FROM src");
    Map<String, Integer> last = new HashMap<>();
    try (FlinkSession reader = FlinkSession.batch(directory, 1)) {
      for (String row : reader.inOrder("SELECT k, n FROM t")) {
        String[] fields = row.substring(3, row.length() - 1).split(", ");
        int number = Integer.parseInt(fields[1]);
        Integer before = last.put(fields[0], number);
        assertThat(before == null || before < number).as("%s comes before %d", before, number).isTrue();
      }
    }
    assertThat(last).hasSize(10);
  }

  @Test
  void hintsReachTheWriter() {
    batch();
    session.run("CREATE TABLE t (a INT)");
    session.run("INSERT INTO t /*+ OPTIONS('client.writer.batch-timeout' = '0ms', 'client.writer.batch-size' = '1b') */ VALUES (1), (2)");
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[1]", "+I[2]");
    refused("INSERT INTO t /*+ OPTIONS('sink.ignore-delete' = 'maybe') */ VALUES (1)", ValidationException.class, "'sink.ignore-delete'");
    refused(
        "INSERT INTO t /*+ OPTIONS('sink.distribution-mode' = 'bucket') */ VALUES (1)",
        ValidationException.class,
        "only supported for log tables with bucket keys");
  }

  // ---- what is refused

  @Test
  void rowsThatBreakTheTableAreRefused() {
    batch();
    session.run("CREATE TABLE t (a INT NOT NULL, b STRING)");
    session.run("CREATE TABLE k (a INT, b STRING, PRIMARY KEY (a) NOT ENFORCED)");
    session.run("CREATE TEMPORARY VIEW nulls AS SELECT NULLIF(x, 1) AS a, 'x' AS b FROM (VALUES (1)) AS v(x)");
    refused("INSERT INTO t SELECT * FROM nulls", Exception.class, "'a'", "NOT NULL");
    refused("INSERT INTO k SELECT * FROM nulls", Exception.class, "'a'", "NOT NULL");
    assertThat(session.rows("SELECT * FROM t")).isEmpty();
    assertThat(session.rows("SELECT * FROM k")).isEmpty();
  }

  @Test
  void statementsThatThisVersionLacksAreRefused() {
    batch();
    session.run("CREATE TABLE t (a INT, b STRING)");
    session.run("CREATE TABLE k (a INT, b STRING, c INT, PRIMARY KEY (a) NOT ENFORCED)");
    refused("INSERT INTO t (a) VALUES (1)", ValidationException.class, "partial updates", "leaves out b");
    refused("INSERT INTO k (b, c) VALUES ('x', 1)", Exception.class, "'a' has no default value");
    refused("INSERT OVERWRITE t VALUES (1, 'x')", ValidationException.class, "OVERWRITE");
    refused("TRUNCATE TABLE t", Exception.class, "TRUNCATE TABLE statement is not supported");
    assertThat(session.rows("SELECT * FROM t")).isEmpty();
    session.close();
    streaming();
    changes(Row.ofKind(RowKind.INSERT, 1, "a"), Row.ofKind(RowKind.DELETE, 1, "a"));
    refused("INSERT INTO t SELECT * FROM changes", Exception.class, "doesn't support consuming");
  }
}
