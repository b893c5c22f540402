package io.sluice.flink.generated;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Random;

/** Types of generated columns: few values, so that keys meet and conditions hold, but odd ones among them. */
enum SqlType {
  INT("INT") {
    @Override
    Object random(Random random) {
      return random.nextInt(20) == 0 ? Integer.valueOf(1_000_000_007) : Integer.valueOf(random.nextInt(25) - 5);
    }

    @Override
    String literal(Object value) {
      return value.toString();
    }
  },
  BIGINT("BIGINT") {
    @Override
    Object random(Random random) {
      return random.nextInt(20) == 0 ? Long.valueOf(-3_000_000_000_000L) : Long.valueOf(random.nextInt(12));
    }

    @Override
    String literal(Object value) {
      return "CAST(" + value + " AS BIGINT)";
    }
  },
  STRING("STRING") {
    @Override
    Object random(Random random) {
      return TEXTS[random.nextInt(TEXTS.length)];
    }

    @Override
    String literal(Object value) {
      return "'" + value.toString().replace("'", "''") + "'";
    }
  },
  DECIMAL("DECIMAL(10, 2)") {
    @Override
    Object random(Random random) {
      return BigDecimal.valueOf(random.nextInt(2000) - 1000, 2);
    }

    @Override
    String literal(Object value) {
      return "CAST('" + value + "' AS DECIMAL(10, 2))";
    }
  },
  BOOLEAN("BOOLEAN") {
    @Override
    Object random(Random random) {
      return random.nextBoolean();
    }

    @Override
    String literal(Object value) {
      return value.toString().toUpperCase(java.util.Locale.ROOT);
    }
  },
  DATE("DATE") {
    @Override
    Object random(Random random) {
      return LocalDate.of(1969, 12, 25).plusDays(random.nextInt(14));
    }

    @Override
    String literal(Object value) {
      return "DATE '" + value + "'";
    }
  },
  TIMESTAMP("TIMESTAMP(3)") {
    @Override
    Object random(Random random) {
      return LocalDateTime.of(1969, 12, 31, 23, 59, 58).plusNanos(random.nextInt(4000) * 1_000_000L);
    }

    @Override
    String literal(Object value) {
      return "TIMESTAMP '" + ((LocalDateTime) value).format(DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSS")) + "'";
    }
  };

  private static final String[] TEXTS = {"", "a", "ab", "abc", "b", "it's", "Ü", "日本", "zz top", "a%b"};

  /** The type's name in SQL. */
  final String sql;

  SqlType(String sql) {
    this.sql = sql;
  }

  /** A value, never NULL. */
  abstract Object random(Random random);

  /** A value in SQL. */
  abstract String literal(Object value);

  /** A value or NULL in SQL, of this type also where nothing else says so. */
  String orNull(Object value) {
    return value == null ? "CAST(NULL AS " + sql + ")" : literal(value);
  }
}
