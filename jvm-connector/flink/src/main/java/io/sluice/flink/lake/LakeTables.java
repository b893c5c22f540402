package io.sluice.flink.lake;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.Catalog;
import org.apache.flink.table.catalog.CatalogBaseTable;
import org.apache.flink.table.catalog.CatalogPartitionSpec;
import org.apache.flink.table.catalog.ObjectIdentifier;
import org.apache.flink.table.catalog.exceptions.CatalogException;
import org.apache.flink.table.catalog.exceptions.TableNotExistException;
import org.apache.flink.table.catalog.exceptions.TableNotPartitionedException;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.factories.CatalogFactory;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.factories.FactoryUtil;

/**
 * The lake's tables, read by Paimon's own connector. It comes as a jar of the user's and is reached through Flink's interfaces alone: its
 * catalog describes the tables, its factory makes their sources. The catalog is opened when a table is first asked for; until then nobody
 * needs the jar.
 */
public final class LakeTables implements AutoCloseable {
  private static final String FORMAT = "paimon";
  private static final String CONNECTOR_JAR = "paimon-flink-1.20-1.3.1.jar";
  private static final String HADOOP_JAR = "flink-shaded-hadoop-2-uber-2.8.3-10.0.jar";

  private final String catalogName;
  private final Supplier<Map<String, String>> options;
  private final ClassLoader classLoader;
  private Catalog paimon;

  /**
   * @param catalogName name of the catalog that these tables are part of, for messages
   * @param options what to open Paimon's catalog with, warehouse included; asked when it is opened
   * @param classLoader finds Paimon's connector
   */
  public LakeTables(String catalogName, Supplier<Map<String, String>> options, ClassLoader classLoader) {
    this.catalogName = catalogName;
    this.options = options;
    this.classLoader = classLoader;
  }

  /** A table as Paimon describes it. */
  public CatalogBaseTable table(LakeName name) throws TableNotExistException {
    return find(name, () -> catalog(name).getTable(name.inLake()));
  }

  /** The same as it was at a time, ms since 1970: the newest snapshot that is not younger. */
  public CatalogBaseTable table(LakeName name, long timestampMs) throws TableNotExistException {
    return find(name, () -> catalog(name).getTable(name.inLake(), timestampMs));
  }

  /** The partitions of a table, as Paimon lists them. */
  public List<CatalogPartitionSpec> partitions(LakeName name) throws TableNotExistException, TableNotPartitionedException {
    try {
      return catalog(name).listPartitions(name.inLake());
    } catch (LinkageError e) {
      throw hadoopMissing(name, e);
    }
  }

  private CatalogBaseTable find(LakeName name, Search search) throws TableNotExistException {
    try {
      return search.run();
    } catch (TableNotExistException e) {
      if (name.isCopy()) {
        throw new CatalogException(
            String.format(
                "The lake has no table %s, though table %s is lake-enabled. Was it dropped there? Looked for in %s.",
                name.inLake().getFullName(), name.table().getFullName(), options.get().get("warehouse")));
      }
      throw e;
    } catch (LinkageError e) {
      throw hadoopMissing(name, e);
    }
  }

  /** Makes the source of a table that {@link #table} described. */
  public DynamicTableSource source(LakeName name, DynamicTableFactory.Context context) {
    ObjectIdentifier found = context.getObjectIdentifier();
    ObjectIdentifier inLake = ObjectIdentifier.of(found.getCatalogName(), found.getDatabaseName(), name.inLake().getObjectName());
    try {
      return factory(name)
          .createDynamicTableSource(
              new FactoryUtil.DefaultDynamicTableContext(
                  inLake,
                  context.getCatalogTable(),
                  context.getEnrichmentOptions(),
                  context.getConfiguration(),
                  context.getClassLoader(),
                  context.isTemporary()));
    } catch (LinkageError e) {
      throw hadoopMissing(name, e);
    }
  }

  private DynamicTableSourceFactory factory(LakeName name) {
    return catalog(name).getFactory()
        .filter(DynamicTableSourceFactory.class::isInstance)
        .map(DynamicTableSourceFactory.class::cast)
        .orElseThrow(() -> new CatalogException("Paimon's catalog has no factory for the source of " + name + "."));
  }

  private synchronized Catalog catalog(LakeName name) {
    if (paimon == null) {
      Catalog opened = connector(name).createCatalog(new FactoryUtil.DefaultCatalogContext(catalogName, complete(), new Configuration(), classLoader));
      opened.open();
      paimon = opened;
    }
    return paimon;
  }

  private CatalogFactory connector(LakeName name) {
    try {
      return FactoryUtil.discoverFactory(classLoader, CatalogFactory.class, FORMAT);
    } catch (ValidationException e) {
      ValidationException refusal =
          new ValidationException(
              String.format(
                  "%s is read by Apache Paimon's connector, which Flink does not find: put %s and %s into Flink's lib/ and start it"
                      + " again.",
                  name, CONNECTOR_JAR, HADOOP_JAR));
      // Not its cause: the SQL client shows the innermost cause only, and that one lists factories.
      refusal.addSuppressed(e);
      throw refusal;
    }
  }

  private static ValidationException hadoopMissing(LakeName name, LinkageError e) {
    ValidationException refusal =
        new ValidationException(
            String.format(
                "Apache Paimon's connector cannot read %s: it lacks %s. Put %s, whose classes it needs whatever the file system, beside it"
                    + " and start Flink again.",
                name, Optional.ofNullable(e.getMessage()).orElse("a class"), HADOOP_JAR));
    refusal.addSuppressed(e);
    return refusal;
  }

  /** The options with what makes Paimon's catalog a mere reader. */
  private Map<String, String> complete() {
    Map<String, String> complete = new LinkedHashMap<>();
    // Columns and options change behind Paimon's back, by whom the store lets write.
    complete.put("cache-enabled", "false");
    complete.putAll(options.get());
    complete.put("type", FORMAT);
    // Else it would make a database 'default' in the lake.
    complete.put("disable-create-table-in-default-db", "true");
    return complete;
  }

  @Override
  public synchronized void close() {
    if (paimon != null) {
      paimon.close();
      paimon = null;
    }
  }

  private interface Search {
    CatalogBaseTable run() throws TableNotExistException;
  }
}
