package io.sluice.flink.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import io.sluice.flink.FlinkSession;
import io.sluice.flink.Refusal;
import io.sluice.flink.StoreAddress;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.Catalog;
import org.apache.flink.table.catalog.CatalogBaseTable;
import org.apache.flink.table.catalog.CatalogDatabase;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.catalog.exceptions.CatalogException;
import org.apache.flink.table.catalog.exceptions.DatabaseAlreadyExistException;
import org.apache.flink.table.catalog.exceptions.DatabaseNotEmptyException;
import org.apache.flink.table.catalog.exceptions.DatabaseNotExistException;
import org.apache.flink.table.catalog.exceptions.TableAlreadyExistException;
import org.apache.flink.table.catalog.exceptions.TableNotExistException;
import org.apache.flink.table.catalog.exceptions.TableNotPartitionedException;
import org.apache.flink.table.catalog.stats.CatalogTableStatistics;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Catalog, databases and tables through SQL, against an embedded store. */
final class CatalogITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  @TempDir Path directory;

  private FlinkSession session;

  @BeforeEach
  void open() {
    session = FlinkSession.batch(directory.resolve("store"), 2);
  }

  @AfterEach
  void close() throws Exception {
    session.close();
    FlinkSession.assertNothingLeaks();
  }

  private Catalog catalog() {
    return session.environment().getCatalog("c").orElseThrow();
  }

  private CatalogBaseTable table(String name) throws Exception {
    return catalog().getTable(new ObjectPath("fluss", name));
  }

  private void refused(String statement, Class<? extends Throwable> type, String... parts) {
    Refusal.assertRefused(session, statement, type, parts);
  }

  // ---- catalog

  @Test
  void aNewStoreHasTheDefaultDatabase() {
    assertThat(session.rows("SHOW DATABASES")).containsExactly("+I[fluss]");
    assertThat(session.rows("SHOW CURRENT DATABASE")).containsExactly("+I[fluss]");
    assertThat(session.rows("SHOW TABLES")).isEmpty();
    assertThat(session.rows("SHOW VIEWS")).isEmpty();
    assertThat(session.rows("SHOW PROCEDURES")).isEmpty();
    assertThat(session.rows("SHOW USER FUNCTIONS")).isEmpty();
  }

  @Test
  void rulesOfAccessBelongToServers() {
    assertThat(session.rows("SHOW PROCEDURES IN sys")).containsExactly("+I[add_acl]", "+I[drop_acl]", "+I[list_acl]", "+I[tier]");
    boolean embedded = StoreAddress.of(directory.resolve("store")).startsWith("embedded:");
    String[] why = embedded ? new String[] {"embedded store has no users", "belong to a server"} : new String[] {"No Authorizer is configured"};
    refused("CALL sys.add_acl('cluster.fluss', 'ALLOW', 'User:a', 'READ', '*')", UnsupportedOperationException.class, why);
    refused("CALL sys.drop_acl('ANY', 'ANY', 'ANY', 'ANY', 'ANY')", UnsupportedOperationException.class, why);
    refused("CALL sys.list_acl(resource => 'ANY')", UnsupportedOperationException.class, why);
    refused("CALL sys.list_acl(resource => 'cluster', operation => 'SELECT')", ValidationException.class, "No enum constant", "SELECT");
  }

  @Test
  void badCatalogOptionsAreRefusedAtCreateCatalog() throws Exception {
    String create = "CREATE CATALOG bad WITH ('type' = 'fluss'%s)";
    String here = String.format(", 'bootstrap.servers' = 'embedded:%s'", directory.resolve("other"));
    refused(String.format(create, ""), ValidationException.class, "bootstrap.servers");
    refused(
        String.format(create, here + ", 'log.flush.polcy' = 'os'"),
        ValidationException.class, "'log.flush.polcy'", "'log.flush.policy'");
    refused(String.format(create, here + ", 'log.flush.policy' = 'never'"), ValidationException.class, "'log.flush.policy'", "never");
    refused(
        String.format(create, here + ", 'default-database' = 'nowhere'"),
        CatalogException.class,
        "The configured default-database 'nowhere' does not exist");
    refused(String.format(create, ", 'bootstrap.servers' = ''"), Exception.class, "bootstrap.servers");
    Path file = Files.writeString(directory.resolve("file"), "x");
    refused(String.format(create, ", 'bootstrap.servers' = 'embedded:" + file + "'"), CatalogException.class, file.toString());
    Path foreign = Files.createDirectory(directory.resolve("foreign"));
    Files.writeString(foreign.resolve("letter.txt"), "not a store");
    refused(String.format(create, ", 'bootstrap.servers' = 'embedded:" + foreign + "'"), CatalogException.class, foreign.toString());
    assertThat(foreign.toFile().list()).containsExactly("letter.txt");
    assertThat(session.rows("SHOW CATALOGS")).doesNotContain("+I[bad]");
  }

  @Test
  void settingsAndCredentialsAreAccepted() throws Exception {
    session.run(
        String.format(
            "CREATE CATALOG s WITH ('type' = 'fluss', 'bootstrap.servers' = 'embedded:%s', 'default-database' = 'fluss',"
                + " 'client.security.protocol' = 'SASL', 'client.security.sasl.username' = 'u', 'log.flush.policy' = 'os')",
            directory.resolve("second")));
    session.run("CREATE TABLE s.fluss.t (a INT)");
    CatalogBaseTable table = session.environment().getCatalog("s").orElseThrow().getTable(new ObjectPath("fluss", "t"));
    assertThat(table.getOptions())
        .containsEntry("bootstrap.servers", "embedded:" + directory.resolve("second"))
        .containsEntry("client.security.protocol", "SASL")
        .containsEntry("client.security.sasl.username", "u")
        .containsEntry("bucket.num", "1")
        .doesNotContainKey("log.flush.policy");
    session.run("DROP CATALOG s");
  }

  @Test
  void catalogsOfOneStoreSeeTheSameTables() throws Exception {
    String address = StoreAddress.of(directory.resolve("store"));
    session.run(String.format("CREATE CATALOG d WITH ('type' = 'fluss', 'bootstrap.servers' = '%s')", address));
    session.run("CREATE TABLE t (a INT)");
    assertThat(session.rows("SHOW TABLES IN d.fluss")).containsExactly("+I[t]");
    session.run("DROP CATALOG d");
    assertThat(session.rows("SHOW TABLES")).containsExactly("+I[t]");
  }

  @Test
  void aReopenedStoreHasItsTables() {
    session.run("CREATE TABLE t (a INT, PRIMARY KEY (a) NOT ENFORCED) COMMENT 'kept' WITH ('my.own' = 'x')");
    String before = session.rows("SHOW CREATE TABLE t").toString();
    session.close();
    session = FlinkSession.batch(directory.resolve("store"), 2);
    assertThat(session.rows("SHOW CREATE TABLE t").toString()).isEqualTo(before).contains("COMMENT 'kept'", "'my.own' = 'x'");
  }

  // ---- databases

  @Test
  void databasesComeAndGo() throws Exception {
    session.run("CREATE DATABASE d COMMENT 'mine' WITH ('k' = 'v', 'l' = 'w')");
    session.run("CREATE DATABASE IF NOT EXISTS d");
    refused("CREATE DATABASE d", DatabaseAlreadyExistException.class, "d already exists");
    CatalogDatabase database = catalog().getDatabase("d");
    assertThat(database.getComment()).isEqualTo("mine");
    assertThat(database.getProperties()).isEqualTo(Map.of("k", "v", "l", "w"));
    session.run("ALTER DATABASE d SET ('k' = 'changed', 'm' = 'new')");
    assertThat(catalog().getDatabase("d").getProperties()).isEqualTo(Map.of("k", "changed", "l", "w", "m", "new"));
    assertThat(catalog().getDatabase("d").getComment()).isEqualTo("mine");

    session.run("CREATE TABLE d.t (a INT)");
    refused("DROP DATABASE d", DatabaseNotEmptyException.class, "d in catalog c is not empty");
    refused("DROP DATABASE d RESTRICT", DatabaseNotEmptyException.class, "not empty");
    session.run("DROP DATABASE d CASCADE");
    session.run("DROP DATABASE IF EXISTS d");
    refused("DROP DATABASE d", DatabaseNotExistException.class, "d does not exist");
    refused("ALTER DATABASE d SET ('k' = 'v')", Exception.class, "d does not exist");
    refused("USE d", Exception.class, "[d] does not exist");
    refused("CREATE DATABASE `bad name`", CatalogException.class, "'bad name' is invalid");
    assertThat(session.rows("SHOW DATABASES")).containsExactly("+I[fluss]");
  }

  @Test
  void theDefaultDatabaseCannotBeDropped() {
    session.run("CREATE DATABASE other");
    session.run("USE other");
    refused("DROP DATABASE fluss", UnsupportedOperationException.class, "default database");
    assertThat(session.rows("SHOW DATABASES")).contains("+I[fluss]");
  }

  // ---- tables

  @Test
  void tablesAreDescribedAsDeclared() throws Exception {
    session.run(
        "CREATE TABLE t (amount DECIMAL(10, 2) COMMENT 'in euro', k2 STRING, k1 INT, twice AS amount * 2, ts TIMESTAMP(3) NOT NULL,"
            + " proc AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (k1, k2) NOT ENFORCED)"
            + " COMMENT 'orders' WITH ('bucket.num' = '3', 'bucket.key' = 'k2', 'table.log.ttl' = '1d', 'my.own' = 'x')");
    assertThat(session.inOrder("DESCRIBE t").toString())
        .isEqualTo(
            "[+I[amount, DECIMAL(10, 2), true, null, null, null, in euro], "
                + "+I[k2, STRING, false, PRI(k1, k2), null, null, null], "
                + "+I[k1, INT, false, PRI(k1, k2), null, null, null], "
                + "+I[twice, DECIMAL(21, 2), true, null, AS `amount` * 2, null, null], "
                + "+I[ts, TIMESTAMP(3), false, null, null, `ts` - INTERVAL '5' SECOND, null], "
                + "+I[proc, TIMESTAMP_LTZ(3) *PROCTIME*, false, null, AS PROCTIME(), null, null]]");
    assertThat(table("t").getComment()).isEqualTo("orders");
    assertThat(table("t").getOptions())
        .containsEntry("bucket.num", "3")
        .containsEntry("bucket.key", "k2")
        .containsEntry("table.log.ttl", "1d")
        .containsEntry("my.own", "x")
        .containsEntry("table.kv.format-version", "2")
        .containsEntry("bootstrap.servers", StoreAddress.of(directory.resolve("store")))
        .allSatisfy((key, value) -> assertThat(key).doesNotStartWith("schema."));
    assertThat(session.rows("SHOW CREATE TABLE t").toString())
        .contains("`twice` AS `amount` * 2")
        .contains("WATERMARK FOR `ts` AS `ts` - INTERVAL '5' SECOND")
        .contains("PRIMARY KEY (`k1`, `k2`) NOT ENFORCED")
        .contains("COMMENT 'in euro'");
  }

  @Test
  void createIfNotExistsAndDropIfExists() {
    session.run("CREATE TABLE t (a INT)");
    session.run("CREATE TABLE IF NOT EXISTS t (b STRING)");
    refused("CREATE TABLE t (b STRING)", TableAlreadyExistException.class, "fluss.t");
    refused("CREATE TABLE nowhere.t (b STRING)", DatabaseNotExistException.class, "nowhere does not exist");
    assertThat(session.inOrder("DESCRIBE t")).hasSize(1);
    session.run("DROP TABLE t");
    session.run("DROP TABLE IF EXISTS t");
    refused("DROP TABLE t", ValidationException.class, "does not exist");
    assertThatThrownBy(() -> catalog().dropTable(new ObjectPath("fluss", "t"), false)).isInstanceOf(TableNotExistException.class);
    assertThatThrownBy(() -> catalog().getTable(new ObjectPath("nowhere", "t"))).isInstanceOf(TableNotExistException.class);
    assertThat(catalog().tableExists(new ObjectPath("fluss", "no$such"))).isFalse();
    assertThatThrownBy(() -> catalog().listTables("nowhere")).isInstanceOf(DatabaseNotExistException.class);
  }

  @Test
  void likeCopiesATable() throws Exception {
    session.run(
        "CREATE TABLE t (k INT, ts TIMESTAMP(3), big AS k * 2, WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED)"
            + " WITH ('bucket.num' = '3', 'my.own' = 'x', 'table.log.ttl' = '1d')");
    session.run("CREATE TABLE l LIKE t");
    assertThat(session.rows("SHOW CREATE TABLE l").toString().replace("`l`", "`t`"))
        .isEqualTo(session.rows("SHOW CREATE TABLE t").toString());
    session.run("CREATE TABLE m (v STRING) WITH ('bucket.num' = '5') LIKE t (EXCLUDING WATERMARKS OVERWRITING OPTIONS)");
    assertThat(session.rows("SHOW CREATE TABLE m").toString())
        .contains("`v` ", "'bucket.num' = '5'", "'my.own' = 'x'")
        .doesNotContain("WATERMARK");
    session.run("CREATE TABLE n WITH ('bucket.key' = 'ts') LIKE t (EXCLUDING CONSTRAINTS EXCLUDING OPTIONS)");
    assertThat(table("n").getUnresolvedSchema().getPrimaryKey()).isEmpty();
    assertThat(table("n").getOptions()).containsEntry("bucket.key", "ts").doesNotContainKey("my.own");
  }

  @Test
  void createTableAsSelectCreatesAndFills() {
    session.run("CREATE TABLE t WITH ('bucket.num' = '2') AS SELECT a, UPPER(b) AS b FROM (VALUES (1, 'x'), (2, 'y')) AS v(a, b)");
    assertThat(session.rows("SELECT * FROM t")).containsExactly("+I[1, X]", "+I[2, Y]");
    refused("CREATE TABLE t AS SELECT 1 AS a", Exception.class, "already exist");
    refused(
        "CREATE TABLE u WITH ('bucket.num' = '0') AS SELECT 1 AS a", CatalogException.class, "'bucket.num' = 0");
    assertThat(session.rows("SHOW TABLES")).containsExactly("+I[t]");
  }

  @Test
  void optionsAreAltered() throws Exception {
    session.run("CREATE TABLE t (a INT)");
    session.run("ALTER TABLE t SET ('table.log.ttl' = '3d', 'my.own' = 'x', 'scan.startup.mode' = 'latest')");
    assertThat(table("t").getOptions()).containsEntry("table.log.ttl", "3d").containsEntry("my.own", "x");
    session.run("ALTER TABLE t RESET ('my.own')");
    assertThat(table("t").getOptions()).doesNotContainKey("my.own").containsEntry("table.log.ttl", "3d");
    for (String fixed : List.of("bucket.num", "bucket.key", "auto-increment.fields", "bootstrap.servers", "table.log.format")) {
      refused(
          "ALTER TABLE t SET ('" + fixed + "' = '2')",
          UnsupportedOperationException.class,
          "'" + fixed + "' is not supported to alter yet");
    }
    refused("ALTER TABLE t SET ('table.log.tll' = '1d')", CatalogException.class, "'table.log.tll'", "did you mean 'table.log.ttl'");
    refused("ALTER TABLE t SET ('table.log.ttl' = 'soon')", CatalogException.class, "'table.log.ttl'", "soon");
    refused("ALTER TABLE t SET ('scan.startup.mode' = 'never')", ValidationException.class, "'scan.startup.mode'", "never");
    session.run("ALTER TABLE IF EXISTS nothing SET ('my.own' = 'x')");
    refused("ALTER TABLE nothing SET ('my.own' = 'x')", ValidationException.class, "doesn't exist");
  }

  @Test
  void columnsAreAddedAtTheEnd() {
    session.run("CREATE TABLE t (a INT, twice AS a * 2)");
    session.run("INSERT INTO t VALUES (1)");
    session.run("ALTER TABLE t ADD (b STRING COMMENT 'new', r ROW<x INT, y ARRAY<STRING>>)");
    assertThat(session.inOrder("DESCRIBE t").toString())
        .contains("[a, INT,", "[b, STRING, true, null, null, null, new]", "[r, ROW<`x` INT, `y` ARRAY<STRING>>,");
    session.run("INSERT INTO t VALUES (2, 'z', ROW(5, ARRAY['q']))");
    assertThat(session.rows("SELECT a, b, r, twice FROM t")).containsExactly("+I[1, null, null, 2]", "+I[2, z, +I[5, [q]], 4]");
    refused("ALTER TABLE t ADD b INT", ValidationException.class, "already exists");
    refused("ALTER TABLE t ADD d INT FIRST", UnsupportedOperationException.class, "Only support addColumn column at last");
    refused("ALTER TABLE t ADD d INT AFTER a", UnsupportedOperationException.class, "Only support addColumn column at last");
    refused("ALTER TABLE t ADD d INT NOT NULL", CatalogException.class, "'d' must be nullable");
    refused("ALTER TABLE t ADD d VARCHAR(3)", UnsupportedOperationException.class, "Unsupported data type VARCHAR(3) of column 'd'");
    refused("ALTER TABLE t ADD d AS a + 1", UnsupportedOperationException.class, "Unsupported flink table change");
    refused("ALTER TABLE t DROP b", UnsupportedOperationException.class, "Dropping column 'b' is not supported yet");
    refused("ALTER TABLE t RENAME b TO d", UnsupportedOperationException.class, "Renaming column 'b' is not supported yet");
    refused("ALTER TABLE t MODIFY b BYTES", UnsupportedOperationException.class, "column 'b' is not supported yet");
    refused("ALTER TABLE t RENAME TO u", UnsupportedOperationException.class, "Renaming a table is not supported");
    assertThat(session.inOrder("DESCRIBE t")).hasSize(4);
  }

  @Test
  void watermarksAreAddedChangedAndDropped() {
    session.run("CREATE TABLE t (ts TIMESTAMP(3), a INT)");
    session.run("ALTER TABLE t ADD WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE");
    assertThat(session.inOrder("DESCRIBE t").toString()).contains("`ts` - INTERVAL '1' MINUTE");
    session.run("ALTER TABLE t MODIFY WATERMARK FOR ts AS ts");
    assertThat(session.inOrder("DESCRIBE t").toString()).startsWith("[+I[ts, TIMESTAMP(3), true, null, null, `ts`]");
    session.run("ALTER TABLE t DROP WATERMARK");
    assertThat(session.inOrder("DESCRIBE t").toString()).startsWith("[+I[ts, TIMESTAMP(3), true, null, null, null]");
  }

  // ---- what is refused

  @Test
  void badTablesAreRefusedByOneSentenceAndLeaveNothing() {
    refused("CREATE TABLE t (a INT) WITH ('table.log.tll' = '1d')", CatalogException.class, "'table.log.tll'", "'table.log.ttl'");
    refused("CREATE TABLE t (a INT) WITH ('bucket.num' = '0')", CatalogException.class, "'bucket.num' = 0");
    refused("CREATE TABLE t (a INT) WITH ('bucket.num' = '-1')", CatalogException.class, "'bucket.num' = -1");
    refused("CREATE TABLE t (a INT) WITH ('bucket.num' = '4097')", CatalogException.class, "'bucket.num' = 4097", "4096");
    refused(
        "CREATE TABLE t (a INT) WITH ('bucket.num' = 'many')",
        ValidationException.class, "The value 'many' of option 'bucket.num' cannot be read: it is not a whole number.");
    refused("CREATE TABLE t (a INT) WITH ('bucket.key' = 'b')", CatalogException.class, "'b'");
    refused("CREATE TABLE t (a INT) WITH ('bucket.key' = '')", CatalogException.class, "bucket key");
    refused(
        "CREATE TABLE t (a INT, b INT, PRIMARY KEY (a) NOT ENFORCED) WITH ('bucket.key' = 'b')",
        CatalogException.class, "'b'", "subset");
    refused(
        "CREATE TABLE t (a ARRAY<INT>) WITH ('bucket.key' = 'a')",
        CatalogException.class, "Bucket key column 'a'", "unsupported data type");
    refused("CREATE TABLE t (a MAP<INT, INT>, PRIMARY KEY (a) NOT ENFORCED)", CatalogException.class, "Primary key column 'a'");
    refused("CREATE TABLE t (a VARCHAR(10))", UnsupportedOperationException.class, "Unsupported data type VARCHAR(10) of column 'a'");
    refused(
        "CREATE TABLE t (a INT, b VARBINARY(10))",
        UnsupportedOperationException.class, "Unsupported data type VARBINARY(10) of column 'b'");
    refused("CREATE TABLE t (a MULTISET<INT>)", UnsupportedOperationException.class, "Unsupported data type MULTISET<INT> of column 'a'");
    refused(
        "CREATE TABLE t AS SELECT INTERVAL '1' DAY AS a",
        UnsupportedOperationException.class, "Unsupported data type INTERVAL", "'a'");
    refused("CREATE TABLE t (a INT, a INT)", Exception.class, "a");
    refused("CREATE TABLE t (m BIGINT METADATA)", UnsupportedOperationException.class, "Metadata column 'm' is not supported.");
    refused("CREATE TABLE t (a INT) WITH ('connector' = 'kafka')", ValidationException.class, "only supports fluss tables", "'kafka'");
    refused("CREATE TABLE t (a INT) WITH ('table.merge-engine' = 'first_row')", Exception.class, "'table.merge-engine'");
    refused("CREATE TABLE t (a INT) DISTRIBUTED BY (a) INTO 3 BUCKETS", UnsupportedOperationException.class, "'bucket.key'");
    refused("CREATE TABLE `a b` (a INT)", CatalogException.class, "'a b' is invalid");
    refused("CREATE TABLE `__t` (a INT)", CatalogException.class, "'__t' is invalid");
    refused(
        "CREATE TABLE t (a INT) WITH ('sink.distribution-mode' = 'x')",
        ValidationException.class,
        "The value 'x' of option 'sink.distribution-mode' cannot be read: it is none of auto, none, bucket, partition_dynamic.");
    assertThat(session.rows("SHOW TABLES")).isEmpty();
  }

  /** Reserved names were once accepted and broke the table later: both statements must fail at once and leave nothing (case C01). */
  @Test
  void reservedColumnNamesAreRefused() {
    for (String name : List.of("__offset", "__timestamp", "__bucket", "_change_type", "_log_offset", "_commit_timestamp")) {
      refused(
          "CREATE TABLE readings (`" + name + "` BIGINT, val DOUBLE)",
          CatalogException.class, "'" + name + "'", "__offset, __timestamp");
    }
    session.run("CREATE TABLE readings2 (id BIGINT, val DOUBLE)");
    refused("ALTER TABLE readings2 ADD `__timestamp` TIMESTAMP_LTZ(3)", CatalogException.class, "'__timestamp'", "reserved");
    assertThat(session.rows("SHOW TABLES")).containsExactly("+I[readings2]");
    assertThat(session.inOrder("DESCRIBE readings2")).hasSize(2);
  }

  /** Names in capitals, outside ASCII, or words of SQL once broke a reader that looked columns up by lower-cased name (case C02). */
  @Test
  void columnNamesKeepTheirCase() {
    session.run(
        "CREATE TABLE dev_log (device STRING NOT NULL, sensorTemp DOUBLE, `Größe` STRING, `order` INT) WITH ('bucket.key' = 'device')");
    session.run("INSERT INTO dev_log VALUES ('d1', 21.5, 'ß', 7)");
    assertThat(session.rows("SELECT `order`, `Größe`, sensorTemp, device FROM dev_log")).containsExactly("+I[7, ß, 21.5, d1]");
    assertThat(session.inOrder("DESCRIBE dev_log").toString()).contains("[sensorTemp,", "[Größe,", "[order,");
  }

  @Test
  void whatACatalogCanDoWithoutIsRefusedInOneSentence() throws Exception {
    session.run("CREATE TABLE t (a INT)");
    ObjectPath path = new ObjectPath("fluss", "t");
    refused(
        "CREATE FUNCTION f AS 'java.lang.String'",
        UnsupportedOperationException.class, "FUNCTION is not supported for Fluss catalog");
    refused("SHOW PARTITIONS t", TableNotPartitionedException.class, "fluss.t");
    refused("ALTER TABLE t ADD PARTITION (a = '1')", Exception.class, "not partitioned");
    assertThatThrownBy(() -> catalog().listPartitions(path)).isInstanceOf(TableNotPartitionedException.class);
    assertThat(catalog().getTableStatistics(path)).isEqualTo(CatalogTableStatistics.UNKNOWN);
    session.run("CREATE TEMPORARY VIEW v AS SELECT a + 1 AS b FROM t");
    session.run("INSERT INTO t VALUES (1)");
    assertThat(session.rows("SELECT * FROM v")).containsExactly("+I[2]");
  }

  @Test
  void otherConnectorsAreForTemporaryTables() {
    session.run("CREATE TEMPORARY TABLE src (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')");
    session.run("CREATE TABLE t (a INT)");
    session.run("INSERT INTO t SELECT 1 FROM src");
    assertThat(session.rows("SELECT * FROM t")).hasSize(3);
    session.run("CREATE TEMPORARY TABLE mine (a INT) WITH ('connector' = 'fluss')");
    refused("SELECT * FROM mine", ValidationException.class, "Could not find any factory for identifier 'fluss'");
  }

  @Test
  void unknownOptionsAreKeptAndIgnored() throws Exception {
    session.run("CREATE TABLE t (a INT) WITH ('client.unknown' = 'x', 'whatever' = 'y', 'connector' = 'fluss')");
    assertThat(table("t").getOptions()).containsEntry("client.unknown", "x").containsEntry("whatever", "y").doesNotContainKey("connector");
    assertThat(session.environment().explainSql("INSERT INTO t SELECT * FROM t")).contains("Sink(table=[c.fluss.t]");
    session.run("INSERT INTO t VALUES (1)");
    assertThat(session.rows("SELECT * FROM t /*+ OPTIONS('client.other' = 'z') */")).containsExactly("+I[1]");
  }
}
