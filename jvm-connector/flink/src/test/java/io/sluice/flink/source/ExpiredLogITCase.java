package io.sluice.flink.source;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.sluice.flink.FlinkSession;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Retention takes rows that a job has not read yet. */
final class ExpiredLogITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  @TempDir Path directory;
  private FlinkSession sql;

  @BeforeEach
  void open() {
    sql = session();
    sql.run("CREATE TABLE l (id INT, name STRING) WITH ('table.log.ttl'='1 s', 'table.log.arrow.compression.type'='NONE')");
    sql.run("CREATE TEMPORARY TABLE nowhere (id INT, name STRING) WITH ('connector'='blackhole')");
  }

  @AfterEach
  void nothingLeaks() throws Exception {
    sql.close();
    FlinkSession.assertNothingLeaks();
  }

  private FlinkSession session() {
    return FlinkSession.streaming(
            directory.resolve("store"),
            1,
            Map.of("log.segment.file-size", "1kb", "log.index.interval-size", "64b", "log.retention.check-interval", "20ms"))
        .set("restart-strategy.type", "fixed-delay")
        .set("restart-strategy.fixed-delay.attempts", "2")
        .set("restart-strategy.fixed-delay.delay", "50 ms");
  }

  private void insert(int from, int to) {
    String rows = IntStream.range(from, to).mapToObj(i -> "(" + i + ", '" + "n".repeat(50) + "')").collect(Collectors.joining(","));
    sql.run("INSERT INTO l VALUES " + rows);
  }

  private int rowsLeft() {
    try (FlinkSession batch = FlinkSession.batch(directory.resolve("store"), 1)) {
      return batch.rows("SELECT id FROM l").size();
    }
  }

  /** Stops a job as soon as all of its tasks run. */
  private String stop(JobClient job) throws Exception {
    String into = directory.resolve("savepoints").toUri().toString();
    AtomicReference<String> savepoint = new AtomicReference<>();
    FlinkSession.eventually(
        () -> {
          try {
            savepoint.set(job.stopWithSavepoint(false, into, SavepointFormatType.CANONICAL).get());
            return true;
          } catch (ExecutionException notYet) {
            return false;
          }
        },
        true);
    return savepoint.get();
  }

  @Test
  void aRestoredJobIsToldWhichOffsetsAreLeft() throws Exception {
    insert(0, 10);
    JobClient first = sql.submit("INSERT INTO nowhere SELECT * FROM l").getJobClient().orElseThrow();
    String savepoint = stop(first);
    for (int i = 1; i < 10; i++) {
      insert(10 * i, 10 * i + 10);
    }
    FlinkSession.eventually(() -> rowsLeft() < 50, true);
    try (FlinkSession again = session().set("execution.state-recovery.path", savepoint)) {
      again.run("CREATE TEMPORARY TABLE nowhere (id INT, name STRING) WITH ('connector'='blackhole')");
      JobClient second = again.submit("INSERT INTO nowhere SELECT * FROM l").getJobClient().orElseThrow();
      assertThat(second.getJobExecutionResult())
          .failsWithin(Duration.ofSeconds(30))
          .withThrowableThat()
          .havingRootCause()
          .withMessageMatching("(?s).*offset \\d+ of .* is out of range: the log holds offsets \\d+ to 100; start from earliest.*");
    }
  }

  @Test
  void aNewJobStartsWithWhatIsLeft() throws Exception {
    for (int i = 0; i < 10; i++) {
      insert(10 * i, 10 * i + 10);
    }
    FlinkSession.eventually(() -> rowsLeft() < 50, true);
    insert(100, 101);
    try (FlinkSession.Running rows = sql.start("SELECT id FROM l")) {
      FlinkSession.eventually(() -> rows.more().contains("+I[100]"), true);
    }
  }
}
