package io.sluice.flink.catalog;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import io.sluice.flink.ConnectorOptions;
import io.sluice.flink.lake.LakeName;
import io.sluice.flink.lake.LakeOptions;
import io.sluice.flink.lake.LakeTables;
import io.sluice.store.Connection;
import io.sluice.store.ErrorKind;
import io.sluice.store.StoreException;
import io.sluice.store.Subject;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.CatalogBaseTable;
import org.apache.flink.table.catalog.CatalogDatabase;
import org.apache.flink.table.catalog.CatalogDatabaseImpl;
import org.apache.flink.table.catalog.CatalogPartition;
import org.apache.flink.table.catalog.CatalogPartitionImpl;
import org.apache.flink.table.catalog.CatalogPartitionSpec;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.catalog.ResolvedCatalogTable;
import org.apache.flink.table.catalog.ResolvedCatalogView;
import org.apache.flink.table.catalog.TableChange;
import org.apache.flink.table.catalog.exceptions.CatalogException;
import org.apache.flink.table.catalog.exceptions.DatabaseAlreadyExistException;
import org.apache.flink.table.catalog.exceptions.DatabaseNotEmptyException;
import org.apache.flink.table.catalog.exceptions.DatabaseNotExistException;
import org.apache.flink.table.catalog.exceptions.PartitionAlreadyExistsException;
import org.apache.flink.table.catalog.exceptions.PartitionNotExistException;
import org.apache.flink.table.catalog.exceptions.PartitionSpecInvalidException;
import org.apache.flink.table.catalog.exceptions.ProcedureNotExistException;
import org.apache.flink.table.catalog.exceptions.TableAlreadyExistException;
import org.apache.flink.table.catalog.exceptions.TableNotExistException;
import org.apache.flink.table.catalog.exceptions.TableNotPartitionedException;
import org.apache.flink.table.factories.Factory;
import org.apache.flink.table.procedures.Procedure;

/**
 * The databases, tables and views of one store. Names, rules and defaults are the store's: this class translates. The connection is opened by
 * {@link #open}, which CREATE CATALOG calls.
 */
public final class SluiceCatalog extends TablesOnlyCatalog {
  private final Map<String, String> options;
  private final TableDescriptors descriptors;
  private final LakeTables lake;
  private volatile StoreAdmin admin;

  /**
   * A catalog that is not open yet.
   *
   * @param options all options that the user gave
   * @param classLoader finds the connector of the lake, which is not part of this one
   */
  public SluiceCatalog(String name, String defaultDatabase, Map<String, String> options, ClassLoader classLoader) {
    super(name, defaultDatabase);
    this.options = Collections.unmodifiableMap(new LinkedHashMap<>(options));
    this.descriptors = new TableDescriptors(this.options);
    this.lake = new LakeTables(name, this::lakeOptions, classLoader);
  }

  // ---- life

  @Override
  public synchronized void open() {
    if (admin != null) {
      return;
    }
    StoreAdmin opened = connect();
    try {
      opened.database(getDefaultDatabase());
      admin = opened;
    } catch (StoreException e) {
      if (e.kind() == ErrorKind.NOT_FOUND || e.kind() == ErrorKind.INVALID) {
        throw StoreErrors.keeping(
            new CatalogException(
                String.format("The configured default-database '%s' does not exist in %s.", getDefaultDatabase(), servers())),
            e);
      }
      throw StoreErrors.of(e);
    } finally {
      if (admin == null) {
        opened.close();
      }
    }
  }

  private StoreAdmin connect() {
    try {
      return new StoreAdmin(Connection.open(options));
    } catch (StoreException e) {
      if (e.subject() == Subject.OPTION) {
        throw StoreErrors.keeping(
            new ValidationException(String.format("Catalog '%s': %s", getName(), StoreErrors.sentence(e.getMessage()))), e);
      }
      throw StoreErrors.of(e);
    }
  }

  private String servers() {
    return options.get(ConnectorOptions.BOOTSTRAP_SERVERS.key());
  }

  @Override
  public synchronized void close() {
    if (admin != null) {
      admin.close();
      admin = null;
    }
    lake.close();
  }

  private StoreAdmin admin() {
    StoreAdmin opened = admin;
    if (opened == null) {
      throw new CatalogException(String.format("Catalog '%s' is not open.", getName()));
    }
    return opened;
  }

  @Override
  public Optional<Factory> getFactory() {
    return Optional.of(new ConnectorTableFactory(options, lake));
  }

  // ---- databases

  @Override
  public List<String> listDatabases() {
    try {
      return admin().listDatabases();
    } catch (StoreException e) {
      throw StoreErrors.of(e);
    }
  }

  @Override
  public CatalogDatabase getDatabase(String name) throws DatabaseNotExistException {
    try {
      JsonNode descriptor = admin().database(name);
      Map<String, String> properties = TableDescriptors.strings(descriptor.path("custom_properties"));
      return new CatalogDatabaseImpl(properties, descriptor.path("comment").asText(null));
    } catch (StoreException e) {
      throw missingDatabase(e, name);
    }
  }

  @Override
  public boolean databaseExists(String name) {
    return listDatabases().contains(name);
  }

  @Override
  public void createDatabase(String name, CatalogDatabase database, boolean ignoreIfExists) throws DatabaseAlreadyExistException {
    ObjectNode descriptor = JsonNodeFactory.instance.objectNode().put("version", 1);
    if (database.getComment() != null && !database.getComment().isEmpty()) {
      descriptor.put("comment", database.getComment());
    }
    ObjectNode properties = descriptor.putObject("custom_properties");
    database.getProperties().forEach(properties::put);
    try {
      admin().createDatabase(name, descriptor, ignoreIfExists);
    } catch (StoreException e) {
      if (e.kind() == ErrorKind.ALREADY_EXISTS) {
        throw StoreErrors.keeping(new DatabaseAlreadyExistException(getName(), name), e);
      }
      throw StoreErrors.of(e);
    }
  }

  @Override
  public void alterDatabase(String name, CatalogDatabase wanted, boolean ignoreIfNotExists) throws DatabaseNotExistException {
    CatalogDatabase present;
    try {
      present = getDatabase(name);
    } catch (DatabaseNotExistException e) {
      if (ignoreIfNotExists) {
        return;
      }
      throw e;
    }
    try {
      admin().alterDatabase(name, propertyChanges(present.getProperties(), wanted.getProperties()));
    } catch (StoreException e) {
      throw missingDatabase(e, name);
    }
  }

  private static ObjectNode propertyChanges(Map<String, String> present, Map<String, String> wanted) {
    ObjectNode changes = JsonNodeFactory.instance.objectNode();
    wanted.forEach(
        (key, value) -> {
          if (!value.equals(present.get(key))) {
            changes.put(key, value);
          }
        });
    present.keySet().stream().filter(key -> !wanted.containsKey(key)).forEach(changes::putNull);
    return changes;
  }

  @Override
  public void dropDatabase(String name, boolean ignoreIfNotExists, boolean cascade)
      throws DatabaseNotExistException, DatabaseNotEmptyException {
    try {
      admin().dropDatabase(name, ignoreIfNotExists, cascade);
    } catch (StoreException e) {
      if (StoreErrors.is(e, ErrorKind.CONFLICT, Subject.DATABASE)) {
        throw StoreErrors.keeping(new DatabaseNotEmptyException(getName(), name), e);
      }
      throw missingDatabase(e, name);
    }
  }

  /** Returns what to throw for an error about a database that should be there. */
  private DatabaseNotExistException missingDatabase(StoreException e, String name) {
    if (StoreErrors.is(e, ErrorKind.NOT_FOUND, Subject.DATABASE)) {
      return StoreErrors.keeping(new DatabaseNotExistException(getName(), name), e);
    }
    throw StoreErrors.of(e);
  }

  // ---- tables

  @Override
  public List<String> listTables(String database) throws DatabaseNotExistException {
    try {
      // Flink's list of tables has the views in it.
      List<String> names = new ArrayList<>(admin().listTables(database));
      names.addAll(admin().listViews(database));
      Collections.sort(names);
      return names;
    } catch (StoreException e) {
      throw missingDatabase(e, database);
    }
  }

  @Override
  public CatalogBaseTable getTable(ObjectPath path) throws TableNotExistException {
    Optional<LakeName> inLake = LakeName.of(path);
    if (inLake.isPresent()) {
      return lake.table(lakeEnabled(inLake.get(), path));
    }
    try {
      return descriptors.fromJson(stored(path));
    } catch (TableNotExistException e) {
      Optional<JsonNode> view = storedView(path);
      if (view.isPresent()) {
        return ViewDescriptors.fromJson(view.get());
      }
      throw e;
    }
  }

  /** A table as it was, which only the lake can tell. */
  @Override
  public CatalogBaseTable getTable(ObjectPath path, long timestampMs) throws TableNotExistException {
    Optional<LakeName> inLake = LakeName.of(path);
    if (inLake.isPresent()) {
      return lake.table(lakeEnabled(inLake.get(), path), timestampMs);
    }
    throw new UnsupportedOperationException(
        String.format(
            "FOR SYSTEM_TIME AS OF with a fixed time reads what the lake keeps: write %1$s$lake instead of %1$s, if the table is lake-enabled.",
            path.getObjectName()));
  }

  private Map<String, String> lakeOptions() {
    try {
      return LakeOptions.ofPaimon(getName(), admin().lakeOptions(), options);
    } catch (StoreException e) {
      throw StoreErrors.of(e);
    }
  }

  /** Returns the name if its table's rows flow into the lake. */
  private LakeName lakeEnabled(LakeName name, ObjectPath path) throws TableNotExistException {
    JsonNode properties;
    try {
      properties = stored(name.table()).path("descriptor").path("properties");
    } catch (TableNotExistException e) {
      throw new TableNotExistException(getName(), path, e);
    }
    if (!properties.path(ConnectorOptions.LAKE_ENABLED).asBoolean(false)) {
      throw new UnsupportedOperationException(
          String.format(
              "Table %1$s is not datalake enabled, so there is no %2$s: ALTER TABLE %3$s SET ('%4$s' = 'true') lets its rows flow into the lake.",
              name.table().getFullName(), name, name.table().getObjectName(), ConnectorOptions.LAKE_ENABLED));
    }
    return name;
  }

  /** Refuses a change of what is Paimon's. */
  private static void requireNotInLake(ObjectPath path) {
    LakeName.of(path).ifPresent(
        name -> {
          throw new UnsupportedOperationException(
              String.format(
                  "%s is read-only: it is what the lake has of table %s. Change that table, or the lake's with a catalog of type 'paimon'.",
                  name, name.table().getFullName()));
        });
  }

  /** Returns a table as the store has it. */
  private JsonNode stored(ObjectPath path) throws TableNotExistException {
    try {
      return admin().table(path);
    } catch (StoreException e) {
      throw missingTable(e, path);
    }
  }

  @Override
  public boolean tableExists(ObjectPath path) {
    if (LakeName.of(path).isPresent()) {
      return existsInLake(path);
    }
    try {
      stored(path);
      return true;
    } catch (TableNotExistException e) {
      return storedView(path).isPresent();
    }
  }

  private boolean existsInLake(ObjectPath path) {
    try {
      getTable(path);
      return true;
    } catch (TableNotExistException | UnsupportedOperationException e) {
      return false;
    }
  }

  @Override
  public void createTable(ObjectPath path, CatalogBaseTable table, boolean ignoreIfExists)
      throws TableAlreadyExistException, DatabaseNotExistException {
    requireNotInLake(path);
    try {
      if (table instanceof ResolvedCatalogView) {
        admin().createView(path, ViewDescriptors.toJson((ResolvedCatalogView) table), ignoreIfExists);
      } else {
        admin().createTable(path, descriptors.toJson(requireTable(table, path), path.getFullName()), ignoreIfExists);
      }
    } catch (StoreException e) {
      // Not so when it is the lake that has one, of which the store's sentence speaks.
      if (StoreErrors.is(e, ErrorKind.ALREADY_EXISTS, Subject.TABLE) && tableExists(path)) {
        throw StoreErrors.keeping(new TableAlreadyExistException(getName(), path), e);
      }
      if (StoreErrors.is(e, ErrorKind.NOT_FOUND, Subject.DATABASE)) {
        throw StoreErrors.keeping(new DatabaseNotExistException(getName(), path.getDatabaseName()), e);
      }
      throw StoreErrors.of(e);
    }
  }

  private ResolvedCatalogTable requireTable(CatalogBaseTable table, ObjectPath path) {
    if (!(table instanceof ResolvedCatalogTable)) {
      throw new UnsupportedOperationException(String.format("%s: this catalog stores ordinary tables only.", path.getFullName()));
    }
    ResolvedCatalogTable resolved = (ResolvedCatalogTable) table;
    if (resolved.getDistribution().isPresent()) {
      throw new UnsupportedOperationException("DISTRIBUTED BY is not supported; use the options 'bucket.key' and 'bucket.num'.");
    }
    return resolved;
  }

  @Override
  public void dropTable(ObjectPath path, boolean ignoreIfNotExists) throws TableNotExistException {
    requireNotInLake(path);
    try {
      if (storedView(path).isPresent()) {
        admin().dropView(path, true);
      } else {
        admin().dropTable(path, ignoreIfNotExists);
      }
    } catch (StoreException e) {
      throw missingTable(e, path);
    }
  }

  @Override
  public void alterTable(ObjectPath path, CatalogBaseTable newTable, List<TableChange> changes, boolean ignoreIfNotExists)
      throws TableNotExistException {
    requireNotInLake(path);
    try {
      Map<String, String> custom = TableDescriptors.strings(stored(path).path("descriptor").path("custom_properties"));
      ArrayNode json = TableChanges.toJson(changes, requireTable(newTable, path).getResolvedSchema(), custom);
      admin().alterTable(path, json, ignoreIfNotExists);
    } catch (TableNotExistException e) {
      if (!ignoreIfNotExists) {
        throw e;
      }
    } catch (StoreException e) {
      throw missingTable(e, path);
    }
  }

  // ---- procedures

  @Override
  public List<String> listProcedures(String database) {
    return Procedures.names(database);
  }

  @Override
  public Procedure getProcedure(ObjectPath path) throws ProcedureNotExistException {
    return Procedures.make(path, admin()).orElseThrow(() -> new ProcedureNotExistException(getName(), path));
  }

  // ---- views

  @Override
  public List<String> listViews(String database) throws DatabaseNotExistException {
    try {
      return admin().listViews(database);
    } catch (StoreException e) {
      throw missingDatabase(e, database);
    }
  }

  /** Returns a view as the store has it; empty when there is none of that name. */
  private Optional<JsonNode> storedView(ObjectPath path) {
    try {
      return Optional.of(admin().view(path));
    } catch (StoreException e) {
      missingTable(e, path);
      return Optional.empty();
    }
  }

  @Override
  public void renameTable(ObjectPath path, String newName, boolean ignoreIfNotExists)
      throws TableNotExistException, TableAlreadyExistException {
    if (storedView(path).isEmpty()) {
      super.renameTable(path, newName, ignoreIfNotExists);
    }
    try {
      admin().renameView(path, newName, ignoreIfNotExists);
    } catch (StoreException e) {
      ObjectPath renamed = new ObjectPath(path.getDatabaseName(), newName);
      if (StoreErrors.is(e, ErrorKind.ALREADY_EXISTS, Subject.TABLE)) {
        throw StoreErrors.keeping(new TableAlreadyExistException(getName(), renamed), e);
      }
      if (e.kind() == ErrorKind.INVALID) {
        throw StoreErrors.of(e);
      }
      throw missingTable(e, path);
    }
  }

  @Override
  public void alterTable(ObjectPath path, CatalogBaseTable newTable, boolean ignoreIfNotExists) throws TableNotExistException {
    if (!(newTable instanceof ResolvedCatalogView)) {
      super.alterTable(path, newTable, ignoreIfNotExists);
      return;
    }
    try {
      admin().alterView(path, ViewDescriptors.toJson((ResolvedCatalogView) newTable), ignoreIfNotExists);
    } catch (StoreException e) {
      if (e.kind() == ErrorKind.INVALID) {
        throw StoreErrors.of(e);
      }
      throw missingTable(e, path);
    }
  }

  // ---- partitions

  /** Returns the names of a table's partition columns, in order. */
  private List<String> partitionKeys(ObjectPath path) throws TableNotExistException, TableNotPartitionedException {
    List<String> keys = TableDescriptors.names(stored(path).path("descriptor").path("partition_key"));
    if (keys.isEmpty()) {
      throw new TableNotPartitionedException(getName(), path);
    }
    return keys;
  }

  @Override
  public List<CatalogPartitionSpec> listPartitions(ObjectPath path) throws TableNotExistException, TableNotPartitionedException {
    Optional<LakeName> inLake = LakeName.of(path);
    if (inLake.isPresent()) {
      return lake.partitions(lakeEnabled(inLake.get(), path));
    }
    return partitions(path, partitionKeys(path), Collections.emptyMap());
  }

  @Override
  public List<CatalogPartitionSpec> listPartitions(ObjectPath path, CatalogPartitionSpec spec)
      throws TableNotExistException, TableNotPartitionedException, PartitionSpecInvalidException {
    List<String> keys = partitionKeys(path);
    if (!keys.containsAll(spec.getPartitionSpec().keySet())) {
      throw new PartitionSpecInvalidException(getName(), keys, path, spec);
    }
    return partitions(path, keys, spec.getPartitionSpec());
  }

  private List<CatalogPartitionSpec> partitions(ObjectPath path, List<String> keys, Map<String, String> wanted)
      throws TableNotExistException {
    List<CatalogPartitionSpec> specs = new ArrayList<>();
    try {
      for (JsonNode partition : admin().listPartitions(path, wanted)) {
        List<String> values = TableDescriptors.names(partition.path("values"));
        Map<String, String> spec = new LinkedHashMap<>();
        for (int i = 0; i < keys.size(); i++) {
          spec.put(keys.get(i), values.get(i));
        }
        specs.add(new CatalogPartitionSpec(spec));
      }
    } catch (StoreException e) {
      throw missingTable(e, path);
    }
    return specs;
  }

  @Override
  public CatalogPartition getPartition(ObjectPath path, CatalogPartitionSpec spec) throws PartitionNotExistException {
    if (!partitionExists(path, spec)) {
      throw new PartitionNotExistException(getName(), path, spec);
    }
    return new CatalogPartitionImpl(Collections.emptyMap(), "");
  }

  @Override
  public boolean partitionExists(ObjectPath path, CatalogPartitionSpec spec) {
    try {
      List<String> keys = partitionKeys(path);
      return spec.getPartitionSpec().keySet().containsAll(keys) && !listPartitions(path, spec).isEmpty();
    } catch (TableNotExistException | TableNotPartitionedException | PartitionSpecInvalidException e) {
      return false;
    }
  }

  @Override
  public void createPartition(ObjectPath path, CatalogPartitionSpec spec, CatalogPartition partition, boolean ignoreIfExists)
      throws TableNotExistException, TableNotPartitionedException, PartitionSpecInvalidException, PartitionAlreadyExistsException {
    requireWhole(path, spec);
    if (!partition.getProperties().isEmpty()) {
      throw new UnsupportedOperationException("Partitions of table " + path.getFullName() + " have no properties; leave WITH out.");
    }
    try {
      admin().createPartition(path, spec.getPartitionSpec(), ignoreIfExists);
    } catch (StoreException e) {
      if (StoreErrors.is(e, ErrorKind.ALREADY_EXISTS, Subject.PARTITION)) {
        throw StoreErrors.keeping(new PartitionAlreadyExistsException(getName(), path, spec), e);
      }
      throw missingTable(e, path);
    }
  }

  @Override
  public void dropPartition(ObjectPath path, CatalogPartitionSpec spec, boolean ignoreIfNotExists) throws PartitionNotExistException {
    try {
      requireWhole(path, spec);
      admin().dropPartition(path, spec.getPartitionSpec(), ignoreIfNotExists);
    } catch (TableNotExistException | TableNotPartitionedException | PartitionSpecInvalidException e) {
      // Flink's catalogs have one checked exception for all of these, whose cause says which it is.
      throw new PartitionNotExistException(getName(), path, spec, e);
    } catch (StoreException e) {
      if (StoreErrors.is(e, ErrorKind.NOT_FOUND, Subject.PARTITION)) {
        throw StoreErrors.keeping(new PartitionNotExistException(getName(), path, spec), e);
      }
      throw StoreErrors.of(e);
    }
  }

  /** Refuses a specification that does not name every partition column of the table and nothing else. */
  private void requireWhole(ObjectPath path, CatalogPartitionSpec spec)
      throws TableNotExistException, TableNotPartitionedException, PartitionSpecInvalidException {
    List<String> keys = partitionKeys(path);
    if (keys.size() != spec.getPartitionSpec().size() || !keys.containsAll(spec.getPartitionSpec().keySet())) {
      throw new PartitionSpecInvalidException(getName(), keys, path, spec);
    }
  }

  /** Returns what to throw for an error about a table that should be there. A name that no table can have is one of a missing table. */
  private TableNotExistException missingTable(StoreException e, ObjectPath path) {
    boolean missing = e.kind() == ErrorKind.NOT_FOUND && (e.subject() == Subject.TABLE || e.subject() == Subject.DATABASE);
    boolean impossibleName = e.kind() == ErrorKind.INVALID && (e.subject() == Subject.TABLE || e.subject() == Subject.DATABASE);
    if (missing || impossibleName) {
      return StoreErrors.keeping(new TableNotExistException(getName(), path), e);
    }
    throw StoreErrors.of(e);
  }
}
