package io.sluice.flink.lake;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import java.util.Optional;

import io.sluice.flink.FlinkSession;
import io.sluice.flink.Refusal;
import io.sluice.flink.catalog.ConnectorTableFactory;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.CatalogBaseTable;
import org.apache.flink.table.catalog.GenericInMemoryCatalog;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.catalog.exceptions.CatalogException;
import org.apache.flink.table.catalog.exceptions.TableNotExistException;
import org.apache.flink.table.catalog.stats.CatalogColumnStatistics;
import org.apache.flink.table.catalog.stats.CatalogTableStatistics;
import org.apache.flink.table.factories.Factory;
import org.apache.flink.test.junit5.InjectMiniCluster;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Tables of the lake through SQL, written by Paimon itself, with its connector in jars of the user. */
final class LakeTablesITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(4).build());

  @TempDir Path directory;

  private MiniCluster cluster;
  private PaimonJars jars;
  private FlinkSession session;

  @BeforeEach
  void open(@InjectMiniCluster MiniCluster miniCluster) {
    cluster = miniCluster;
    jars = new PaimonJars();
    session = over(jars.batch(cluster), jars.loader());
    session.run(
        "CREATE DATABASE p.fluss",
        "CREATE TABLE p.fluss.orders (id BIGINT, amount DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2')",
        "INSERT INTO p.fluss.orders VALUES (1, 1.50), (2, 2.50)");
  }

  private FlinkSession over(TableEnvironment environment, ClassLoader loader) {
    FlinkSession over = FlinkSession.over(environment, directory.resolve("store"), 1);
    String warehouse = directory.resolve("lake").toString();
    register(environment, new LakeTables("m", () -> Map.of("warehouse", warehouse), loader));
    over.run(
        "CREATE CATALOG p WITH ('type' = 'paimon', 'disable-create-table-in-default-db' = 'true', 'warehouse' = '" + warehouse + "')",
        "USE CATALOG m");
    return over;
  }

  @SuppressWarnings("deprecation") // What replaces it takes options for a factory.
  private static void register(TableEnvironment environment, LakeTables lake) {
    environment.registerCatalog("m", new LakeOnly(lake));
  }

  @AfterEach
  void close() throws Exception {
    session.close();
    jars.close();
    FlinkSession.assertNothingLeaks();
  }

  private void refused(String statement, Class<? extends Throwable> type, String... parts) {
    Refusal.assertRefused(session, statement, type, parts);
  }

  @Test
  void copyAndSystemTablesAnswer() {
    assertThat(session.rows("SELECT * FROM orders$lake")).containsExactly("+I[1, 1.50]", "+I[2, 2.50]");
    assertThat(session.rows("SELECT id FROM m.fluss.`orders$lake`")).isEqualTo(session.rows("SELECT id FROM fluss.`orders$lake`")).hasSize(2);
    assertThat(session.rows("SELECT COUNT(*), SUM(amount) FROM orders$lake WHERE id > 1")).containsExactly("+I[1, 2.50]");
    assertThat(session.rows("SELECT id FROM orders$lake ORDER BY id LIMIT 1")).containsExactly("+I[1]");
    assertThat(session.rows("SELECT snapshot_id, commit_kind FROM orders$lake$snapshots")).containsExactly("+I[1, APPEND]");
    assertThat(session.rows("SELECT SUM(record_count) FROM orders$lake$files")).containsExactly("+I[2]");
    assertThat(session.rows("SELECT schema_id, primary_keys FROM orders$lake$schemas")).containsExactly("+I[0, [\"id\"]]");
    assertThat(session.rows("SELECT * FROM orders$lake$options")).contains("+I[bucket, 2]");
    assertThat(session.inOrder("DESCRIBE orders$lake")).hasSize(2);
    assertThat(session.rows("SELECT a.id FROM orders$lake a JOIN orders$lake$snapshots s ON a.id = s.snapshot_id")).containsExactly("+I[1]");
  }

  @Test
  void theColumnsOfNowAreRead() {
    session.rows("SELECT * FROM orders$lake");
    session.run("ALTER TABLE p.fluss.orders ADD note STRING", "INSERT INTO p.fluss.orders VALUES (3, 3.50, 'new')");
    assertThat(session.rows("SELECT * FROM orders$lake WHERE id > 1")).containsExactly("+I[2, 2.50, null]", "+I[3, 3.50, new]");
  }

  @Test
  void timeTravelByClauseAndByHint() throws Exception {
    String first = session.rows("SELECT commit_time FROM orders$lake$snapshots").get(0);
    LocalDateTime committed = LocalDateTime.parse(first.substring(3, first.length() - 1));
    // One snapshot a second at most, for the clause's text has no finer unit here.
    while (!LocalDateTime.now(ZoneOffset.UTC).isAfter(committed.plusSeconds(2))) {
      Thread.onSpinWait();
    }
    session.run("INSERT INTO p.fluss.orders VALUES (1, 9.00), (3, 3.50)");
    String before = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss").format(committed.plusSeconds(1));
    String then = "SELECT * FROM orders$lake FOR SYSTEM_TIME AS OF TIMESTAMP '" + before + "'";
    assertThat(session.rows(then)).containsExactly("+I[1, 1.50]", "+I[2, 2.50]");
    assertThat(session.rows("SELECT * FROM orders$lake")).containsExactly("+I[1, 9.00]", "+I[2, 2.50]", "+I[3, 3.50]");
    assertThat(session.rows("SELECT * FROM orders$lake /*+ OPTIONS('scan.snapshot-id' = '1') */")).hasSize(2);
  }

  @Test
  void aStreamOfTheCopyFollowsIt() throws Exception {
    session.close();
    session = over(jars.streaming(cluster), jars.loader());
    try (FlinkSession.Running running = session.start("SELECT id FROM orders$lake /*+ OPTIONS('continuous.discovery-interval' = '200 ms') */")) {
      assertThat(running.nextSorted(2)).containsExactly("+I[1]", "+I[2]");
      try (FlinkSession batch = over(jars.batch(cluster), jars.loader())) {
        batch.run("INSERT INTO p.fluss.orders VALUES (3, 3.50)");
      }
      assertThat(running.next(1)).containsExactly("+I[3]");
    }
  }

  @Test
  void copiesAreReadOnly() {
    refused("INSERT INTO orders$lake VALUES (3, 3.50)", ValidationException.class, "fluss.orders$lake is read-only", "write into fluss.orders");
  }

  @Test
  void whatIsNotThereIsSaid() {
    refused("SELECT * FROM orders$lake$nothing", Exception.class, "orders$lake$nothing");
    refused("SELECT * FROM lost$lake", CatalogException.class, "The lake has no table fluss.lost", directory.resolve("lake").toString());
    assertThat(directory.resolve("lake/default.db")).doesNotExist();
  }

  @Test
  void withoutPaimonsJarsTheErrorNamesThem() throws Exception {
    session.close();
    try (PaimonJars none = PaimonJars.only("none"); PaimonJars alone = PaimonJars.only("paimon")) {
      for (PaimonJars some : new PaimonJars[] {none, alone}) {
        session = FlinkSession.over(some.batch(cluster), directory.resolve("store"), 1);
        LakeTables lake = new LakeTables("m", () -> Map.of("warehouse", directory.resolve("lake").toString()), some.loader());
        register(session.environment(), lake);
        String jar = some == none ? "paimon-flink-1.20-1.3.1.jar" : "flink-shaded-hadoop-2-uber-2.8.3-10.0.jar";
        refused("SELECT * FROM m.fluss.`orders$lake`", ValidationException.class, "fluss.orders$lake", jar, "Flink");
        session.close();
      }
    }
  }

  /** A catalog that has nothing but the lake. */
  private static final class LakeOnly extends GenericInMemoryCatalog {
    private final LakeTables lake;

    LakeOnly(LakeTables lake) {
      super("m", "fluss");
      this.lake = lake;
    }

    @Override
    public Optional<Factory> getFactory() {
      return Optional.of(new ConnectorTableFactory(Map.of(), lake));
    }

    @Override
    public CatalogBaseTable getTable(ObjectPath path) throws TableNotExistException {
      return lake.table(LakeName.of(path).orElseThrow(() -> new TableNotExistException("m", path)));
    }

    @Override
    public CatalogBaseTable getTable(ObjectPath path, long timestampMs) throws TableNotExistException {
      return lake.table(LakeName.of(path).orElseThrow(), timestampMs);
    }

    @Override
    public CatalogTableStatistics getTableStatistics(ObjectPath path) {
      return CatalogTableStatistics.UNKNOWN;
    }

    @Override
    public CatalogColumnStatistics getTableColumnStatistics(ObjectPath path) {
      return CatalogColumnStatistics.UNKNOWN;
    }

    @Override
    public void close() {
      lake.close();
    }
  }
}
