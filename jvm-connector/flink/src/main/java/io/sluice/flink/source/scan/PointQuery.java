package io.sluice.flink.source.scan;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.expressions.CallExpression;
import org.apache.flink.table.expressions.FieldReferenceExpression;
import org.apache.flink.table.expressions.ResolvedExpression;
import org.apache.flink.table.expressions.ValueLiteralExpression;
import org.apache.flink.table.functions.BuiltInFunctionDefinitions;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeRoot;
import org.apache.flink.table.types.logical.RowType;

/**
 * A filter that fixes every column of the primary key, so that a lookup gives a superset of the rows wanted. The filters stay in the
 * plan: an equality that is not understood here costs speed, never a row.
 */
public final class PointQuery implements Serializable {
  private static final long serialVersionUID = 1L;

  private final RowType keyType;
  private final ArrayList<Serializable> values;
  private final transient List<ResolvedExpression> filters;

  private PointQuery(RowType keyType, ArrayList<Serializable> values, List<ResolvedExpression> filters) {
    this.keyType = keyType;
    this.values = values;
    this.filters = filters;
  }

  /**
   * Finds an equality for each column of the key.
   *
   * @param filters what the planner asks for, all of which must hold
   * @return empty when a column has none, or one of a type whose equality in SQL is not that of its stored form
   */
  public static Optional<PointQuery> of(RowType rowType, int[] primaryKey, List<ResolvedExpression> filters) {
    ArrayList<Serializable> values = new ArrayList<>();
    List<ResolvedExpression> used = new ArrayList<>();
    List<RowType.RowField> fields = new ArrayList<>();
    for (int column : primaryKey) {
      RowType.RowField field = rowType.getFields().get(column);
      for (ResolvedExpression filter : filters) {
        Optional<Serializable> value = valueOf(filter, field);
        if (value.isPresent()) {
          fields.add(field);
          values.add(value.get());
          used.add(filter);
          break;
        }
      }
    }
    boolean whole = primaryKey.length > 0 && values.size() == primaryKey.length;
    return whole ? Optional.of(new PointQuery(new RowType(false, fields), values, used)) : Optional.empty();
  }

  private static Optional<Serializable> valueOf(ResolvedExpression filter, RowType.RowField field) {
    if (!(filter instanceof CallExpression) || ((CallExpression) filter).getFunctionDefinition() != BuiltInFunctionDefinitions.EQUALS) {
      return Optional.empty();
    }
    List<ResolvedExpression> sides = filter.getResolvedChildren();
    Optional<Serializable> leftIsColumn = valueOf(sides.get(0), sides.get(1), field);
    return leftIsColumn.isPresent() ? leftIsColumn : valueOf(sides.get(1), sides.get(0), field);
  }

  private static Optional<Serializable> valueOf(ResolvedExpression column, ResolvedExpression literal, RowType.RowField field) {
    if (!(column instanceof FieldReferenceExpression)
        || !(literal instanceof ValueLiteralExpression)
        || !((FieldReferenceExpression) column).getName().equals(field.getName())) {
      return Optional.empty();
    }
    ValueLiteralExpression value = (ValueLiteralExpression) literal;
    if (value.isNull() || !sameType(value.getOutputDataType().getLogicalType(), field.getType())) {
      return Optional.empty();
    }
    return value.getValueAs(valueClass(field.getType())).map(Serializable.class::cast);
  }

  /** Only types where equal values have equal stored forms: FLOAT and DOUBLE (0.0 = -0.0) and padded CHAR are not among them. */
  private static boolean sameType(LogicalType literal, LogicalType column) {
    switch (column.getTypeRoot()) {
      case BOOLEAN:
      case TINYINT:
      case SMALLINT:
      case INTEGER:
      case BIGINT:
        return literal.is(column.getTypeRoot());
      case DECIMAL:
        return literal.copy(false).equals(column.copy(false));
      case VARCHAR:
        return literal.is(LogicalTypeRoot.VARCHAR) || literal.is(LogicalTypeRoot.CHAR);
      default:
        return false;
    }
  }

  private static Class<?> valueClass(LogicalType type) {
    switch (type.getTypeRoot()) {
      case BOOLEAN:
        return Boolean.class;
      case TINYINT:
        return Byte.class;
      case SMALLINT:
        return Short.class;
      case INTEGER:
        return Integer.class;
      case BIGINT:
        return Long.class;
      case DECIMAL:
        return java.math.BigDecimal.class;
      default:
        return String.class;
    }
  }

  /** The filters that make up the key, one for each of its columns; only while planning. */
  public List<ResolvedExpression> filters() {
    return filters;
  }

  /** Names and types of the key's columns, in the order of {@link #key()}. */
  public RowType keyType() {
    return keyType;
  }

  /** The key. */
  public RowData key() {
    GenericRowData key = new GenericRowData(values.size());
    for (int i = 0; i < values.size(); i++) {
      key.setField(i, internal(values.get(i), keyType.getTypeAt(i)));
    }
    return key;
  }

  private static Object internal(Object value, LogicalType type) {
    if (value instanceof String) {
      return StringData.fromString((String) value);
    }
    if (value instanceof java.math.BigDecimal) {
      DecimalType decimal = (DecimalType) type;
      return DecimalData.fromBigDecimal((java.math.BigDecimal) value, decimal.getPrecision(), decimal.getScale());
    }
    return value;
  }

  @Override
  public String toString() {
    return keyType.getFieldNames() + " = " + values;
  }
}
