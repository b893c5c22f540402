package io.sluice.flink.source;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.sluice.flink.FlinkSession;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.table.functions.ScalarFunction;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Jobs that stop or fail and go on. Each counts how often it saw every id into a table, from state that is restored together with the
 * source's positions: a row that is read twice or never shows as a count other than 1.
 */
final class RestoreITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  private static final AtomicInteger FAILURES_LEFT = new AtomicInteger();
  private static volatile int pauseMs;

  @TempDir Path directory;
  private FlinkSession sql;

  /** Passes ids on; may be slow, and fails on negative ones as often as a test wants. */
  public static final class Gate extends ScalarFunction {
    private static final long serialVersionUID = 1L;

    public Integer eval(Integer id) throws InterruptedException {
      if (pauseMs > 0) {
        Thread.sleep(pauseMs);
      }
      if (id < 0 && FAILURES_LEFT.getAndDecrement() > 0) {
        throw new IllegalStateException("a failure on purpose");
      }
      return id;
    }

    @Override
    public boolean isDeterministic() {
      return false;
    }
  }

  @BeforeEach
  void open() {
    FAILURES_LEFT.set(0);
    pauseMs = 0;
    sql = session(2);
    sql.run("CREATE TABLE seen (id INT, times BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='2')");
  }

  @AfterEach
  void nothingLeaks() throws Exception {
    sql.close();
    FlinkSession.assertNothingLeaks();
  }

  private FlinkSession session(int parallelism) {
    return withoutCheckpoints(parallelism).set("execution.checkpointing.interval", "100 ms");
  }

  private FlinkSession withoutCheckpoints(int parallelism) {
    Map<String, String> lake = Map.of("datalake.format", "paimon", "datalake.paimon.warehouse", directory.resolve("lake").toString());
    FlinkSession session = FlinkSession.streaming(directory.resolve("store"), parallelism, lake);
    session.environment().createTemporarySystemFunction("gate", Gate.class);
    session.set("restart-strategy.type", "fixed-delay");
    session.set("restart-strategy.fixed-delay.attempts", "5");
    session.set("restart-strategy.fixed-delay.delay", "100 ms");
    return session;
  }

  private JobClient count(FlinkSession session, String from) {
    return session.submit("INSERT INTO seen SELECT id, COUNT(*) FROM (SELECT gate(id) AS id FROM " + from + ") GROUP BY id").getJobClient().orElseThrow();
  }

  private void createInLake(String table) {
    sql.run("CREATE TABLE " + table + " (id INT, name STRING) WITH ('bucket.num'='3', 'table.datalake.enabled'='true')");
  }

  private void tier(String table) {
    sql.run("CALL sys.tier('fluss." + table + "')");
  }

  private static String values(int from, int to) {
    return IntStream.range(from, to).mapToObj(i -> "(" + i + ", 'n')").collect(Collectors.joining(","));
  }

  /** Waits until every id has been seen, then checks that none was seen twice. */
  private void assertSeenOnce(int from, int to) throws Exception {
    try (FlinkSession batch = FlinkSession.batch(directory.resolve("store"), 1)) {
      String seen = "SELECT COUNT(*), MIN(id), MAX(id), SUM(times) FROM seen";
      String once = "+I[" + (to - from) + ", " + from + ", " + (to - 1) + ", " + (to - from) + "]";
      FlinkSession.eventually(() -> batch.rows(seen), List.of(once));
      Thread.sleep(300);
      assertThat(batch.rows(seen)).containsExactly(once);
    }
  }

  private String stop(JobClient job) throws Exception {
    String savepoint = job.stopWithSavepoint(false, directory.resolve("savepoints").toUri().toString(), SavepointFormatType.CANONICAL).get();
    // Terminal only when all tasks are gone.
    FlinkSession.eventually(() -> job.getJobStatus().get(), JobStatus.FINISHED);
    return savepoint;
  }

  private void cancel(JobClient job) throws Exception {
    job.cancel().get();
    FlinkSession.eventually(() -> job.getJobStatus().get().isGloballyTerminalState(), true);
  }

  private FlinkSession restored(String savepoint, int parallelism) {
    return session(parallelism).set("execution.state-recovery.path", savepoint);
  }

  private JobClient stoppedAndRestored(String table, String from) throws Exception {
    sql.run("INSERT INTO " + table + " VALUES " + values(0, 300));
    JobClient first = count(sql, from);
    assertSeenOnce(0, 300);
    String savepoint = stop(first);
    sql.run("INSERT INTO " + table + " VALUES " + values(300, 600));
    try (FlinkSession wider = restored(savepoint, 4)) {
      JobClient second = count(wider, from);
      assertSeenOnce(0, 600);
      String again = stop(second);
      sql.run("INSERT INTO " + table + " VALUES " + values(600, 700));
      try (FlinkSession narrower = restored(again, 1)) {
        JobClient third = count(narrower, from);
        assertSeenOnce(0, 700);
        return third;
      }
    }
  }

  @Test
  void aLogTableGoesOnWhereTheSavepointEndsWithMoreAndFewerReaders() throws Exception {
    sql.run("CREATE TABLE l (id INT, name STRING) WITH ('bucket.num'='3')");
    cancel(stoppedAndRestored("l", "l"));
  }

  @Test
  void aPrimaryKeyTableGoesOnWhereTheSavepointEndsWithMoreAndFewerReaders() throws Exception {
    sql.run("CREATE TABLE k (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='3')");
    cancel(stoppedAndRestored("k", "k"));
  }

  @Test
  void aLogTableInTheLakeGoesOnWhereTheSavepointEndsWithMoreAndFewerReaders() throws Exception {
    createInLake("l");
    sql.run("INSERT INTO l VALUES " + values(-100, 0));
    tier("l");
    JobClient job = count(sql, "l");
    assertSeenOnce(-100, 0);
    String savepoint = stop(job);
    sql.run("INSERT INTO l VALUES " + values(0, 100));
    tier("l");
    sql.run("INSERT INTO l VALUES " + values(100, 200));
    try (FlinkSession wider = restored(savepoint, 4)) {
      JobClient second = count(wider, "l");
      assertSeenOnce(-100, 200);
      cancel(second);
    }
  }

  @Test
  void aReadFromATimestampGoesOnWhereTheSavepointEnds() throws Exception {
    sql.run("CREATE TABLE l (id INT, name STRING) WITH ('bucket.num'='3')");
    sql.run("INSERT INTO l VALUES " + values(-50, 0));
    Thread.sleep(20);
    String from = "l /*+ OPTIONS('scan.startup.mode'='timestamp', 'scan.startup.timestamp'='" + System.currentTimeMillis() + "') */";
    Thread.sleep(20);
    cancel(stoppedAndRestored("l", from));
  }

  @Test
  void aSavepointInTheMiddleOfASnapshotGoesOnBehindTheRowsRead() throws Exception {
    sql.run("CREATE TABLE k (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='3')");
    sql.run("INSERT INTO k VALUES " + values(0, 3_000));
    assertGoesOnInside(() -> {});
  }

  @Test
  void aSavepointInTheMiddleOfTheLakeGoesOnBehindTheRowsRead() throws Exception {
    createInLake("k");
    sql.run("INSERT INTO k VALUES " + values(0, 3_000));
    tier("k");
    assertGoesOnInside(() -> tier("k"));
  }

  private void assertGoesOnInside(Runnable change) throws Exception {
    pauseMs = 1;
    JobClient slow = count(sql, "k");
    Thread.sleep(800);
    String savepoint = stop(slow);
    try (FlinkSession batch = FlinkSession.batch(directory.resolve("store"), 1)) {
      assertThat(batch.rows("SELECT COUNT(*) BETWEEN 1 AND 2999 FROM seen")).containsExactly("+I[true]");
    }
    // More rows and a newer snapshot must not matter to the one that is being read.
    sql.run("INSERT INTO k VALUES " + values(3_000, 3_100));
    change.run();
    try (FlinkSession.Running other = sql.start("SELECT COUNT(*) FROM k")) {
      other.next(1);
    }
    pauseMs = 0;
    try (FlinkSession wider = restored(savepoint, 4)) {
      JobClient fast = count(wider, "k");
      assertSeenOnce(0, 3_100);
      cancel(fast);
    }
  }

  @Test
  void aFailedJobReadsNothingTwice() throws Exception {
    sql.run("CREATE TABLE l (id INT, name STRING) WITH ('bucket.num'='3')");
    JobClient job = count(sql, "l");
    sql.run("INSERT INTO l VALUES " + values(0, 300));
    assertSeenOnce(0, 300);
    FAILURES_LEFT.set(2);
    sql.run("INSERT INTO l VALUES (-1, 'x')", "INSERT INTO l VALUES " + values(300, 600));
    assertSeenOnce(-1, 600);
    assertThat(FAILURES_LEFT.get()).isNegative();
    cancel(job);
  }

  @Test
  void aJobThatFailsBeforeItsFirstCheckpointReadsTheWholeTableAgain() throws Exception {
    sql.run("CREATE TABLE k (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='3')");
    sql.run("INSERT INTO k VALUES " + values(-1, 300));
    FAILURES_LEFT.set(2);
    sql.set("execution.checkpointing.interval", "1 h");
    JobClient job = count(sql, "k");
    assertSeenOnce(-1, 300);
    assertThat(FAILURES_LEFT.get()).isNegative();
    cancel(job);
  }

  @Test
  void aJobThatFailsInTheLakeBeforeItsFirstCheckpointReadsAllOfItAgain() throws Exception {
    createInLake("k");
    sql.run("INSERT INTO k VALUES " + values(-1, 300));
    tier("k");
    sql.run("INSERT INTO k VALUES " + values(300, 400));
    FAILURES_LEFT.set(2);
    sql.set("execution.checkpointing.interval", "1 h");
    JobClient job = count(sql, "k");
    assertSeenOnce(-1, 400);
    assertThat(FAILURES_LEFT.get()).isNegative();
    cancel(job);
  }

  @Test
  void aJobWithoutCheckpointsReadsTheWholeTableAgain() throws Exception {
    sql.run("CREATE TABLE k (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='3')");
    sql.run("INSERT INTO k VALUES " + values(0, 300));
    try (FlinkSession plain = withoutCheckpoints(2)) {
      JobClient job = count(plain, "k");
      assertSeenOnce(0, 300);
      FAILURES_LEFT.set(1);
      sql.run("INSERT INTO k VALUES (-1, 'x')");
      assertSeenOnce(-1, 300);
      cancel(job);
    }
  }

  @Test
  void theStateOfATableThatWasReplacedIsRefusedAtOnce() throws Exception {
    sql.run("CREATE TABLE l (id INT, name STRING) WITH ('bucket.num'='3')", "INSERT INTO l VALUES " + values(0, 10));
    JobClient first = count(sql, "l");
    assertSeenOnce(0, 10);
    String savepoint = stop(first);
    sql.run("DROP TABLE l", "CREATE TABLE l (id INT, name STRING) WITH ('bucket.num'='3')", "INSERT INTO l VALUES " + values(100, 110));
    try (FlinkSession again = restored(savepoint, 2)) {
      JobClient second = count(again, "l");
      long start = System.nanoTime();
      assertThat(second.getJobExecutionResult())
          .failsWithin(Duration.ofSeconds(30))
          .withThrowableThat()
          .havingRootCause()
          .withMessageContaining("Table ID mismatch")
          .withMessageContaining("restart the job without its savepoint");
      assertThat((System.nanoTime() - start) / 1_000_000).isLessThan(20_000);
    }
  }
}
