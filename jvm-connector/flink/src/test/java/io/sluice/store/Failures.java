package io.sluice.store;

/** Failures of the store, made without one. */
public final class Failures {
  private Failures() {}

  /** Any. */
  public static StoreException of(ErrorKind kind, Subject subject, String message) {
    return new StoreException(kind, subject, message, null);
  }

  /** That of a partition which is not there. */
  public static StoreException partitionGone() {
    return new StoreException(ErrorKind.NOT_FOUND, Subject.PARTITION, "partition 'a' was dropped", null);
  }
}
