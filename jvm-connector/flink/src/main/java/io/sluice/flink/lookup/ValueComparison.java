package io.sluice.flink.lookup;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Objects;

import org.apache.flink.table.api.TableException;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;

/** The equality, as SQL has it, of a field of a lookup key and a column of a row found. */
final class ValueComparison implements Serializable {
  private static final long serialVersionUID = 1L;

  private final RowData.FieldGetter keyField;
  private final RowData.FieldGetter column;

  private ValueComparison(RowData.FieldGetter keyField, RowData.FieldGetter column) {
    this.keyField = keyField;
    this.column = column;
  }

  /**
   * A comparison of values of one type.
   *
   * @throws TableException for nested types, whose forms in memory differ
   */
  static ValueComparison of(String table, String name, LogicalType type, int keyField, int column) {
    switch (type.getTypeRoot()) {
      case ARRAY:
      case MAP:
      case ROW:
        throw new TableException(
            String.format("A lookup join on table %s cannot compare column '%s' of type %s.", table, name, type.asSummaryString()));
      default:
        return new ValueComparison(RowData.createFieldGetter(type, keyField), RowData.createFieldGetter(type, column));
    }
  }

  boolean equal(RowData key, RowData row) {
    Object wanted = keyField.getFieldOrNull(key);
    Object found = column.getFieldOrNull(row);
    if (wanted == null || found == null) {
      return false;
    }
    if (wanted instanceof byte[]) {
      return Arrays.equals((byte[]) wanted, (byte[]) found);
    }
    if (wanted instanceof Double) {
      return ((Double) wanted).doubleValue() == (Double) found;
    }
    if (wanted instanceof Float) {
      return ((Float) wanted).floatValue() == (Float) found;
    }
    return Objects.equals(wanted, found);
  }
}
