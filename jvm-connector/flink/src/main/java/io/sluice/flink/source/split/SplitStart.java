package io.sluice.flink.source.split;

import java.util.Objects;

/** Where reading a split starts, or goes on after a restore. Immutable. */
public final class SplitStart {

  /** The kinds of start. The codes are part of the savepoint format and never change their meaning. */
  public enum Kind {
    /** The first offset of the log that can still be read when the reader subscribes. */
    EARLIEST(1),
    /** A given offset of the log. */
    LOG(2),
    /** A leased snapshot after a number of its rows, then the log from the offset where the snapshot ends. */
    SNAPSHOT(3),
    /** The current rows of a primary-key bucket, then the end. */
    CURRENT(4),
    /** At most so many rows, then the end. */
    LIMIT(5),
    /** The row of one primary key, then the end. Belongs to the whole table, not to a bucket. */
    POINT(6),
    /** One row that holds a number of rows, then the end. Belongs to the whole table, not to a bucket. */
    COUNT(7);

    private final int code;

    Kind(int code) {
      this.code = code;
    }

    /** The number that stands for this kind in a savepoint. */
    public int code() {
      return code;
    }

    /**
     * The kind behind a code.
     *
     * @throws IllegalArgumentException for a code that no version has written
     */
    public static Kind of(int code) {
      for (Kind kind : values()) {
        if (kind.code == code) {
          return kind;
        }
      }
      throw new IllegalArgumentException("unknown kind of split start: " + code);
    }
  }

  private final Kind kind;
  private final long snapshot;
  private final long value;

  SplitStart(Kind kind, long snapshot, long value) {
    this.kind = Objects.requireNonNull(kind);
    this.snapshot = snapshot;
    this.value = value;
  }

  /** The first offset that can be read. */
  public static SplitStart earliest() {
    return new SplitStart(Kind.EARLIEST, 0, 0);
  }

  /** An offset of the log. */
  public static SplitStart log(long offset) {
    return new SplitStart(Kind.LOG, 0, offset);
  }

  /** A snapshot after some of its rows. */
  public static SplitStart snapshot(long snapshot, long rowsRead) {
    return new SplitStart(Kind.SNAPSHOT, snapshot, rowsRead);
  }

  /** The current rows. */
  public static SplitStart current() {
    return new SplitStart(Kind.CURRENT, 0, 0);
  }

  /** At most so many rows. */
  public static SplitStart limit(long rows) {
    return new SplitStart(Kind.LIMIT, 0, rows);
  }

  /** The row of the key that the source holds. */
  public static SplitStart point() {
    return new SplitStart(Kind.POINT, 0, 0);
  }

  /** A number of rows that is known already. */
  public static SplitStart count(long rows) {
    return new SplitStart(Kind.COUNT, 0, rows);
  }

  /** What {@link #snapshot()} and {@link #value()} mean. */
  public Kind kind() {
    return kind;
  }

  /** The snapshot's id; only for {@link Kind#SNAPSHOT}. */
  public long snapshot() {
    return snapshot;
  }

  /** LOG: the offset. SNAPSHOT: rows read. LIMIT, COUNT: the number of rows. Else 0. */
  public long value() {
    return value;
  }

  @Override
  public boolean equals(Object other) {
    if (!(other instanceof SplitStart)) {
      return false;
    }
    SplitStart that = (SplitStart) other;
    return kind == that.kind && snapshot == that.snapshot && value == that.value;
  }

  @Override
  public int hashCode() {
    return Objects.hash(kind, snapshot, value);
  }

  @Override
  public String toString() {
    switch (kind) {
      case SNAPSHOT:
        return "snapshot " + snapshot + " after " + value + " rows";
      case LOG:
        return "offset " + value;
      case LIMIT:
      case COUNT:
        return kind.name().toLowerCase(java.util.Locale.ROOT) + " " + value;
      default:
        return kind.name().toLowerCase(java.util.Locale.ROOT);
    }
  }
}
