package io.sluice.flink.lake;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;

import io.sluice.flink.FlinkSession;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.test.junit5.InjectMiniCluster;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Partitioned tables that flow into the lake, through SQL: what is there only, here only, and in both. */
final class LakePartitionsITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(4).build());

  private static final String VISITS =
      "CREATE TABLE visits (id INT, d STRING) PARTITIONED BY (d) WITH ('bucket.num' = '2', 'table.datalake.enabled' = 'true')";
  private static final String DROP = "ALTER TABLE %s DROP PARTITION (d = 'b')";

  @TempDir Path directory;

  private MiniCluster cluster;
  private PaimonJars jars;
  private FlinkSession session;

  @BeforeEach
  void open(@InjectMiniCluster MiniCluster miniCluster) {
    cluster = miniCluster;
    jars = new PaimonJars();
    session = over(jars.batch(cluster));
  }

  private FlinkSession over(TableEnvironment environment) {
    Map<String, String> options = Map.of("datalake.format", "paimon", "datalake.paimon.warehouse", directory.resolve("lake").toString());
    return FlinkSession.over(environment, directory.resolve("store"), 2, options);
  }

  @AfterEach
  void close() throws Exception {
    session.close();
    jars.close();
    FlinkSession.assertNothingLeaks();
  }

  @Test
  void partitionsOfALogTableAreReadFromLakeAndLog() {
    session.run(VISITS, "INSERT INTO visits VALUES (1, 'a'), (2, 'b'), (3, 'b')", "CALL sys.tier('fluss.visits')");
    session.run("INSERT INTO visits VALUES (4, 'a'), (5, 'b'), (6, 'c')");
    String[] all = {"+I[1, a]", "+I[2, b]", "+I[3, b]", "+I[4, a]", "+I[5, b]", "+I[6, c]"};
    assertThat(session.rows("SELECT id, d FROM visits$lake")).containsExactly("+I[1, a]", "+I[2, b]", "+I[3, b]");
    assertThat(session.rows("SELECT * FROM visits")).containsExactly(all);
    session.run(String.format(DROP, "visits"));
    assertThat(session.rows("SHOW PARTITIONS visits")).containsExactly("+I[d=a]", "+I[d=c]");
    assertThat(session.rows("SELECT * FROM visits")).containsExactly(all);
    assertThat(session.rows("SELECT id FROM visits WHERE d = 'b'")).containsExactly("+I[2]", "+I[3]", "+I[5]");
    assertThat(session.rows("SELECT id FROM visits WHERE d <> 'b'")).containsExactly("+I[1]", "+I[4]", "+I[6]");
    assertThat(session.rows("SELECT COUNT(*) FROM visits")).containsExactly("+I[6]");
    assertThat(session.rows("SELECT id FROM visits LIMIT 100")).hasSize(6);
    assertThat(session.rows("SELECT id FROM visits$lake WHERE d = 'b'")).containsExactly("+I[2]", "+I[3]", "+I[5]");
    // The same name once more.
    session.run("INSERT INTO visits VALUES (7, 'b')");
    assertThat(session.rows("SELECT id FROM visits WHERE d = 'b'")).containsExactly("+I[2]", "+I[3]", "+I[5]", "+I[7]");
    session.run("CALL sys.tier('fluss.visits')");
    assertThat(session.rows("SELECT id FROM visits WHERE d = 'b'")).isEqualTo(session.rows("SELECT id FROM visits$lake WHERE d = 'b'")).hasSize(4);
    assertThat(session.rows("SELECT * FROM visits")).isEqualTo(session.rows("SELECT id, d FROM visits$lake")).hasSize(7);
  }

  @Test
  void partitionsOfAPrimaryKeyTableThatOnlyTheLakeHasAreRead() {
    session.run(
        "CREATE TABLE carts (id INT, d STRING, n INT, PRIMARY KEY (id, d) NOT ENFORCED) PARTITIONED BY (d)"
            + " WITH ('bucket.num' = '2', 'table.datalake.enabled' = 'true')",
        "INSERT INTO carts VALUES (1, 'a', 10), (2, 'b', 20), (3, 'b', 30)",
        "CALL sys.tier('fluss.carts')",
        "INSERT INTO carts VALUES (2, 'b', 21), (4, 'b', 40), (1, 'a', 11)");
    session.run(String.format(DROP, "carts"));
    assertThat(session.rows("SELECT * FROM carts")).containsExactly("+I[1, a, 11]", "+I[2, b, 21]", "+I[3, b, 30]", "+I[4, b, 40]");
    assertThat(session.rows("SELECT n FROM carts WHERE id = 2 AND d = 'b'")).containsExactly("+I[21]");
    assertThat(session.rows("SELECT n FROM carts WHERE id = 1 AND d = 'a'")).containsExactly("+I[11]");
    assertThat(session.rows("SELECT COUNT(*) FROM carts")).containsExactly("+I[4]");
    session.run("CALL sys.tier('fluss.carts')");
    assertThat(session.rows("SELECT SUM(n), COUNT(*) FROM carts$lake")).containsExactly("+I[102, 4]");
  }

  @Test
  void aStreamBeginsWithAllPartitions() throws Exception {
    session.run(VISITS, "INSERT INTO visits VALUES (1, 'a'), (2, 'b')", "CALL sys.tier('fluss.visits')", "INSERT INTO visits VALUES (3, 'a')");
    session.run(String.format(DROP, "visits"));
    session.close();
    session = over(jars.streaming(cluster));
    String stream = "SELECT * FROM visits /*+ OPTIONS('scan.partition.discovery.interval' = '200 ms') */";
    try (FlinkSession.Running running = session.start(stream)) {
      assertThat(running.nextSorted(3)).containsExactly("+I[1, a]", "+I[2, b]", "+I[3, a]");
      session.run("INSERT INTO visits VALUES (4, 'a')");
      assertThat(running.next(1)).containsExactly("+I[4, a]");
      session.run("INSERT INTO visits VALUES (5, 'c')");
      assertThat(running.next(1)).containsExactly("+I[5, c]");
    }
  }
}
