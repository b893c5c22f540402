package io.sluice.flink.source.scan;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.List;
import java.util.Optional;

import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.expressions.CallExpression;
import org.apache.flink.table.expressions.FieldReferenceExpression;
import org.apache.flink.table.expressions.ResolvedExpression;
import org.apache.flink.table.expressions.TypeLiteralExpression;
import org.apache.flink.table.expressions.ValueLiteralExpression;
import org.apache.flink.table.functions.BuiltInFunctionDefinition;
import org.apache.flink.table.functions.BuiltInFunctionDefinitions;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;

/** How a query's filters are told to the store. */
final class RowFilterTest {
  private static final RowType ROW =
      (RowType)
          DataTypes.ROW(
                  DataTypes.FIELD("b", DataTypes.BOOLEAN()),
                  DataTypes.FIELD("t", DataTypes.TINYINT()),
                  DataTypes.FIELD("i", DataTypes.INT()),
                  DataTypes.FIELD("f", DataTypes.FLOAT()),
                  DataTypes.FIELD("d", DataTypes.DOUBLE()),
                  DataTypes.FIELD("e", DataTypes.DECIMAL(5, 2)),
                  DataTypes.FIELD("s", DataTypes.STRING()),
                  DataTypes.FIELD("day", DataTypes.DATE()),
                  DataTypes.FIELD("at", DataTypes.TIME(3)),
                  DataTypes.FIELD("ts", DataTypes.TIMESTAMP(9)),
                  DataTypes.FIELD("ltz", DataTypes.TIMESTAMP_LTZ(3)),
                  DataTypes.FIELD("y", DataTypes.BYTES()))
              .getLogicalType();

  private static FieldReferenceExpression field(String name) {
    int index = ROW.getFieldIndex(name);
    DataType type = org.apache.flink.table.types.utils.TypeConversions.fromLogicalToDataType(ROW.getTypeAt(index));
    return new FieldReferenceExpression(name, type, 0, index);
  }

  private static ResolvedExpression value(Object value, DataType type) {
    return new ValueLiteralExpression(value, value == null ? type : type.notNull());
  }

  private static ResolvedExpression call(BuiltInFunctionDefinition function, ResolvedExpression... operands) {
    return CallExpression.permanent(function, List.of(operands), DataTypes.BOOLEAN());
  }

  private static ResolvedExpression equal(String column, Object value, DataType type) {
    return call(BuiltInFunctionDefinitions.EQUALS, field(column), value(value, type));
  }

  private static final ResolvedExpression I_IS_7 = equal("i", 7, DataTypes.INT());
  private static final String I_IS_7_JSON = "{'compare':{'column':'i','op':'=','value':{'integer':7}}}";

  /** The translation of one filter, with single quotes; null when it is not understood. */
  private static String json(ResolvedExpression filter) {
    Optional<RowFilter.Pushed> pushed = RowFilter.of(ROW, List.of(filter));
    pushed.ifPresent(p -> assertThat(p.filters()).containsExactly(filter));
    return pushed
        .map(p -> p.json().replace('"', '\''))
        .map(j -> j.substring("{'and':[".length(), j.length() - "]}".length()))
        .orElse(null);
  }

  private static String literal(String column, Object value, DataType type) {
    String json = json(equal(column, value, type));
    return json == null ? null : json.substring(json.indexOf("'value':") + "'value':".length(), json.length() - 2);
  }

  @Test
  void comparisonsInBothDirections() {
    ResolvedExpression seven = value(7, DataTypes.INT());
    assertThat(json(I_IS_7)).isEqualTo(I_IS_7_JSON);
    assertThat(json(call(BuiltInFunctionDefinitions.NOT_EQUALS, field("i"), seven))).contains("'op':'<>'");
    assertThat(json(call(BuiltInFunctionDefinitions.LESS_THAN, field("i"), seven))).contains("'op':'<'");
    assertThat(json(call(BuiltInFunctionDefinitions.LESS_THAN, seven, field("i")))).contains("'op':'>'");
    assertThat(json(call(BuiltInFunctionDefinitions.LESS_THAN_OR_EQUAL, seven, field("i")))).contains("'op':'>='");
    assertThat(json(call(BuiltInFunctionDefinitions.GREATER_THAN, seven, field("i")))).contains("'op':'<'");
    assertThat(json(call(BuiltInFunctionDefinitions.GREATER_THAN_OR_EQUAL, field("i"), seven))).contains("'op':'>='");
    assertThat(json(call(BuiltInFunctionDefinitions.BETWEEN, field("i"), seven, value(9, DataTypes.INT()))))
        .isEqualTo(
            "{'and':[{'compare':{'column':'i','op':'>=','value':{'integer':7}}},"
                + "{'compare':{'column':'i','op':'<=','value':{'integer':9}}}]}");
    assertThat(json(call(BuiltInFunctionDefinitions.IN, field("s"), value("x", DataTypes.STRING()), value("y", DataTypes.CHAR(1)))))
        .isEqualTo("{'in':{'column':'s','values':[{'text':'x'},{'text':'y'}]}}");
  }

  @Test
  void truthAndNull() {
    assertThat(json(field("b"))).isEqualTo("{'compare':{'column':'b','op':'=','value':{'boolean':true}}}");
    assertThat(json(call(BuiltInFunctionDefinitions.NOT, I_IS_7))).isEqualTo("{'not':" + I_IS_7_JSON + "}");
    assertThat(json(call(BuiltInFunctionDefinitions.IS_NOT_TRUE, I_IS_7))).isEqualTo("{'not':{'is_true':" + I_IS_7_JSON + "}}");
    assertThat(json(call(BuiltInFunctionDefinitions.IS_FALSE, I_IS_7))).isEqualTo("{'is_true':{'not':" + I_IS_7_JSON + "}}");
    assertThat(json(call(BuiltInFunctionDefinitions.IS_NULL, field("y")))).isEqualTo("{'is_null':'y'}");
    assertThat(json(call(BuiltInFunctionDefinitions.IS_NOT_NULL, field("i")))).isEqualTo("{'not':{'is_null':'i'}}");
  }

  @Test
  void literalsOfEachType() {
    assertThat(literal("t", (byte) -1, DataTypes.TINYINT())).isEqualTo("{'integer':-1}");
    assertThat(literal("i", Long.MIN_VALUE, DataTypes.BIGINT())).isEqualTo("{'integer':-9223372036854775808}");
    assertThat(literal("e", new BigDecimal("1E+1"), DataTypes.DECIMAL(2, 0))).isEqualTo("{'decimal':'10'}");
    assertThat(literal("e", 3, DataTypes.INT())).isEqualTo("{'decimal':'3'}");
    assertThat(literal("d", 0.1, DataTypes.DOUBLE())).startsWith("{'float':'0.1000000000000000055511151231257827");
    assertThat(literal("f", 0.5f, DataTypes.FLOAT())).isEqualTo("{'float':'0.5'}");
    assertThat(literal("s", "ü\u0000", DataTypes.STRING())).isEqualTo("{'text':'ü\\u0000'}");
    assertThat(literal("day", LocalDate.of(1969, 12, 31), DataTypes.DATE())).isEqualTo("{'date':-1}");
    assertThat(literal("at", LocalTime.of(0, 0, 1), DataTypes.TIME(0))).isEqualTo("{'time':1000}");
    assertThat(literal("ts", LocalDateTime.of(1969, 12, 31, 23, 59, 59, 999_999_999), DataTypes.TIMESTAMP(9)))
        .isEqualTo("{'timestamp':{'millis':-1,'nanos':999999}}");
    assertThat(literal("ltz", Instant.ofEpochMilli(5), DataTypes.TIMESTAMP_LTZ(3)))
        .isEqualTo("{'timestamp':{'millis':5,'nanos':0}}");
  }

  @Test
  void whatIsNotExactlyAValueOfTheColumnIsNotTold() {
    assertThat(literal("i", new BigDecimal("1.5"), DataTypes.DECIMAL(2, 1))).isNull();
    assertThat(literal("i", null, DataTypes.INT())).isNull();
    assertThat(literal("f", 0.1, DataTypes.DOUBLE())).isNull();
    assertThat(literal("d", Double.NaN, DataTypes.DOUBLE())).isNull();
    assertThat(literal("s", "\ud800", DataTypes.STRING())).isNull();
    assertThat(literal("ts", Instant.EPOCH, DataTypes.TIMESTAMP_LTZ(9))).isNull();
    assertThat(literal("ltz", LocalDateTime.MIN.withYear(2000), DataTypes.TIMESTAMP(3))).isNull();
    assertThat(literal("day", LocalDateTime.of(2000, 1, 1, 0, 0), DataTypes.TIMESTAMP(0))).isNull();
    assertThat(literal("y", new byte[] {1}, DataTypes.BYTES())).isNull();
    assertThat(json(call(BuiltInFunctionDefinitions.IN, field("i"), value(1, DataTypes.INT()), value(null, DataTypes.INT())))).isNull();
    assertThat(json(call(BuiltInFunctionDefinitions.EQUALS, field("i"), field("t")))).isNull();
    assertThat(json(call(BuiltInFunctionDefinitions.LIKE, field("s"), value("x%", DataTypes.STRING())))).isNull();
  }

  @Test
  void onlyACastThatChangesNoValueIsLookedThrough() {
    ResolvedExpression one = value(1, DataTypes.INT());
    ResolvedExpression wider = cast(field("t"), DataTypes.INT());
    assertThat(json(call(BuiltInFunctionDefinitions.EQUALS, wider, one))).contains("'column':'t'", "'integer':1");
    ResolvedExpression narrower = cast(field("i"), DataTypes.TINYINT());
    assertThat(json(call(BuiltInFunctionDefinitions.EQUALS, narrower, value((byte) 1, DataTypes.TINYINT())))).isNull();
    ResolvedExpression other = cast(field("s"), DataTypes.INT());
    assertThat(json(call(BuiltInFunctionDefinitions.EQUALS, other, one))).isNull();
  }

  private static ResolvedExpression cast(ResolvedExpression operand, DataType type) {
    return CallExpression.permanent(BuiltInFunctionDefinitions.CAST, List.of(operand, new TypeLiteralExpression(type)), type);
  }

  @Test
  void partsThatAreNotUnderstoodAreUnknown() {
    ResolvedExpression odd = call(BuiltInFunctionDefinitions.LIKE, field("s"), value("x%", DataTypes.STRING()));
    assertThat(json(call(BuiltInFunctionDefinitions.OR, I_IS_7, odd))).isEqualTo("{'or':[" + I_IS_7_JSON + ",'unknown']}");
    assertThat(json(call(BuiltInFunctionDefinitions.AND, odd, odd))).isNull();
    assertThat(json(call(BuiltInFunctionDefinitions.NOT, odd))).isNull();
    RowFilter.Pushed pushed = RowFilter.of(ROW, List.of(odd, I_IS_7)).orElseThrow();
    assertThat(pushed.filters()).containsExactly(I_IS_7);
    assertThat(RowFilter.of(ROW, pushed.filters()).orElseThrow().json()).isEqualTo(pushed.json());
    ResolvedExpression deep = I_IS_7;
    for (int i = 0; i < 40; i++) {
      deep = call(BuiltInFunctionDefinitions.OR, I_IS_7, deep);
    }
    assertThat(json(deep)).contains("unknown");
  }
}
