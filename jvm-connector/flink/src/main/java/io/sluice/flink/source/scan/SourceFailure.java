package io.sluice.flink.source.scan;

import io.sluice.store.ErrorKind;
import io.sluice.store.StoreException;
import io.sluice.store.Subject;
import org.apache.flink.runtime.execution.SuppressRestartsException;

/** Turns what stops a scan into the exception that makes Flink do the right thing. */
public final class SourceFailure {
  private SourceFailure() {}

  /**
   * The exception to throw. A failure that a restart would only meet again fails the job at once instead of restarting it for ever.
   *
   * @param cause what went wrong
   */
  public static RuntimeException of(Throwable cause) {
    if (isPermanent(cause)) {
      return new SuppressRestartsException(cause);
    }
    return cause instanceof RuntimeException ? (RuntimeException) cause : new IllegalStateException(cause);
  }

  /**
   * The failure of a job whose saved state belongs to a table that has been replaced since.
   *
   * @param table the table's name
   * @param saved the table's id in the state
   * @param present its id now
   */
  public static RuntimeException otherTable(String table, long saved, long present) {
    return new SuppressRestartsException(
        new IllegalStateException(
            String.format(
                "Table ID mismatch: the saved state belongs to table %s with id %d, but the table now has id %d, for it was dropped and"
                    + " created again. Please restart the job without its savepoint or checkpoint.",
                table, saved, present)));
  }

  /** Whether a failure says that a partition is not there (any more). */
  public static boolean isPartitionGone(StoreException failure) {
    return failure.kind() == ErrorKind.NOT_FOUND && failure.subject() == Subject.PARTITION;
  }

  private static boolean isPermanent(Throwable cause) {
    if (!(cause instanceof StoreException)) {
      return false;
    }
    StoreException failure = (StoreException) cause;
    // A closed handle is open again after a restart, and a defect may have been met by accident.
    return !failure.retryable() && failure.kind() != ErrorKind.CLOSED && failure.kind() != ErrorKind.INTERNAL && failure.kind() != ErrorKind.IO;
  }
}
