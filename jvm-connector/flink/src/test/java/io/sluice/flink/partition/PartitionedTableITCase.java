package io.sluice.flink.partition;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.sluice.flink.FlinkSession;
import io.sluice.flink.Refusal;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.table.api.TableException;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Rows of partitioned tables: written, read in batch and looked up. */
final class PartitionedTableITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  private static final String KEYED = "PRIMARY KEY (p, id) NOT ENFORCED";

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

  @Test
  void rowsGoToTheirPartitionsAndCreateThem() {
    for (String key : List.of("", ", " + KEYED)) {
      sql.run(
          "CREATE TABLE t (id INT, v STRING, p STRING" + key + ") PARTITIONED BY (p) WITH ('bucket.num' = '2')",
          "ALTER TABLE t ADD PARTITION (p = 'a')",
          "INSERT INTO t VALUES (1, 'x', 'a'), (1, 'y', 'b'), (2, 'z', 'b')",
          "INSERT INTO t PARTITION (p = 'c') SELECT id + 10, v FROM t WHERE p = 'b'",
          "INSERT INTO t PARTITION (p = 'c') (id, v) VALUES (20, 'w')",
          "INSERT INTO t (p, v, id) VALUES ('a', 'u', 3)");
      assertThat(sql.inOrder("SHOW PARTITIONS t")).containsExactly("+I[p=a]", "+I[p=b]", "+I[p=c]");
      assertThat(sql.rows("SELECT * FROM t"))
          .containsExactly(
              "+I[1, x, a]", "+I[1, y, b]", "+I[11, y, c]", "+I[12, z, c]", "+I[2, z, b]", "+I[20, w, c]", "+I[3, u, a]");
      assertThat(sql.rows("SELECT COUNT(*) FROM t")).containsExactly("+I[7]");
      assertThat(sql.rows("SELECT COUNT(*) FROM t WHERE p <> 'a'")).containsExactly("+I[5]");
      assertThat(sql.rows("SELECT id FROM t WHERE p = 'c' AND v = 'w'")).containsExactly("+I[20]");
      assertThat(sql.rows("SELECT v FROM t WHERE p = 'nowhere'")).isEmpty();
      assertThat(sql.inOrder("SELECT * FROM t LIMIT 3")).hasSize(3);
      assertThat(sql.inOrder("SELECT * FROM t LIMIT 30")).hasSize(7);
      assertThat(sql.inOrder("SELECT id FROM t WHERE p = 'b' LIMIT 5")).hasSize(2);
      assertThat(sql.rows("SELECT p FROM t WHERE id = 1 AND p = 'b'")).containsExactly("+I[b]");
      sql.run("ALTER TABLE t DROP PARTITION (p = 'b')");
      assertThat(sql.rows("SELECT id FROM t")).containsExactlyInAnyOrder("+I[1]", "+I[11]", "+I[12]", "+I[20]", "+I[3]");
      assertThat(sql.rows("SELECT p FROM t WHERE id = 1 AND p = 'b'")).isEmpty();
      sql.run("DROP TABLE t");
    }
  }

  @Test
  void newPartitionsMayHaveMoreBucketsThanOldOnes() {
    for (String key : List.of("", ", " + KEYED)) {
      sql.run(
          "CREATE TABLE t (id INT, v STRING, p STRING" + key + ") PARTITIONED BY (p) WITH ('bucket.num' = '1')",
          "INSERT INTO t VALUES (1, 'x', 'a'), (2, 'y', 'a')",
          "ALTER TABLE t SET ('bucket.num' = '7')");
      assertThat(sql.rows("SHOW CREATE TABLE t").toString()).contains("'bucket.num' = '7'");
      String many = "SELECT id, CAST(id AS STRING), p FROM (VALUES " + ids(50) + ") AS v(id), (VALUES ('a'), ('b')) AS w(p)";
      sql.run("INSERT INTO t " + many, "ALTER TABLE t SET ('bucket.num' = '3')", "INSERT INTO t " + many.replace("'b'", "'c'"));
      int old = key.isEmpty() ? 2 : 0;
      int again = key.isEmpty() ? 2 : 1;
      assertThat(sql.rows("SELECT p, COUNT(*), COUNT(DISTINCT id) FROM t GROUP BY p"))
          .containsExactly("+I[a, " + (old + again * 50) + ", 50]", "+I[b, 50, 50]", "+I[c, 50, 50]");
      assertThat(sql.rows("SELECT v FROM t WHERE p = 'b' AND id = 17")).containsExactly("+I[17]");
      if (!key.isEmpty()) {
        sql.run("INSERT INTO t SELECT id, 'new', p FROM t WHERE MOD(id, 2) = 0", "DELETE FROM t WHERE MOD(id, 5) = 0");
        assertThat(sql.rows("SELECT p, v = 'new', COUNT(*) FROM t GROUP BY p, v = 'new'"))
            .containsExactly(
                "+I[a, false, 20]", "+I[a, true, 20]", "+I[b, false, 20]", "+I[b, true, 20]", "+I[c, false, 20]", "+I[c, true, 20]");
      }
      sql.run("DROP TABLE t");
    }
  }

  private static String ids(int count) {
    return IntStream.rangeClosed(1, count).mapToObj(i -> "(" + i + ")").collect(Collectors.joining(", "));
  }

  @Test
  void anUpdateFindsItsRowInItsPartition() {
    sql.run(
        "CREATE TABLE t (p INT, id INT, v STRING, " + KEYED + ") PARTITIONED BY (p) WITH ('bucket.num' = '3')",
        "INSERT INTO t VALUES (1, 1, 'a'), (2, 1, 'b'), (2, 2, 'c')",
        "INSERT INTO t VALUES (2, 1, 'd')");
    assertThat(sql.rows("SELECT * FROM t")).containsExactly("+I[1, 1, a]", "+I[2, 1, d]", "+I[2, 2, c]");
  }

  @Test
  void rowsThatCannotBePlacedFailTheJobOnce() {
    sql.run("CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p)", "ALTER TABLE t ADD PARTITION (p = 'a')");
    Refusal.assertRefused(sql, "INSERT INTO t VALUES (1, CAST(NULL AS STRING))", Exception.class, "'p'", "is NULL");
    Refusal.assertRefused(sql, "INSERT INTO t VALUES (1, 'a b')", Exception.class, "'p'", "'a b' is invalid");
    String option = "client.writer.dynamic-create-partition.enabled";
    String off = "/*+ OPTIONS('" + option + "' = 'false') */";
    Refusal.assertRefused(sql, "INSERT INTO t " + off + " VALUES (1, 'b')", Exception.class, "p=b", "does not exist", option);
    sql.run("INSERT INTO t " + off + " VALUES (1, 'a')");
    assertThat(sql.inOrder("SHOW PARTITIONS t")).containsExactly("+I[p=a]");
    Refusal.assertRefused(sql, "INSERT OVERWRITE t PARTITION (p = 'a') SELECT 1", Exception.class, "OVERWRITE");
  }

  /** Every type that may partition, written by value and pruned by value: the answer is the same with a filter that cannot prune. */
  @Test
  void allTypesArePrunedByTheirValues() {
    String[][] cases = {
      {"STRING", "'a'", "'b'"},
      {"CHAR(1)", "CAST('a' AS CHAR(1))", "CAST('b' AS CHAR(1))"},
      {"BOOLEAN", "FALSE", "TRUE"},
      {"BINARY(2)", "X'0a01'", "X'0b01'"},
      {"BYTES", "X'0a'", "X'0b00'"},
      {"TINYINT", "CAST(-3 AS TINYINT)", "CAST(5 AS TINYINT)"},
      {"SMALLINT", "CAST(9 AS SMALLINT)", "CAST(10 AS SMALLINT)"},
      {"INT", "9", "10"},
      {"BIGINT", "CAST(9 AS BIGINT)", "5000000000"},
      {"FLOAT", "CAST(1.5 AS FLOAT)", "CAST(10.25 AS FLOAT)"},
      {"DOUBLE", "CAST(9.5 AS DOUBLE)", "CAST(1E10 AS DOUBLE)"},
      {"DATE", "DATE '2025-11-30'", "DATE '2025-12-01'"},
      {"TIME(0)", "TIME '09:15:30'", "TIME '10:15:30'"},
      {"TIMESTAMP(3)", "TIMESTAMP '2025-11-30 10:15:30.250'", "TIMESTAMP '2025-12-01 00:00:00.000'"},
      {"TIMESTAMP(9)", "TIMESTAMP '1969-11-30 10:15:30.000000001'", "TIMESTAMP '2025-12-01 00:00:00.000000000'"},
      {"TIMESTAMP_LTZ(3)", "TO_TIMESTAMP_LTZ(1000, 3)", "TO_TIMESTAMP_LTZ(2000, 3)"}
    };
    for (String[] types : cases) {
      String low = types[1];
      String high = types[2];
      sql.run("CREATE TABLE t (v INT, p " + types[0] + ") PARTITIONED BY (p)", "INSERT INTO t VALUES (1, " + low + "), (2, " + high + ")");
      assertThat(sql.inOrder("SHOW PARTITIONS t")).as(types[0]).hasSize(2);
      assertThat(sql.rows("SELECT v FROM t WHERE p = " + low)).as(types[0]).containsExactly("+I[1]");
      assertThat(sql.rows("SELECT v FROM t WHERE p <> " + low)).as(types[0]).containsExactly("+I[2]");
      // What Flink makes of IN over bytes is its own matter; a table without partitions has the same answer.
      sql.run("CREATE TABLE whole (v INT, p " + types[0] + ")", "INSERT INTO whole VALUES (1, " + low + "), (2, " + high + ")");
      String in = " WHERE p IN (" + low + ", " + high + ")";
      assertThat(sql.rows("SELECT v FROM t" + in)).as(types[0]).isEqualTo(sql.rows("SELECT v FROM whole" + in));
      boolean ordered = !types[0].startsWith("B") || types[0].equals("BIGINT");
      if (ordered) {
        assertThat(sql.rows("SELECT v FROM t WHERE p > " + low)).as(types[0]).containsExactly("+I[2]");
        assertThat(sql.rows("SELECT v FROM t WHERE " + high + " > p")).as(types[0]).containsExactly("+I[1]");
        assertThat(sql.rows("SELECT v FROM t WHERE p BETWEEN " + low + " AND " + low)).as(types[0]).containsExactly("+I[1]");
      }
      assertThat(sql.rows("SELECT v FROM t WHERE p IS NULL")).as(types[0]).isEmpty();
      assertThat(sql.rows("SELECT v FROM t WHERE p IS NOT NULL AND v < 2")).as(types[0]).containsExactly("+I[1]");
      sql.run("DROP TABLE t", "DROP TABLE whole");
    }
  }

  @Test
  void thePlanShowsWhatPrunes() {
    sql.run("CREATE TABLE t (id INT, p STRING, q INT) PARTITIONED BY (p, q)");
    sql.run("CREATE TABLE k (id INT, p STRING, v INT, PRIMARY KEY (id, p) NOT ENFORCED) PARTITIONED BY (p)");
    assertThat(sql.explain("SELECT id FROM k WHERE p = 'a' AND v > 3")).contains("filter=[=(p, _UTF-16LE'a'").doesNotContain(">(v, 3)]");
    assertThat(sql.explain("SELECT p FROM k WHERE v > 3")).contains("filter=[]");
    assertThat(sql.explain("SELECT id FROM t WHERE p = 'a' AND id > 3")).contains("filter=[and(=(p, _UTF-16LE'a'").contains(">(id, 3))]");
    assertThat(sql.explain("SELECT id FROM t WHERE q > 3 AND (p LIKE 'a%' OR p IS NULL)")).contains("filter=[and(").contains("LIKE");
    assertThat(sql.explain("SELECT p FROM t WHERE id > 3")).contains("filter=[>(id, 3)]");
    sql.run("INSERT INTO t VALUES (1, 'a', 1), (2, 'ab', 2), (3, 'b', 3), (4, 'ab', 4)");
    assertThat(sql.rows("SELECT id FROM t WHERE p LIKE 'a%' AND q >= 2")).containsExactly("+I[2]", "+I[4]");
    assertThat(sql.rows("SELECT id FROM t WHERE p = 'b' OR (q < 2 AND id = 1)")).containsExactly("+I[1]", "+I[3]");
    assertThat(sql.rows("SELECT id FROM t WHERE NOT (p = 'ab')")).containsExactly("+I[1]", "+I[3]");
    assertThat(sql.rows("SELECT COUNT(*) FROM t WHERE q = 4")).containsExactly("+I[1]");
    assertThat(sql.rows("SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id WHERE a.p = 'a' AND b.p = 'b'")).containsExactly("+I[1, 3]");
  }

  // ---- lookups

  private void dimension(String options) {
    sql.run(
        "CREATE TABLE dim (dt STRING, cust INT, name STRING, PRIMARY KEY (cust, dt) NOT ENFORCED) PARTITIONED BY (dt) WITH ("
            + options + "'bucket.num' = '2')",
        "INSERT INTO dim VALUES ('d1', 1, 'a'), ('d1', 2, 'b'), ('d2', 1, 'c')",
        "CREATE TABLE orders (o INT, cust INT, dt STRING)",
        "INSERT INTO orders VALUES (10, 1, 'd1'), (11, 1, 'd2'), (12, 2, 'd2'), (13, 1, 'd9'), (14, 1, CAST(NULL AS STRING)), (15, 2, 'd 1')",
        "CREATE TEMPORARY VIEW probe AS SELECT *, PROCTIME() AS pt FROM orders");
  }

  private static final String JOIN = " JOIN dim FOR SYSTEM_TIME AS OF o.pt AS d ON o.cust = d.cust AND o.dt = d.dt";

  @Test
  void aLookupJoinGoesByPartitionAndUnknownOnesMatchNothing() {
    for (String options : List.of("", "'lookup.async' = 'false', ", "'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '9', ")) {
      dimension(options);
      assertThat(sql.rows("SELECT o.o, d.name FROM probe AS o" + JOIN)).containsExactly("+I[10, a]", "+I[11, c]");
      assertThat(sql.rows("SELECT o.o, d.name FROM probe AS o LEFT" + JOIN))
          .containsExactly("+I[10, a]", "+I[11, c]", "+I[12, null]", "+I[13, null]", "+I[14, null]", "+I[15, null]");
      sql.run("INSERT INTO dim VALUES ('d9', 1, 'z')", "ALTER TABLE dim DROP PARTITION (dt = 'd1')");
      assertThat(sql.rows("SELECT o.o, d.name FROM probe AS o" + JOIN)).containsExactly("+I[11, c]", "+I[13, z]");
      sql.run("DROP TABLE dim", "DROP TABLE orders", "DROP TEMPORARY VIEW probe");
    }
  }

  @Test
  void aLookupNeedsEveryPartitionColumn() {
    dimension("");
    String withoutDate = "SELECT o.o FROM probe AS o JOIN dim FOR SYSTEM_TIME AS OF o.pt AS d ON o.cust = d.cust";
    Refusal.assertRefused(sql, withoutDate, TableException.class, "include all primary keys [cust, dt]");
  }

  @Test
  void aPrefixLookupGoesByPartitionToo() {
    sql.run(
        "CREATE TABLE lines (dt STRING, o INT, line INT, v STRING, PRIMARY KEY (o, line, dt) NOT ENFORCED) PARTITIONED BY (dt)"
            + " WITH ('bucket.key' = 'o', 'bucket.num' = '2')",
        "INSERT INTO lines VALUES ('d1', 1, 1, 'a'), ('d1', 1, 2, 'b'), ('d2', 1, 1, 'c'), ('d1', 2, 1, 'd')",
        "CREATE TABLE orders (o INT, dt STRING)",
        "INSERT INTO orders VALUES (1, 'd1'), (1, 'd2'), (2, 'd2'), (2, 'd1'), (1, 'd3')",
        "CREATE TEMPORARY VIEW probe AS SELECT *, PROCTIME() AS pt FROM orders");
    String join = " JOIN lines FOR SYSTEM_TIME AS OF o.pt AS l ON o.o = l.o";
    assertThat(sql.rows("SELECT o.o, o.dt, l.v FROM probe AS o" + join + " AND o.dt = l.dt"))
        .containsExactly("+I[1, d1, a]", "+I[1, d1, b]", "+I[1, d2, c]", "+I[2, d1, d]");
    Refusal.assertRefused(sql, "SELECT o.o FROM probe AS o" + join, TableException.class, "all bucket keys [o] with all partition keys [dt]");
  }
}
