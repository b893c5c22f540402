package io.sluice.flink.source;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

import io.sluice.flink.FlinkSession;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.typeutils.RowTypeInfo;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A plain SELECT answers from lake and log as if there were one of them, wherever the border is. */
final class UnionReadITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  private static final String LAKE = "'table.datalake.enabled'='true', 'bucket.num'='3'";
  private static final String SHORT_LOG = ", 'table.log.ttl'='1 s', 'table.log.arrow.compression.type'='NONE'";

  @TempDir Path directory;
  private FlinkSession sql;
  private final List<String> rows = new ArrayList<>();
  private int written;

  @BeforeEach
  void open() {
    sql = batch();
  }

  @AfterEach
  void nothingLeaks() throws Exception {
    sql.close();
    FlinkSession.assertNothingLeaks();
  }

  private Map<String, String> options() {
    Map<String, String> options = new HashMap<>();
    options.put("datalake.format", "paimon");
    options.put("datalake.paimon.warehouse", directory.resolve("lake").toString());
    options.put("log.segment.file-size", "1kb");
    options.put("log.index.interval-size", "64b");
    options.put("log.retention.check-interval", "20ms");
    return options;
  }

  private FlinkSession batch() {
    return FlinkSession.batch(directory.resolve("store"), 2, options());
  }

  private FlinkSession streaming() {
    return FlinkSession.streaming(directory.resolve("store"), 2, options());
  }

  private void reopen() throws Exception {
    sql.close();
    FlinkSession.assertNothingLeaks();
    sql = batch();
  }

  private void createLog(String more) {
    sql.run("CREATE TABLE l (id INT, name STRING, part INT) WITH (" + LAKE + ", 'bucket.key'='part'" + more + ")");
  }

  /** Writes rows with numbers of their own into all buckets but one. */
  private void append(int count) {
    List<String> values = new ArrayList<>();
    for (int i = 0; i < count; i++, written++) {
      String name = "n".repeat(20) + written;
      values.add("(" + written + ", '" + name + "', " + written % 2 + ")");
      rows.add("+I[" + written + ", " + name + ", " + written % 2 + "]");
    }
    sql.run("INSERT INTO l VALUES " + String.join(", ", values));
  }

  private void tier(String table) {
    sql.run("CALL sys.tier('fluss." + table + "')");
  }

  private static List<String> sorted(List<String> list) {
    List<String> copy = new ArrayList<>(list);
    Collections.sort(copy);
    return copy;
  }

  private static List<String> ids(List<String> list) {
    return sorted(list.stream().map(row -> row.substring(0, row.indexOf(',')) + "]").collect(Collectors.toList()));
  }

  /** All ways of asking agree with the rows that were written. */
  private void assertLogAnswers() throws Exception {
    assertThat(sql.rows("SELECT * FROM l")).isEqualTo(sorted(rows));
    assertThat(sql.rows("SELECT COUNT(*) FROM l")).containsExactly("+I[" + rows.size() + "]");
    assertThat(sql.rows("SELECT id FROM l")).isEqualTo(ids(rows));
    assertThat(sql.rows("SELECT part, COUNT(name), MAX(id) FROM l GROUP BY part"))
        .isEqualTo(sorted(sql.rows("SELECT part, COUNT(name), MAX(id) FROM (VALUES " + values() + ") AS v (id, name, part) GROUP BY part")));
    assertThat(sql.rows("SELECT id FROM l WHERE id BETWEEN 3 AND 5")).isEqualTo(List.of("+I[3]", "+I[4]", "+I[5]"));
    assertThat(sql.rows("SELECT id FROM l WHERE id >= " + (written - 1))).containsExactly("+I[" + (written - 1) + "]");
    assertThat(sql.rows("SELECT part FROM l WHERE id < 0 OR name = 'x'")).isEmpty();
    List<String> some = sql.rows("SELECT * FROM l LIMIT 4");
    assertThat(some).hasSize(4).doesNotHaveDuplicates().isSubsetOf(rows);
    assertThat(sql.rows("SELECT * FROM l LIMIT 100000")).isEqualTo(sorted(rows));
    try (FlinkSession stream = streaming(); FlinkSession.Running running = stream.start("SELECT * FROM l")) {
      assertThat(running.nextSorted(rows.size())).isEqualTo(sorted(rows));
    }
  }

  private String values() {
    return rows.stream()
        .map(row -> row.substring(3, row.length() - 1).split(", "))
        .map(row -> "(" + row[0] + ", '" + row[1] + "', " + row[2] + ")")
        .collect(Collectors.joining(", "));
  }

  @Test
  void aLogTableBeforeWithAndBehindTheBorder() throws Exception {
    createLog("");
    assertThat(sql.rows("SELECT * FROM l")).isEmpty();
    append(10);
    assertLogAnswers();
    tier("l");
    assertLogAnswers();
    append(7);
    assertLogAnswers();
    tier("l");
    tier("l");
    append(5);
    reopen();
    assertLogAnswers();
  }

  @Test
  void aLogTableWhoseLogIsGone() throws Exception {
    createLog(SHORT_LOG);
    for (int i = 0; i < 8; i++) {
      append(12);
    }
    String log = "SELECT COUNT(*) FROM (SELECT id FROM l /*+ OPTIONS('scan.startup.mode'='earliest') */)";
    // What is not in the lake stays, however old it is.
    assertThat(sql.rows(log)).containsExactly("+I[96]");
    tier("l");
    FlinkSession.eventually(() -> sql.rows(log).equals(List.of("+I[96]")), false);
    assertLogAnswers();
    append(3);
    assertLogAnswers();
    reopen();
    assertLogAnswers();
  }

  @Test
  void aStreamGoesOnFromTheLakeIntoTheLog() throws Exception {
    createLog("");
    append(20);
    tier("l");
    append(4);
    try (FlinkSession stream = streaming(); FlinkSession.Running running = stream.start("SELECT * FROM l")) {
      assertThat(running.nextSorted(24)).isEqualTo(sorted(rows));
      append(6);
      assertThat(running.nextSorted(6)).isEqualTo(sorted(rows.subList(24, 30)));
      tier("l");
      append(2);
      assertThat(running.nextSorted(2)).isEqualTo(sorted(rows.subList(30, 32)));
      assertThat(running.more()).isEmpty();
    }
  }

  @Test
  void aColumnAddedLaterIsNullInOldRows() {
    createLog("");
    append(2);
    tier("l");
    sql.run("ALTER TABLE l ADD note STRING", "INSERT INTO l VALUES (9, 'x', 0, 'new')");
    assertThat(sql.rows("SELECT id, note FROM l")).containsExactly("+I[0, null]", "+I[1, null]", "+I[9, new]");
    tier("l");
    assertThat(sql.rows("SELECT id, note FROM l")).containsExactly("+I[0, null]", "+I[1, null]", "+I[9, new]");
  }

  @Test
  void aTableMeetsTheLakeLater() throws Exception {
    sql.run("CREATE TABLE l (id INT, name STRING, part INT) WITH ('bucket.num'='3', 'bucket.key'='part')");
    append(5);
    sql.run("ALTER TABLE l SET ('table.datalake.enabled' = 'true')");
    append(5);
    tier("l");
    append(5);
    assertLogAnswers();
  }

  @Test
  void aPrimaryKeyTable() throws Exception {
    sql.run("CREATE TABLE p (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (" + LAKE + SHORT_LOG + ")");
    Map<Integer, String> model = new TreeMap<>();
    RowTypeInfo type = new RowTypeInfo(new org.apache.flink.api.common.typeinfo.TypeInformation<?>[] {Types.INT, Types.STRING}, new String[] {"id", "name"});
    for (int round = 0; round < 4; round++) {
      List<Row> changes = new ArrayList<>();
      for (int id = round; id < 40; id += round + 1) {
        String name = round + "x".repeat(30) + id;
        boolean delete = round > 0 && id % 7 == round && model.containsKey(id);
        changes.add(Row.ofKind(delete ? RowKind.DELETE : RowKind.INSERT, id, delete ? model.get(id) : name));
        if (delete) {
          model.remove(id);
        } else {
          model.put(id, name);
        }
      }
      try (FlinkSession stream = streaming()) {
        stream.change("p", type, changes.toArray(new Row[0]));
      }
      if (round != 2) {
        tier("p");
      }
      if (round == 1) {
        reopen();
      }
      List<String> expected = sorted(model.entrySet().stream().map(e -> "+I[" + e.getKey() + ", " + e.getValue() + "]").collect(Collectors.toList()));
      assertThat(sql.rows("SELECT * FROM p")).isEqualTo(expected);
      assertThat(sql.rows("SELECT COUNT(*) FROM p")).containsExactly("+I[" + model.size() + "]");
      assertThat(sql.rows("SELECT * FROM p LIMIT 1000")).isEqualTo(expected);
      try (FlinkSession stream = streaming(); FlinkSession.Running running = stream.start("SELECT * FROM p")) {
        assertThat(running.nextSorted(expected.size())).isEqualTo(expected);
      }
    }
    assertThat(sql.rows("SELECT name FROM p WHERE id = 39")).containsExactly("+I[" + model.get(39) + "]");
    assertThat(model).containsKey(39).doesNotContainKey(3);
    assertThat(sql.rows("SELECT name FROM p WHERE id = 3")).isEmpty();
  }
}
