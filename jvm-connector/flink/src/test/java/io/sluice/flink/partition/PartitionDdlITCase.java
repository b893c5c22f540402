package io.sluice.flink.partition;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.LocalDate;
import java.time.Year;
import java.time.ZoneOffset;
import java.util.Map;

import io.sluice.flink.FlinkSession;
import io.sluice.flink.Refusal;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.table.catalog.Catalog;
import org.apache.flink.table.catalog.CatalogPartitionSpec;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.catalog.exceptions.CatalogException;
import org.apache.flink.table.catalog.exceptions.PartitionAlreadyExistsException;
import org.apache.flink.table.catalog.exceptions.PartitionNotExistException;
import org.apache.flink.table.catalog.exceptions.PartitionSpecInvalidException;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** PARTITIONED BY, ADD, DROP and SHOW PARTITIONS, and partitions by the clock. */
final class PartitionDdlITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  @TempDir Path directory;

  private FlinkSession sql;

  @BeforeEach
  void open() {
    sql = FlinkSession.batch(directory.resolve("store"), 2);
  }

  @AfterEach
  void close() throws Exception {
    sql.close();
    FlinkSession.assertNothingLeaks();
  }

  private void refused(String statement, Class<? extends Throwable> type, String... parts) {
    Refusal.assertRefused(sql, statement, type, parts);
  }

  @Test
  void partitionsAreAddedShownAndDropped() throws Exception {
    sql.run("CREATE TABLE t (v INT, region STRING, y INT) PARTITIONED BY (region, y)");
    assertThat(sql.inOrder("SHOW PARTITIONS t")).isEmpty();
    sql.run(
        "ALTER TABLE t ADD PARTITION (region = 'eu', y = 2025)",
        "ALTER TABLE t ADD PARTITION (y = '2026', region = 'eu')",
        "ALTER TABLE t ADD IF NOT EXISTS PARTITION (region = 'eu', y = 2025)",
        "ALTER TABLE t ADD PARTITION (region = 'us', y = 2025)");
    assertThat(sql.inOrder("SHOW PARTITIONS t")).containsExactly("+I[region=eu/y=2025]", "+I[region=eu/y=2026]", "+I[region=us/y=2025]");
    assertThat(sql.inOrder("SHOW PARTITIONS t PARTITION (y = 2025)")).containsExactly("+I[region=eu/y=2025]", "+I[region=us/y=2025]");
    assertThat(sql.inOrder("SHOW PARTITIONS t PARTITION (region = 'eu', y = 2026)")).containsExactly("+I[region=eu/y=2026]");
    assertThat(sql.inOrder("SHOW PARTITIONS t PARTITION (region = 'asia')")).isEmpty();
    sql.run("ALTER TABLE t DROP PARTITION (region = 'eu', y = 2025)", "ALTER TABLE t DROP IF EXISTS PARTITION (region = 'eu', y = 2025)");
    assertThat(sql.inOrder("SHOW PARTITIONS t")).containsExactly("+I[region=eu/y=2026]", "+I[region=us/y=2025]");
    assertThat(sql.inOrder("SHOW CREATE TABLE t").toString()).contains("PARTITIONED BY (`region`, `y`)");
    Catalog catalog = sql.environment().getCatalog("c").orElseThrow();
    ObjectPath path = new ObjectPath("fluss", "t");
    assertThat(catalog.partitionExists(path, new CatalogPartitionSpec(Map.of("region", "us", "y", "2025")))).isTrue();
    assertThat(catalog.partitionExists(path, new CatalogPartitionSpec(Map.of("region", "us", "y", "2026")))).isFalse();
    assertThat(catalog.partitionExists(path, new CatalogPartitionSpec(Map.of("region", "us")))).isFalse();
    catalog.getPartition(path, new CatalogPartitionSpec(Map.of("region", "us", "y", "2025")));
  }

  @Test
  void wrongSpecificationsAreRefused() {
    sql.run("CREATE TABLE t (v INT, region STRING, y INT) PARTITIONED BY (region, y)", "ALTER TABLE t ADD PARTITION (region = 'eu', y = 1)");
    refused("ALTER TABLE t ADD PARTITION (region = 'eu')", PartitionSpecInvalidException.class, "[region, y]", "region=eu");
    refused("ALTER TABLE t ADD PARTITION (region = 'eu', y = 1)", PartitionAlreadyExistsException.class, "region=eu");
    refused("ALTER TABLE t ADD PARTITION (region = 'e u', y = 1)", CatalogException.class, "'region'", "'e u' is invalid", "only ASCII");
    refused("ALTER TABLE t ADD PARTITION (region = 'eu', y = 'x')", CatalogException.class, "'y'", "partition value is invalid", "'x' is not INT");
    refused("ALTER TABLE t DROP PARTITION (region = 'eu', y = 2)", PartitionNotExistException.class, "region=eu");
    refused("ALTER TABLE t DROP PARTITION (region = 'eu')", PartitionSpecInvalidException.class, "[region, y]");
    refused("SHOW PARTITIONS t PARTITION (v = 1)", PartitionSpecInvalidException.class, "[region, y]");
    refused("ALTER TABLE t ADD PARTITION (region = 'eu', y = 2) WITH ('a' = 'b')", UnsupportedOperationException.class, "no properties");
    sql.run("CREATE TABLE whole (v INT)");
    refused("ALTER TABLE whole DROP PARTITION (v = '1')", Exception.class, "not partitioned");
  }

  @Test
  void wrongTablesAreRefused() {
    refused("CREATE TABLE t (a INT, p DECIMAL(5, 2)) PARTITIONED BY (p)", CatalogException.class, "'p'", "supported partition key type are");
    refused("CREATE TABLE t (a INT, p ARRAY<INT>) PARTITIONED BY (p)", CatalogException.class, "'p'", "supported partition key type are");
    refused("CREATE TABLE t (a INT, p INT, PRIMARY KEY (a) NOT ENFORCED) PARTITIONED BY (p)", CatalogException.class, "subset of the primary key", "'p'");
    refused("CREATE TABLE t (a INT, p INT, PRIMARY KEY (p) NOT ENFORCED) PARTITIONED BY (p)", CatalogException.class, "same with partition fields");
    refused("CREATE TABLE t (a INT, p INT) PARTITIONED BY (p) WITH ('bucket.key' = 'p')", CatalogException.class, "partition keys", "'p'");
    refused("CREATE TABLE t (a INT) PARTITIONED BY (nope)", Exception.class, "nope");
    refused("CREATE TABLE t (a INT) WITH ('table.auto-partition.enabled' = 'true')", CatalogException.class, "needs a partitioned table");
    assertThat(sql.rows("SHOW TABLES")).isEmpty();
  }

  @Test
  void theClockOfTheTablesZoneCreatesPartitions() throws Exception {
    sql.run(
        "CREATE TABLE days (v INT, dt STRING) PARTITIONED BY (dt) WITH ('table.auto-partition.enabled' = 'true', 'table.auto-partition.time-zone' = 'UTC',"
            + " 'table.auto-partition.num-precreate' = '1', 'table.auto-partition.time-format' = 'yyyy-MM-dd')",
        "CREATE TABLE years (v INT, y INT) PARTITIONED BY (y) WITH ('table.auto-partition.enabled' = 'true', 'table.auto-partition.time-unit' = 'YEAR')");
    assertThat(sql.inOrder("SHOW PARTITIONS days")).containsExactly("+I[dt=" + LocalDate.now(ZoneOffset.UTC) + "]");
    int year = Year.now().getValue();
    assertThat(sql.inOrder("SHOW PARTITIONS years")).containsExactly("+I[y=" + year + "]", "+I[y=" + (year + 1) + "]");
    Catalog catalog = sql.environment().getCatalog("c").orElseThrow();
    assertThat(catalog.getTable(new ObjectPath("fluss", "years")).getOptions()).containsKey("table.auto-partition.time-zone");
    refused("ALTER TABLE days ADD PARTITION (dt = '20260301')", CatalogException.class, "does not match the expected format 'yyyy-MM-dd'");
    refused("ALTER TABLE days ADD PARTITION (dt = '2020-01-01')", CatalogException.class, "is out-of-date");
    refused("INSERT INTO days VALUES (1, '2020-01-01')", Exception.class, "is out-of-date");
    sql.run("ALTER TABLE years SET ('table.auto-partition.num-precreate' = '4')");
    assertThat(sql.inOrder("SHOW PARTITIONS years")).hasSize(4);
    sql.run("ALTER TABLE years SET ('table.auto-partition.enabled' = 'false')", "ALTER TABLE years ADD PARTITION (y = 1999)");
    assertThat(sql.inOrder("SHOW PARTITIONS years")).hasSize(5);
    sql.run("ALTER TABLE years SET ('table.auto-partition.enabled' = 'true')");
    assertThat(sql.inOrder("SHOW PARTITIONS years")).hasSize(4);
  }

  @Test
  void partitionsToComeMayHaveMoreBuckets() {
    sql.run(
        "CREATE TABLE t (id INT, p STRING, PRIMARY KEY (p, id) NOT ENFORCED) PARTITIONED BY (p) WITH ('bucket.num' = '2')",
        "INSERT INTO t VALUES (1, 'a'), (2, 'a'), (3, 'a')",
        "ALTER TABLE t SET ('bucket.num' = '5')",
        "INSERT INTO t VALUES (1, 'b'), (2, 'b'), (3, 'b'), (4, 'a')");
    assertThat(sql.rows("SELECT p, COUNT(*), SUM(id) FROM t GROUP BY p")).containsExactly("+I[a, 4, 10]", "+I[b, 3, 6]");
    assertThat(sql.rows("SELECT * FROM t WHERE p = 'b' AND id = 3")).containsExactly("+I[3, b]");
  }
}
