package io.sluice.flink.types;

import java.util.ArrayList;
import java.util.List;

import io.sluice.store.ColumnBuffer;
import io.sluice.store.ColumnBuffers;
import io.sluice.store.ColumnLayout;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.table.data.ArrayData;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.MapData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryFormat;
import org.apache.flink.table.data.binary.BinarySegmentUtils;
import org.apache.flink.table.data.binary.BinaryStringData;
import org.apache.flink.table.runtime.typeutils.ArrayDataSerializer;
import org.apache.flink.table.runtime.typeutils.MapDataSerializer;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.ArrayType;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.MapType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;

/**
 * Rows into column buffers. What to do with each column is decided once, from its type; a row then costs one call for each of its
 * cells.
 */
public final class RowDataColumns {
  private final ColumnBuffers buffers;
  private final FieldWriter[] writers;

  /**
   * Columns for rows of a type.
   *
   * @param rowType types of the columns
   * @param positions which fields of a row become columns, in the columns' order
   * @param buffers made with {@link #layouts} of the same two
   */
  public RowDataColumns(RowType rowType, int[] positions, ColumnBuffers buffers) {
    this.buffers = buffers;
    this.writers = new FieldWriter[positions.length];
    for (int i = 0; i < positions.length; i++) {
      writers[i] = writer(rowType.getTypeAt(positions[i]), positions[i], buffers.column(i));
    }
  }

  /** Returns how each of the columns lies in memory. */
  public static List<ColumnLayout> layouts(RowType rowType, int[] positions) {
    List<ColumnLayout> layouts = new ArrayList<>();
    for (int position : positions) {
      layouts.add(layout(rowType.getTypeAt(position)));
    }
    return layouts;
  }

  /**
   * Adds a row.
   *
   * @param kind what the row does, as the byte value of a {@code RowKind}
   */
  public void add(RowData row, byte kind) {
    boolean done = false;
    try {
      for (FieldWriter writer : writers) {
        writer.write(row);
      }
      done = true;
    } finally {
      if (!done) {
        buffers.dropRow();
      }
    }
    buffers.endRow(kind);
  }

  private static ColumnLayout layout(LogicalType type) {
    switch (type.getTypeRoot()) {
      case BOOLEAN:
      case TINYINT:
        return ColumnLayout.BYTE;
      case SMALLINT:
        return ColumnLayout.SHORT;
      case INTEGER:
      case DATE:
      case TIME_WITHOUT_TIME_ZONE:
      case FLOAT:
        return ColumnLayout.INT;
      case BIGINT:
      case DOUBLE:
        return ColumnLayout.LONG;
      case DECIMAL:
        return isCompactDecimal(type) ? ColumnLayout.LONG : ColumnLayout.VARIABLE;
      case TIMESTAMP_WITHOUT_TIME_ZONE:
      case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
        return TimestampData.isCompact(LogicalTypeChecks.getPrecision(type)) ? ColumnLayout.LONG : ColumnLayout.TIMESTAMP;
      case CHAR:
      case VARCHAR:
      case BINARY:
      case VARBINARY:
      case ARRAY:
      case MAP:
      case ROW:
        return ColumnLayout.VARIABLE;
      default:
        throw new UnsupportedOperationException("Unsupported data type " + type.asSummaryString() + ".");
    }
  }

  private static boolean isCompactDecimal(LogicalType type) {
    return DecimalData.isCompact(((DecimalType) type).getPrecision());
  }

  private static FieldWriter writer(LogicalType type, int position, ColumnBuffer out) {
    return new FieldWriter(position, out, valueWriter(type, position, out));
  }

  private static ValueWriter valueWriter(LogicalType type, int at, ColumnBuffer out) {
    switch (type.getTypeRoot()) {
      case BOOLEAN:
        return row -> out.putBoolean(row.getBoolean(at));
      case TINYINT:
        return row -> out.putByte(row.getByte(at));
      case SMALLINT:
        return row -> out.putShort(row.getShort(at));
      case INTEGER:
      case DATE:
      case TIME_WITHOUT_TIME_ZONE:
        return row -> out.putInt(row.getInt(at));
      case FLOAT:
        return row -> out.putFloat(row.getFloat(at));
      case BIGINT:
        return row -> out.putLong(row.getLong(at));
      case DOUBLE:
        return row -> out.putDouble(row.getDouble(at));
      case DECIMAL:
        return decimalWriter((DecimalType) type, at, out);
      case TIMESTAMP_WITHOUT_TIME_ZONE:
      case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
        return timestampWriter(LogicalTypeChecks.getPrecision(type), at, out);
      case CHAR:
      case VARCHAR:
        return row -> putString(row.getString(at), out);
      case BINARY:
      case VARBINARY:
        return row -> out.putBytes(row.getBinary(at));
      default:
        return nestedWriter(type, at, out);
    }
  }

  private static ValueWriter decimalWriter(DecimalType type, int at, ColumnBuffer out) {
    int precision = type.getPrecision();
    int scale = type.getScale();
    if (DecimalData.isCompact(precision)) {
      return row -> out.putLong(row.getDecimal(at, precision, scale).toUnscaledLong());
    }
    return row -> out.putBytes(row.getDecimal(at, precision, scale).toUnscaledBytes());
  }

  private static ValueWriter timestampWriter(int precision, int at, ColumnBuffer out) {
    if (TimestampData.isCompact(precision)) {
      return row -> out.putLong(row.getTimestamp(at, precision).getMillisecond());
    }
    return row -> {
      TimestampData value = row.getTimestamp(at, precision);
      out.putTimestamp(value.getMillisecond(), value.getNanoOfMillisecond());
    };
  }

  private static ValueWriter nestedWriter(LogicalType type, int at, ColumnBuffer out) {
    switch (type.getTypeRoot()) {
      case ARRAY:
        ArrayDataSerializer arrays = new ArrayDataSerializer(((ArrayType) type).getElementType());
        return row -> {
          ArrayData value = row.getArray(at);
          putBinary(value instanceof BinaryFormat ? (BinaryFormat) value : arrays.toBinaryArray(value), out);
        };
      case MAP:
        MapDataSerializer maps = new MapDataSerializer(((MapType) type).getKeyType(), ((MapType) type).getValueType());
        return row -> {
          MapData value = row.getMap(at);
          putBinary(value instanceof BinaryFormat ? (BinaryFormat) value : maps.toBinaryMap(value), out);
        };
      case ROW:
        RowDataSerializer rows = new RowDataSerializer((RowType) type);
        int fields = ((RowType) type).getFieldCount();
        return row -> {
          RowData value = row.getRow(at, fields);
          putBinary(value instanceof BinaryFormat ? (BinaryFormat) value : rows.toBinaryRow(value), out);
        };
      default:
        throw new UnsupportedOperationException("Unsupported data type " + type.asSummaryString() + ".");
    }
  }

  private static void putString(StringData value, ColumnBuffer out) {
    BinaryStringData text = (BinaryStringData) value;
    text.ensureMaterialized();
    putBinary(text, out);
  }

  private static void putBinary(BinaryFormat value, ColumnBuffer out) {
    MemorySegment[] segments = value.getSegments();
    int offset = value.getOffset();
    int length = value.getSizeInBytes();
    if (segments.length == 1 && !segments[0].isOffHeap()) {
      out.putBytes(segments[0].getArray(), offset, length);
    } else {
      out.putBytes(BinarySegmentUtils.copyToBytes(segments, offset, length));
    }
  }

  /** Puts a value that is not NULL. */
  private interface ValueWriter {
    void put(RowData row);
  }

  /** Puts a value or NULL. */
  private static final class FieldWriter {
    private final int position;
    private final ColumnBuffer out;
    private final ValueWriter value;

    FieldWriter(int position, ColumnBuffer out, ValueWriter value) {
      this.position = position;
      this.out = out;
      this.value = value;
    }

    void write(RowData row) {
      if (row.isNullAt(position)) {
        out.putNull();
      } else {
        value.put(row);
      }
    }
  }
}
