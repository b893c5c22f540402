package io.sluice.flink.catalog;

import java.util.Collections;
import java.util.List;

import org.apache.flink.table.catalog.AbstractCatalog;
import org.apache.flink.table.catalog.CatalogBaseTable;
import org.apache.flink.table.catalog.CatalogFunction;
import org.apache.flink.table.catalog.CatalogPartition;
import org.apache.flink.table.catalog.CatalogPartitionSpec;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.catalog.exceptions.FunctionNotExistException;
import org.apache.flink.table.catalog.exceptions.TableAlreadyExistException;
import org.apache.flink.table.catalog.exceptions.TableNotExistException;
import org.apache.flink.table.catalog.stats.CatalogColumnStatistics;
import org.apache.flink.table.catalog.stats.CatalogTableStatistics;
import org.apache.flink.table.expressions.Expression;

/** The answers of a catalog that has databases, tables with partitions, and views, and little else: no functions or statistics. */
abstract class TablesOnlyCatalog extends AbstractCatalog {
  TablesOnlyCatalog(String name, String defaultDatabase) {
    super(name, defaultDatabase);
  }

  private static UnsupportedOperationException unsupported(String what) {
    return new UnsupportedOperationException(what + " is not supported for Fluss catalog.");
  }

  // ---- tables

  @Override
  public void renameTable(ObjectPath path, String newName, boolean ignoreIfNotExists)
      throws TableNotExistException, TableAlreadyExistException {
    throw unsupported("Renaming a table");
  }

  @Override
  public void alterTable(ObjectPath path, CatalogBaseTable newTable, boolean ignoreIfNotExists) throws TableNotExistException {
    throw unsupported("Altering a table without a list of changes");
  }

  // ---- partitions

  @Override
  public List<CatalogPartitionSpec> listPartitionsByFilter(ObjectPath path, List<Expression> filters) {
    throw unsupported("Listing partitions by filter");
  }

  @Override
  public void alterPartition(ObjectPath path, CatalogPartitionSpec spec, CatalogPartition partition, boolean ignoreIfNotExists) {
    throw unsupported("Altering a partition");
  }

  // ---- functions

  @Override
  public List<String> listFunctions(String database) {
    return Collections.emptyList();
  }

  @Override
  public CatalogFunction getFunction(ObjectPath path) throws FunctionNotExistException {
    throw new FunctionNotExistException(getName(), path);
  }

  @Override
  public boolean functionExists(ObjectPath path) {
    return false;
  }

  @Override
  public void createFunction(ObjectPath path, CatalogFunction function, boolean ignoreIfExists) {
    throw unsupported("CREATE FUNCTION");
  }

  @Override
  public void alterFunction(ObjectPath path, CatalogFunction function, boolean ignoreIfNotExists) {
    throw unsupported("ALTER FUNCTION");
  }

  @Override
  public void dropFunction(ObjectPath path, boolean ignoreIfNotExists) {
    throw unsupported("DROP FUNCTION");
  }

  // ---- statistics

  @Override
  public CatalogTableStatistics getTableStatistics(ObjectPath path) {
    return CatalogTableStatistics.UNKNOWN;
  }

  @Override
  public CatalogColumnStatistics getTableColumnStatistics(ObjectPath path) {
    return CatalogColumnStatistics.UNKNOWN;
  }

  @Override
  public CatalogTableStatistics getPartitionStatistics(ObjectPath path, CatalogPartitionSpec spec) {
    return CatalogTableStatistics.UNKNOWN;
  }

  @Override
  public CatalogColumnStatistics getPartitionColumnStatistics(ObjectPath path, CatalogPartitionSpec spec) {
    return CatalogColumnStatistics.UNKNOWN;
  }

  @Override
  public void alterTableStatistics(ObjectPath path, CatalogTableStatistics statistics, boolean ignoreIfNotExists) {
    throw unsupported("Storing statistics");
  }

  @Override
  public void alterTableColumnStatistics(ObjectPath path, CatalogColumnStatistics statistics, boolean ignoreIfNotExists) {
    throw unsupported("Storing statistics");
  }

  @Override
  public void alterPartitionStatistics(
      ObjectPath path, CatalogPartitionSpec spec, CatalogTableStatistics statistics, boolean ignoreIfNotExists) {
    throw unsupported("Storing statistics");
  }

  @Override
  public void alterPartitionColumnStatistics(
      ObjectPath path, CatalogPartitionSpec spec, CatalogColumnStatistics statistics, boolean ignoreIfNotExists) {
    throw unsupported("Storing statistics");
  }
}
