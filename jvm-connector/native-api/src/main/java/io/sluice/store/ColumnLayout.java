package io.sluice.store;

/** How the values of a column lie in memory on their way into the engine ("Columns in" of {@code docs/jni.md}). */
public enum ColumnLayout {
  /** BOOLEAN (0 or 1), TINYINT. */
  BYTE(1),
  /** SMALLINT. */
  SHORT(2),
  /** INT, DATE (days), TIME (ms of day), FLOAT. */
  INT(4),
  /** BIGINT, DOUBLE, DECIMAL with precision up to 18 (unscaled), TIMESTAMP and TIMESTAMP_LTZ with precision up to 3 (ms). */
  LONG(8),
  /** TIMESTAMP and TIMESTAMP_LTZ with precision above 3: ms, and nanoseconds within the ms. */
  TIMESTAMP(12),
  /**
   * CHAR and STRING (UTF-8), BINARY, BYTES, DECIMAL with precision above 18 (two's complement, big-endian), and ARRAY, MAP, ROW (Flink's
   * binary forms).
   */
  VARIABLE(4);

  /** Bytes a row needs in any case, the bytes of variable values not counted. */
  final int rowBytes;

  ColumnLayout(int rowBytes) {
    this.rowBytes = rowBytes;
  }
}
