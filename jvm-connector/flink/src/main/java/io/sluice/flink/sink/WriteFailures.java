package io.sluice.flink.sink;

import java.io.IOException;

import io.sluice.flink.StoreTable;
import io.sluice.store.StoreException;
import org.apache.flink.runtime.execution.SuppressRestartsException;

/** What becomes of a job whose rows the store does not take. */
final class WriteFailures {
  private WriteFailures() {}

  /**
   * Returns the exception that fails the task. A row that breaks a rule comes again after every restart, so such a failure ends the
   * job; one that may pass (a full disk, a store in use) leaves it to the job's restart strategy.
   */
  static IOException of(StoreTable table, StoreException e) {
    String message = String.format("Cannot write to table %s: %s", table, e.getMessage());
    switch (e.kind()) {
      case INVALID:
      case NOT_FOUND:
      case UNAUTHORIZED:
      case CORRUPT:
      case UNSUPPORTED:
        return new IOException(message, new SuppressRestartsException(e));
      default:
        return new IOException(message, e);
    }
  }
}
