package io.sluice.flink.lookup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.List;

import io.sluice.flink.FlinkSession;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A column that the store numbers, and lookup joins that insert what they do not find: a dictionary in SQL. */
final class AutoIncrementITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  private static final String DICTIONARY =
      "CREATE TABLE dict (name STRING, id BIGINT, note STRING, PRIMARY KEY (name) NOT ENFORCED) WITH ('auto-increment.fields' = 'id', 'bucket.num' = '%d')";

  @TempDir Path directory;
  private FlinkSession sql;

  @BeforeEach
  void open() {
    sql = FlinkSession.batch(directory.resolve("store"), 2);
  }

  @AfterEach
  void nothingLeaks() throws Exception {
    sql.close();
    FlinkSession.assertNothingLeaks();
  }

  private static String asking(String options, String values) {
    return "SELECT p.k, d.id, d.note FROM (SELECT *, PROCTIME() AS pt FROM (VALUES " + values + ") AS v(k)) AS p LEFT JOIN dict /*+ OPTIONS("
        + "'lookup.insert-if-not-exists'='true', " + options + ") */ FOR SYSTEM_TIME AS OF p.pt AS d ON p.k = d.name";
  }

  private List<String> streamed(String query) {
    try (FlinkSession streaming = FlinkSession.streaming(directory.resolve("store"), 2)) {
      return streaming.rows(query);
    }
  }

  @Test
  void aLookupJoinNumbersWhatIsNew() {
    sql.run(String.format(DICTIONARY, 1), "INSERT INTO dict (name, note) VALUES ('known', 'was here')");
    int next = 2;
    for (String way :
        List.of("'lookup.async'='false'", "'lookup.async'='true'", "'lookup.async'='true', 'lookup.cache'='PARTIAL', 'lookup.partial-cache.max-rows'='9'")) {
      String word = "w" + next;
      assertThat(streamed(asking(way, "('" + word + "'), ('known'), (CAST(NULL AS STRING)), ('" + word + "')")))
          .containsExactly("+I[known, 1, was here]", "+I[null, null, null]", "+I[" + word + ", " + next + ", null]", "+I[" + word + ", " + next + ", null]");
      next++;
    }
    assertThat(sql.rows("SELECT name, id FROM dict")).containsExactly("+I[known, 1]", "+I[w2, 2]", "+I[w3, 3]", "+I[w4, 4]");
  }

  @Test
  void manyWordsGetManyNumbersAndEachOneOnly() {
    sql.run(
        String.format(DICTIONARY, 4),
        "CREATE TEMPORARY TABLE default_catalog.default_database.words (n BIGINT, pt AS PROCTIME()) WITH ('connector'='datagen', 'number-of-rows'='5000',"
            + " 'fields.n.kind'='sequence', 'fields.n.start'='0', 'fields.n.end'='4999')",
        "CREATE TABLE seen (n BIGINT, id BIGINT)",
        "INSERT INTO seen SELECT n, d.id FROM (SELECT *, 'w' || CAST(MOD(n, 700) AS STRING) AS word FROM default_catalog.default_database.words) AS w"
            + " JOIN dict /*+ OPTIONS('lookup.insert-if-not-exists'='true') */ FOR SYSTEM_TIME AS OF w.pt AS d ON w.word = d.name");
    assertThat(sql.rows("SELECT COUNT(*), COUNT(DISTINCT id), MIN(id), MAX(id) FROM seen")).containsExactly("+I[5000, 700, 1, 700]");
    assertThat(sql.rows("SELECT COUNT(*) FROM seen JOIN dict ON seen.id = dict.id WHERE dict.name = 'w' || CAST(MOD(n, 700) AS STRING)"))
        .containsExactly("+I[5000]");
  }

  @Test
  void numbersGoOnWhenTheStoreIsOpenedAgain() {
    sql.run(String.format(DICTIONARY, 1), "INSERT INTO dict (name) VALUES ('a')", "INSERT INTO dict (name) VALUES ('b')");
    sql.close();
    sql = FlinkSession.batch(directory.resolve("store"), 2);
    sql.run("INSERT INTO dict (note, name) VALUES ('three', 'c'), ('one', 'a')");
    assertThat(sql.rows("SELECT * FROM dict")).containsExactly("+I[a, 1, one]", "+I[b, 2, null]", "+I[c, 3, three]");
    assertThat(sql.rows("SHOW CREATE TABLE dict").toString()).contains("'auto-increment.fields' = 'id'");
    sql.run("CREATE TABLE copy LIKE dict", "INSERT INTO copy (name) SELECT name FROM dict");
    assertThat(sql.rows("SELECT COUNT(DISTINCT id) FROM copy")).containsExactly("+I[3]");
  }

  @Test
  void statementsLeaveTheNumberAlone() {
    sql.run(String.format(DICTIONARY, 1), "INSERT INTO dict (name, note) VALUES ('a', 'x')", "INSERT INTO dict (name, note) VALUES ('b', 'y')",
        "INSERT INTO dict (name, note) VALUES ('c', 'z')");
    sql.run("UPDATE dict SET note = 'u' WHERE id >= 2", "DELETE FROM dict WHERE name = 'a'", "DELETE FROM dict WHERE note = 'u' AND id = 3");
    assertThat(sql.rows("SELECT * FROM dict")).containsExactly("+I[b, 2, u]");
    sql.run("INSERT INTO dict (name, note) VALUES ('a', 'again')");
    assertThat(sql.rows("SELECT * FROM dict")).containsExactly("+I[a, 4, again]", "+I[b, 2, u]");
    for (String insert : List.of("INSERT INTO dict VALUES ('d', 7, 'n')", "INSERT INTO dict (id, name) VALUES (7, 'd')")) {
      assertThatThrownBy(() -> sql.run(insert))
          .hasStackTraceContaining("Explicitly specifying values for an auto increment column is not allowed")
          .hasStackTraceContaining("'id'");
    }
    assertThatThrownBy(() -> sql.run("UPDATE dict SET id = 9 WHERE name = 'a'")).hasStackTraceContaining("a row keeps its number");
    assertThatThrownBy(() -> sql.run("ALTER TABLE dict SET ('auto-increment.fields' = 'note')")).hasStackTraceContaining("not supported to alter yet");
  }

  @Test
  void whatCannotBeNumberedOrInsertedIsRefusedByName() {
    String table = "CREATE TABLE t (a INT, b INT, s STRING%s) WITH ('auto-increment.fields' = '%s'%s)";
    String key = ", PRIMARY KEY (a) NOT ENFORCED";
    assertThatThrownBy(() -> sql.run(String.format(table, "", "b", ""))).hasStackTraceContaining("log table");
    assertThatThrownBy(() -> sql.run(String.format(table, key, "a", ""))).hasStackTraceContaining("primary key");
    assertThatThrownBy(() -> sql.run(String.format(table, key, "s", ""))).hasStackTraceContaining("must be INT or BIGINT");
    assertThatThrownBy(() -> sql.run(String.format(table, key, "b,s", ""))).hasStackTraceContaining("one auto-increment column only");
    assertThatThrownBy(() -> sql.run(String.format(table, key, "b", ", 'table.merge-engine' = 'first_row'"))).hasStackTraceContaining("whole rows only");
    sql.run("CREATE TABLE strict (k STRING, v INT NOT NULL, PRIMARY KEY (k) NOT ENFORCED)");
    String join = "SELECT d.v FROM (SELECT *, PROCTIME() AS pt FROM (VALUES ('a')) AS v(k)) AS p JOIN %s"
        + " /*+ OPTIONS('lookup.insert-if-not-exists'='true') */ FOR SYSTEM_TIME AS OF p.pt AS d ON p.k = d.k";
    assertThatThrownBy(() -> streamed(String.format(join, "strict"))).hasStackTraceContaining("column 'v' is NOT NULL");
    sql.run("CREATE TABLE wide (k STRING, k2 STRING, v INT, PRIMARY KEY (k, k2) NOT ENFORCED) WITH ('bucket.key' = 'k')");
    assertThatThrownBy(() -> streamed(String.format(join, "wide"))).hasStackTraceContaining("not possible for a prefix lookup");
  }
}
