package io.sluice.store;

/** Failures of the store, made without one. */
public final class Failures {
  private Failures() {}

  /** That of a partition which is not there. */
  public static StoreException partitionGone() {
    return new StoreException(ErrorKind.NOT_FOUND, Subject.PARTITION, "partition 'a' was dropped", null);
  }
}
