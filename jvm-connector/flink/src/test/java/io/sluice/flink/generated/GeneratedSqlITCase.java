package io.sluice.flink.generated;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.sluice.flink.FlinkSession;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random tables under random statements: every query answers as a plain model does, and a stream of the table's changes adds up to the
 * same rows. A script that fails is made as short as it goes before it is shown.
 *
 * <p>{@code SLUICE_SQL_SEED} is the first seed, {@code SLUICE_SQL_MINUTES} how long to go on (one round of scripts when absent).
 */
final class GeneratedSqlITCase {
  private static final int SCRIPTS = 6;
  private static final int STEPS = 22;
  private static final int SHORTENING_TRIES = 60;

  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(4).build());

  @TempDir Path directory;
  private int stores;

  /** A table and what is done with it. */
  private static final class Script {
    final long seed;
    final List<SqlStep> steps;

    Script(long seed, List<SqlStep> steps) {
      this.seed = seed;
      this.steps = steps;
    }

    static Script random(long seed) {
      SqlTable table = new SqlTable(new Random(seed));
      Random random = new Random(~seed);
      List<SqlStep> steps = new ArrayList<>();
      for (int i = 0; i < STEPS; i++) {
        steps.add(SqlStep.random(table, random));
      }
      return new Script(seed, steps);
    }

    SqlTable table() {
      return new SqlTable(new Random(seed));
    }

    Script without(int from, int count) {
      List<SqlStep> left = new ArrayList<>(steps.subList(0, from));
      left.addAll(steps.subList(Math.min(from + count, steps.size()), steps.size()));
      return new Script(seed, left);
    }

    @Override
    public String toString() {
      return table().create() + ";\n" + steps.stream().map(step -> step.sql + ";").collect(Collectors.joining("\n"));
    }
  }

  @Test
  void everyQueryAnswersAsAPlainModelDoes() throws Exception {
    long seed = Long.parseLong(System.getenv().getOrDefault("SLUICE_SQL_SEED", "1"));
    double minutes = Double.parseDouble(System.getenv().getOrDefault("SLUICE_SQL_MINUTES", "0"));
    long end = System.nanoTime() + (long) (minutes * 60e9);
    for (int done = 0; done < SCRIPTS || System.nanoTime() < end; done++) {
      Script script = Script.random(seed + done);
      String wrong = run(script);
      if (wrong != null) {
        Script small = shortened(script);
        throw new AssertionError("seed " + script.seed + ":\n" + small + "\n" + run(small) + "\nFirst seen as: " + wrong);
      }
    }
    FlinkSession.assertNothingLeaks();
  }

  private Script shortened(Script script) {
    Script smallest = script;
    int tries = SHORTENING_TRIES;
    for (int count = STEPS / 2; count > 0; count /= 2) {
      for (int from = smallest.steps.size() - count; from >= 0 && tries > 0; from -= count, tries--) {
        Script smaller = smallest.without(from, count);
        if (fails(smaller)) {
          smallest = smaller;
        }
      }
    }
    return smallest;
  }

  private boolean fails(Script script) {
    try {
      return run(script) != null;
    } catch (Exception e) {
      // Not runnable without what was left out.
      return false;
    }
  }

  /** Runs a script in a store of its own; what is wrong, or null. */
  private String run(Script script) throws Exception {
    Path store = directory.resolve("store-" + stores++);
    SqlTable table = script.table();
    FlinkSession sql = FlinkSession.batch(store, 1).run(table.create());
    try {
      for (SqlStep step : script.steps) {
        if (step.sql.equals(SqlStep.RESTART)) {
          sql.close();
          FlinkSession.assertNothingLeaks();
          sql = FlinkSession.batch(store, 1);
        } else if (step.sql.equals(SqlStep.CRASH)) {
          Path left = copy(store);
          sql.close();
          FlinkSession.assertNothingLeaks();
          store = left;
          sql = FlinkSession.batch(store, 1);
        } else if (step.isQuery()) {
          String wrong = step.wrong(table, sql.rows(step.sql));
          if (wrong != null) {
            return step.sql + "\n" + wrong;
          }
        } else {
          sql.run(step.sql);
          step.applyTo(table);
        }
      }
      return wrongStream(store, table);
    } finally {
      sql.close();
    }
  }

  /** What a process that dies now leaves behind: the files as they are, while the store is open and nothing is being written. */
  private Path copy(Path store) throws IOException {
    while (true) {
      Path left = directory.resolve("store-" + stores++);
      try (Stream<Path> files = Files.walk(store)) {
        for (Path file : files.collect(Collectors.toList())) {
          Files.copy(file, left.resolve(store.relativize(file)));
        }
        return left;
      } catch (NoSuchFileException | UncheckedIOException e) {
        // RocksDB put a file away meanwhile: the copy would be of no one moment.
      }
    }
  }

  /** Adds up the changes that a stream of the whole table gives. */
  private static String wrongStream(Path store, SqlTable table) throws Exception {
    List<String> expected =
        table.rows().stream().map(row -> SqlTable.print(Arrays.asList(row))).sorted().collect(Collectors.toList());
    try (FlinkSession stream = FlinkSession.streaming(store, 1);
        FlinkSession.Running changes = stream.start("SELECT * FROM t")) {
      try {
        FlinkSession.eventually(() -> sum(changes.more()), expected);
        return null;
      } catch (AssertionError e) {
        return "the changes of the stream add up to something else: " + e.getMessage();
      }
    }
  }

  private static List<String> sum(List<String> changes) {
    List<String> rows = new ArrayList<>();
    for (String change : changes) {
      String row = "+I" + change.substring(2);
      if (change.startsWith("+")) {
        rows.add(row);
      } else {
        assertThat(rows.remove(row)).as("a row that goes was there: " + change + " of " + changes).isTrue();
      }
    }
    rows.sort(null);
    return rows;
  }
}
