package io.sluice.flink.source.scan;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.List;
import java.util.Optional;

import org.apache.flink.core.testutils.CommonTestUtils;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.expressions.CallExpression;
import org.apache.flink.table.expressions.FieldReferenceExpression;
import org.apache.flink.table.expressions.ResolvedExpression;
import org.apache.flink.table.expressions.ValueLiteralExpression;
import org.apache.flink.table.functions.BuiltInFunctionDefinition;
import org.apache.flink.table.functions.BuiltInFunctionDefinitions;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;

/** Which filters are a point query. */
final class PointQueryTest {
  private static final RowType ROW =
      (RowType)
          DataTypes.ROW(
                  DataTypes.FIELD("v", DataTypes.STRING()),
                  DataTypes.FIELD("k2", DataTypes.STRING().notNull()),
                  DataTypes.FIELD("k1", DataTypes.BIGINT().notNull()),
                  DataTypes.FIELD("d", DataTypes.DOUBLE().notNull()),
                  DataTypes.FIELD("e", DataTypes.DECIMAL(5, 2).notNull()))
              .getLogicalType();
  private static final int[] K1_K2 = {2, 1};

  private static ResolvedExpression call(BuiltInFunctionDefinition function, ResolvedExpression... operands) {
    return CallExpression.permanent(function, List.of(operands), DataTypes.BOOLEAN());
  }

  private static ResolvedExpression equal(String column, Object value, DataType type) {
    FieldReferenceExpression field = new FieldReferenceExpression(column, type, 0, 0);
    return call(BuiltInFunctionDefinitions.EQUALS, field, new ValueLiteralExpression(value, type.notNull()));
  }

  private static final ResolvedExpression K1_IS_7 = equal("k1", 7L, DataTypes.BIGINT());
  private static final ResolvedExpression K2_IS_X = equal("k2", "x", DataTypes.STRING());

  @Test
  void equalitiesOnTheWholeKeyInAnyOrderAreOne() throws Exception {
    Optional<PointQuery> query = PointQuery.of(ROW, K1_K2, List.of(K2_IS_X, K1_IS_7));
    assertThat(query).isPresent();
    assertThat(query.get().filters()).containsExactly(K1_IS_7, K2_IS_X);
    PointQuery shipped = CommonTestUtils.createCopySerializable(query.get());
    assertThat(shipped.keyType().getFieldNames()).containsExactly("k1", "k2");
    assertThat(shipped.key()).isEqualTo(GenericRowData.of(7L, StringData.fromString("x")));
  }

  @Test
  void theAcceptedFiltersAloneAreTheSameQuery() {
    ResolvedExpression other = equal("v", "y", DataTypes.STRING());
    PointQuery query = PointQuery.of(ROW, K1_K2, List.of(other, K1_IS_7, equal("k1", 8L, DataTypes.BIGINT()), K2_IS_X)).orElseThrow();
    assertThat(query.filters()).containsExactly(K1_IS_7, K2_IS_X);
    PointQuery again = PointQuery.of(ROW, K1_K2, query.filters()).orElseThrow();
    assertThat(again.filters()).isEqualTo(query.filters());
    assertThat(again.key()).isEqualTo(query.key());
  }

  @Test
  void theLiteralMayStandOnTheLeft() {
    ResolvedExpression turned =
        call(
            BuiltInFunctionDefinitions.EQUALS,
            new ValueLiteralExpression(7L, DataTypes.BIGINT().notNull()),
            new FieldReferenceExpression("k1", DataTypes.BIGINT(), 0, 0));
    assertThat(PointQuery.of(ROW, K1_K2, List.of(turned, K2_IS_X))).isPresent();
  }

  @Test
  void anythingLessIsNone() {
    assertThat(PointQuery.of(ROW, K1_K2, List.of(K1_IS_7))).isEmpty();
    assertThat(PointQuery.of(ROW, K1_K2, List.of())).isEmpty();
    assertThat(PointQuery.of(ROW, new int[0], List.of(K1_IS_7, K2_IS_X))).isEmpty();
    ResolvedExpression either = call(BuiltInFunctionDefinitions.OR, K1_IS_7, K1_IS_7);
    assertThat(PointQuery.of(ROW, K1_K2, List.of(either, K2_IS_X))).isEmpty();
    ResolvedExpression greater =
        call(
            BuiltInFunctionDefinitions.GREATER_THAN,
            new FieldReferenceExpression("k1", DataTypes.BIGINT(), 0, 0),
            new ValueLiteralExpression(7L, DataTypes.BIGINT().notNull()));
    assertThat(PointQuery.of(ROW, K1_K2, List.of(greater, K2_IS_X))).isEmpty();
  }

  @Test
  void typesWhoseEqualityIsNotThatOfTheirBytesAreNone() {
    assertThat(PointQuery.of(ROW, new int[] {3}, List.of(equal("d", 0.0, DataTypes.DOUBLE())))).isEmpty();
    assertThat(PointQuery.of(ROW, new int[] {2}, List.of(equal("k1", 7, DataTypes.INT())))).isEmpty();
    assertThat(PointQuery.of(ROW, new int[] {4}, List.of(equal("e", new BigDecimal("1.5"), DataTypes.DECIMAL(2, 1))))).isEmpty();
  }

  @Test
  void decimalsOfTheColumnsTypeAreOne() {
    PointQuery query = PointQuery.of(ROW, new int[] {4}, List.of(equal("e", new BigDecimal("1.50"), DataTypes.DECIMAL(5, 2)))).orElseThrow();
    assertThat(query.key()).isEqualTo(GenericRowData.of(DecimalData.fromBigDecimal(new BigDecimal("1.50"), 5, 2)));
  }
}
