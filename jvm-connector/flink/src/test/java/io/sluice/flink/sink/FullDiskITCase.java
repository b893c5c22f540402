package io.sluice.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

import io.sluice.flink.FlinkSession;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Jobs whose store takes nothing for a while: its disk, a small one in memory, is full. Mounting one needs root. */
final class FullDiskITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(4).build());

  @TempDir Path disk;

  private FlinkSession session;
  private FlinkSession reader;

  @BeforeEach
  void open() throws Exception {
    boolean mounted = run("mount", "-t", "tmpfs", "-o", "size=16m", "sluice-test", disk.toString());
    assumeTrue(mounted, "a disk of its own can be mounted");
    session = FlinkSession.streaming(disk.resolve("store"), 1);
    reader = FlinkSession.batch(disk.resolve("store"), 1);
    session.run(
        "CREATE TEMPORARY TABLE src (n INT, text STRING) WITH ('connector' = 'datagen', 'rows-per-second' = '1000',"
            + " 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '10000000', 'fields.text.length' = '100')");
  }

  @AfterEach
  void close() throws Exception {
    if (session != null) {
      // A store says when it closes that the disk is full.
      Files.deleteIfExists(disk.resolve("ballast"));
      session.close();
      reader.close();
      FlinkSession.assertNothingLeaks();
      run("umount", disk.toString());
    }
  }

  private static boolean run(String... command) throws Exception {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
    return process.waitFor() == 0;
  }

  /** Takes the space that is left. */
  private Path fill() throws IOException {
    Path ballast = disk.resolve("ballast");
    byte[] piece = new byte[1 << 12];
    try (OutputStream out = Files.newOutputStream(ballast)) {
      while (true) {
        out.write(piece);
      }
    } catch (IOException full) {
      return ballast;
    }
  }

  private JobClient start(String options) {
    session.run("CREATE TABLE k (n INT, text STRING, PRIMARY KEY (n) NOT ENFORCED)");
    return session.submit("INSERT INTO k " + options + " SELECT * FROM src").getJobClient().orElseThrow();
  }

  private long count() {
    return Long.parseLong(reader.rows("SELECT COUNT(*) FROM k").get(0).replaceAll("\\D", ""));
  }

  /** The count at which the sink stays: twice the same, a while apart. */
  private long stopped() throws Exception {
    long last = -1;
    for (long now = count(); now != last; now = count()) {
      last = now;
      Thread.sleep(1500);
    }
    return last;
  }

  /** A sink once waited without end for rows that could not be sent, so that the job could not be cancelled (case C45). */
  @Test
  void aJobWhoseDiskTakesNothingIsCancelledSoon() throws Exception {
    JobClient job = start("");
    FlinkSession.eventually(() -> count() > 0, true);
    fill();
    stopped();
    assertThat(job.getJobStatus().get()).isEqualTo(JobStatus.RUNNING);
    long start = System.nanoTime();
    job.cancel().get(10, TimeUnit.SECONDS);
    FlinkSession.eventually(() -> job.getJobStatus().get(), JobStatus.CANCELED);
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
  }

  @Test
  void aJobGoesOnWhenSpaceReturnsAndWritesEachRow() throws Exception {
    JobClient job = start("");
    FlinkSession.eventually(() -> count() > 0, true);
    Path ballast = fill();
    long stopped = stopped();
    Files.delete(ballast);
    FlinkSession.eventually(() -> count() > stopped + 1000, true);
    assertThat(job.getJobStatus().get()).isEqualTo(JobStatus.RUNNING);
    job.cancel().get(10, TimeUnit.SECONDS);
    FlinkSession.eventually(() -> job.getJobStatus().get(), JobStatus.CANCELED);
    assertThat(reader.rows("SELECT COUNT(*) = MAX(n) AND MIN(n) = 1 FROM k")).containsExactly("+I[true]");
  }

  @Test
  void aJobFailsOncePatienceIsAtItsEndAndSaysWhy() throws Exception {
    JobClient job = start("/*+ OPTIONS('client.request-timeout' = '2s') */");
    FlinkSession.eventually(() -> count() > 0, true);
    fill();
    FlinkSession.eventually(() -> job.getJobStatus().get(), JobStatus.FAILED);
    assertThatThrownBy(() -> job.getJobExecutionResult().get())
        .hasStackTraceContaining("Cannot write to table fluss.k")
        .hasStackTraceContaining("No space left")
        .hasStackTraceContaining("free some space");
  }
}
