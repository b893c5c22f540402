package io.sluice.store;

/** What the caller can do about a {@link StoreException}. Codes are those of the engine and never change. */
public enum ErrorKind {
  /** The request is wrong; change it. */
  INVALID(1),
  /** The named thing does not exist. */
  NOT_FOUND(2),
  /** The named thing exists already. */
  ALREADY_EXISTS(3),
  /** The request does not fit the present state. */
  CONFLICT(4),
  /** Not now; the same call may succeed later. */
  BUSY(5),
  /** The caller may not do this. */
  UNAUTHORIZED(6),
  /** Somebody newer has taken over; stop. */
  FENCED(7),
  /** Stored bytes are damaged; the message names file and position. */
  CORRUPT(8),
  /** The operating system refused. */
  IO(9),
  /** This version cannot do it. */
  UNSUPPORTED(10),
  /** A defect of the engine. */
  INTERNAL(11),
  /** The handle was closed; open a new one. */
  CLOSED(12);

  private final int code;

  ErrorKind(int code) {
    this.code = code;
  }

  /** Returns the stable number of this kind. */
  public int code() {
    return code;
  }

  /** Returns the kind behind a number; {@link #INTERNAL} for one that this version does not know. */
  static ErrorKind of(int code) {
    for (ErrorKind kind : values()) {
      if (kind.code == code) {
        return kind;
      }
    }
    return INTERNAL;
  }
}
