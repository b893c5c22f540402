package io.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** A column of every type with values at their limits, put one way and read another. */
final class Columns {
  /** One column: its type's JSON, how it crosses, and for each row what is put and what must come back. */
  static final class Case {
    final String name;
    final String type;
    final ColumnLayout layout;
    final List<Object> values;

    Case(String name, String type, ColumnLayout layout, Object... values) {
      this.name = name;
      this.type = type;
      this.layout = layout;
      this.values = new ArrayList<>(List.of(values));
    }

    /** Puts the value of a row; every fifth is NULL. */
    void put(ColumnBuffer column, int row) {
      Object value = at(row);
      if (value == null) {
        column.putNull();
      } else if (layout == ColumnLayout.VARIABLE) {
        column.putBytes((byte[]) value);
      } else if (layout == ColumnLayout.TIMESTAMP) {
        column.putTimestamp(((long[]) value)[0], (int) ((long[]) value)[1]);
      } else {
        putNumber(column, (Long) value);
      }
    }

    private void putNumber(ColumnBuffer column, long value) {
      List<Consumer<ColumnBuffer>> puts =
          List.of(c -> c.putByte((byte) value), c -> c.putShort((short) value), c -> c.putInt((int) value), c -> c.putLong(value));
      puts.get(layout.ordinal()).accept(column);
    }

    /** Checks the value of a row. */
    void check(BinaryRow found, int column, int row) {
      Object value = at(row);
      assertThat(found.isNull(column)).as("%s in row %d", name, row).isEqualTo(value == null);
      if (value == null) {
        return;
      }
      if (layout == ColumnLayout.VARIABLE) {
        assertThat(found.variable(column)).as("%s in row %d", name, row).isEqualTo(value);
      } else if (layout == ColumnLayout.TIMESTAMP) {
        assertThat(found.timestamp(column)).as("%s in row %d", name, row).isEqualTo(value);
      } else {
        int bits = 8 * layout.rowBytes;
        assertThat(found.fixed(column) << 64 - bits >> 64 - bits).as("%s in row %d", name, row).isEqualTo(value);
      }
    }

    private Object at(int row) {
      return row % 5 == 4 ? null : values.get(row % values.size());
    }

    String json() {
      return "{\"name\":\"" + name + "\",\"data_type\":{" + type + "}}";
    }
  }

  private Columns() {}

  private static String type(String name) {
    return "\"type\":\"" + name + "\"";
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] big(String digits) {
    return new BigInteger(digits).toByteArray();
  }

  static List<Case> everyType() {
    String nines = "9".repeat(38);
    String timestamp = "TIMESTAMP_WITHOUT_TIME_ZONE";
    String instant = "TIMESTAMP_WITH_LOCAL_TIME_ZONE";
    byte[] array = BinaryRow.intArray(1, null, Integer.MIN_VALUE);
    byte[] empty = BinaryRow.intArray();
    return List.of(
        new Case("boolean", type("BOOLEAN"), ColumnLayout.BYTE, 0L, 1L),
        new Case("tinyint", type("TINYINT"), ColumnLayout.BYTE, -128L, 127L, 0L),
        new Case("smallint", type("SMALLINT"), ColumnLayout.SHORT, -32768L, 32767L),
        new Case("int", type("INTEGER"), ColumnLayout.INT, (long) Integer.MIN_VALUE, (long) Integer.MAX_VALUE, 0L),
        new Case("bigint", type("BIGINT"), ColumnLayout.LONG, Long.MIN_VALUE, Long.MAX_VALUE, 0L),
        new Case("float", type("FLOAT"), ColumnLayout.INT, (long) Float.floatToRawIntBits(Float.NaN), (long) Float.floatToRawIntBits(-0f)),
        new Case("double", type("DOUBLE"), ColumnLayout.LONG, Double.doubleToRawLongBits(Double.MIN_VALUE), Double.doubleToRawLongBits(-0.0)),
        new Case("date", type("DATE"), ColumnLayout.INT, -719_162L, 0L, 2_932_896L),
        new Case("time", type("TIME_WITHOUT_TIME_ZONE") + ",\"precision\":3", ColumnLayout.INT, 0L, 86_399_999L),
        new Case("decimal", type("DECIMAL") + ",\"precision\":18,\"scale\":4", ColumnLayout.LONG, 999_999_999_999_999_999L, -1L),
        new Case("decimal38", type("DECIMAL") + ",\"precision\":38,\"scale\":10", ColumnLayout.VARIABLE, big(nines), big("-" + nines), big("0")),
        new Case("timestamp3", type(timestamp) + ",\"precision\":3", ColumnLayout.LONG, -1L, 253_402_300_799_999L),
        new Case("timestamp9", type(timestamp) + ",\"precision\":9", ColumnLayout.TIMESTAMP, new long[] {-1, 999_999}, new long[] {1_700_000_000_000L, 1}),
        new Case("instant3", type(instant) + ",\"precision\":3", ColumnLayout.LONG, -62_135_596_800_000L, 0L),
        new Case("instant6", type(instant) + ",\"precision\":6", ColumnLayout.TIMESTAMP, new long[] {-1, 999_000}, new long[] {0, 0}),
        new Case("char", type("CHAR") + ",\"length\":3", ColumnLayout.VARIABLE, utf8("abc"), utf8("\u00e4\ud83d\ude00\u20ac")),
        new Case("string", type("STRING"), ColumnLayout.VARIABLE, utf8(""), utf8("1234567"), utf8("12345678"), utf8("\ud83d\ude00".repeat(500))),
        new Case("binary", type("BINARY") + ",\"length\":4", ColumnLayout.VARIABLE, new byte[] {0, -1, -128, 127}),
        new Case("bytes", type("BYTES"), ColumnLayout.VARIABLE, new byte[0], new byte[] {-1}, new byte[1000]),
        new Case("array", type("ARRAY") + ",\"element_type\":{" + type("INTEGER") + "}", ColumnLayout.VARIABLE, array, empty),
        new Case(
            "map",
            type("MAP") + ",\"key_type\":{" + type("INTEGER") + ",\"nullable\":false},\"value_type\":{" + type("INTEGER") + "}",
            ColumnLayout.VARIABLE,
            BinaryRow.intMap(BinaryRow.intArray(1, 2), BinaryRow.intArray(null, -7)),
            BinaryRow.intMap(empty, empty)),
        new Case(
            "row",
            type("ROW") + ",\"fields\":[{\"name\":\"n\",\"field_type\":{" + type("INTEGER") + "}},{\"name\":\"t\",\"field_type\":{" + type("STRING") + "}}]",
            ColumnLayout.VARIABLE,
            BinaryRow.nestedRow(-5, "longer than seven")));
  }
}
