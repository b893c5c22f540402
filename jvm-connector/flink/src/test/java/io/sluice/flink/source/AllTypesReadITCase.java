package io.sluice.flink.source;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

import io.sluice.flink.FlinkSession;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Values of every type through the store and out again by every way of reading. What is expected is what Flink itself makes of the same expressions without a store in
 * between.
 */
final class AllTypesReadITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  /** A type and expressions of it: an ordinary value, then extremes and oddities. */
  private static final String[][] TYPES = {
    {"BOOLEAN", "TRUE", "FALSE"},
    {"TINYINT", "1", "-128", "127"},
    {"SMALLINT", "1", "-32768", "32767"},
    {"INT", "1", "-2147483648", "2147483647"},
    {"BIGINT", "1", "-9223372036854775807 - 1", "9223372036854775807"},
    {"FLOAT", "1.5", "'-3.4028235E38'", "'1.4E-45'"},
    {"DOUBLE", "1.5", "'-1.7976931348623157E308'", "'4.9E-324'"},
    {"DECIMAL(5,2)", "1.5", "-999.99", "999.99"},
    {"DECIMAL(18,0)", "1", "-999999999999999999", "999999999999999999"},
    {"DECIMAL(19,3)", "1.5", "'-9999999999999999.999'", "0"},
    {"DECIMAL(38,18)", "'1.5'", "'-99999999999999999999.999999999999999999'", "'0.000000000000000001'"},
    {"CHAR(3)", "'abc'", "'a'", "'äöü'"},
    {"STRING", "'abc'", "''", "'Grüße, 世界 🌍'", "REPEAT('x', 10000)"},
    {"BINARY(3)", "x'010203'", "x'00ff80'"},
    {"BYTES", "x'01'", "x''", "x'00ff007f80'"},
    {"DATE", "DATE '2024-02-29'", "DATE '1969-12-31'", "DATE '0001-01-01'", "DATE '9999-12-31'"},
    {"TIME", "TIME '12:34:56'", "TIME '00:00:00'", "TIME '23:59:59'"},
    {"TIMESTAMP(0)", "TIMESTAMP '2024-01-02 03:04:05'", "TIMESTAMP '1969-12-31 23:59:59'"},
    {"TIMESTAMP(3)", "TIMESTAMP '2024-01-02 03:04:05.123'", "TIMESTAMP '1969-12-31 23:59:59.999'", "TIMESTAMP '0001-01-01 00:00:00'"},
    {"TIMESTAMP(6)", "TIMESTAMP '2024-01-02 03:04:05.123456'", "TIMESTAMP '1969-12-31 23:59:59.999999'", "TIMESTAMP '9999-12-31 23:59:59.999999'"},
    {"TIMESTAMP(9)", "TIMESTAMP '2024-01-02 03:04:05.123456789'", "TIMESTAMP '1969-12-31 23:59:59.000000001'"},
    {"TIMESTAMP_LTZ(3)", "CAST(TIMESTAMP '2024-01-02 03:04:05.123' AS TIMESTAMP_LTZ(3))", "TO_TIMESTAMP_LTZ(-1, 3)"},
    {"TIMESTAMP_LTZ(9)", "CAST(TIMESTAMP '1969-12-31 23:59:59.123456789' AS TIMESTAMP_LTZ(9))"},
    {"ARRAY<INT>", "ARRAY[1, 2, 3]", "ARRAY[1, CAST(NULL AS INT)]"},
    {"ARRAY<STRING>", "ARRAY['a', '', CAST(NULL AS STRING)]"},
    {"ARRAY<ARRAY<BIGINT>>", "ARRAY[ARRAY[CAST(1 AS BIGINT)], ARRAY[CAST(2 AS BIGINT), CAST(NULL AS BIGINT)]]"},
    {"MAP<STRING, INT>", "MAP['k', 1]", "MAP['', CAST(NULL AS INT)]"},
    {"MAP<INT, ARRAY<STRING>>", "MAP[7, ARRAY['x', CAST(NULL AS STRING)]]"},
    {"ROW<a INT, b STRING>", "ROW(1, 'x')", "ROW(CAST(NULL AS INT), '')"},
    {"ROW<r ROW<d DECIMAL(38,2), t TIMESTAMP(9)>, m MAP<STRING, BYTES>>",
      "ROW(ROW(CAST(1.25 AS DECIMAL(38,2)), TIMESTAMP '2024-01-02 03:04:05.123456789'), MAP['k', x'ff'])"}
  };

  @TempDir Path directory;

  @AfterEach
  void nothingLeaks() throws Exception {
    FlinkSession.assertNothingLeaks();
  }

  private static String values() {
    int rows = 0;
    for (String[] type : TYPES) {
      rows = Math.max(rows, type.length - 1);
    }
    List<String> all = new ArrayList<>();
    for (int row = 0; row <= rows; row++) {
      StringBuilder values = new StringBuilder("SELECT " + row);
      for (String[] type : TYPES) {
        // One more row than there are values: its columns, and those of shorter lists, are NULL.
        values.append(", CAST(").append(row + 1 < type.length ? type[row + 1] : "NULL").append(" AS ").append(type[0]).append(')');
      }
      all.add(values.toString());
    }
    return String.join(" UNION ALL ", all);
  }

  private static String columns() {
    StringBuilder columns = new StringBuilder("id INT");
    for (int i = 0; i < TYPES.length; i++) {
      columns.append(", c").append(i).append(' ').append(TYPES[i][0]);
    }
    return columns.toString();
  }

  @Test
  void everyTypeComesBackAsItWas() throws Exception {
    Path store = directory.resolve("store");
    List<String> expected;
    try (FlinkSession batch = FlinkSession.batch(store, 1)) {
      expected = batch.rows(values());
      assertThat(expected).hasSize(5);
      batch.run(
          "CREATE TABLE l (" + columns() + ") WITH ('bucket.num'='2')",
          "CREATE TABLE k (" + columns() + ", PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='2')",
          "INSERT INTO l " + values(), "INSERT INTO k SELECT * FROM l");
      assertThat(batch.rows("SELECT * FROM l")).isEqualTo(expected);
      assertThat(batch.rows("SELECT * FROM k")).isEqualTo(expected);
      assertThat(batch.rows("SELECT * FROM k WHERE id = 1")).isEqualTo(expected.subList(1, 2));
      batch.set("table.local-time-zone", "America/New_York");
      assertThat(batch.rows("SELECT c21 = c21, CAST(c21 AS STRING) FROM l WHERE id = 0")).containsExactly("+I[true, 2024-01-01 22:04:05.123]");
    }
    try (FlinkSession streaming = FlinkSession.streaming(store, 2)) {
      for (String table : List.of("l", "k", "k /*+ OPTIONS('scan.startup.mode'='earliest') */")) {
        try (FlinkSession.Running rows = streaming.start("SELECT * FROM " + table)) {
          assertThat(rows.nextSorted(expected.size())).isEqualTo(expected);
        }
      }
      String ids = expected.stream().map(row -> "(" + row.substring(3, row.indexOf(',')) + ")").collect(Collectors.joining(", "));
      for (String async : List.of("true", "false")) {
        String join =
            "SELECT d.* FROM (SELECT id, PROCTIME() AS pt FROM (VALUES " + ids + ") AS v(id)) AS p JOIN k /*+ OPTIONS('lookup.async'='" + async
                + "') */ FOR SYSTEM_TIME AS OF p.pt AS d ON p.id = d.id";
        assertThat(streaming.rows(join)).isEqualTo(expected);
      }
    }
  }
}
