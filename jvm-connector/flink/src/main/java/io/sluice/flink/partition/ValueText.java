package io.sluice.flink.partition;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Optional;

import javax.annotation.Nullable;

import org.apache.flink.table.expressions.ValueLiteralExpression;
import org.apache.flink.table.types.logical.LogicalType;

/**
 * Values of partition columns so that they compare as SQL compares them: BOOLEAN as Boolean, whole numbers as Long, FLOAT and DOUBLE as
 * Double, texts as String, bytes as hex, and times as what java.time has for them.
 */
final class ValueText {
  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH-mm-ss", Locale.ROOT);

  private ValueText() {}

  /**
   * The value behind a text of the store.
   *
   * @return null for a text or type that is not understood
   */
  @Nullable
  static Comparable<?> parse(String text, LogicalType type) {
    try {
      return value(text, type);
    } catch (RuntimeException e) {
      // Whatever does not parse cannot rule a partition out.
      return null;
    }
  }

  @Nullable
  private static Comparable<?> value(String text, LogicalType type) {
    switch (type.getTypeRoot()) {
      case CHAR:
      case VARCHAR:
      case BINARY:
      case VARBINARY:
        return text;
      case BOOLEAN:
        return Boolean.valueOf(text);
      case TINYINT:
      case SMALLINT:
      case INTEGER:
      case BIGINT:
        return Long.valueOf(text);
      case FLOAT:
        return (double) Float.parseFloat(number(text));
      case DOUBLE:
        return Double.parseDouble(number(text));
      case DATE:
        return LocalDate.parse(text);
      case TIME_WITHOUT_TIME_ZONE:
        return time(text);
      case TIMESTAMP_WITHOUT_TIME_ZONE:
        return timestamp(text);
      case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
        return timestamp(text).toInstant(ZoneOffset.UTC);
      default:
        return null;
    }
  }

  private static String number(String text) {
    return text.endsWith("Inf") ? text.replace("Inf", "Infinity") : text.replace('_', '.');
  }

  /** {@code 10-15-30_25}: behind the underscore come the digits of a second's fraction, as many as are needed. */
  private static LocalTime time(String text) {
    int point = text.indexOf('_');
    String fraction = (text.substring(point + 1) + "000000000").substring(0, 9);
    return LocalTime.parse(text.substring(0, point), TIME).plusNanos(Long.parseLong(fraction));
  }

  private static LocalDateTime timestamp(String text) {
    return LocalDate.parse(text.substring(0, 10)).atTime(time(text.substring(11)));
  }

  /**
   * The value of a literal that is compared with a column.
   *
   * @param type the type in which the comparison is made
   * @return null for a literal of another type, or one that is not understood
   */
  @Nullable
  static Comparable<?> literal(ValueLiteralExpression literal, LogicalType type) {
    LogicalType own = literal.getOutputDataType().getLogicalType();
    switch (type.getTypeRoot()) {
      case CHAR:
      case VARCHAR:
        return isOneOf(own, "CHAR", "VARCHAR") ? literal.getValueAs(String.class).orElse(null) : null;
      case BINARY:
      case VARBINARY:
        return isOneOf(own, "BINARY", "VARBINARY") ? literal.getValueAs(byte[].class).map(ValueText::hex).orElse(null) : null;
      case BOOLEAN:
        return isOneOf(own, "BOOLEAN") ? literal.getValueAs(Boolean.class).orElse(null) : null;
      case TINYINT:
      case SMALLINT:
      case INTEGER:
      case BIGINT:
        return isOneOf(own, "TINYINT", "SMALLINT", "INTEGER", "BIGINT") ? decimal(literal).map(BigDecimal::longValueExact).orElse(null) : null;
      case FLOAT:
        return isOneOf(own, "FLOAT") ? literal.getValueAs(Float.class).map(Float::doubleValue).orElse(null) : null;
      case DOUBLE:
        return isOneOf(own, "DOUBLE") ? literal.getValueAs(Double.class).orElse(null) : null;
      case DATE:
        return isOneOf(own, "DATE") ? literal.getValueAs(LocalDate.class).orElse(null) : null;
      case TIME_WITHOUT_TIME_ZONE:
        return isOneOf(own, "TIME_WITHOUT_TIME_ZONE") ? literal.getValueAs(LocalTime.class).orElse(null) : null;
      case TIMESTAMP_WITHOUT_TIME_ZONE:
        return isOneOf(own, "TIMESTAMP_WITHOUT_TIME_ZONE") ? literal.getValueAs(LocalDateTime.class).orElse(null) : null;
      case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
        return isOneOf(own, "TIMESTAMP_WITH_LOCAL_TIME_ZONE") ? literal.getValueAs(Instant.class).orElse(null) : null;
      default:
        return null;
    }
  }

  private static Optional<BigDecimal> decimal(ValueLiteralExpression literal) {
    return literal.getValueAs(BigDecimal.class);
  }

  private static boolean isOneOf(LogicalType type, String... roots) {
    for (String root : roots) {
      if (type.getTypeRoot().name().equals(root)) {
        return true;
      }
    }
    return false;
  }

  private static String hex(byte[] bytes) {
    StringBuilder text = new StringBuilder(2 * bytes.length);
    for (byte b : bytes) {
      text.append(Character.forDigit((b >> 4) & 0xf, 16)).append(Character.forDigit(b & 0xf, 16));
    }
    return text.toString();
  }
}
