package io.sluice.flink.catalog;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import io.sluice.flink.ConnectorOptions;
import io.sluice.flink.StoreTable;
import io.sluice.flink.lake.LakeName;
import io.sluice.flink.lake.LakeTables;
import io.sluice.flink.sink.SluiceTableSink;
import io.sluice.flink.source.SluiceTableSource;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.factories.FactoryUtil;

/**
 * Makes sources and sinks of the tables of one catalog; the only reader of their options. Tables outside such a catalog cannot be
 * made: the factory is not registered for discovery. Options that the connector does not know are ignored here, for the store keeps
 * them on behalf of others.
 */
public final class ConnectorTableFactory implements DynamicTableSourceFactory, DynamicTableSinkFactory {
  private final Map<String, String> catalogOptions;
  private final LakeTables lake;

  /**
   * A factory for the tables of one catalog.
   *
   * @param catalogOptions all options of the catalog, with which tasks open their own connections
   * @param lake makes the sources of the tables in the lake
   */
  public ConnectorTableFactory(Map<String, String> catalogOptions, LakeTables lake) {
    this.catalogOptions = Collections.unmodifiableMap(new LinkedHashMap<>(catalogOptions));
    this.lake = lake;
  }

  @Override
  public String factoryIdentifier() {
    return ConnectorOptions.IDENTIFIER;
  }

  @Override
  public Set<ConfigOption<?>> requiredOptions() {
    return Collections.singleton(ConnectorOptions.BOOTSTRAP_SERVERS);
  }

  @Override
  public Set<ConfigOption<?>> optionalOptions() {
    Set<ConfigOption<?>> options = ConnectorOptions.tableOptions();
    options.remove(ConnectorOptions.BOOTSTRAP_SERVERS);
    return options;
  }

  @Override
  public DynamicTableSource createDynamicTableSource(Context context) {
    if (isForeign(context)) {
      return FactoryUtil.createDynamicTableSource(
          null,
          context.getObjectIdentifier(),
          context.getCatalogTable(),
          context.getEnrichmentOptions(),
          context.getConfiguration(),
          context.getClassLoader(),
          context.isTemporary());
    }
    Optional<LakeName> inLake = inLake(context);
    if (inLake.isPresent()) {
      return lake.source(inLake.get(), context);
    }
    StoreTable table = StoreTable.of(context, catalogOptions);
    return SluiceTableSource.create(table, options(context), context.getConfiguration(), isStreaming(context));
  }

  private static boolean isStreaming(Context context) {
    return context.getConfiguration().get(ExecutionOptions.RUNTIME_MODE) == RuntimeExecutionMode.STREAMING;
  }

  @Override
  public DynamicTableSink createDynamicTableSink(Context context) {
    if (isForeign(context)) {
      return FactoryUtil.createDynamicTableSink(
          null,
          context.getObjectIdentifier(),
          context.getCatalogTable(),
          context.getEnrichmentOptions(),
          context.getConfiguration(),
          context.getClassLoader(),
          context.isTemporary());
    }
    inLake(context).ifPresent(
        name -> {
          throw new ValidationException(
              String.format("%s is read-only: write into %s, whose rows flow into the lake.", name, name.table().getFullName()));
        });
    StoreTable table = StoreTable.of(context, catalogOptions);
    return SluiceTableSink.create(table, context.getCatalogTable().getResolvedSchema(), options(context), isStreaming(context));
  }

  private static Optional<LakeName> inLake(Context context) {
    return LakeName.of(context.getObjectIdentifier().toObjectPath());
  }

  /**
   * Returns whether the table is a temporary one of another connector. Flink makes those by discovery, but where it merges scans of one
   * table in a plan it asks the factory of the catalog in whose name they stand.
   */
  private static boolean isForeign(Context context) {
    String connector = context.getCatalogTable().getOptions().getOrDefault(FactoryUtil.CONNECTOR.key(), ConnectorOptions.IDENTIFIER);
    return !ConnectorOptions.IDENTIFIER.equals(connector);
  }

  /** The table's options, each known one read once so that a bad value is refused here. */
  private ReadableConfig options(Context context) {
    ConnectorOptions.checkValues(context.getCatalogTable().getOptions());
    ReadableConfig options = FactoryUtil.createTableFactoryHelper(this, context).getOptions();
    FactoryUtil.validateFactoryOptions(this, options);
    return options;
  }
}
