package io.sluice.flink.lake;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import io.sluice.flink.FlinkSession;
import io.sluice.flink.tiering.TieringJob;
import io.sluice.flink.tiering.TieringSettings;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.test.junit5.InjectMiniCluster;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Rows that a Flink job brings into the lake: all of them once, whatever happens to the job and whoever does the same. */
final class TieringJobITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(6).build());

  private static final String WITH = " WITH ('bucket.num' = '3', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '300 ms')";

  @TempDir Path directory;

  private final List<JobClient> jobs = new ArrayList<>();
  private MiniCluster cluster;
  private PaimonJars jars;
  private FlinkSession session;
  private String tiering;

  @BeforeEach
  void open(@InjectMiniCluster MiniCluster miniCluster) {
    cluster = miniCluster;
    jars = new PaimonJars();
  }

  private void session(String mode) {
    tiering = mode;
    Map<String, String> options =
        Map.of("datalake.format", "paimon", "datalake.paimon.warehouse", directory.resolve("lake").toString(), "datalake.tiering", mode);
    session = FlinkSession.over(jars.batch(cluster), directory.resolve("store"), 2, options);
  }

  private JobClient start() throws Exception {
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
    environment.setParallelism(2);
    TieringSettings settings =
        TieringSettings.parse(
            "-D", "fluss.bootstrap.servers=embedded:" + directory.resolve("store"),
            "-D", "datalake.format=paimon",
            "-Ddatalake.paimon.warehouse=" + directory.resolve("lake"),
            "-D", "datalake.tiering=" + tiering,
            "-D", "database=flu.*");
    TieringJob.define(environment, settings);
    JobClient job = environment.executeAsync("tiering");
    jobs.add(job);
    return job;
  }

  private void stop(JobClient job) throws Exception {
    job.cancel().get(1, TimeUnit.MINUTES);
    FlinkSession.eventually(() -> job.getJobStatus().get().isGloballyTerminalState(), true);
    jobs.remove(job);
  }

  @AfterEach
  void close() throws Exception {
    for (JobClient job : List.copyOf(jobs)) {
      stop(job);
    }
    session.close();
    jars.close();
    FlinkSession.assertNothingLeaks();
  }

  private String inLake(String table) {
    return session.rows("SELECT COUNT(*), COUNT(DISTINCT id), SUM(CAST(id AS BIGINT)) FROM " + table + "$lake").toString();
  }

  private static String allOf(long count) {
    return "[+I[" + count + ", " + count + ", " + count * (count + 1) / 2 + "]]";
  }

  private void numbers(String name, long first, long last) {
    session.run("CREATE TEMPORARY TABLE " + name + " (id BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '" + (last - first + 1)
        + "', 'fields.id.kind' = 'sequence', 'fields.id.start' = '" + first + "', 'fields.id.end' = '" + last + "')");
  }

  @Test
  void rowsOfTablesOfAllKindsFlow() throws Exception {
    session("none");
    session.run(
        "CREATE TABLE events (id BIGINT)" + WITH,
        "CREATE TABLE orders (id BIGINT, state STRING, PRIMARY KEY (id) NOT ENFORCED)" + WITH,
        "CREATE TABLE visits (id BIGINT, d STRING) PARTITIONED BY (d)" + WITH,
        "CREATE TABLE plain (id BIGINT)",
        "CREATE DATABASE apart",
        "CREATE TABLE apart.events (id BIGINT)" + WITH,
        "INSERT INTO apart.events VALUES (1)");
    start();
    session.run(
        "INSERT INTO events VALUES (1), (2), (3)",
        "INSERT INTO orders VALUES (1, 'new'), (2, 'new')",
        "INSERT INTO visits VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO orders VALUES (2, 'paid')");
    FlinkSession.eventually(() -> inLake("events"), allOf(3));
    FlinkSession.eventually(() -> inLake("visits"), allOf(2));
    FlinkSession.eventually(
        () -> session.rows("SELECT id, state FROM orders$lake").toString().replaceAll("\\+[IU]", ""), "[[1, new], [2, paid]]");
    session.run("INSERT INTO events VALUES (4), (5)");
    FlinkSession.eventually(() -> inLake("events"), allOf(5));
    assertThat(session.rows("SELECT id FROM events")).hasSize(5);
    assertThat(session.rows("SELECT * FROM `apart`.`events$lake`")).isEmpty();
  }

  @Test
  void aJobThatIsKilledAndStartedAgainBringsEachRowOnce() throws Exception {
    session("none");
    long count = 400_000;
    session.run("CREATE TABLE events (id BIGINT)" + WITH);
    numbers("numbers", 1, count);
    TableResult insert = session.submit("INSERT INTO events SELECT id FROM numbers");
    for (int i = 0; i < 4; i++) {
      JobClient job = start();
      Thread.sleep(700L + i * 200L);
      stop(job);
    }
    insert.await(1, TimeUnit.MINUTES);
    start();
    FlinkSession.eventually(() -> inLake("events"), allOf(count));
  }

  @Test
  void aLostMachineEndsNothing() throws Exception {
    session("none");
    session.run("CREATE TABLE events (id BIGINT)" + WITH, "INSERT INTO events VALUES (1), (2)");
    start();
    FlinkSession.eventually(() -> inLake("events"), allOf(2));
    cluster.terminateTaskManager(0).get(1, TimeUnit.MINUTES);
    cluster.startTaskManager();
    session.run("INSERT INTO events VALUES (3), (4), (5)");
    FlinkSession.eventually(() -> inLake("events"), allOf(5));
  }

  @Test
  void twoJobsAndTheEngineAtOnceBringEachRowOnce() throws Exception {
    session("embedded");
    long count = 200_000;
    session.run("CREATE TABLE events (id BIGINT)" + WITH);
    start();
    start();
    numbers("numbers", 1, count);
    session.run("INSERT INTO events SELECT id FROM numbers");
    FlinkSession.eventually(() -> inLake("events"), allOf(count));
    session.run("INSERT INTO events VALUES (" + (count + 1) + ")");
    FlinkSession.eventually(() -> inLake("events"), allOf(count + 1));
  }
}
