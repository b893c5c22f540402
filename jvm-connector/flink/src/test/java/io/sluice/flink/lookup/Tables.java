package io.sluice.flink.lookup;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import io.sluice.flink.StoreTable;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.catalog.CatalogTable;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ObjectIdentifier;
import org.apache.flink.table.catalog.ResolvedCatalogTable;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.catalog.UniqueConstraint;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.DataType;

/** Tables for tests that plan something without a store. */
final class Tables {
  static final DataType STRING = DataTypes.STRING();

  private Tables() {}

  /** A table d.t with columns k1 BIGINT, k2 STRING, v STRING, x DOUBLE. */
  static StoreTable table(String bucketKey, String... primaryKey) {
    List<String> key = Arrays.asList(primaryKey);
    List<Column> columns =
        List.of(
            Column.physical("k1", key.contains("k1") ? DataTypes.BIGINT().notNull() : DataTypes.BIGINT()),
            Column.physical("k2", key.contains("k2") ? STRING.notNull() : STRING),
            Column.physical("v", STRING),
            Column.physical("x", DataTypes.DOUBLE()));
    UniqueConstraint constraint = key.isEmpty() ? null : UniqueConstraint.primaryKey("pk", key);
    Map<String, String> options = new HashMap<>(Map.of("bootstrap.servers", "embedded:/nowhere", "bucket.num", "1"));
    if (bucketKey != null) {
      options.put("bucket.key", bucketKey);
    }
    CatalogTable declared = CatalogTable.newBuilder().schema(Schema.newBuilder().build()).options(options).build();
    ResolvedCatalogTable resolved = new ResolvedCatalogTable(declared, new ResolvedSchema(columns, List.of(), constraint));
    return StoreTable.of(
        new FactoryUtil.DefaultDynamicTableContext(
            ObjectIdentifier.of("c", "d", "t"), resolved, Map.of(), new Configuration(), Tables.class.getClassLoader(), false),
        Map.of());
  }
}
