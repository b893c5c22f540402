package io.sluice.flink.catalog;

import java.util.Collections;
import java.util.Set;

import io.sluice.flink.ConnectorOptions;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.catalog.Catalog;
import org.apache.flink.table.factories.CatalogFactory;
import org.apache.flink.table.factories.FactoryUtil;

/**
 * Makes a catalog for {@code CREATE CATALOG … WITH ('type' = 'fluss', …)}. Options that are not the connector's are the engine's
 * settings; the store checks them when the catalog is opened, which the statement does.
 */
public final class SluiceCatalogFactory implements CatalogFactory {
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
    return Set.of(ConnectorOptions.DEFAULT_DATABASE, FactoryUtil.PROPERTY_VERSION);
  }

  @Override
  public Catalog createCatalog(Context context) {
    Configuration options = Configuration.fromMap(context.getOptions());
    FactoryUtil.validateFactoryOptions(this, options);
    return new SluiceCatalog(
        context.getName(), options.get(ConnectorOptions.DEFAULT_DATABASE), context.getOptions(), context.getClassLoader());
  }
}
