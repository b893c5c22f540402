package io.sluice.store;

/** What a {@link StoreException} is about. Codes are those of the engine and never change. */
public enum Subject {
  NONE(0),
  STORE(1),
  DATABASE(2),
  TABLE(3),
  PARTITION(4),
  BUCKET(5),
  COLUMN(6),
  OPTION(7),
  ROW(8),
  OFFSET(9),
  SNAPSHOT(10),
  WRITER(11),
  FILE(12),
  DISK(13);

  private final int code;

  Subject(int code) {
    this.code = code;
  }

  /** Returns the stable number of this subject. */
  public int code() {
    return code;
  }

  /** Returns the subject behind a number; {@link #NONE} for one that this version does not know. */
  static Subject of(int code) {
    for (Subject subject : values()) {
      if (subject.code == code) {
        return subject;
      }
    }
    return NONE;
  }
}
