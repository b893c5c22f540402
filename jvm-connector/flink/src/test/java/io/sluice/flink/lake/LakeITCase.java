package io.sluice.flink.lake;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

import io.sluice.flink.FlinkSession;
import io.sluice.flink.Refusal;
import io.sluice.flink.StoreAddress;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.exceptions.CatalogException;
import org.apache.flink.test.junit5.InjectMiniCluster;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Tables that flow into the lake, through SQL: made, altered, tiered, and read there by Paimon's own connector. */
final class LakeITCase {
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
    session = over(jars.batch(cluster), "none");
  }

  private FlinkSession over(TableEnvironment environment, String tiering) {
    Map<String, String> options =
        Map.of("datalake.format", "paimon", "datalake.paimon.warehouse", lake().toString(), "datalake.tiering", tiering);
    return FlinkSession.over(environment, directory.resolve("store"), 2, options);
  }

  private Path lake() {
    return directory.resolve("lake");
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

  private static final String ORDERS =
      "CREATE TABLE orders (id BIGINT, amount DECIMAL(10, 2) COMMENT 'paid', PRIMARY KEY (id) NOT ENFORCED)"
          + " WITH ('bucket.num' = '2', 'table.datalake.enabled' = 'true'%s)";

  @Test
  void theCopyIsThereAtOnceAndEmpty() {
    session.run(String.format(ORDERS, ", 'table.datalake.freshness' = '10 s', 'paimon.file.compression' = 'lz4'"));
    assertThat(lake().resolve("fluss.db/orders/schema/schema-0")).exists();
    assertThat(session.rows("SELECT * FROM orders$lake")).isEmpty();
    assertThat(session.rows("SELECT * FROM orders$lake$snapshots")).isEmpty();
    assertThat(session.inOrder("DESCRIBE orders$lake").toString())
        .contains("[id, BIGINT, false, PRI(id)", "[amount, DECIMAL(10, 2), true", "[__offset, BIGINT", "[__timestamp, TIMESTAMP_LTZ(3)");
    assertThat(session.rows("SELECT * FROM orders$lake$options"))
        .contains("+I[bucket, 2]", "+I[bucket-key, id]", "+I[changelog-producer, input]", "+I[file.compression, lz4]");
    assertThat(session.rows("SHOW CREATE TABLE orders").toString())
        .contains("'table.datalake.enabled' = 'true'", "'table.datalake.freshness' = '10 s'", "'paimon.file.compression' = 'lz4'");
  }

  @Test
  void whatIsTieredIsReadByPaimonAndTheRestByUs() {
    session.run(String.format(ORDERS, ""), "INSERT INTO orders VALUES (1, 1.50), (2, 2.50)", "CALL sys.tier('fluss.orders')");
    session.run("INSERT INTO orders VALUES (2, 9.99), (3, 3.50)");
    assertThat(session.rows("SELECT id, amount FROM orders$lake")).containsExactly("+I[1, 1.50]", "+I[2, 2.50]");
    assertThat(session.rows("SELECT * FROM orders")).containsExactly("+I[1, 1.50]", "+I[2, 9.99]", "+I[3, 3.50]");
    assertThat(session.rows("SELECT o.id, l.amount FROM orders o JOIN orders$lake l ON o.id = l.id WHERE o.amount > l.amount"))
        .containsExactly("+I[2, 2.50]");
    assertThat(session.rows("CALL sys.tier('fluss.orders')")).hasSize(1);
    // Paimon tells the kind of the newest change of a row also where it reads in batch.
    assertThat(session.rows("SELECT id, amount FROM orders$lake").stream().map(row -> row.substring(2)))
        .containsExactlyInAnyOrder("[1, 1.50]", "[2, 9.99]", "[3, 3.50]");
    assertThat(session.rows("SELECT id, amount FROM orders$lake /*+ OPTIONS('scan.snapshot-id' = '1') */")).hasSize(2);
    assertThat(session.rows("SELECT COUNT(DISTINCT snapshot_id) > 1, MAX(commit_kind) FROM orders$lake$snapshots"))
        .containsExactly("+I[true, APPEND]");
  }

  @Test
  void rowsFlowByThemselves() throws Exception {
    session.close();
    session = over(jars.batch(cluster), "embedded");
    session.run(String.format(ORDERS, ", 'table.datalake.freshness' = '1 s'"), "INSERT INTO orders VALUES (1, 1.50), (2, 2.50)");
    FlinkSession.eventually(() -> session.rows("SELECT COUNT(*) FROM orders$lake").toString(), "[+I[2]]");
    session.run("INSERT INTO orders VALUES (3, 3.50)");
    FlinkSession.eventually(() -> session.rows("SELECT COUNT(*) FROM orders$lake").toString(), "[+I[3]]");
  }

  @Test
  void aTableMeetsTheLakeLater() {
    session.run("CREATE TABLE events (id INT)", "INSERT INTO events VALUES (1), (2)");
    refused(
        "SELECT * FROM events$lake",
        UnsupportedOperationException.class,
        "Table fluss.events is not datalake enabled",
        "ALTER TABLE events SET ('table.datalake.enabled' = 'true')");
    assertThat(lake().resolve("fluss.db/events")).doesNotExist();
    session.run("ALTER TABLE events SET ('table.datalake.enabled' = 'true', 'table.datalake.freshness' = '5 min')");
    session.run("CALL sys.tier('fluss.events')");
    assertThat(session.rows("SELECT id FROM events$lake")).containsExactly("+I[1]", "+I[2]");
    session.run("ALTER TABLE events SET ('table.datalake.enabled' = 'false')");
    refused("SELECT * FROM events$lake", UnsupportedOperationException.class, "not datalake enabled");
  }

  @Test
  void badOptionsAreRefusedAtTheStatement() {
    refused(String.format(ORDERS, ", 'table.datalake.freshness' = 'soon'"), Exception.class, "table.datalake.freshness", "soon");
    refused(String.format(ORDERS, ", 'paimon.bucket' = '7'"), Exception.class, "bucket");
    String catalog = "CREATE CATALOG bad WITH ('type' = 'fluss', 'bootstrap.servers' = 'embedded:" + directory.resolve("other") + "', %s)";
    refused(String.format(catalog, "'datalake.format' = 'iceberg'"), ValidationException.class, "datalake.format", "paimon");
    refused(String.format(catalog, "'datalake.tiering' = 'maybe'"), ValidationException.class, "datalake.tiering", "embedded");
    assertThat(session.rows("SHOW TABLES")).isEmpty();
  }

  @Test
  void withoutAWarehouseThereIsNoLake() {
    session.run(
        "CREATE CATALOG dry WITH ('type' = 'fluss', 'bootstrap.servers' = 'embedded:" + directory.resolve("dry") + "')", "USE CATALOG dry");
    refused(String.format(ORDERS, ""), Exception.class, "datalake.paimon.warehouse");
    session.run("USE CATALOG c", "DROP CATALOG dry");
  }

  @Test
  void anotherCatalogOfTheStoreNeedsNoOptionsOfTheLake() {
    session.run(String.format(ORDERS, ""), "INSERT INTO orders VALUES (1, 1.50)", "CALL sys.tier('fluss.orders')");
    String here = "CREATE CATALOG %s WITH ('type' = 'fluss', 'bootstrap.servers' = '" + StoreAddress.of(directory.resolve("store")) + "'%s)";
    session.run(String.format(here, "d", ""));
    assertThat(session.rows("SELECT id FROM d.fluss.`orders$lake`")).containsExactly("+I[1]");
    session.run(String.format(here, "e", ", 'paimon.warehouse' = '" + directory.resolve("elsewhere") + "'"));
    refused("SELECT id FROM e.fluss.`orders$lake`", CatalogException.class, "The lake has no table fluss.orders", "elsewhere");
    refused(String.format(here, "f", ", 'datalake.paimon.warehouse' = '/elsewhere'"), Exception.class, "datalake.paimon.warehouse");
    session.run("DROP CATALOG d", "DROP CATALOG e");
  }

  @Test
  void copiesAreReadOnly() {
    session.run(String.format(ORDERS, ""));
    refused("INSERT INTO orders$lake (id) VALUES (1)", ValidationException.class, "fluss.orders$lake is read-only", "write into fluss.orders");
    refused("DROP TABLE orders$lake", UnsupportedOperationException.class, "orders$lake is read-only");
    refused("ALTER TABLE orders$lake SET ('bucket' = '9')", UnsupportedOperationException.class, "orders$lake is read-only");
    refused("SELECT * FROM nothing$lake", Exception.class, "nothing$lake");
    refused(
        "SELECT * FROM orders FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01 00:00:00'",
        UnsupportedOperationException.class,
        "write orders$lake instead of orders");
  }

  @Test
  void theProcedureSaysWhatItMisses() {
    session.run("CREATE TABLE dry (id INT)");
    refused("CALL sys.tier('dry')", ValidationException.class, "database.table");
    refused("CALL sys.tier('fluss.nothing')", ValidationException.class, "fluss.nothing does not exist");
    refused("CALL sys.tier('fluss.dry')", Exception.class, "fluss.dry");
    refused("CALL sys.nothing('fluss.dry')", Exception.class, "nothing");
    assertThat(session.rows("SHOW PROCEDURES IN sys")).contains("+I[tier]");
  }

  @Test
  void aDroppedTableLeavesItsCopyAndANameIsNotTakenOver() {
    session.run(String.format(ORDERS, ""), "INSERT INTO orders VALUES (1, 1.50)", "CALL sys.tier('fluss.orders')", "DROP TABLE orders");
    assertThat(Files.exists(lake().resolve("fluss.db/orders/snapshot/snapshot-1"))).isTrue();
    refused(String.format(ORDERS, ""), Exception.class, "ake table fluss.orders exists already", "drop or rename it");
    session.run("CREATE CATALOG p WITH ('type' = 'paimon', 'warehouse' = '" + lake() + "')", "DROP TABLE p.fluss.orders");
    session.run(String.format(ORDERS, ""));
    assertThat(session.rows("SELECT * FROM orders$lake")).isEmpty();
  }
}
