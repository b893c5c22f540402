package io.sluice.flink.source;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

import javax.annotation.Nullable;

import io.sluice.flink.ConnectorOptions.ScanStartupMode;
import io.sluice.flink.MergeRules;
import io.sluice.flink.StoreTable;
import io.sluice.flink.lookup.LookupSettings;
import io.sluice.flink.partition.PartitionFilter;
import io.sluice.flink.source.record.RowDataDeserializationSchema;
import io.sluice.flink.source.scan.PointQuery;
import io.sluice.flink.source.scan.RowFilter;
import io.sluice.flink.source.scan.ScanSettings;
import io.sluice.flink.source.scan.ScanTask;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.LookupTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.connector.source.abilities.SupportsAggregatePushDown;
import org.apache.flink.table.connector.source.abilities.SupportsFilterPushDown;
import org.apache.flink.table.connector.source.abilities.SupportsLimitPushDown;
import org.apache.flink.table.connector.source.abilities.SupportsProjectionPushDown;
import org.apache.flink.table.connector.source.abilities.SupportsWatermarkPushDown;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.expressions.AggregateExpression;
import org.apache.flink.table.expressions.ResolvedExpression;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;

/**
 * A table as a source, for scans and lookup joins. No pushdown may change an answer: filters always stay in the plan, a limit is
 * served from the ordinary scan wherever rows follow, and a count only where the store's own count is that of the scan.
 */
public final class SluiceTableSource
    implements ScanTableSource,
        LookupTableSource,
        SupportsProjectionPushDown,
        SupportsFilterPushDown,
        SupportsLimitPushDown,
        SupportsAggregatePushDown,
        SupportsWatermarkPushDown {
  private final StoreTable table;
  private ScanSettings settings;
  private final LookupSettings lookup;
  @Nullable private final Integer parallelism;

  private RowType rowType;
  @Nullable private DataType producedType;
  @Nullable private WatermarkStrategy<RowData> watermarks;
  @Nullable private Long limit;
  @Nullable private PointQuery point;
  @Nullable private PartitionFilter partitions;
  @Nullable private String filter;
  private boolean count;

  private SluiceTableSource(StoreTable table, ScanSettings settings, LookupSettings lookup, @Nullable Integer parallelism) {
    this.table = table;
    this.settings = settings;
    this.lookup = lookup;
    this.parallelism = parallelism;
    this.rowType = table.rowType();
  }

  /**
   * The source of one table in one query.
   *
   * @param options the table's options, hints included
   * @param session the session's configuration
   * @param streaming whether the query runs in streaming mode
   */
  public static SluiceTableSource create(StoreTable table, ReadableConfig options, ReadableConfig session, boolean streaming) {
    return new SluiceTableSource(
        table,
        ScanSettings.of(options, session, streaming),
        LookupSettings.of(options),
        options.getOptional(FactoryUtil.SOURCE_PARALLELISM).orElse(null));
  }

  @Override
  public ChangelogMode getChangelogMode() {
    return settings.streaming() && table.hasPrimaryKey() ? MergeRules.of(table).changelogMode() : ChangelogMode.insertOnly();
  }

  @Override
  public ScanRuntimeProvider getScanRuntimeProvider(ScanContext context) {
    if (!settings.streaming() && table.hasPrimaryKey() && settings.mode() != ScanStartupMode.FULL) {
      throw new UnsupportedOperationException(
          String.format(
              "A batch read of primary-key table %s only supports 'scan.startup.mode' = 'full', not '%s'.",
              table, settings.mode().name().toLowerCase(java.util.Locale.ROOT)));
    }
    TypeInformation<RowData> type =
        producedType == null ? context.createTypeInformation(rowType) : context.createTypeInformation(producedType);
    SluiceSource<RowData> source = new SluiceSource<>(table, settings, task(), new RowDataDeserializationSchema(type), false);
    return new SluiceScanProvider(source, table.toString(), watermarks, parallelism);
  }

  private ScanTask task() {
    if (count) {
      return ScanTask.count(rowType);
    }
    if (point != null) {
      return ScanTask.point(rowType, point);
    }
    // A watermark is made of all rows, also of those that the filter drops behind it.
    ScanTask rows = limit != null ? ScanTask.limited(rowType, limit)
        : filter == null || watermarks != null ? ScanTask.rows(rowType) : ScanTask.filtered(rowType, filter);
    return rows.ofPartitions(partitions);
  }

  @Override
  public LookupRuntimeProvider getLookupRuntimeProvider(LookupContext context) {
    return lookup.provider(table, rowType, context.getKeys());
  }

  @Override
  public boolean supportsNestedProjection() {
    return false;
  }

  @Override
  public void applyProjection(int[][] columns, DataType type) {
    rowType = (RowType) type.getLogicalType();
    producedType = type;
  }

  @Override
  public Result applyFilters(List<ResolvedExpression> filters) {
    // A partition may be in the lake alone, where no lookup finds its rows.
    if (!settings.streaming() && !(table.hasLake() && table.isPartitioned())) {
      point = PointQuery.of(table.rowType(), table.primaryKey(), filters).orElse(null);
    }
    partitions = PartitionFilter.of(table.rowType(), table.partitionKeys(), filters).orElse(null);
    Set<ResolvedExpression> used = new LinkedHashSet<>();
    if (point != null) {
      used.addAll(point.filters());
    }
    if (partitions != null) {
      used.addAll(partitions.filters());
    }
    Optional<RowFilter.Pushed> pushed = table.hasPrimaryKey() ? Optional.empty() : RowFilter.of(table.rowType(), filters);
    filter = pushed.map(RowFilter.Pushed::json).orElse(null);
    pushed.ifPresent(understood -> used.addAll(understood.filters()));
    // Accepted ones also stay: they only tell two scans of one plan apart, else the planner would run one of them for both.
    return Result.of(List.copyOf(used), filters);
  }

  @Override
  public void applyLimit(long rows) {
    // A LIMIT from a position in the log follows the ordinary scan: the store's limit starts elsewhere. Else the scan ends with what
    // the table holds, in streaming too: nobody who asks for some rows wants a job that never ends.
    if (point == null && settings.mode() == ScanStartupMode.FULL) {
      limit = rows;
      settings = settings.bounded();
    }
  }

  @Override
  public boolean applyAggregates(List<int[]> groupings, List<AggregateExpression> aggregates, DataType type) {
    boolean ungrouped = groupings.stream().allMatch(grouping -> grouping.length == 0);
    boolean wholeTable =
        !settings.streaming()
            && settings.mode() == ScanStartupMode.FULL
            && limit == null
            && point == null
            && partitions == null
            && filter == null;
    if (!ungrouped || !wholeTable || !RowCount.answers(aggregates) || !RowCount.isKnown(table)) {
      return false;
    }
    count = true;
    rowType = (RowType) type.getLogicalType();
    producedType = type;
    return true;
  }

  @Override
  public void applyWatermark(WatermarkStrategy<RowData> strategy) {
    watermarks = strategy;
  }

  @Override
  public DynamicTableSource copy() {
    SluiceTableSource copy = new SluiceTableSource(table, settings, lookup, parallelism);
    copy.rowType = rowType;
    copy.producedType = producedType;
    copy.watermarks = watermarks;
    copy.limit = limit;
    copy.point = point;
    copy.partitions = partitions;
    copy.filter = filter;
    copy.count = count;
    return copy;
  }

  @Override
  public String asSummaryString() {
    return "Sluice table " + table;
  }
}
