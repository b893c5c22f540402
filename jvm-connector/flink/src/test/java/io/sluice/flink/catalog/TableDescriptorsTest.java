package io.sluice.flink.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.CatalogTable;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ResolvedCatalogTable;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.catalog.UniqueConstraint;
import org.apache.flink.table.catalog.WatermarkSpec;
import org.apache.flink.table.expressions.CallExpression;
import org.apache.flink.table.expressions.FieldReferenceExpression;
import org.apache.flink.table.expressions.ResolvedExpression;
import org.apache.flink.table.functions.BuiltInFunctionDefinitions;
import org.apache.flink.table.types.DataType;
import org.junit.jupiter.api.Test;

/** Flink's description of a table to the store's and back, without a store. */
final class TableDescriptorsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, String> CATALOG =
      Map.of(
          "type", "fluss",
          "bootstrap.servers", "embedded:/data",
          "client.security.protocol", "PLAINTEXT",
          "client.id", "mine",
          "log.flush.policy", "os");

  private final TableDescriptors descriptors = new TableDescriptors(CATALOG);

  private static ResolvedCatalogTable table(ResolvedSchema schema, String comment, Map<String, String> options) {
    CatalogTable table =
        CatalogTable.newBuilder().schema(Schema.newBuilder().fromResolvedSchema(schema).build()).comment(comment).options(options).build();
    return new ResolvedCatalogTable(table, schema);
  }

  private static ResolvedExpression call(String field, DataType type) {
    FieldReferenceExpression reference = new FieldReferenceExpression(field, type, 0, 0);
    return CallExpression.permanent(BuiltInFunctionDefinitions.UPPER, List.of(reference), type);
  }

  private static ResolvedSchema schema() {
    return new ResolvedSchema(
        List.of(
            Column.physical("id", DataTypes.BIGINT().notNull()),
            Column.computed("loud", call("name", DataTypes.STRING())).withComment("in capitals"),
            Column.physical("name", DataTypes.STRING()).withComment("as given"),
            Column.physical("ts", DataTypes.TIMESTAMP(3))),
        List.of(WatermarkSpec.of("ts", new FieldReferenceExpression("ts", DataTypes.TIMESTAMP(3), 0, 2))),
        UniqueConstraint.primaryKey("pk", List.of("id")));
  }

  @Test
  void aWholeTableBecomesADescriptor() throws Exception {
    Map<String, String> options = new HashMap<>();
    options.put("connector", "fluss");
    options.put("bootstrap.servers", "embedded:/data");
    options.put("client.security.protocol", "PLAINTEXT");
    options.put("bucket.num", "4");
    options.put("bucket.key", " id ");
    options.put("table.log.ttl", "1d");
    options.put("client.writer.retries", "3");
    options.put("my.own", "x");
    ObjectNode json = descriptors.toJson(table(schema(), "all of it", options), "d.t");
    assertThat((JsonNode) json)
        .isEqualTo(
            JSON.readTree(
                ("{'version':1,'schema':{'version':1,'columns':["
                        + "{'name':'id','data_type':{'type':'BIGINT','nullable':false}},"
                        + "{'name':'name','data_type':{'type':'STRING'},'comment':'as given'},"
                        + "{'name':'ts','data_type':{'type':'TIMESTAMP_WITHOUT_TIME_ZONE','precision':3}}],"
                        + "'primary_key':['id']},'comment':'all of it','partition_key':[],'bucket_key':['id'],'bucket_count':4,"
                        + "'properties':{'table.log.ttl':'1d'},"
                        + "'custom_properties':{'client.writer.retries':'3','my.own':'x',"
                        + "'schema.1.name':'loud','schema.1.expr':'UPPER(`name`)','schema.1.data-type':'VARCHAR(2147483647)',"
                        + "'schema.1.comment':'in capitals','schema.watermark.0.rowtime':'ts','schema.watermark.0.strategy.expr':'`ts`',"
                        + "'schema.watermark.0.strategy.data-type':'TIMESTAMP(3)'}}")
                    .replace('\'', '"')));
  }

  @Test
  void aStoredTableComesBackAsItWasDeclared() throws Exception {
    ObjectNode descriptor = descriptors.toJson(table(schema(), "all of it", Map.of("my.own", "x", "bucket.num", "4")), "d.t");
    descriptor.putArray("bucket_key").add("id");
    ((ObjectNode) descriptor.get("properties")).put("table.kv.format-version", "2");
    CatalogTable table = descriptors.fromJson(JSON.createObjectNode().set("descriptor", descriptor));
    assertThat(table.getUnresolvedSchema().toString())
        .isEqualTo(
            Schema.newBuilder()
                .column("id", DataTypes.BIGINT().notNull())
                .columnByExpression("loud", "UPPER(`name`)")
                .withComment("in capitals")
                .column("name", DataTypes.STRING())
                .withComment("as given")
                .column("ts", DataTypes.TIMESTAMP(3))
                .watermark("ts", "`ts`")
                .primaryKey("id")
                .build()
                .toString());
    assertThat(table.getComment()).isEqualTo("all of it");
    assertThat(table.getPartitionKeys()).isEmpty();
    // No 'bucket.key': the store fills the primary key in by itself. Of the catalog's options the address and the credentials only.
    assertThat(table.getOptions())
        .isEqualTo(
            Map.of(
                "bootstrap.servers", "embedded:/data",
                "client.security.protocol", "PLAINTEXT",
                "bucket.num", "4",
                "table.kv.format-version", "2",
                "my.own", "x"));
  }

  @Test
  void aBucketKeyOtherThanThePrimaryKeyIsShown() throws Exception {
    CatalogTable table =
        descriptors.fromJson(
            JSON.readTree(
                ("{'descriptor':{'schema':{'columns':["
                        + "{'name':'a','data_type':{'type':'INTEGER'}},{'name':'b','data_type':{'type':'INTEGER'}}]},"
                        + "'bucket_key':['b','a'],'bucket_count':3,'properties':{},'custom_properties':{}}}")
                    .replace('\'', '"')));
    assertThat(table.getOptions()).containsEntry("bucket.key", "b,a").containsEntry("bucket.num", "3");
    assertThat(table.getComment()).isEmpty();
  }

  @Test
  void whatGetTableAddsIsNotStoredAgain() {
    ResolvedSchema schema = ResolvedSchema.of(Column.physical("a", DataTypes.INT()));
    ObjectNode stored = descriptors.toJson(table(schema, "", Map.of()), "d.t");
    CatalogTable first = descriptors.fromJson(JSON.createObjectNode().set("descriptor", stored));
    ObjectNode like = descriptors.toJson(table(schema, "", first.getOptions()), "d.u");
    assertThat(like.get("custom_properties")).isEmpty();
    assertThat(like.get("properties")).isEmpty();
  }

  @Test
  void foreignTablesAndAddressesAreRefused() {
    ResolvedSchema schema = ResolvedSchema.of(Column.physical("a", DataTypes.INT()));
    assertThatThrownBy(() -> descriptors.toJson(table(schema, "", Map.of("connector", "kafka")), "d.t"))
        .isInstanceOf(ValidationException.class)
        .hasMessage("This catalog only supports fluss tables, but table d.t has 'connector' = 'kafka'; use CREATE TEMPORARY TABLE for it.");
    assertThatThrownBy(() -> descriptors.toJson(table(schema, "", Map.of("bootstrap.servers", "elsewhere:1")), "d.t"))
        .isInstanceOf(ValidationException.class)
        .hasMessageContaining("'elsewhere:1'");
    assertThatThrownBy(() -> descriptors.toJson(table(schema, "", Map.of("schema.0.expr", "1")), "d.t"))
        .isInstanceOf(ValidationException.class)
        .hasMessageContaining("'schema.0.expr'");
  }

  @Test
  void valuesThatCannotBeReadAreRefused() {
    ResolvedSchema schema = ResolvedSchema.of(Column.physical("a", DataTypes.INT()));
    for (Map.Entry<String, String> bad :
        Map.of(
                "bucket.num", "many",
                "scan.startup.mode", "yesterday",
                "sink.distribution-mode", "hash",
                "sink.ignore-delete", "perhaps",
                "client.writer.batch-size", "big",
                "client.writer.batch-timeout", "soon",
                "lookup.partial-cache.max-rows", "some")
            .entrySet()) {
      assertThatThrownBy(() -> descriptors.toJson(table(schema, "", Map.of(bad.getKey(), bad.getValue())), "d.t"))
          .isInstanceOf(ValidationException.class)
          .hasMessageContaining("'" + bad.getKey() + "'")
          .hasMessageContaining("'" + bad.getValue() + "'");
    }
  }

  @Test
  void metadataColumnsAreRefused() {
    ResolvedSchema schema =
        ResolvedSchema.of(Column.physical("a", DataTypes.INT()), Column.metadata("m", DataTypes.BIGINT(), "offset", false));
    assertThatThrownBy(() -> descriptors.toJson(table(schema, "", Collections.emptyMap()), "d.t"))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessage("Metadata column 'm' is not supported.");
  }

  @Test
  void anEmptyBucketKeyReachesTheStoreAsOne() {
    ResolvedSchema schema = ResolvedSchema.of(Column.physical("a", DataTypes.INT()));
    ObjectNode json = descriptors.toJson(table(schema, "", Map.of("bucket.key", "a,,a")), "d.t");
    assertThat(TableDescriptors.names(json.get("bucket_key"))).containsExactly("a", "", "a");
  }
}
