package io.sluice.flink.types;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.sluice.flink.FlinkSession;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.TableDescriptor;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.runtime.typeutils.ExternalTypeInfo;
import org.apache.flink.table.types.DataType;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.flink.types.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Every type, with its extreme values and NULL, through INSERT and SELECT, as a column of a log table and of a primary-key table. */
final class AllTypesITCase {
  /** Types with values: each as SQL writes it, then how it prints when it comes back, if that is another way. */
  private static final String[][] TYPES = {
    {"BOOLEAN", "TRUE -> true", "FALSE -> false"},
    {"TINYINT", "CAST(-128 AS TINYINT) -> -128", "CAST(127 AS TINYINT) -> 127"},
    {"SMALLINT", "CAST(-32768 AS SMALLINT) -> -32768", "CAST(32767 AS SMALLINT) -> 32767"},
    {"INT", "-2147483648", "2147483647", "0"},
    {"BIGINT", "-9223372036854775807", "9223372036854775807"},
    {"FLOAT", "CAST(-1.5 AS FLOAT) -> -1.5", "CAST('1.4E-45' AS FLOAT) -> 1.4E-45", "CAST(-0.0 AS FLOAT) -> 0.0"},
    {"DOUBLE", "CAST('1.7976931348623157E308' AS DOUBLE) -> 1.7976931348623157E308", "CAST('4.9E-324' AS DOUBLE) -> 4.9E-324"},
    {"CHAR(5)", "CAST('ab' AS CHAR(5)) -> ab   ", "CAST('größe' AS CHAR(5)) -> größe"},
    {"STRING", "'' -> ", "'a'", "'中文 größer 🌍'", "'it''s' -> it's", "REPEAT('long ', 2000) -> " + "long ".repeat(2000)},
    {"BINARY(3)", "x'000102' -> [0, 1, 2]", "x'ffff00' -> [-1, -1, 0]"},
    {"BYTES", "x'' -> []", "x'80' -> [-128]"},
    {"DECIMAL(10, 2)", "99999999.99", "-99999999.99", "0.01"},
    {"DECIMAL(18, 0)", "999999999999999999", "-1"},
    {
      "DECIMAL(38, 0)",
      "CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0)) -> 99999999999999999999999999999999999999",
      "CAST('-99999999999999999999999999999999999999' AS DECIMAL(38, 0)) -> -99999999999999999999999999999999999999"},
    {
      "DECIMAL(38, 38)",
      "CAST('0.00000000000000000000000000000000000001' AS DECIMAL(38, 38)) -> 1E-38",
      "CAST('-0.99999999999999999999999999999999999999' AS DECIMAL(38, 38)) -> -0.99999999999999999999999999999999999999"},
    {"DATE", "DATE '1970-01-01' -> 1970-01-01", "DATE '0001-01-01' -> 0001-01-01", "DATE '9999-12-31' -> 9999-12-31"},
    {"TIME(0)", "TIME '00:00:00' -> 00:00", "TIME '23:59:59' -> 23:59:59"},
    {"TIMESTAMP(0)", "TIMESTAMP '1969-12-31 23:59:59' -> 1969-12-31T23:59:59"},
    {
      "TIMESTAMP(3)",
      "TIMESTAMP '1969-12-31 23:59:59.999' -> 1969-12-31T23:59:59.999",
      "TIMESTAMP '9999-12-31 23:59:59.999' -> 9999-12-31T23:59:59.999"},
    {"TIMESTAMP(6)", "TIMESTAMP '1969-12-31 23:59:59.999999' -> 1969-12-31T23:59:59.999999"},
    {
      "TIMESTAMP(9)",
      "CAST('1969-12-31 23:59:59.999999999' AS TIMESTAMP(9)) -> 1969-12-31T23:59:59.999999999",
      "CAST('2262-04-11 23:47:16.854775807' AS TIMESTAMP(9)) -> 2262-04-11T23:47:16.854775807"},
    {
      "TIMESTAMP_LTZ(3)",
      "TO_TIMESTAMP_LTZ(-1, 3) -> 1969-12-31T23:59:59.999Z",
      "TO_TIMESTAMP_LTZ(1700000000123, 3) -> 2023-11-14T22:13:20.123Z"},
    {"TIMESTAMP_LTZ(9)", "CAST('1969-12-31 23:59:59.999999999' AS TIMESTAMP_LTZ(9)) -> 1969-12-31T23:59:59.999999999Z"},
    {"ARRAY<INT>", "ARRAY[1, CAST(NULL AS INT), 3] -> [1, null, 3]", "ARRAY_REMOVE(ARRAY[1], 1) -> []"},
    {"ARRAY<STRING>", "ARRAY['', 'a text of more than eight bytes'] -> [, a text of more than eight bytes]"},
    {
      "ARRAY<DECIMAL(38, 2)>",
      "ARRAY[CAST('123456789012345678901234567890.12' AS DECIMAL(38, 2))] -> [123456789012345678901234567890.12]"},
    {"ARRAY<TIMESTAMP(9)>", "ARRAY[CAST('1969-12-31 23:59:59.999999999' AS TIMESTAMP(9))] -> [1969-12-31T23:59:59.999999999]"},
    {"ARRAY<ARRAY<BIGINT>>", "ARRAY[ARRAY[CAST(1 AS BIGINT)], ARRAY[CAST(2 AS BIGINT), CAST(3 AS BIGINT)]] -> [[1], [2, 3]]"},
    {"MAP<STRING, INT>", "MAP['a', 1] -> {a=1}", "MAP['b', CAST(NULL AS INT)] -> {b=null}"},
    {"MAP<INT, ARRAY<STRING>>", "MAP[7, ARRAY['x', 'y']] -> {7=[x, y]}"},
    {
      "ROW<a INT, b ROW<c STRING, d ARRAY<INT>>>",
      "ROW(1, ROW('x', ARRAY[2, 3])) -> +I[1, +I[x, [2, 3]]]",
      "ROW(CAST(NULL AS INT), ROW(CAST(NULL AS STRING), CAST(NULL AS ARRAY<INT>))) -> +I[null, +I[null, null]]"}
  };

  /** Rows that hold all values of the type with the most, and two of NULL. */
  private static final int ROWS = Arrays.stream(TYPES).mapToInt(type -> type.length).max().orElse(0) + 1;

  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  @TempDir Path directory;

  private FlinkSession session;

  @BeforeEach
  void open() {
    session = FlinkSession.batch(directory, 1);
  }

  @AfterEach
  void close() throws Exception {
    session.close();
    FlinkSession.assertNothingLeaks();
  }

  private static String sql(String value) {
    return value.split(" -> ", 2)[0];
  }

  private static String printed(String value) {
    String[] parts = value.split(" -> ", 2);
    return parts.length == 2 ? parts[1] : value.replaceAll("^'|'$", "");
  }

  /** What SQL writes for a type's value: NULL in row 0, its values in the rows after, then NULL again. */
  private static String cell(int column, int row) {
    String[] type = TYPES[column];
    return "CAST(" + (row > 0 && row < type.length ? sql(type[row]) : "NULL") + " AS " + type[0] + ") AS c" + column;
  }

  /** How the same prints, as the only field of a row. */
  private static String expected(int column, int row) {
    String[] type = TYPES[column];
    return "+I[" + (row > 0 && row < type.length ? printed(type[row]) : "null") + "]";
  }

  private static String perColumn(IntFunction<String> text) {
    return IntStream.range(0, TYPES.length).mapToObj(text).collect(Collectors.joining(", "));
  }

  @Test
  void everyValueComesBackAsItWasWritten() {
    String columns = perColumn(column -> "c" + column + " " + TYPES[column][0]);
    session.run(
        "CREATE TABLE log (id INT, " + columns + ") WITH ('bucket.num' = '2')",
        "CREATE TABLE keyed (" + columns + ", id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num' = '2')",
        IntStream.range(0, ROWS)
            .mapToObj(row -> "SELECT " + row + " AS id, " + perColumn(column -> cell(column, row)))
            .collect(Collectors.joining(" UNION ALL ", "INSERT INTO log ", "")),
        "INSERT INTO keyed SELECT " + perColumn(column -> "c" + column) + ", id FROM log");
    for (String table : List.of("log", "keyed")) {
      List<Row> rows = new ArrayList<>();
      session.environment().executeSql("SELECT * FROM " + table).collect().forEachRemaining(rows::add);
      assertThat(rows).hasSize(ROWS);
      for (Row row : rows) {
        int id = (Integer) row.getField("id");
        for (int column = 0; column < TYPES.length; column++) {
          assertThat(Row.of(row.getField("c" + column)).toString())
              .as("%s, row %d of table %s", TYPES[column][0], id, table)
              .isEqualTo(expected(column, id));
        }
      }
    }
  }

  /** SQL rounds these while it plans, and reads TIME(3) as TIME(0), so the rows come from a stream and the table from the API. */
  @Test
  void valuesThatSqlCannotWriteComeBackToo() throws Exception {
    StreamExecutionEnvironment streams = StreamExecutionEnvironment.getExecutionEnvironment();
    StreamTableEnvironment tables = StreamTableEnvironment.create(streams, EnvironmentSettings.inBatchMode());
    session.close();
    session = FlinkSession.over(tables, directory, 1);
    Row[] rows = {
      Row.of(-Float.MAX_VALUE, Double.MIN_VALUE, LocalTime.of(23, 59, 59, 999_000_000), Instant.ofEpochSecond(-1, 999_999_999)),
      Row.of(Float.NaN, Double.NEGATIVE_INFINITY, LocalTime.MIDNIGHT, Instant.ofEpochSecond(9_223_372_036L, 854_775_807)),
      Row.of(-0.0f, -0.0, LocalTime.of(0, 0, 0, 1_000_000), Instant.ofEpochSecond(-9_223_372_036L, 145_224_192))
    };
    DataType type =
        DataTypes.ROW(
            DataTypes.FIELD("f", DataTypes.FLOAT()),
            DataTypes.FIELD("d", DataTypes.DOUBLE()),
            DataTypes.FIELD("t", DataTypes.TIME(3)),
            DataTypes.FIELD("i", DataTypes.TIMESTAMP_LTZ(9)));
    tables.createTemporaryView("src", streams.fromData(ExternalTypeInfo.<Row>of(type), rows));
    tables.createTable("t", TableDescriptor.forConnector("fluss").schema(Schema.newBuilder().fromRowDataType(type).build()).build());
    session.run("INSERT INTO t SELECT * FROM src");
    List<Row> back = new ArrayList<>();
    tables.executeSql("SELECT * FROM t").collect().forEachRemaining(back::add);
    assertThat(back).containsExactlyInAnyOrder(rows);
  }

  @Test
  void manyRowsOfAllTypesAtOnce() {
    String columns =
        "a TINYINT, b SMALLINT, c INT, d BIGINT, e FLOAT, f DOUBLE, g STRING, h DECIMAL(10, 2), i DECIMAL(30, 5), j BOOLEAN,"
            + " k TIMESTAMP(3), l TIMESTAMP_LTZ(3), m ARRAY<INT>, n MAP<STRING, INT>, o ROW<x INT, y STRING>, p BYTES";
    session.run(
        "CREATE TEMPORARY TABLE src (" + columns + ") WITH ('connector' = 'datagen', 'number-of-rows' = '10000', 'fields.g.length' = '12')",
        "CREATE TABLE log (" + columns + ") WITH ('bucket.num' = '3')",
        "CREATE TABLE log2 (" + columns + ") WITH ('bucket.num' = '2')",
        "INSERT INTO log SELECT * FROM src",
        "INSERT INTO log2 SELECT * FROM log");
    assertThat(session.rows("SELECT COUNT(*) FROM log2")).containsExactly("+I[10000]");
    assertThat(session.rows("SELECT * FROM log2")).isEqualTo(session.rows("SELECT * FROM log"));
  }

  @Test
  void instantsDoNotDependOnTheSessionsZone() {
    session.set("table.local-time-zone", "Asia/Shanghai");
    session.run(
        "CREATE TABLE t (instant TIMESTAMP_LTZ(3), wall TIMESTAMP(3))",
        "INSERT INTO t VALUES (CAST(TIMESTAMP '2024-01-01 08:00:00' AS TIMESTAMP_LTZ(3)), TIMESTAMP '2024-01-01 08:00:00')");
    session.set("table.local-time-zone", "America/New_York");
    assertThat(session.rows("SELECT CAST(instant AS STRING), CAST(wall AS STRING) FROM t"))
        .containsExactly("+I[2023-12-31 19:00:00.000, 2024-01-01 08:00:00.000]");
  }
}
