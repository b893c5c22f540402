package io.sluice.flink.partition;

import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.AND;
import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.BETWEEN;
import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.CAST;
import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.EQUALS;
import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.GREATER_THAN;
import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.IN;
import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.IS_NOT_NULL;
import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.IS_NOT_TRUE;
import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.IS_NULL;
import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.LESS_THAN_OR_EQUAL;
import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.LIKE;
import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.NOT;
import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.NOT_EQUALS;
import static org.apache.flink.table.functions.BuiltInFunctionDefinitions.OR;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.apache.flink.core.testutils.CommonTestUtils;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.expressions.CallExpression;
import org.apache.flink.table.expressions.FieldReferenceExpression;
import org.apache.flink.table.expressions.ResolvedExpression;
import org.apache.flink.table.expressions.ValueLiteralExpression;
import org.apache.flink.table.functions.BuiltInFunctionDefinition;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;

/** Which partitions filters leave. */
final class PartitionFilterTest {
  private DataType type = DataTypes.STRING();
  private List<String> partitions = List.of();

  private PartitionFilterTest over(DataType column, String... values) {
    type = column;
    partitions = List.of(values);
    return this;
  }

  private ResolvedExpression p() {
    return new FieldReferenceExpression("p", type, 0, 0);
  }

  private static ResolvedExpression other() {
    return call(GREATER_THAN, new FieldReferenceExpression("v", DataTypes.INT(), 0, 1), literal(3, DataTypes.INT()));
  }

  private static ResolvedExpression literal(Object value, DataType type) {
    return value == null ? new ValueLiteralExpression(null, type) : new ValueLiteralExpression(value, type.notNull());
  }

  private ResolvedExpression literal(Object value) {
    return literal(value, type);
  }

  private static ResolvedExpression call(BuiltInFunctionDefinition function, ResolvedExpression... operands) {
    return CallExpression.permanent(function, List.of(operands), DataTypes.BOOLEAN());
  }

  private Optional<PartitionFilter> filter(ResolvedExpression... filters) {
    RowType row = (RowType) DataTypes.ROW(DataTypes.FIELD("p", type), DataTypes.FIELD("v", DataTypes.INT())).getLogicalType();
    return PartitionFilter.of(row, List.of("p"), List.of(filters));
  }

  private List<String> left(ResolvedExpression... filters) {
    PartitionFilter filter = filter(filters).orElseThrow();
    List<String> left = new ArrayList<>();
    for (String value : partitions) {
      if (filter.matches(new TablePartition(0, List.of(value), 1))) {
        left.add(value);
      }
    }
    return left;
  }

  private List<String> equalTo(Object value) {
    return left(call(EQUALS, p(), literal(value)));
  }

  private List<String> above(Object value) {
    return left(call(GREATER_THAN, p(), literal(value)));
  }

  @Test
  void valuesCompareByTheirTypeAndNotByTheirText() {
    assertThat(over(DataTypes.INT(), "-7", "10", "9").above(9)).containsExactly("10");
    assertThat(over(DataTypes.BIGINT(), "-7", "10", "9").left(call(LESS_THAN_OR_EQUAL, literal(9L), p()))).containsExactly("10", "9");
    assertThat(over(DataTypes.TINYINT(), "1", "2").equalTo((byte) 2)).containsExactly("2");
    assertThat(over(DataTypes.DOUBLE(), "1_5", "1_0E10", "NaN", "-Inf", "Inf").above(2.0)).containsExactly("1_0E10", "Inf");
    assertThat(over(DataTypes.FLOAT(), "1_5", "-0_0", "NaN").equalTo(0.0f)).containsExactly("-0_0");
    assertThat(over(DataTypes.DOUBLE(), "1_5", "NaN").left(call(NOT_EQUALS, p(), literal(1.5)))).containsExactly("NaN");
    assertThat(over(DataTypes.STRING(), "a", "b", "B").above("a")).containsExactly("b");
    assertThat(over(DataTypes.BOOLEAN(), "true", "false").equalTo(false)).containsExactly("false");
    assertThat(over(DataTypes.BYTES(), "0aff", "0b").above(new byte[] {10, -1})).containsExactly("0b");
  }

  @Test
  void timesCompareAsTimes() {
    assertThat(over(DataTypes.DATE(), "2025-11-30", "2025-12-01").above(LocalDate.of(2025, 11, 30))).containsExactly("2025-12-01");
    assertThat(over(DataTypes.TIME(3), "10-15-30_250", "09-00-00_000").above(LocalTime.of(9, 0))).containsExactly("10-15-30_250");
    LocalDateTime half = LocalDateTime.of(2025, 11, 30, 10, 15, 30, 500_000_000);
    String[] stamps = {"2025-11-30-10-15-30_5", "2025-11-30-10-15-30_", "2025-11-30-10-15-30_50000001"};
    assertThat(over(DataTypes.TIMESTAMP(9), stamps).equalTo(half)).containsExactly(stamps[0]);
    assertThat(over(DataTypes.TIMESTAMP(9), stamps).above(half)).containsExactly(stamps[2]);
    Instant instant = Instant.parse("2025-11-30T10:15:30Z");
    assertThat(over(DataTypes.TIMESTAMP_LTZ(9), stamps).equalTo(instant)).containsExactly(stamps[1]);
  }

  @Test
  void conditionsJoin() {
    over(DataTypes.INT(), "1", "2", "3", "4");
    ResolvedExpression two = call(EQUALS, p(), literal(2));
    assertThat(left(call(IN, p(), literal(1), literal(4)))).containsExactly("1", "4");
    assertThat(left(call(BETWEEN, p(), literal(2), literal(3)))).containsExactly("2", "3");
    assertThat(left(call(NOT, two))).containsExactly("1", "3", "4");
    assertThat(left(call(OR, two, call(EQUALS, p(), literal(4))))).containsExactly("2", "4");
    assertThat(left(call(IS_NOT_TRUE, two))).containsExactly("1", "3", "4");
    assertThat(left(two, call(GREATER_THAN, p(), literal(2)))).isEmpty();
    assertThat(left(call(IS_NULL, p()))).isEmpty();
    assertThat(left(call(IS_NOT_NULL, p()))).hasSize(4);
    assertThat(left(call(EQUALS, p(), literal(null)))).isEmpty();
    assertThat(left(call(NOT, call(EQUALS, p(), literal(null))))).isEmpty();
  }

  @Test
  void aBooleanColumnIsACondition() {
    over(DataTypes.BOOLEAN(), "true", "false");
    assertThat(left(p())).containsExactly("true");
    assertThat(left(call(NOT, p()))).containsExactly("false");
  }

  @Test
  void patterns() {
    over(DataTypes.STRING(), "2025-11", "2025-12", "2026-01", "a_b");
    assertThat(left(call(LIKE, p(), literal("2025%")))).containsExactly("2025-11", "2025-12");
    assertThat(left(call(LIKE, p(), literal("%1")))).containsExactly("2025-11", "2026-01");
    assertThat(left(call(LIKE, p(), literal("%5-%")))).containsExactly("2025-11", "2025-12");
    assertThat(left(call(LIKE, p(), literal("a_b")))).containsExactly("a_b");
    assertThat(left(call(LIKE, p(), literal("2025.*")))).isEmpty();
  }

  @Test
  void whatIsNotUnderstoodLetsThrough() {
    over(DataTypes.INT(), "1", "2", "3");
    ResolvedExpression two = call(EQUALS, p(), literal(2));
    assertThat(left(call(AND, two, other()))).containsExactly("2");
    assertThat(left(call(OR, call(AND, two, other()), call(EQUALS, p(), literal(3))))).containsExactly("2", "3");
    assertThat(filter(call(OR, two, other()))).isEmpty();
    assertThat(filter(call(NOT, call(AND, two, other())))).isEmpty();
    assertThat(filter(other())).isEmpty();
    assertThat(filter(call(EQUALS, p(), literal("2", DataTypes.STRING())))).isEmpty();
    // A text that is none of the type, as an alien writer might have left it.
    assertThat(over(DataTypes.INT(), "x", "2").equalTo(2)).containsExactly("x", "2");
  }

  @Test
  void aColumnMayBeWidenedByThePlanner() {
    over(DataTypes.TINYINT(), "1", "2");
    CallExpression wide = CallExpression.permanent(CAST, List.of(p()), DataTypes.INT());
    assertThat(left(call(EQUALS, wide, literal(2, DataTypes.INT())))).containsExactly("2");
    over(DataTypes.INT(), "1", "2");
    CallExpression narrow = CallExpression.permanent(CAST, List.of(p()), DataTypes.TINYINT());
    assertThat(filter(call(EQUALS, narrow, literal((byte) 2, DataTypes.TINYINT())))).isEmpty();
  }

  @Test
  void itTravels() throws Exception {
    over(DataTypes.DATE(), "2025-11-30", "2025-12-01");
    ResolvedExpression condition = call(OR, call(EQUALS, p(), literal(LocalDate.of(2025, 12, 1))), call(IS_NULL, p()));
    PartitionFilter shipped = CommonTestUtils.createCopySerializable(filter(condition).orElseThrow());
    assertThat(shipped.matches(new TablePartition(0, List.of("2025-12-01"), 1))).isTrue();
    assertThat(shipped.matches(new TablePartition(0, List.of("2025-11-30"), 1))).isFalse();
  }
}
