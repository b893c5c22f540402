package io.sluice.flink.types;

import java.io.Serializable;

import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.data.writer.BinaryRowWriter;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;

/**
 * The bucket of a row: Paimon's function, Murmur3 with seed 42 over the words of the bucket key as a binary row. One thread at a time.
 */
public final class BucketHash implements Serializable {
  private static final long serialVersionUID = 1L;

  private final LogicalType[] types;
  private final int[] positions;
  private final int buckets;
  private transient Encoder encoder;

  /**
   * A function of rows.
   *
   * @param rowType types of the rows' fields
   * @param positions fields of the bucket key, in the order in which the table names them
   */
  public BucketHash(RowType rowType, int[] positions, int buckets) {
    this.positions = positions.clone();
    this.types = new LogicalType[positions.length];
    for (int i = 0; i < positions.length; i++) {
      types[i] = rowType.getTypeAt(positions[i]);
    }
    this.buckets = buckets;
  }

  /** Returns the row's bucket, from 0. */
  public int bucket(RowData row) {
    return Math.abs(hash(row) % buckets);
  }

  /** Returns the hash of the row's bucket key. */
  int hash(RowData row) {
    if (encoder == null) {
      encoder = new Encoder(types, positions);
    }
    return encoder.encode(row).hashCode();
  }

  /** The bucket key's bytes, written into one reused row. */
  private static final class Encoder {
    private final BinaryRowData key;
    private final BinaryRowWriter writer;
    private final Setter[] setters;

    Encoder(LogicalType[] types, int[] positions) {
      key = new BinaryRowData(types.length);
      writer = new BinaryRowWriter(key);
      setters = new Setter[types.length];
      for (int i = 0; i < types.length; i++) {
        setters[i] = setter(types[i], positions[i], i);
      }
    }

    BinaryRowData encode(RowData row) {
      writer.reset();
      for (Setter setter : setters) {
        setter.set(row);
      }
      writer.complete();
      return key;
    }

    private Setter setter(LogicalType type, int from, int to) {
      Setter value = valueSetter(type, from, to);
      if (keepsRoomForNull(type)) {
        return value;
      }
      return row -> {
        if (row.isNullAt(from)) {
          writer.setNullAt(to);
        } else {
          value.set(row);
        }
      };
    }

    private Setter valueSetter(LogicalType type, int from, int to) {
      switch (type.getTypeRoot()) {
        case BOOLEAN:
          return row -> writer.writeBoolean(to, row.getBoolean(from));
        case TINYINT:
          return row -> writer.writeByte(to, row.getByte(from));
        case SMALLINT:
          return row -> writer.writeShort(to, row.getShort(from));
        case INTEGER:
        case DATE:
        case TIME_WITHOUT_TIME_ZONE:
          return row -> writer.writeInt(to, row.getInt(from));
        case BIGINT:
          return row -> writer.writeLong(to, row.getLong(from));
        case FLOAT:
          return row -> writer.writeFloat(to, row.getFloat(from));
        case DOUBLE:
          return row -> writer.writeDouble(to, row.getDouble(from));
        case CHAR:
        case VARCHAR:
          return row -> writer.writeString(to, row.getString(from));
        case BINARY:
        case VARBINARY:
          return row -> writer.writeBinary(to, row.getBinary(from));
        case DECIMAL:
          int digits = ((DecimalType) type).getPrecision();
          int scale = ((DecimalType) type).getScale();
          return row -> writer.writeDecimal(to, row.isNullAt(from) ? null : row.getDecimal(from, digits, scale), digits);
        case TIMESTAMP_WITHOUT_TIME_ZONE:
        case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
          int precision = LogicalTypeChecks.getPrecision(type);
          return row -> writer.writeTimestamp(to, row.isNullAt(from) ? null : row.getTimestamp(from, precision), precision);
        default:
          throw new UnsupportedOperationException("A bucket key cannot hold data type " + type.asSummaryString() + ".");
      }
    }

    /** A NULL of the types with a part outside their slot keeps that part's room, so it must be written and not only marked. */
    private static boolean keepsRoomForNull(LogicalType type) {
      switch (type.getTypeRoot()) {
        case DECIMAL:
          return !DecimalData.isCompact(((DecimalType) type).getPrecision());
        case TIMESTAMP_WITHOUT_TIME_ZONE:
        case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
          return !TimestampData.isCompact(LogicalTypeChecks.getPrecision(type));
        default:
          return false;
      }
    }
  }

  /** Copies one field of the key. */
  private interface Setter {
    void set(RowData row);
  }
}
