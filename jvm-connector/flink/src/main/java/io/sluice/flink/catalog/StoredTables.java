package io.sluice.flink.catalog;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import io.sluice.flink.StoreTable;
import io.sluice.store.Connection;
import io.sluice.store.ErrorKind;
import io.sluice.store.StoreException;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.CatalogTable;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;

/** Tables as programs find them, without a planner. */
public final class StoredTables {
  private StoredTables() {}

  /**
   * Returns a table as it is now.
   *
   * @param options what a connection is opened with: {@code bootstrap.servers} and, if need be, {@code client.*}
   * @param more options for this use of the table, as a hint has them in SQL
   * @throws ValidationException when there is no such table
   */
  public static StoreTable find(Map<String, String> options, String database, String table, Map<String, String> more) {
    ObjectPath path = new ObjectPath(database, table);
    CatalogTable found;
    try (Connection connection = Connection.open(options)) {
      found = new TableDescriptors(options).fromJson(new StoreAdmin(connection).table(path));
    } catch (StoreException e) {
      if (e.kind() == ErrorKind.NOT_FOUND) {
        throw new ValidationException(
            String.format("There is no table %s in the store %s.", path.getFullName(), options.get("bootstrap.servers")), e);
      }
      throw StoreErrors.of(e);
    }
    List<DataTypes.Field> columns =
        found.getUnresolvedSchema().getColumns().stream()
            .filter(column -> column instanceof Schema.UnresolvedPhysicalColumn)
            .map(column -> DataTypes.FIELD(column.getName(), (DataType) ((Schema.UnresolvedPhysicalColumn) column).getDataType()))
            .collect(Collectors.toList());
    RowType rowType = (RowType) DataTypes.ROW(columns).getLogicalType();
    List<String> key =
        found.getUnresolvedSchema().getPrimaryKey().map(Schema.UnresolvedPrimaryKey::getColumnNames).orElse(List.of());
    return StoreTable.of(path, options, found, rowType, key, more);
  }
}
