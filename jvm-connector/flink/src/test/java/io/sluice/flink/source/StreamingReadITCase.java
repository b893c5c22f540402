package io.sluice.flink.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.sluice.flink.FlinkSession;
import io.sluice.flink.FlinkSession.Running;
import io.sluice.flink.types.BucketHash;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.typeutils.RowTypeInfo;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.types.logical.IntType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Streaming queries: where they start, what changes they see, when they stop. */
final class StreamingReadITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  @TempDir Path directory;
  private FlinkSession sql;

  @BeforeEach
  void open() {
    sql = FlinkSession.streaming(directory.resolve("store"), 2);
  }

  @AfterEach
  void nothingLeaks() throws Exception {
    sql.close();
    FlinkSession.assertNothingLeaks();
  }

  private void logTable(int buckets) {
    sql.run("CREATE TABLE l (id INT, name STRING) WITH ('bucket.num'='" + buckets + "')");
  }

  private void keyedTable(int buckets) {
    sql.run("CREATE TABLE k (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='" + buckets + "')");
  }

  private static String values(int from, int to) {
    return IntStream.range(from, to).mapToObj(i -> "(" + i + ",'n" + i + "')").collect(Collectors.joining(","));
  }

  private static List<String> inserts(int from, int to) {
    return IntStream.range(from, to).mapToObj(i -> "+I[" + i + ", n" + i + "]").sorted().collect(Collectors.toList());
  }

  @Test
  void aLogTableIsReadFromItsStartAndFollowed() throws Exception {
    logTable(3);
    sql.run("INSERT INTO l VALUES " + values(0, 20));
    try (Running all = sql.start("SELECT * FROM l")) {
      assertThat(all.nextSorted(20)).isEqualTo(inserts(0, 20));
      sql.run("INSERT INTO l VALUES " + values(20, 40));
      assertThat(all.nextSorted(20)).isEqualTo(inserts(20, 40));
      try (Running earliest = sql.start("SELECT * FROM l /*+ OPTIONS('scan.startup.mode'='earliest') */")) {
        assertThat(earliest.nextSorted(40)).isEqualTo(inserts(0, 40));
      }
      assertThat(all.more()).isEmpty();
    }
  }

  @Test
  void latestStartsWithWhatIsWrittenFromNowOn() throws Exception {
    logTable(2);
    sql.run("INSERT INTO l VALUES " + values(0, 20));
    try (Running latest = sql.start("SELECT * FROM l /*+ OPTIONS('scan.startup.mode'='latest') */")) {
      writeUntilSeen(latest);
      assertThat(latest.more()).noneMatch(row -> row.contains("n"));
    }
  }

  /** A reader starts some time after it was asked to; rows named x are written until one arrives. */
  private void writeUntilSeen(Running reader) throws Exception {
    long end = System.currentTimeMillis() + 60_000;
    while (reader.more().isEmpty() && System.currentTimeMillis() < end) {
      sql.run("INSERT INTO l VALUES (-1, 'x')");
    }
    assertThat(reader.next(1)).containsExactly("+I[-1, x]");
  }

  @Test
  void aTimestampStartsWithTheFirstRowCommittedThen() throws Exception {
    logTable(2);
    sql.run("INSERT INTO l VALUES " + values(0, 10));
    Thread.sleep(1_100);
    Instant between = Instant.now();
    Thread.sleep(1_100);
    sql.run("INSERT INTO l VALUES " + values(10, 20));
    String from = "SELECT id FROM l /*+ OPTIONS('scan.startup.mode'='timestamp', 'scan.startup.timestamp'='%s') */";
    String text = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss").withZone(ZoneOffset.UTC).format(between.plusMillis(1_000));
    List<String> expected = IntStream.range(10, 20).mapToObj(i -> "+I[" + i + "]").sorted().collect(Collectors.toList());
    for (String start : List.of(Long.toString(between.toEpochMilli()), text)) {
      try (Running reader = sql.start(String.format(from, start))) {
        assertThat(reader.nextSorted(10)).isEqualTo(expected);
      }
    }
  }

  @Test
  void aFutureTimestampIsWaitedFor() throws Exception {
    logTable(2);
    long start = System.currentTimeMillis() + 4_000;
    try (Running reader =
        sql.start("SELECT id FROM l /*+ OPTIONS('scan.startup.mode'='timestamp', 'scan.startup.timestamp'='" + start + "') */")) {
      sql.run("INSERT INTO l VALUES (1, 'early')");
      while (System.currentTimeMillis() <= start) {
        Thread.sleep(50);
      }
      sql.run("INSERT INTO l VALUES (2, 'late')");
      assertThat(reader.next(1)).containsExactly("+I[2]");
    }
  }

  @Test
  void badTimestampsAreRefusedBeforeTheJobStarts() {
    logTable(1);
    assertThatThrownBy(() -> sql.start("SELECT * FROM l /*+ OPTIONS('scan.startup.mode'='timestamp') */"))
        .hasStackTraceContaining("'scan.startup.timestamp' is required");
    assertThatThrownBy(() -> sql.start("SELECT * FROM l /*+ OPTIONS('scan.startup.mode'='timestamp', 'scan.startup.timestamp'='soon') */"))
        .hasStackTraceContaining("should follow the format 'yyyy-MM-dd HH:mm:ss'")
        .isInstanceOf(ValidationException.class);
  }

  @Test
  void aPrimaryKeyTableGivesItsRowsThenTheirChanges() throws Exception {
    keyedTable(3);
    sql.run("INSERT INTO k VALUES " + values(0, 20), "INSERT INTO k VALUES (3, 'again')");
    try (Running reader = sql.start("SELECT * FROM k")) {
      List<String> rows = reader.nextSorted(20);
      assertThat(rows).contains("+I[3, again]").allMatch(row -> row.startsWith("+I"));
      sql.run("INSERT INTO k VALUES (3, 'once more'), (100, 'new')");
      assertThat(reader.nextSorted(3)).containsExactly("+I[100, new]", "+U[3, once more]", "-U[3, again]");
      RowTypeInfo columns = new RowTypeInfo(new TypeInformation<?>[] {Types.INT, Types.STRING}, new String[] {"id", "name"});
      sql.change("k", columns, Row.ofKind(RowKind.DELETE, 3, "once more"));
      assertThat(reader.next(1)).containsExactly("-D[3, once more]");
    }
  }

  @Test
  void theWholeChangelogIsReadFromEarliest() throws Exception {
    keyedTable(1);
    sql.run("INSERT INTO k VALUES (1, 'a')", "INSERT INTO k VALUES (1, 'b')", "INSERT INTO k VALUES (2, 'c')");
    try (Running reader = sql.start("SELECT * FROM k /*+ OPTIONS('scan.startup.mode'='earliest') */")) {
      assertThat(reader.next(4)).containsExactly("+I[1, a]", "-U[1, a]", "+U[1, b]", "+I[2, c]");
    }
    try (Running names = sql.start("SELECT name FROM k /*+ OPTIONS('scan.startup.mode'='earliest') */")) {
      assertThat(names.next(4)).containsExactly("+I[a]", "-U[a]", "+U[b]", "+I[c]");
    }
  }

  @Test
  void aggregatesFollowUpdatesAndDeletes() throws Exception {
    sql.run("CREATE TABLE o (id INT, amount INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='2')");
    sql.run("INSERT INTO o VALUES (1, 10), (2, 20)");
    sql.set("parallelism.default", "1");
    try (Running sum = sql.start("SELECT SUM(amount), COUNT(*) FROM o")) {
      awaitLast(sum, "[30, 2]");
      sql.run("INSERT INTO o VALUES (1, 15)");
      awaitLast(sum, "[35, 2]");
      RowTypeInfo columns = new RowTypeInfo(new TypeInformation<?>[] {Types.INT, Types.INT}, new String[] {"id", "amount"});
      sql.change("o", columns, Row.ofKind(RowKind.DELETE, 2, 20));
      awaitLast(sum, "[15, 1]");
    }
  }

  private static void awaitLast(Running query, String row) throws Exception {
    FlinkSession.eventually(
        () -> {
          List<String> rows = query.more();
          return rows.isEmpty() ? "" : rows.get(rows.size() - 1).substring(2);
        },
        row);
  }

  @Test
  void aStreamingLimitEndsWithWhatTheTableHolds() {
    logTable(2);
    sql.run("INSERT INTO l VALUES " + values(0, 9));
    assertThat(sql.rows("SELECT * FROM l LIMIT 5")).hasSize(5).isSubsetOf(inserts(0, 9));
    assertThat(sql.rows("SELECT * FROM l LIMIT 50")).isEqualTo(inserts(0, 9));
    sql.run("CREATE TABLE k (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)", "INSERT INTO k VALUES (1, 10), (2, 20), (1, 11)");
    assertThat(sql.rows("SELECT * FROM k LIMIT 1")).hasSize(1).isSubsetOf("+I[1, 11]", "+I[2, 20]");
    assertThat(sql.rows("SELECT * FROM k LIMIT 10")).containsExactly("+I[1, 11]", "+I[2, 20]");
  }

  @Test
  void aStreamingCountFollowsTheTable() throws Exception {
    logTable(2);
    sql.run("INSERT INTO l VALUES " + values(0, 3));
    try (Running reader = sql.start("SELECT COUNT(*) FROM l")) {
      awaitLast(reader, "[3]");
      sql.run("INSERT INTO l VALUES " + values(3, 9));
      awaitLast(reader, "[9]");
    }
  }

  @Test
  void windowsCloseAlthoughBucketsAndReadersAreIdle() throws Exception {
    sql.set("parallelism.default", "4");
    sql.set("table.exec.source.idle-timeout", "1 s");
    sql.run(
        "CREATE TABLE e (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('bucket.num'='2', 'bucket.key'='id')",
        "INSERT INTO e VALUES (1, TIMESTAMP '2024-01-01 00:00:01'), (1, TIMESTAMP '2024-01-01 00:00:02')",
        "INSERT INTO e VALUES (1, TIMESTAMP '2024-01-01 00:01:00')");
    String query =
        "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end";
    assertThat(sql.explain(query)).contains("watermark=[ts]");
    try (Running windows = sql.start(query)) {
      assertThat(windows.next(1)).containsExactly("+I[2024-01-01T00:00, 2]");
    }
  }

  @Test
  void readersWithoutASplitDoNotHoldWindowsBack() throws Exception {
    sql.set("parallelism.default", "4");
    sql.run(
        "CREATE TABLE e (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('bucket.num'='1')",
        "INSERT INTO e VALUES (1, TIMESTAMP '2024-01-01 00:00:01')",
        "INSERT INTO e VALUES (1, TIMESTAMP '2024-01-01 00:01:00')");
    try (Running windows =
        sql.start("SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end")) {
      assertThat(windows.next(1)).containsExactly("+I[2024-01-01T00:00, 1]");
    }
  }

  /** An id whose rows go to a bucket. */
  private static int idOf(int bucket) {
    BucketHash hash = new BucketHash(RowType.of(new IntType()), new int[] {0}, 2);
    return IntStream.range(0, 100).filter(id -> hash.bucket(GenericRowData.of(id)) == bucket).findFirst().orElseThrow();
  }

  @Test
  void anAlignedBucketThatIsAheadWaitsForTheOthersAndThenGoesOn() throws Exception {
    sql.set("parallelism.default", "1");
    sql.run("CREATE TABLE e (id INT, name STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('bucket.num'='2', 'bucket.key'='id')");
    String insert = "INSERT INTO e VALUES (%d, '%s', TIMESTAMP '2024-01-01 %s')";
    String aligned =
        "e /*+ OPTIONS('scan.watermark.alignment.group'='g', 'scan.watermark.alignment.max-drift'='1 min', 'scan.watermark.alignment.update-interval'='100 ms') */";
    try (Running names = sql.start("SELECT name FROM " + aligned)) {
      sql.run(String.format(insert, idOf(0), "a0", "00:00:00"), String.format(insert, idOf(1), "b0", "00:00:00"));
      assertThat(names.nextSorted(2)).containsExactly("+I[a0]", "+I[b0]");
      sql.run(String.format(insert, idOf(0), "a1", "01:00:00"));
      assertThat(names.next(1)).containsExactly("+I[a1]");
      Thread.sleep(2_000);
      sql.run(String.format(insert, idOf(0), "a2", "01:00:01"));
      Thread.sleep(1_000);
      assertThat(names.more()).isEmpty();
      sql.run(String.format(insert, idOf(1), "b1", "01:00:00"));
      assertThat(names.nextSorted(2)).containsExactly("+I[a2]", "+I[b1]");
    }
  }

  @Test
  void aReaderKeepsItsColumnsWhenTheTableGetsMore() throws Exception {
    logTable(2);
    sql.run("INSERT INTO l VALUES (1, 'a')");
    try (Running reader = sql.start("SELECT * FROM l")) {
      reader.next(1);
      sql.run("ALTER TABLE l ADD extra BIGINT", "INSERT INTO l VALUES (2, 'b', 20)");
      assertThat(reader.next(1)).containsExactly("+I[2, b]");
      try (Running wider = sql.start("SELECT extra, id FROM l")) {
        assertThat(wider.nextSorted(2)).containsExactly("+I[20, 2]", "+I[null, 1]");
      }
    }
  }

  @Test
  void aDroppedTableEndsItsReadersWithAClearError() throws Exception {
    logTable(1);
    sql.run("INSERT INTO l VALUES (1, 'a')");
    Running reader = sql.start("SELECT * FROM l");
    reader.next(1);
    sql.run("DROP TABLE l");
    assertThat(reader.awaitEnd()).isNotNull().hasStackTraceContaining("fluss.l");
    reader.close();
  }

  @Test
  void cancellingIsQuick() throws Exception {
    logTable(4);
    sql.run("INSERT INTO l VALUES (1, 'a')");
    Running reader = sql.start("SELECT * FROM l");
    reader.next(1);
    long start = System.nanoTime();
    reader.result().getJobClient().orElseThrow().cancel().get();
    reader.awaitEnd();
    assertThat((System.nanoTime() - start) / 1_000_000).isLessThan(5_000);
    reader.close();
  }
}
