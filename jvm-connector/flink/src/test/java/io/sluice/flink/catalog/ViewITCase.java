package io.sluice.flink.catalog;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;

import io.sluice.flink.FlinkSession;
import io.sluice.flink.Refusal;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.exceptions.DatabaseNotEmptyException;
import org.apache.flink.table.catalog.exceptions.TableAlreadyExistException;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Views through SQL, against an embedded store. */
final class ViewITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  @TempDir Path directory;

  private FlinkSession session;

  @BeforeEach
  void open() {
    session = FlinkSession.batch(directory.resolve("store"), 2);
    session.run("CREATE TABLE t (a INT, b STRING)", "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')");
  }

  @AfterEach
  void close() throws Exception {
    session.close();
    FlinkSession.assertNothingLeaks();
  }

  private void refused(String statement, Class<? extends Throwable> type, String... parts) {
    Refusal.assertRefused(session, statement, type, parts);
  }

  private void reopen() {
    session.close();
    session = FlinkSession.batch(directory.resolve("store"), 2);
  }

  @Test
  void aViewAnswersAfterARestartAndFollowsItsTable() {
    session.run("CREATE VIEW v (n, b) COMMENT 'mine' AS SELECT a * 2, b FROM t WHERE a > 1");
    assertThat(session.rows("SELECT * FROM v")).containsExactly("+I[4, y]", "+I[6, z]");
    String before = session.rows("SHOW CREATE VIEW v").toString();
    assertThat(before).contains("CREATE VIEW `c`.`fluss`.`v`", "COMMENT 'mine'");
    reopen();
    assertThat(session.rows("SHOW CREATE VIEW v").toString()).isEqualTo(before);
    session.run("INSERT INTO t VALUES (4, 'w')");
    assertThat(session.rows("SELECT n FROM v")).containsExactly("+I[4]", "+I[6]", "+I[8]");
    assertThat(session.inOrder("DESCRIBE v").toString()).contains("[n, INT, true", "[b, STRING, true");
  }

  @Test
  void viewsAreListedAlsoAmongTheTables() {
    session.run("CREATE VIEW v AS SELECT 1 AS a", "CREATE VIEW IF NOT EXISTS v AS SELECT 2 AS b");
    assertThat(session.rows("SHOW VIEWS")).containsExactly("+I[v]");
    assertThat(session.rows("SHOW TABLES")).containsExactly("+I[t]", "+I[v]");
    assertThat(session.rows("SELECT * FROM v")).containsExactly("+I[1]");
    session.run("DROP VIEW v", "DROP VIEW IF EXISTS v");
    assertThat(session.rows("SHOW VIEWS")).isEmpty();
    refused("DROP VIEW v", ValidationException.class, "v");
    refused("SELECT * FROM v", Exception.class, "'v' not found");
  }

  @Test
  void viewsOverViewsTablesAndTemporaryViews() {
    session.run(
        "CREATE VIEW v AS SELECT a, b FROM t WHERE a < 3",
        "CREATE VIEW w AS SELECT v.a, UPPER(v.b) AS b, t.b AS c FROM v JOIN t ON v.a = t.a");
    assertThat(session.rows("SELECT * FROM w")).containsExactly("+I[1, X, x]", "+I[2, Y, y]");
    session.run("CREATE DATABASE d", "USE d");
    assertThat(session.rows("SELECT COUNT(*) FROM fluss.w")).containsExactly("+I[2]");
    session.run("CREATE VIEW v AS SELECT b FROM fluss.w", "USE fluss");
    assertThat(session.rows("SELECT * FROM d.v")).containsExactly("+I[X]", "+I[Y]");
    session.run("DROP VIEW v");
    refused("SELECT * FROM d.v", Exception.class, "not found");
  }

  @Test
  void aViewIsAlteredAndRenamed() {
    session.run("CREATE VIEW v AS SELECT a FROM t");
    session.run("ALTER VIEW v AS SELECT b FROM t WHERE a = 2");
    assertThat(session.rows("SELECT * FROM v")).containsExactly("+I[y]");
    session.run("ALTER VIEW v RENAME TO w");
    assertThat(session.rows("SHOW VIEWS")).containsExactly("+I[w]");
    reopen();
    assertThat(session.rows("SELECT * FROM w")).containsExactly("+I[y]");
    refused("ALTER VIEW v AS SELECT 1 AS a", Exception.class, "v");
    refused("ALTER VIEW w RENAME TO t", TableAlreadyExistException.class, "fluss.t");
    refused("ALTER VIEW w RENAME TO `a b`", Exception.class, "'a b' is invalid");
    refused("ALTER TABLE t RENAME TO u", UnsupportedOperationException.class, "Renaming a table is not supported");
  }

  @Test
  void namesOfTablesAndViewsClash() {
    session.run("CREATE VIEW v AS SELECT 1 AS a");
    refused("CREATE VIEW t AS SELECT 1 AS a", Exception.class, "fluss.t", "already exists");
    refused("CREATE VIEW v AS SELECT 1 AS a", Exception.class, "fluss.v", "already exists");
    refused("CREATE TABLE v (a INT)", Exception.class, "fluss.v", "already exists");
    refused("DROP TABLE v", ValidationException.class, "v");
    refused("DROP VIEW t", ValidationException.class, "t");
    refused("ALTER TABLE v SET ('k' = 'v')", ValidationException.class, "view");
    refused("ALTER TABLE v ADD b INT", ValidationException.class, "view");
    refused("INSERT INTO v VALUES (1)", Exception.class, "v");
    refused("CREATE VIEW `a b` AS SELECT 1 AS a", Exception.class, "'a b' is invalid");
    assertThat(session.rows("SHOW VIEWS")).containsExactly("+I[v]");
  }

  @Test
  void aDatabaseWithAViewIsNotEmptyAndCascadeTakesIt() {
    session.run("CREATE DATABASE d", "CREATE VIEW d.v AS SELECT a FROM t");
    refused("DROP DATABASE d", DatabaseNotEmptyException.class, "d in catalog c is not empty");
    session.run("DROP DATABASE d CASCADE", "CREATE DATABASE d");
    assertThat(session.rows("SHOW TABLES IN d")).isEmpty();
  }

  @Test
  void typesThatNoTableHasAreKept() {
    String query =
        "SELECT CAST('ab' AS VARCHAR(3)) AS v, CAST('ab' AS CHAR(2)) AS c, ARRAY[1, NULL] AS l, MAP['k', 1.5] AS m, ROW(1, 'x') AS r,"
            + " INTERVAL '1' DAY AS i, CAST(X'0102' AS VARBINARY(5)) AS n, TIMESTAMP '2026-01-02 03:04:05.123456789' AS t9";
    session.run("CREATE VIEW kinds AS " + query);
    assertThat(session.rows("SELECT * FROM kinds")).isEqualTo(session.rows(query));
    assertThat(session.inOrder("DESCRIBE kinds").toString()).contains("[v, VARCHAR(3)", "[i, INTERVAL SECOND(3)", "[n, VARBINARY(5)");
  }

  @Test
  void aWindowOverAViewFindsItsTime() throws Exception {
    session.run(
        "CREATE TABLE timed (ts TIMESTAMP(3), a INT, WATERMARK FOR ts AS ts)",
        "INSERT INTO timed VALUES (TIMESTAMP '2026-01-01 00:00:01', 1), (TIMESTAMP '2026-01-01 00:00:02', 2),"
            + " (TIMESTAMP '2026-01-01 00:01:00', 3), (TIMESTAMP '2026-01-01 00:02:00', 4)",
        "CREATE VIEW by_batch AS SELECT ts, a FROM timed");
    session.close();
    session = FlinkSession.streaming(directory.resolve("store"), 1);
    session.run("CREATE VIEW by_stream AS SELECT a, ts FROM timed");
    String windows = "SELECT SUM(a) FROM TABLE(TUMBLE(TABLE %s, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end";
    try (FlinkSession.Running running = session.start(String.format(windows, "by_stream"))) {
      assertThat(running.nextSorted(2)).containsExactly("+I[3]", "+I[3]");
    }
    reopen();
    assertThat(session.rows("SELECT SUM(a) FROM by_stream")).containsExactly("+I[10]");
    assertThat(session.rows(String.format(windows, "by_stream"))).containsExactly("+I[3]", "+I[3]", "+I[4]");
    assertThat(session.rows(String.format(windows, "by_batch"))).containsExactly("+I[3]", "+I[3]", "+I[4]");
  }
}
