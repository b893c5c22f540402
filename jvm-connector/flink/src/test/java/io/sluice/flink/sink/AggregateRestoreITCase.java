package io.sluice.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import io.sluice.flink.FlinkSession;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.flink.types.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** An aggregate counts each row once when its job goes on from a savepoint, with more or fewer writers, or begins anew under its old name. */
final class AggregateRestoreITCase {
  private static final long ROWS = 9000;
  private static final long KEYS = 40;

  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  /** Waits in front of every row; no longer, for a source that waits takes no part in savepoints. */
  private static final AtomicLong PAUSE_MS = new AtomicLong();

  @TempDir Path directory;

  @BeforeEach
  void slowDown() {
    PAUSE_MS.set(1);
  }

  @AfterEach
  void nothingLeaks() throws Exception {
    FlinkSession.assertNothingLeaks();
  }

  private void create(boolean partitioned) {
    try (FlinkSession sql = FlinkSession.batch(directory.resolve("store"), 1)) {
      sql.run(
          "CREATE TABLE t (k BIGINT, p STRING, s BIGINT, n BIGINT, l STRING, PRIMARY KEY (k, p) NOT ENFORCED)"
              + (partitioned ? " PARTITIONED BY (p)" : "")
              + " WITH ('bucket.num' = '5', 'table.merge-engine' = 'aggregation', 'fields.s.agg' = 'sum', 'fields.n.agg' = 'sum',"
              + " 'fields.l.agg' = 'last_value')");
    }
  }

  /** A job that adds the numbers 1 to {@link #ROWS} up. */
  private JobClient start(String savepoint, int parallelism, String hint) {
    Configuration configuration = new Configuration();
    if (savepoint != null) {
      configuration.setString("execution.state-recovery.path", savepoint);
    }
    StreamExecutionEnvironment streams = StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    streams.setParallelism(parallelism);
    StreamTableEnvironment tables = StreamTableEnvironment.create(streams);
    try (FlinkSession session = FlinkSession.over(tables, directory.resolve("store"), parallelism)) {
      tables.createTemporaryView(
          "src",
          tables.fromDataStream(
              streams
                  .fromSequence(1, ROWS)
                  .setParallelism(1)
                  .map(AggregateRestoreITCase::pass)
                  .setParallelism(1)
                  .returns(Types.ROW_NAMED(new String[] {"k", "m"}, Types.LONG, Types.LONG))));
      return session
          .submit("INSERT INTO t " + hint + " SELECT k, CAST(m / 3000 AS STRING), m, CAST(1 AS BIGINT), CAST(m AS STRING) FROM src")
          .getJobClient()
          .orElseThrow();
    }
  }

  private static Row pass(Long number) throws InterruptedException {
    Thread.sleep(PAUSE_MS.get());
    return Row.of(number % KEYS, number);
  }

  /** Waits until so many of the numbers have been added. */
  private void until(long rows) throws Exception {
    FlinkSession.eventually(() -> count() >= rows, true);
  }

  private long count() {
    String found = total();
    return found.contains("null") ? 0 : Long.parseLong(found.substring(found.lastIndexOf(' ') + 1, found.length() - 2));
  }

  private static String sum(long upTo, long rows) {
    return "[+I[" + upTo * (upTo + 1) / 2 + ", " + rows + "]]";
  }

  private String total() {
    try (FlinkSession batch = FlinkSession.batch(directory.resolve("store"), 1)) {
      return batch.rows("SELECT SUM(s), SUM(n) FROM t").toString();
    }
  }

  private String savepoint(JobClient job) throws Exception {
    return job.triggerSavepoint(directory.resolve("savepoints").toUri().toString(), SavepointFormatType.CANONICAL).get(60, TimeUnit.SECONDS);
  }

  private static void cancel(JobClient job) throws Exception {
    job.cancel().get();
    FlinkSession.eventually(() -> job.getJobStatus().get().isGloballyTerminalState(), true);
  }

  private static void awaitEnd(JobClient job) throws Exception {
    FlinkSession.eventually(() -> job.getJobStatus().get(), JobStatus.FINISHED);
  }

  /** Each restored job first takes back what the one before it wrote after the savepoint. */
  private void restoredWithMoreAndFewerWriters(boolean partitioned) throws Exception {
    create(partitioned);
    JobClient narrow = start(null, 1, "");
    until(500);
    String first = savepoint(narrow);
    until(count() + 500);
    cancel(narrow);
    JobClient wide = start(first, 3, "");
    until(count() + 500);
    String second = savepoint(wide);
    until(count() + 500);
    cancel(wide);
    PAUSE_MS.set(0);
    awaitEnd(start(second, 2, ""));
    assertEachRowOnce();
  }

  private void assertEachRowOnce() {
    assertThat(total()).isEqualTo(sum(ROWS, ROWS));
    try (FlinkSession batch = FlinkSession.batch(directory.resolve("store"), 1)) {
      assertThat(batch.rows("SELECT p, COUNT(*), SUM(n), MAX(CAST(l AS BIGINT)) FROM t GROUP BY p"))
          .containsExactly("+I[0, 40, 2999, 2999]", "+I[1, 40, 3000, 5999]", "+I[2, 40, 3000, 8999]", "+I[3, 1, 1, 9000]");
    }
  }

  @Test
  void goesOnFromASavepointWithMoreAndFewerWriters() throws Exception {
    restoredWithMoreAndFewerWriters(false);
  }

  @Test
  void goesOnFromASavepointWithMoreAndFewerWritersInAllPartitions() throws Exception {
    restoredWithMoreAndFewerWriters(true);
  }

  /** Partitions that the savepoint does not know were made after it: all that is in them is taken back. */
  @Test
  void anOlderSavepointTakesBackMore() throws Exception {
    create(true);
    JobClient job = start(null, 2, "");
    until(300);
    String first = savepoint(job);
    PAUSE_MS.set(0);
    awaitEnd(job);
    PAUSE_MS.set(1);
    JobClient again = start(first, 2, "");
    FlinkSession.eventually(() -> count() < ROWS, true);
    PAUSE_MS.set(0);
    awaitEnd(again);
    assertEachRowOnce();
  }

  @Test
  void aJobThatBeginsAnewUnderItsNameTakesBackWhatTheCancelledOneWrote() throws Exception {
    create(true);
    String named = "/*+ OPTIONS('sink.producer-id' = 'nightly') */";
    JobClient job = start(null, 2, named);
    until(1000);
    cancel(job);
    PAUSE_MS.set(0);
    awaitEnd(start(null, 3, named));
    assertEachRowOnce();
    // It has ended, so a next one under this name adds to what is there.
    awaitEnd(start(null, 1, named));
    assertThat(total()).isEqualTo("[+I[" + ROWS * (ROWS + 1) + ", " + 2 * ROWS + "]]");
  }
}
