package io.sluice.flink;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.types.RowKind;

/**
 * How a primary-key table merges rows of one key, as far as a query can see it. The store has checked that the options go together; here
 * they only decide what the planner is told.
 */
public final class MergeRules {
  /** What a second row of a key does. */
  public enum Engine {
    LAST_ROW,
    FIRST_ROW,
    VERSIONED,
    AGGREGATION
  }

  /** What a delete does. */
  public enum Deletes {
    ALLOW,
    IGNORE,
    DISABLE,
    RETRACT
  }

  private static final String DEFAULT_FUNCTION = "last_value_ignore_nulls";
  private static final String GROUP = ".sequence-group";
  private static final Set<String> INVERTIBLE = Set.of("sum", "product");

  private final Engine engine;
  private final Deletes deletes;
  private final boolean fullImage;
  private final Map<String, String> options;

  private MergeRules(Engine engine, Deletes deletes, boolean fullImage, Map<String, String> options) {
    this.engine = engine;
    this.deletes = deletes;
    this.fullImage = fullImage;
    this.options = options;
  }

  /** The rules of a table with a primary key. */
  public static MergeRules of(StoreTable table) {
    Map<String, String> options = table.options();
    Engine engine = word(options, "table.merge-engine").map(Engine::valueOf).orElse(Engine.LAST_ROW);
    Deletes other = engine == Engine.LAST_ROW ? Deletes.ALLOW : Deletes.IGNORE;
    Deletes deletes = word(options, "table.delete.behavior").map(Deletes::valueOf).orElse(other);
    boolean fullImage = !word(options, "table.changelog.image").equals(Optional.of("WAL"));
    return new MergeRules(engine, deletes, fullImage, options);
  }

  private static Optional<String> word(Map<String, String> options, String key) {
    return Optional.ofNullable(options.get(key)).map(value -> value.trim().toUpperCase(Locale.ROOT)).filter(value -> !value.isEmpty());
  }

  public Engine engine() {
    return engine;
  }

  /** The engine as the option spells it. */
  public String engineName() {
    return engine.name().toLowerCase(Locale.ROOT);
  }

  /** The column whose value decides which row of a key stays; empty unless the engine is versioned. */
  public Optional<String> versionColumn() {
    Optional<String> column = Optional.ofNullable(options.get("table.merge-engine.versioned.ver-column")).map(String::trim);
    return column.filter(name -> engine == Engine.VERSIONED);
  }

  public Deletes deletes() {
    return deletes;
  }

  /** Whether the table can be written in parts. */
  public boolean takesPartialUpdates() {
    return engine == Engine.LAST_ROW || engine == Engine.AGGREGATION;
  }

  /** Columns that follow a version of their own, with it: each list is written whole or not at all. The version's column is the first. */
  public List<List<String>> sequenceGroups() {
    return options.entrySet().stream()
        .filter(option -> option.getKey().startsWith("fields.") && option.getKey().endsWith(GROUP))
        .map(
            option -> {
              String version = option.getKey().substring("fields.".length(), option.getKey().length() - GROUP.length());
              return Stream.concat(Stream.of(version), Arrays.stream(option.getValue().split(",")).map(String::trim)).collect(Collectors.toList());
            })
        .collect(Collectors.toList());
  }

  /** The kinds of change that the changelog holds. */
  public ChangelogMode changelogMode() {
    if (engine == Engine.FIRST_ROW) {
      return ChangelogMode.insertOnly();
    }
    ChangelogMode.Builder mode = ChangelogMode.newBuilder().addContainedKind(RowKind.INSERT).addContainedKind(RowKind.UPDATE_AFTER);
    if (fullImage) {
      mode.addContainedKind(RowKind.UPDATE_BEFORE);
    }
    if (deletes == Deletes.ALLOW) {
      mode.addContainedKind(RowKind.DELETE);
    }
    return mode.build();
  }

  /** The columns among {@code names} whose function cannot take a row back. */
  public List<String> notInvertible(String[] names) {
    return Arrays.stream(names).filter(name -> !INVERTIBLE.contains(function(name))).collect(Collectors.toList());
  }

  private String function(String column) {
    return options.getOrDefault("fields." + column + ".agg", DEFAULT_FUNCTION).trim().toLowerCase(Locale.ROOT);
  }
}
