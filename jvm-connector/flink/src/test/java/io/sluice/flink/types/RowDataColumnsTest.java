package io.sluice.flink.types;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;

import io.sluice.store.ColumnBuffers;
import io.sluice.store.ColumnContents;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericArrayData;
import org.apache.flink.table.data.GenericMapData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryArrayData;
import org.apache.flink.table.data.binary.BinaryMapData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What rows look like in column buffers, whatever class the rows are of. */
final class RowDataColumnsTest {
  private static final RowType TYPES =
      (RowType)
          DataTypes.ROW(
                  DataTypes.FIELD("bool", DataTypes.BOOLEAN()),
                  DataTypes.FIELD("tiny", DataTypes.TINYINT()),
                  DataTypes.FIELD("small", DataTypes.SMALLINT()),
                  DataTypes.FIELD("int", DataTypes.INT()),
                  DataTypes.FIELD("big", DataTypes.BIGINT()),
                  DataTypes.FIELD("float", DataTypes.FLOAT()),
                  DataTypes.FIELD("double", DataTypes.DOUBLE()),
                  DataTypes.FIELD("dec", DataTypes.DECIMAL(10, 2)),
                  DataTypes.FIELD("dec38", DataTypes.DECIMAL(38, 4)),
                  DataTypes.FIELD("date", DataTypes.DATE()),
                  DataTypes.FIELD("time", DataTypes.TIME(3)),
                  DataTypes.FIELD("ts3", DataTypes.TIMESTAMP(3)),
                  DataTypes.FIELD("ts9", DataTypes.TIMESTAMP(9)),
                  DataTypes.FIELD("ltz6", DataTypes.TIMESTAMP_LTZ(6)),
                  DataTypes.FIELD("char", DataTypes.CHAR(4)),
                  DataTypes.FIELD("string", DataTypes.STRING()),
                  DataTypes.FIELD("binary", DataTypes.BINARY(2)),
                  DataTypes.FIELD("bytes", DataTypes.BYTES()),
                  DataTypes.FIELD("array", DataTypes.ARRAY(DataTypes.INT())),
                  DataTypes.FIELD("map", DataTypes.MAP(DataTypes.STRING(), DataTypes.BIGINT())),
                  DataTypes.FIELD("row", DataTypes.ROW(DataTypes.FIELD("a", DataTypes.STRING()), DataTypes.FIELD("b", DataTypes.INT()))))
              .getLogicalType();
  private static final int[] ALL = IntStream.range(0, TYPES.getFieldCount()).toArray();

  /** How a row comes to the sink. */
  enum Form {
    GENERIC {
      @Override
      RowData of(GenericRowData row) {
        return row;
      }
    },
    BINARY {
      @Override
      RowData of(GenericRowData row) {
        return new RowDataSerializer(TYPES).toBinaryRow(row).copy();
      }
    },
    OFF_HEAP {
      @Override
      RowData of(GenericRowData row) {
        BinaryRowData binary = new RowDataSerializer(TYPES).toBinaryRow(row);
        ByteBuffer memory = ByteBuffer.allocateDirect(binary.getSizeInBytes());
        memory.put(binary.getSegments()[0].getArray(), binary.getOffset(), binary.getSizeInBytes());
        BinaryRowData moved = new BinaryRowData(TYPES.getFieldCount());
        moved.pointTo(MemorySegmentFactory.wrapOffHeapMemory(memory), 0, binary.getSizeInBytes());
        return moved;
      }
    };

    abstract RowData of(GenericRowData row);
  }

  private static GenericRowData values() {
    Map<StringData, Long> map = new HashMap<>();
    map.put(StringData.fromString("k"), 9L);
    return GenericRowData.of(
        true,
        (byte) -2,
        (short) -300,
        Integer.MIN_VALUE,
        Long.MIN_VALUE,
        -1.5f,
        Double.NaN,
        DecimalData.fromBigDecimal(new BigDecimal("-123.45"), 10, 2),
        DecimalData.fromBigDecimal(new BigDecimal("-1234567890123456789012345.6789"), 38, 4),
        -1,
        86_399_999,
        TimestampData.fromEpochMillis(-5),
        TimestampData.fromEpochMillis(-5, 999_999),
        TimestampData.fromEpochMillis(7, 1000),
        StringData.fromString("ab  "),
        StringData.fromString("größer als acht 中文"),
        new byte[] {1, 2},
        new byte[0],
        new GenericArrayData(new Object[] {1, null, 3}),
        new GenericMapData(map),
        GenericRowData.of(StringData.fromString("in"), null));
  }

  private static ColumnBuffers buffers() {
    return new ColumnBuffers(RowDataColumns.layouts(TYPES, ALL), 100, 1 << 20);
  }

  @ParameterizedTest
  @EnumSource
  void everyTypeIsLaidOutAsTheEngineExpects(Form form) {
    try (ColumnBuffers buffers = buffers()) {
      RowDataColumns columns = new RowDataColumns(TYPES, ALL, buffers);
      columns.add(form.of(new GenericRowData(TYPES.getFieldCount())), RowKind.INSERT.toByteValue());
      columns.add(form.of(values()), RowKind.INSERT.toByteValue());
      ColumnContents contents = new ColumnContents(buffers);
      for (int column : ALL) {
        assertThat(contents.isNull(column, 0)).as(TYPES.getFieldNames().get(column)).isTrue();
        assertThat(contents.isNull(column, 1)).as(TYPES.getFieldNames().get(column)).isFalse();
      }
      assertThat(contents.fixed(0, 1, 1)).containsExactly(1);
      assertThat(contents.fixed(1, 1, 1)).containsExactly(-2);
      assertThat(contents.fixed(2, 1, 2)).isEqualTo(little(2).putShort((short) -300).array());
      assertThat(contents.fixed(3, 1, 4)).isEqualTo(little(4).putInt(Integer.MIN_VALUE).array());
      assertThat(contents.fixed(4, 1, 8)).isEqualTo(little(8).putLong(Long.MIN_VALUE).array());
      assertThat(contents.fixed(5, 1, 4)).isEqualTo(little(4).putFloat(-1.5f).array());
      assertThat(contents.fixed(6, 1, 8)).isEqualTo(little(8).putDouble(Double.NaN).array());
      assertThat(contents.fixed(7, 1, 8)).isEqualTo(little(8).putLong(-12345).array());
      assertThat(new BigInteger(contents.variable(8, 1))).isEqualTo(new BigInteger("-12345678901234567890123456789"));
      assertThat(contents.fixed(9, 1, 4)).isEqualTo(little(4).putInt(-1).array());
      assertThat(contents.fixed(10, 1, 4)).isEqualTo(little(4).putInt(86_399_999).array());
      assertThat(contents.fixed(11, 1, 8)).isEqualTo(little(8).putLong(-5).array());
      assertThat(contents.fixed(12, 1, 8)).isEqualTo(little(8).putLong(-5).array());
      assertThat(contents.nanos(12, 1)).isEqualTo(999_999);
      assertThat(contents.nanos(13, 1)).isEqualTo(1000);
      assertThat(contents.variable(14, 1)).isEqualTo("ab  ".getBytes(StandardCharsets.UTF_8));
      assertThat(contents.variable(15, 1)).isEqualTo("größer als acht 中文".getBytes(StandardCharsets.UTF_8));
      assertThat(contents.variable(16, 1)).containsExactly(1, 2);
      assertThat(contents.variable(17, 1)).isEmpty();
    }
  }

  @ParameterizedTest
  @EnumSource
  void nestedValuesAreInFlinksBinaryForm(Form form) {
    try (ColumnBuffers buffers = buffers()) {
      new RowDataColumns(TYPES, ALL, buffers).add(form.of(values()), (byte) 0);
      ColumnContents contents = new ColumnContents(buffers);
      byte[] arrayBytes = contents.variable(18, 0);
      BinaryArrayData array = new BinaryArrayData();
      array.pointTo(MemorySegmentFactory.wrap(arrayBytes), 0, arrayBytes.length);
      assertThat(array.size()).isEqualTo(3);
      assertThat(array.getInt(0)).isEqualTo(1);
      assertThat(array.isNullAt(1)).isTrue();
      assertThat(array.getInt(2)).isEqualTo(3);

      byte[] mapBytes = contents.variable(19, 0);
      BinaryMapData map = new BinaryMapData();
      map.pointTo(MemorySegmentFactory.wrap(mapBytes), 0, mapBytes.length);
      assertThat(map.size()).isEqualTo(1);
      assertThat(map.keyArray().getString(0)).hasToString("k");
      assertThat(map.valueArray().getLong(0)).isEqualTo(9);

      byte[] rowBytes = contents.variable(20, 0);
      BinaryRowData row = new BinaryRowData(2);
      row.pointTo(MemorySegmentFactory.wrap(rowBytes), 0, rowBytes.length);
      assertThat(row.getString(0)).hasToString("in");
      assertThat(row.isNullAt(1)).isTrue();
    }
  }

  @Test
  void kindsAreKept() {
    RowType type = RowType.of(TYPES.getTypeAt(3));
    int[] first = {0};
    try (ColumnBuffers buffers = new ColumnBuffers(RowDataColumns.layouts(type, first), 100, 1 << 20)) {
      RowDataColumns columns = new RowDataColumns(type, first, buffers);
      assertThat(new ColumnContents(buffers).kinds()).isEmpty();
      columns.add(GenericRowData.of(1), RowKind.INSERT.toByteValue());
      columns.add(GenericRowData.of(1), RowKind.DELETE.toByteValue());
      assertThat(new ColumnContents(buffers).kinds()).containsExactly(0, 3);
    }
  }

  @Test
  void columnsMayBeAnyFieldsInAnyOrder() {
    int[] positions = {15, 3};
    try (ColumnBuffers buffers = new ColumnBuffers(RowDataColumns.layouts(TYPES, positions), 100, 1 << 20)) {
      new RowDataColumns(TYPES, positions, buffers).add(values(), (byte) 0);
      ColumnContents contents = new ColumnContents(buffers);
      assertThat(contents.variable(0, 0)).startsWith("gr".getBytes(StandardCharsets.UTF_8));
      assertThat(contents.fixed(1, 0, 4)).isEqualTo(little(4).putInt(Integer.MIN_VALUE).array());
    }
  }

  @Test
  void aRowThatCannotBeReadLeavesNothingBehind() {
    try (ColumnBuffers buffers = buffers()) {
      RowDataColumns columns = new RowDataColumns(TYPES, ALL, buffers);
      GenericRowData broken = values();
      broken.setField(17, "not bytes");
      assertThatThrownBy(() -> columns.add(broken, (byte) 0)).isInstanceOf(ClassCastException.class);
      columns.add(values(), (byte) 0);
      assertThat(buffers.rowCount()).isEqualTo(1);
      assertThat(new ColumnContents(buffers).variable(16, 0)).containsExactly(1, 2);
    }
  }

  @Test
  void layoutsOfOtherTypesAreRefused() {
    RowType type = RowType.of(DataTypes.MULTISET(DataTypes.INT()).getLogicalType());
    assertThatThrownBy(() -> RowDataColumns.layouts(type, new int[] {0})).hasMessageContaining("MULTISET<INT>");
  }

  private static ByteBuffer little(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
