package io.sluice.flink.partition;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;

import io.sluice.flink.FlinkSession;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Partitions that come and go under readers and writers that run, and while they are down. */
final class RunningReadersITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  private static final String LOOK = "'scan.partition.discovery.interval' = '100 ms'";

  @TempDir Path directory;

  private FlinkSession sql;
  private FlinkSession batch;

  @BeforeEach
  void open() {
    sql = streaming();
    batch = FlinkSession.batch(directory.resolve("store"), 2);
  }

  private FlinkSession streaming() {
    return FlinkSession.streaming(directory.resolve("store"), 2).set("execution.checkpointing.interval", "100 ms");
  }

  @AfterEach
  void close() throws Exception {
    batch.close();
    sql.close();
    FlinkSession.assertNothingLeaks();
  }

  private void create(String key) {
    batch.run("CREATE TABLE t (id INT, v STRING, p STRING" + key + ") PARTITIONED BY (p) WITH ('bucket.num' = '2', " + LOOK + ")");
  }

  private static final List<String> KINDS = List.of("", ", PRIMARY KEY (id, p) NOT ENFORCED");

  @Test
  void aStreamReadsPartitionsThatComeAndDropsThoseThatGo() throws Exception {
    for (String key : KINDS) {
      create(key);
      batch.run("INSERT INTO t VALUES (1, 'x', 'a'), (2, 'x', 'b'), (3, 'x', 'c')");
      try (FlinkSession.Running rows = sql.start("SELECT id, p FROM t")) {
        assertThat(rows.nextSorted(3)).containsExactly("+I[1, a]", "+I[2, b]", "+I[3, c]");
        batch.run("INSERT INTO t VALUES (4, 'y', 'd')");
        assertThat(rows.next(1)).containsExactly("+I[4, d]");
        batch.run("ALTER TABLE t DROP PARTITION (p = 'a')", "INSERT INTO t VALUES (5, 'y', 'b')");
        assertThat(rows.next(1)).containsExactly("+I[5, b]");
        batch.run("INSERT INTO t VALUES (6, 'z', 'a')");
        assertThat(rows.next(1)).containsExactly("+I[6, a]");
        batch.run(
            "ALTER TABLE t DROP PARTITION (p = 'a')", "ALTER TABLE t DROP PARTITION (p = 'b')",
            "ALTER TABLE t DROP PARTITION (p = 'c')", "ALTER TABLE t DROP PARTITION (p = 'd')");
        Thread.sleep(500);
        batch.run("INSERT INTO t VALUES (7, 'z', 'e')");
        assertThat(rows.next(1)).containsExactly("+I[7, e]");
        assertThat(rows.more()).isEmpty();
      }
      batch.run("DROP TABLE t");
    }
  }

  @Test
  void whereverAStreamStartsNewPartitionsAreReadWhole() throws Exception {
    create("");
    batch.run("INSERT INTO t VALUES (1, 'x', 'a')");
    try (FlinkSession.Running rows = sql.start("SELECT id, p FROM t /*+ OPTIONS('scan.startup.mode' = 'latest') */")) {
      FlinkSession.eventually(() -> rows.result().getJobClient().orElseThrow().getJobStatus().get(), JobStatus.RUNNING);
      Thread.sleep(1000);
      batch.run("INSERT INTO t VALUES (2, 'x', 'a'), (3, 'x', 'b')");
      assertThat(rows.nextSorted(2)).containsExactly("+I[2, a]", "+I[3, b]");
    }
  }

  @Test
  void partitionsFoundLaterArePrunedToo() throws Exception {
    create("");
    try (FlinkSession.Running rows = sql.start("SELECT id, p FROM t WHERE p LIKE 'a%' AND id < 9")) {
      batch.run("INSERT INTO t VALUES (1, 'x', 'b'), (2, 'x', 'a1'), (10, 'x', 'a1')");
      assertThat(rows.next(1)).containsExactly("+I[2, a1]");
      batch.run("INSERT INTO t VALUES (3, 'x', 'c'), (4, 'x', 'a2')");
      assertThat(rows.next(1)).containsExactly("+I[4, a2]");
    }
  }

  private JobClient count(FlinkSession session) {
    return session.submit("INSERT INTO seen SELECT id, COUNT(*) FROM t GROUP BY id").getJobClient().orElseThrow();
  }

  private void seen(String... rows) throws Exception {
    FlinkSession.eventually(() -> batch.rows("SELECT * FROM seen"), List.of(rows));
  }

  /** Partitions were dropped while a job ran and while it was down; the restore once asked for them for ever (case C10). */
  @Test
  void aRestoredJobGoesOnWithoutThePartitionsThatWent() throws Exception {
    for (String key : KINDS) {
      create(key);
      batch.run(
          "CREATE TABLE seen (id INT, times BIGINT, PRIMARY KEY (id) NOT ENFORCED)",
          "INSERT INTO t VALUES (1, 'x', 'a'), (2, 'x', 'b'), (3, 'x', 'c')");
      JobClient job = count(sql);
      seen("+I[1, 1]", "+I[2, 1]", "+I[3, 1]");
      batch.run("ALTER TABLE t DROP PARTITION (p = 'a')", "INSERT INTO t VALUES (4, 'x', 'b')");
      seen("+I[1, 1]", "+I[2, 1]", "+I[3, 1]", "+I[4, 1]");
      String savepoint = job.stopWithSavepoint(false, directory.resolve("savepoints").toUri().toString(), SavepointFormatType.CANONICAL).get();
      FlinkSession.eventually(() -> job.getJobStatus().get(), JobStatus.FINISHED);
      batch.run("ALTER TABLE t DROP PARTITION (p = 'b')", "INSERT INTO t VALUES (5, 'x', 'd'), (6, 'x', 'c')");
      try (FlinkSession again = streaming().set("execution.state-recovery.path", savepoint)) {
        JobClient restored = count(again);
        seen("+I[1, 1]", "+I[2, 1]", "+I[3, 1]", "+I[4, 1]", "+I[5, 1]", "+I[6, 1]");
        batch.run("INSERT INTO t VALUES (7, 'x', 'a')");
        seen("+I[1, 1]", "+I[2, 1]", "+I[3, 1]", "+I[4, 1]", "+I[5, 1]", "+I[6, 1]", "+I[7, 1]");
        restored.cancel().get();
        FlinkSession.eventually(() -> restored.getJobStatus().get(), JobStatus.CANCELED);
      }
      batch.run("DROP TABLE t", "DROP TABLE seen");
    }
  }

  /** A job that writes goes on when a partition of its is dropped; rows that come later create it anew. */
  @Test
  void aWriterGoesOnWhenItsPartitionIsDropped() throws Exception {
    for (String key : KINDS) {
      create(key);
      batch.run("CREATE TABLE src (id INT, v STRING, p STRING)", "INSERT INTO src VALUES (1, 'x', 'a'), (2, 'x', 'b')");
      JobClient job = sql.submit("INSERT INTO t SELECT * FROM src").getJobClient().orElseThrow();
      FlinkSession.eventually(() -> batch.rows("SELECT id FROM t"), List.of("+I[1]", "+I[2]"));
      batch.run("ALTER TABLE t DROP PARTITION (p = 'a')", "INSERT INTO src VALUES (3, 'x', 'a'), (4, 'x', 'b')");
      FlinkSession.eventually(() -> batch.rows("SELECT id FROM t"), List.of("+I[2]", "+I[3]", "+I[4]"));
      assertThat(job.getJobStatus().get()).isEqualTo(JobStatus.RUNNING);
      job.cancel().get();
      FlinkSession.eventually(() -> job.getJobStatus().get(), JobStatus.CANCELED);
      batch.run("DROP TABLE t", "DROP TABLE src");
    }
  }
}
