package io.sluice.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

import io.sluice.flink.FlinkSession;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.table.functions.ScalarFunction;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Sinks of jobs that run on: visibility, checkpoints, failure, cancelling, and tables that change beneath them. */
final class SinkLifecycleITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  @TempDir Path directory;

  private FlinkSession session;
  private FlinkSession reader;

  @BeforeEach
  void open() {
    session = FlinkSession.streaming(directory, 2);
    reader = FlinkSession.batch(directory, 1);
  }

  @AfterEach
  void close() throws Exception {
    session.close();
    reader.close();
    FlinkSession.assertNothingLeaks();
  }

  /** A source of the numbers from 1 on, in order within each of its subtasks. */
  private void numbers(String name, int rowsPerSecond, int last) {
    session.run(
        String.format(
            "CREATE TEMPORARY TABLE %s (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '%d', 'fields.n.kind' = 'sequence',"
                + " 'fields.n.start' = '1', 'fields.n.end' = '%d')",
            name, rowsPerSecond, last));
  }

  private JobClient start(String statement) {
    return session.submit(statement).getJobClient().orElseThrow();
  }

  private long count(String table) {
    return Long.parseLong(reader.rows("SELECT COUNT(*) FROM " + table).get(0).replaceAll("\\D", ""));
  }

  private void awaitRows(String table, long atLeast) throws Exception {
    FlinkSession.eventually(() -> count(table) >= atLeast, true);
  }

  private static void cancel(JobClient job) throws Exception {
    job.cancel().get(10, TimeUnit.SECONDS);
    FlinkSession.eventually(() -> job.getJobStatus().get(), JobStatus.CANCELED);
  }

  @Test
  void rowsAreVisibleWithoutACheckpoint() throws Exception {
    numbers("src", 20, 1_000_000);
    session.run("CREATE TABLE t (n INT)", "CREATE TABLE k (n INT, PRIMARY KEY (n) NOT ENFORCED)");
    JobClient job = start("EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT * FROM src; INSERT INTO k SELECT * FROM src; END");
    awaitRows("t", 5);
    awaitRows("k", 5);
    assertThat(job.getJobStatus().get()).isEqualTo(JobStatus.RUNNING);
    cancel(job);
  }

  /** A sink once waited without end for rows that could not be sent, so that the job could not be cancelled (case C45). */
  @Test
  void cancellingUnderLoadIsQuick() throws Exception {
    session.run(
        "CREATE TEMPORARY TABLE src (a BIGINT, b STRING) WITH ('connector' = 'datagen')",
        "CREATE TABLE t (a BIGINT, b STRING) WITH ('bucket.num' = '4')");
    JobClient job = start("INSERT INTO t SELECT * FROM src");
    awaitRows("t", 10_000);
    long start = System.nanoTime();
    cancel(job);
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
  }

  @Test
  void aFailedJobRepeatsItsRowsFromTheCheckpointAndLosesNone() throws Exception {
    FailOnce.FAILED.clear();
    session.set("execution.checkpointing.interval", "100ms");
    session.set("restart-strategy.type", "fixed-delay");
    session.set("restart-strategy.fixed-delay.attempts", "3");
    session.set("restart-strategy.fixed-delay.delay", "10ms");
    numbers("src", 4000, 12_000);
    session.environment().createTemporarySystemFunction("fail_once", FailOnce.class);
    session.run(
        "CREATE TABLE t (n INT) WITH ('bucket.num' = '3')",
        "CREATE TABLE k (n INT, twice INT, PRIMARY KEY (n) NOT ENFORCED) WITH ('bucket.num' = '3')",
        "CREATE TEMPORARY VIEW checked AS SELECT fail_once(n) AS n FROM src",
        "EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT n FROM checked; INSERT INTO k SELECT n, n * 2 FROM checked; END");
    assertThat(FailOnce.FAILED).isNotEmpty();
    assertThat(reader.rows("SELECT COUNT(DISTINCT n), MIN(n), MAX(n) FROM t")).containsExactly("+I[12000, 1, 12000]");
    assertThat(reader.rows("SELECT COUNT(*), SUM(twice - n) FROM k")).containsExactly("+I[12000, 72006000]");
  }

  @Test
  void aJobWhoseTableIsDroppedFailsOnceAndSaysWhy() throws Exception {
    session.set("restart-strategy.type", "fixed-delay");
    session.set("restart-strategy.fixed-delay.attempts", "1000000");
    session.set("restart-strategy.fixed-delay.delay", "10ms");
    numbers("src", 10, 1_000_000);
    session.run("CREATE TABLE t (n INT)");
    JobClient job = start("INSERT INTO t SELECT * FROM src");
    awaitRows("t", 1);
    session.run("DROP TABLE t");
    FlinkSession.eventually(() -> job.getJobStatus().get(), JobStatus.FAILED);
    assertThatThrownBy(() -> job.getJobExecutionResult().get()).hasStackTraceContaining("Cannot write to table fluss.t");
  }

  @Test
  void aRowOverTheLimitFailsTheJobOnceAndSaysWhy() throws Exception {
    session.set("restart-strategy.type", "fixed-delay");
    session.set("restart-strategy.fixed-delay.attempts", "1000000");
    session.set("restart-strategy.fixed-delay.delay", "10ms");
    session.run("CREATE TABLE t (a INT, b STRING)", "CREATE TABLE k (a INT, b STRING, PRIMARY KEY (a) NOT ENFORCED)");
    for (String table : new String[] {"t", "k"}) {
      JobClient job = start("INSERT INTO " + table + " SELECT 1, REPEAT('0123456789abcdef', 1000000)");
      assertThatThrownBy(() -> job.getJobExecutionResult().get(60, TimeUnit.SECONDS))
          .hasStackTraceContaining("Cannot write to table fluss." + table)
          .hasStackTraceContaining("write.row-size-max");
      assertThat(job.getJobStatus().get()).isEqualTo(JobStatus.FAILED);
      assertThat(count(table)).isZero();
    }
  }

  @Test
  void aRunningJobKeepsWritingWhileColumnsAreAdded() throws Exception {
    numbers("src", 50, 1_000_000);
    session.run("CREATE TABLE t (n INT)", "CREATE TABLE k (n INT, PRIMARY KEY (n) NOT ENFORCED)");
    JobClient job = start("EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT * FROM src; INSERT INTO k SELECT * FROM src; END");
    awaitRows("t", 5);
    session.run("ALTER TABLE t ADD added STRING", "ALTER TABLE k ADD added STRING");
    long before = Math.max(count("t"), count("k"));
    awaitRows("t", before + 10);
    awaitRows("k", before + 10);
    session.run("INSERT INTO t VALUES (-1, 'new')", "INSERT INTO k VALUES (-1, 'new')");
    cancel(job);
    for (String table : new String[] {"t", "k"}) {
      assertThat(reader.rows("SELECT * FROM " + table + " WHERE added IS NOT NULL")).containsExactly("+I[-1, new]");
    }
  }

  /** Passes numbers on and fails once, in the first subtask that reaches the middle. */
  public static final class FailOnce extends ScalarFunction {
    private static final long serialVersionUID = 1L;
    private static final int AT = 6000;

    /** Shared by all tasks of the test's JVM. */
    static final Set<Integer> FAILED = ConcurrentHashMap.newKeySet();

    @Override
    public boolean isDeterministic() {
      return false;
    }

    public Integer eval(Integer n) {
      if (n != null && n >= AT && FAILED.add(AT)) {
        throw new IllegalStateException("a failure on purpose");
      }
      return n;
    }
  }
}
