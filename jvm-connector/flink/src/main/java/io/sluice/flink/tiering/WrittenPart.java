package io.sluice.flink.tiering;

import java.io.Serializable;

/** Files of one bucket that wait for their commit. */
final class WrittenPart implements Serializable {
  private static final long serialVersionUID = 1L;

  private final long number;
  private final long end;
  private final long rows;

  /**
   * @param number what the store calls them
   * @param end up to where (exclusive) they have the bucket's log
   * @param rows how many of its rows they hold
   */
  WrittenPart(long number, long end, long rows) {
    this.number = number;
    this.end = end;
    this.rows = rows;
  }

  long number() {
    return number;
  }

  long end() {
    return end;
  }

  long rows() {
    return rows;
  }
}
