package io.sluice.flink.types;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.stream.Stream;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.types.AbstractDataType;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.SymbolType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Flink's types to the schema JSON and back. */
final class TypeMappingTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  static Stream<Arguments> types() {
    return Stream.of(
        type(DataTypes.BOOLEAN(), "{'type':'BOOLEAN'}"),
        type(DataTypes.TINYINT(), "{'type':'TINYINT'}"),
        type(DataTypes.SMALLINT(), "{'type':'SMALLINT'}"),
        type(DataTypes.INT(), "{'type':'INTEGER'}"),
        type(DataTypes.INT().notNull(), "{'type':'INTEGER','nullable':false}"),
        type(DataTypes.BIGINT(), "{'type':'BIGINT'}"),
        type(DataTypes.FLOAT(), "{'type':'FLOAT'}"),
        type(DataTypes.DOUBLE(), "{'type':'DOUBLE'}"),
        type(DataTypes.CHAR(7), "{'type':'CHAR','length':7}"),
        type(DataTypes.STRING(), "{'type':'STRING'}"),
        type(DataTypes.BINARY(3), "{'type':'BINARY','length':3}"),
        type(DataTypes.BYTES(), "{'type':'BYTES'}"),
        type(DataTypes.DECIMAL(38, 10), "{'type':'DECIMAL','precision':38,'scale':10}"),
        type(DataTypes.DATE(), "{'type':'DATE'}"),
        type(DataTypes.TIME(3), "{'type':'TIME_WITHOUT_TIME_ZONE','precision':3}"),
        type(DataTypes.TIMESTAMP(0), "{'type':'TIMESTAMP_WITHOUT_TIME_ZONE','precision':0}"),
        type(DataTypes.TIMESTAMP(9), "{'type':'TIMESTAMP_WITHOUT_TIME_ZONE','precision':9}"),
        type(DataTypes.TIMESTAMP_LTZ(6).notNull(), "{'type':'TIMESTAMP_WITH_LOCAL_TIME_ZONE','nullable':false,'precision':6}"),
        type(DataTypes.ARRAY(DataTypes.INT().notNull()), "{'type':'ARRAY','element_type':{'type':'INTEGER','nullable':false}}"),
        type(
            DataTypes.MAP(DataTypes.STRING(), DataTypes.ARRAY(DataTypes.DOUBLE())),
            "{'type':'MAP','key_type':{'type':'STRING','nullable':false},'value_type':{'type':'ARRAY','element_type':{'type':'DOUBLE'}}}"),
        type(
            DataTypes.ROW(
                DataTypes.FIELD("a", DataTypes.INT()),
                DataTypes.FIELD("Größe", DataTypes.ROW(DataTypes.FIELD("x", DataTypes.DATE())), "big")),
            "{'type':'ROW','fields':[{'name':'a','field_type':{'type':'INTEGER'},'field_id':-1},"
                + "{'name':'Größe','field_type':{'type':'ROW','fields':[{'name':'x','field_type':{'type':'DATE'},'field_id':-1}]},"
                + "'field_id':-1,'description':'big'}]}"));
  }

  private static Arguments type(DataType type, String json) {
    return Arguments.of(type.getLogicalType(), json.replace('\'', '"'));
  }

  @ParameterizedTest
  @MethodSource("types")
  void everyTypeGoesBothWays(LogicalType type, String json) throws Exception {
    assertThat((JsonNode) TypeMapping.toJson(type, "c")).isEqualTo(JSON.readTree(json));
    assertThat(TypeMapping.fromJson(JSON.readTree(json))).isEqualTo(type);
  }

  @Test
  void keysOfMapsAreNotNullInTheStoreOnly() throws Exception {
    LogicalType declared = DataTypes.MAP(DataTypes.INT().notNull(), DataTypes.INT()).getLogicalType();
    JsonNode json = TypeMapping.toJson(declared, "c");
    assertThat(json.path("key_type").path("nullable").asBoolean(true)).isFalse();
    assertThat(TypeMapping.fromJson(json)).isEqualTo(DataTypes.MAP(DataTypes.INT(), DataTypes.INT()).getLogicalType());
  }

  static Stream<Arguments> refused() {
    return Stream.of(
        Arguments.of(DataTypes.VARCHAR(10), "VARCHAR(10) of column 'c'; use STRING instead"),
        Arguments.of(DataTypes.VARCHAR(10).notNull(), "VARCHAR(10) of column 'c'; use STRING instead"),
        Arguments.of(DataTypes.VARBINARY(4), "VARBINARY(4) of column 'c'; use BYTES instead"),
        Arguments.of(DataTypes.MULTISET(DataTypes.INT()), "MULTISET<INT> of column 'c'"),
        Arguments.of(DataTypes.INTERVAL(DataTypes.DAY()), "INTERVAL DAY"),
        Arguments.of(DataTypes.INTERVAL(DataTypes.YEAR()), "INTERVAL YEAR"),
        Arguments.of(DataTypes.TIMESTAMP_WITH_TIME_ZONE(3), "TIMESTAMP(3) WITH TIME ZONE of column 'c'"),
        Arguments.of(DataTypes.NULL(), "NULL of column 'c'"),
        Arguments.of(DataTypes.ARRAY(DataTypes.VARCHAR(5)), "VARCHAR(5) of column 'c'"),
        Arguments.of(DataTypes.MAP(DataTypes.STRING(), DataTypes.MULTISET(DataTypes.INT())), "MULTISET<INT> of column 'c'"),
        Arguments.of(DataTypes.ROW(DataTypes.FIELD("f", DataTypes.VARCHAR(5))), "VARCHAR(5) of column 'c.f'"));
  }

  @ParameterizedTest
  @MethodSource("refused")
  void otherTypesAreRefusedByName(AbstractDataType<?> type, String part) {
    assertThatThrownBy(() -> TypeMapping.toJson(((DataType) type).getLogicalType(), "c"))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining("Unsupported data type " + part);
  }

  @Test
  void symbolsAreRefused() {
    assertThatThrownBy(() -> TypeMapping.toJson(new SymbolType<>(), "c")).hasMessageContaining("Unsupported data type");
  }

  @Test
  void aTypeOfALaterStoreIsNamed() throws Exception {
    JsonNode json = JSON.readTree("{\"type\":\"VARIANT\"}");
    assertThatThrownBy(() -> TypeMapping.fromJson(json)).hasMessageContaining("'VARIANT'");
  }
}
