package io.sluice.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

import io.sluice.flink.ConnectorOptions.DistributionMode;
import io.sluice.flink.MergeRules;
import io.sluice.flink.StoreTable;
import io.sluice.flink.catalog.ConnectorTableFactory;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.CatalogTable;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ObjectIdentifier;
import org.apache.flink.table.catalog.ResolvedCatalogTable;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.catalog.UniqueConstraint;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.Test;

/** What the sink promises the planner and refuses while planning. */
final class SluiceTableSinkTest {
  private static final List<Column> COLUMNS =
      List.of(
          Column.physical("v", DataTypes.STRING()),
          Column.physical("k", DataTypes.INT().notNull()),
          Column.physical("w", DataTypes.STRING()));

  private static DynamicTableFactory.Context context(boolean primaryKey, Map<String, String> options) {
    UniqueConstraint key = primaryKey ? UniqueConstraint.primaryKey("pk", List.of("k")) : null;
    ResolvedSchema schema = new ResolvedSchema(COLUMNS, List.of(), key);
    Map<String, String> all = new HashMap<>(options);
    all.put("bootstrap.servers", "embedded:/data");
    CatalogTable table = CatalogTable.newBuilder().schema(Schema.newBuilder().fromResolvedSchema(schema).build()).options(all).build();
    return new FactoryUtil.DefaultDynamicTableContext(
        ObjectIdentifier.of("c", "d", "t"),
        new ResolvedCatalogTable(table, schema),
        Map.of(),
        new Configuration().set(ExecutionOptions.RUNTIME_MODE, RuntimeExecutionMode.BATCH),
        SluiceTableSinkTest.class.getClassLoader(),
        false);
  }

  private static DynamicTableSink sink(boolean primaryKey, Map<String, String> options) {
    return new ConnectorTableFactory(Map.of(), null).createDynamicTableSink(context(primaryKey, options));
  }

  private static StoreTable table(boolean primaryKey, Map<String, String> options) {
    return StoreTable.of(context(primaryKey, options), Map.of());
  }

  @Test
  void logTablesTakeInsertsOnly() {
    assertThat(sink(false, Map.of()).getChangelogMode(ChangelogMode.all())).isEqualTo(ChangelogMode.insertOnly());
  }

  @Test
  void primaryKeyTablesNeedNoRowsFromBeforeAnUpdate() {
    assertThat(sink(true, Map.of()).getChangelogMode(ChangelogMode.all()).getContainedKinds())
        .containsExactlyInAnyOrder(RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE);
    assertThat(sink(true, Map.of()).getChangelogMode(ChangelogMode.insertOnly())).isEqualTo(ChangelogMode.insertOnly());
  }

  @Test
  void ignoringDeletesLetsUpdatesIntoALogTable() {
    assertThat(sink(false, Map.of("sink.ignore-delete", "true")).getChangelogMode(ChangelogMode.all()).getContainedKinds())
        .containsExactlyInAnyOrder(RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE);
  }

  @Test
  void distributionModesAreChecked() {
    for (String mode : List.of("auto", "none", "BUCKET")) {
      assertThat(sink(true, Map.of("sink.distribution-mode", mode))).isNotNull();
    }
    assertThatThrownBy(() -> sink(false, Map.of("sink.distribution-mode", "bucket")))
        .isInstanceOf(ValidationException.class)
        .hasMessageContaining("only supported for log tables with bucket keys");
    assertThat(sink(false, Map.of("sink.distribution-mode", "bucket", "bucket.key", "k"))).isNotNull();
    for (boolean primaryKey : new boolean[] {true, false}) {
      assertThatThrownBy(() -> sink(primaryKey, Map.of("sink.distribution-mode", "partition_dynamic")))
          .isInstanceOf(ValidationException.class)
          .hasMessageContaining("only supported for partitioned log tables");
    }
    assertThatThrownBy(() -> sink(true, Map.of("sink.distribution-mode", "none", "table.merge-engine", "aggregation")))
        .isInstanceOf(ValidationException.class)
        .hasMessageContaining("must be 'bucket' or 'auto'");
    assertThatThrownBy(() -> sink(true, Map.of("sink.distribution-mode", "scatter"))).hasStackTraceContaining("scatter");
  }

  @Test
  void autoShufflesOnlyWhereOrderWouldBeLost() {
    StoreTable keyed = table(false, Map.of("bucket.key", "k"));
    StoreTable free = table(false, Map.of());
    assertThat(Distribution.byBucket(DistributionMode.AUTO, keyed, true)).isFalse();
    assertThat(Distribution.byBucket(DistributionMode.AUTO, keyed, false)).isTrue();
    assertThat(Distribution.byBucket(DistributionMode.AUTO, free, false)).isFalse();
    assertThat(Distribution.byBucket(DistributionMode.NONE, keyed, false)).isFalse();
    assertThat(Distribution.byBucket(DistributionMode.BUCKET, keyed, true)).isTrue();
  }

  @Test
  void allColumnsInAnyOrderAreAnOrdinaryInsert() {
    assertThat(sink(true, Map.of()).getSinkRuntimeProvider(new Targets(new int[][] {{2}, {0}, {1}}))).isNotNull();
    assertThat(sink(false, Map.of()).getSinkRuntimeProvider(new Targets(null))).isNotNull();
  }

  @Test
  void someColumnsAreRefusedByName() {
    assertThatThrownBy(() -> sink(false, Map.of()).getSinkRuntimeProvider(new Targets(new int[][] {{1}})))
        .isInstanceOf(ValidationException.class)
        .hasMessageContaining("does not support partial updates for table without primary key")
        .hasMessageContaining("leaves out v, w");
    assertThatThrownBy(() -> sink(true, Map.of()).getSinkRuntimeProvider(new Targets(new int[][] {{0}})))
        .isInstanceOf(ValidationException.class)
        .hasMessageContaining("without fully specifying the primary key columns")
        .hasMessageContaining("'k'");
    assertThat(sink(true, Map.of()).getSinkRuntimeProvider(new Targets(new int[][] {{1}, {2}}))).isNotNull();
    for (String engine : List.of("first_row", "versioned")) {
      assertThatThrownBy(
              () -> sink(true, Map.of("table.merge-engine", engine)).getSinkRuntimeProvider(new Targets(new int[][] {{1}, {2}})))
          .isInstanceOf(ValidationException.class)
          .hasMessageContaining("merge engine " + engine + " does not support partial updates: the INSERT leaves out v");
    }
    Map<String, String> groups = Map.of("fields.v.sequence-group", "w");
    assertThatThrownBy(() -> sink(true, groups).getSinkRuntimeProvider(new Targets(new int[][] {{1}, {2}})))
        .isInstanceOf(ValidationException.class)
        .hasMessageContaining("writes 'w' but leaves out v, which follow one version, that in 'v'");
    assertThatThrownBy(() -> sink(true, Map.of()).getSinkRuntimeProvider(new Targets(new int[][] {{1, 0}, {2}})))
        .isInstanceOf(ValidationException.class)
        .hasMessageContaining("nested column 'k'");
  }

  private static String deleteRefused(boolean primaryKey, Map<String, String> options) {
    return refusal(() -> ((SluiceTableSink) sink(primaryKey, options)).applyRowLevelDelete(null));
  }

  private static String updateRefused(boolean primaryKey, Map<String, String> options, String column) {
    List<Column> updated = COLUMNS.stream().filter(c -> c.getName().equals(column)).collect(Collectors.toList());
    return refusal(() -> ((SluiceTableSink) sink(primaryKey, options)).applyRowLevelUpdate(updated, null));
  }

  /** Why a call is refused; empty when it is not. */
  private static String refusal(Runnable call) {
    try {
      call.run();
      return "";
    } catch (UnsupportedOperationException e) {
      return e.getMessage();
    }
  }

  @Test
  void statementsChangeTablesThatCanHonourThem() {
    assertThat(deleteRefused(true, Map.of())).isEmpty();
    assertThat(deleteRefused(true, Map.of("table.merge-engine", "aggregation", "table.delete.behavior", "allow"))).isEmpty();
    assertThat(updateRefused(true, Map.of(), "v")).isEmpty();
    assertThat(updateRefused(true, Map.of("table.delete.behavior", "disable"), "v")).isEmpty();
    assertThat(updateRefused(true, Map.of("sink.ignore-delete", "true"), "v")).isEmpty();
    assertThat(updateRefused(true, Map.of("table.merge-engine", "versioned", "table.merge-engine.versioned.ver-column", "w"), "v")).isEmpty();
  }

  @Test
  void deletesThatWouldNotDeleteAreRefused() {
    assertThat(deleteRefused(false, Map.of())).isEqualTo("DELETE on table d.t is not possible: it has no primary key.");
    for (String behavior : List.of("ignore", "Disable")) {
      assertThat(deleteRefused(true, Map.of("table.delete.behavior", behavior)))
          .isEqualTo("DELETE on table d.t is not possible: it has its delete behavior set to '" + behavior.toLowerCase(Locale.ROOT) + "'.");
    }
    for (String engine : List.of("first_row", "versioned", "aggregation")) {
      assertThat(deleteRefused(true, Map.of("table.merge-engine", engine)))
          .isEqualTo(
              "DELETE on table d.t is not possible: its merge engine is " + engine + ", and it has its delete behavior set to 'ignore'.");
    }
    assertThat(deleteRefused(true, Map.of("table.merge-engine", "aggregation", "table.delete.behavior", "retract"))).contains("'retract'");
    assertThat(deleteRefused(true, Map.of("sink.ignore-delete", "true"))).contains("'sink.ignore-delete'");
  }

  @Test
  void updatesThatWouldNotReplaceTheRowAreRefused() {
    assertThat(updateRefused(false, Map.of(), "v")).isEqualTo("UPDATE on table d.t is not possible: it has no primary key.");
    assertThat(updateRefused(true, Map.of(), "k")).contains("updates to primary keys are not supported", "column 'k'");
    assertThat(updateRefused(true, Map.of("table.merge-engine", "first_row"), "v")).contains("merge engine is first_row");
    assertThat(updateRefused(true, Map.of("table.merge-engine", "aggregation", "table.delete.behavior", "allow"), "v"))
        .contains("merge engine is aggregation");
    assertThat(updateRefused(true, Map.of("table.merge-engine", "versioned", "table.merge-engine.versioned.ver-column", "w"), "w"))
        .contains("column 'w' is the version");
  }

  @Test
  void onlyATableThatTakesRowsBackAsksForThem() {
    Map<String, String> options = new HashMap<>(Map.of("table.merge-engine", "aggregation", "fields.v.agg", "SUM"));
    assertThat(sink(true, options).getChangelogMode(ChangelogMode.all()).contains(RowKind.UPDATE_BEFORE)).isFalse();
    options.put("table.delete.behavior", "retract");
    DynamicTableSink sink = sink(true, options);
    // Before the planner has asked, and for rows that never change, every function will do.
    assertThat(sink.getSinkRuntimeProvider(new Targets(null))).isNotNull();
    assertThat(sink.getChangelogMode(ChangelogMode.insertOnly())).isEqualTo(ChangelogMode.insertOnly());
    assertThat(sink.getSinkRuntimeProvider(new Targets(null))).isNotNull();
    assertThat(sink.getChangelogMode(ChangelogMode.all())).isEqualTo(ChangelogMode.all());
    assertThat(sink.getSinkRuntimeProvider(new Targets(new int[][] {{0}, {1}}))).isNotNull();
    assertThatThrownBy(() -> sink.copy().getSinkRuntimeProvider(new Targets(null)))
        .isInstanceOf(ValidationException.class)
        .hasMessageContaining("column 'w'")
        .hasMessageContaining("only sum and product");
  }

  @Test
  void theChangelogHoldsWhatTheRulesLetThrough() {
    RowKind[] updates = {RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER};
    assertThat(changelog(Map.of())).containsExactlyInAnyOrder(RowKind.values());
    assertThat(changelog(Map.of("table.delete.behavior", "ignore"))).containsExactlyInAnyOrder(updates);
    assertThat(changelog(Map.of("table.merge-engine", "versioned"))).containsExactlyInAnyOrder(updates);
    assertThat(changelog(Map.of("table.merge-engine", "aggregation", "table.delete.behavior", "retract"))).containsExactlyInAnyOrder(updates);
    assertThat(changelog(Map.of("table.merge-engine", "FIRST_ROW"))).containsExactly(RowKind.INSERT);
    assertThat(changelog(Map.of("table.changelog.image", "wal")))
        .containsExactlyInAnyOrder(RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE);
    assertThat(changelog(Map.of("table.changelog.image", "WAL", "table.delete.behavior", "disable")))
        .containsExactlyInAnyOrder(RowKind.INSERT, RowKind.UPDATE_AFTER);
  }

  private static java.util.Set<RowKind> changelog(Map<String, String> options) {
    return MergeRules.of(table(true, options)).changelogMode().getContainedKinds();
  }

  @Test
  void theTablesOwnClientOptionsReachTheConnection() {
    StoreTable table =
        StoreTable.of(
            context(true, Map.of("client.id", "table's", "my.own", "x")), Map.of("client.id", "catalog's", "log.flush.policy", "os"));
    assertThat(table.connectionOptions())
        .isEqualTo(Map.of("client.id", "table's", "log.flush.policy", "os", "bootstrap.servers", "embedded:/data"));
    assertThat(table.primaryKey()).containsExactly(1);
    assertThat(table.bucketKey()).containsExactly(1);
    assertThatThrownBy(() -> table(false, Map.of("bucket.key", "k,none"))).hasMessageContaining("'none'");
  }

  /** A sink context that knows target columns only. */
  private static final class Targets implements DynamicTableSink.Context {
    private final int[][] columns;

    Targets(int[][] columns) {
      this.columns = columns;
    }

    @Override
    public boolean isBounded() {
      return false;
    }

    @Override
    public <T> TypeInformation<T> createTypeInformation(DataType type) {
      throw new UnsupportedOperationException();
    }

    @Override
    public <T> TypeInformation<T> createTypeInformation(LogicalType type) {
      throw new UnsupportedOperationException();
    }

    @Override
    public DynamicTableSink.DataStructureConverter createDataStructureConverter(DataType type) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Optional<int[][]> getTargetColumns() {
      return Optional.ofNullable(columns);
    }
  }
}
