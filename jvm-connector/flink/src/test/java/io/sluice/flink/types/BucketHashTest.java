package io.sluice.flink.types;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The bucket function against numbers that Paimon's own implementation gave. */
final class BucketHashTest {
  private static final int[] COUNTS = {2, 3, 7, 16, 128};

  static Stream<Arguments> vectors() {
    return Stream.of(
        vector(1465514398, "0 1 5 14 30", types(DataTypes.INT()), 1),
        vector(1465514398, "0 1 5 14 30", types(DataTypes.BIGINT()), 1L),
        vector(1465514398, "0 1 5 14 30", types(DataTypes.BOOLEAN()), true),
        vector(-528982515, "1 0 5 3 115", types(DataTypes.INT()), -3),
        vector(-1748325344, "0 2 3 0 96", types(DataTypes.INT()), (Object) null),
        vector(-1873221036, "0 0 1 12 44", types(DataTypes.BIGINT()), 1234567890123L),
        vector(943281246, "0 0 5 14 94", types(DataTypes.STRING()), text("a")),
        vector(199144172, "0 2 3 12 108", types(DataTypes.STRING()), text("1234567")),
        vector(-391021801, "1 1 2 9 105", types(DataTypes.STRING()), text("12345678")),
        vector(161593394, "0 2 4 2 50", types(DataTypes.STRING()), text("hello world")),
        vector(1956728004, "0 0 0 4 68", types(DataTypes.STRING()), text("中文")),
        vector(1668009018, "0 0 4 10 58", types(DataTypes.DATE()), 20000),
        vector(-1285420957, "1 1 2 13 29", types(DataTypes.TIMESTAMP(3)), time(1700000000123L, 0)),
        vector(1196670069, "1 0 0 5 117", types(DataTypes.TIMESTAMP(6)), time(1700000000123L, 456000)),
        vector(767607022, "0 1 0 14 110", types(DataTypes.DECIMAL(10, 2)), decimal("123.45", 10, 2)),
        vector(-607937109, "1 0 3 5 85", types(DataTypes.DECIMAL(38, 10)), decimal("1234567890123.0123456789", 38, 10)),
        vector(907730780, "0 2 5 12 92", types(DataTypes.DECIMAL(38, 10)), decimal("-0.0000000001", 38, 10)),
        vector(1593333451, "1 1 3 11 75", types(DataTypes.INT(), DataTypes.STRING()), 7, text("abc")),
        vector(465839122, "0 1 0 2 18", types(DataTypes.STRING(), DataTypes.BIGINT()), text("hello world"), 42L),
        vector(398608515, "1 0 4 3 3", types(DataTypes.INT(), DataTypes.STRING()), null, text("x")),
        vector(2004758659, "1 1 1 3 3", types(DataTypes.TINYINT()), (byte) -1),
        vector(355866870, "", types(DataTypes.TIMESTAMP(6), DataTypes.INT()), null, 5),
        vector(265042173, "", types(DataTypes.DECIMAL(38, 10), DataTypes.INT()), null, 5),
        vector(1236894319, "", types(DataTypes.TIMESTAMP(6)), time(-1, 999000)));
  }

  private static Arguments vector(int hash, String buckets, RowType types, Object... values) {
    int[] expected = buckets.isEmpty() ? new int[0] : Stream.of(buckets.split(" ")).mapToInt(Integer::parseInt).toArray();
    return Arguments.of(hash, expected, types, GenericRowData.of(values));
  }

  private static RowType types(DataType... types) {
    return RowType.of(Stream.of(types).map(DataType::getLogicalType).toArray(LogicalType[]::new));
  }

  private static StringData text(String text) {
    return StringData.fromString(text);
  }

  private static TimestampData time(long milliseconds, int nanos) {
    return TimestampData.fromEpochMillis(milliseconds, nanos);
  }

  private static DecimalData decimal(String value, int precision, int scale) {
    return DecimalData.fromBigDecimal(new BigDecimal(value), precision, scale);
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void isThatOfPaimon(int hash, int[] buckets, RowType types, RowData row) {
    int[] all = IntStream.range(0, types.getFieldCount()).toArray();
    assertThat(new BucketHash(types, all, 1).hash(row)).isEqualTo(hash);
    for (int i = 0; i < buckets.length; i++) {
      assertThat(new BucketHash(types, all, COUNTS[i]).bucket(row)).as("of %d buckets", COUNTS[i]).isEqualTo(buckets[i]);
    }
    RowData binary = new RowDataSerializer(types).toBinaryRow(row).copy();
    assertThat(new BucketHash(types, all, 1).hash(binary)).as("of the row in Flink's binary form").isEqualTo(hash);
  }

  @Test
  void takesTheKeyOutOfTheRowInItsOwnOrder() {
    RowType types = types(DataTypes.DOUBLE(), DataTypes.STRING(), DataTypes.INT());
    BucketHash hash = new BucketHash(types, new int[] {2, 1}, 16);
    assertThat(hash.bucket(GenericRowData.of(1.5, text("abc"), 7))).isEqualTo(11);
    assertThat(hash.bucket(GenericRowData.of(null, text("abc"), 7))).isEqualTo(11);
  }

  @Test
  void nothingOfAnEarlierRowRemains() {
    RowType types = types(DataTypes.INT(), DataTypes.STRING());
    BucketHash hash = new BucketHash(types, new int[] {0, 1}, 16);
    hash.bucket(GenericRowData.of(-1, text("a text that is far longer than eight bytes")));
    assertThat(hash.hash(GenericRowData.of(7, text("abc")))).isEqualTo(1593333451);
    assertThat(hash.hash(GenericRowData.of(null, text("x")))).isEqualTo(398608515);
  }
}
