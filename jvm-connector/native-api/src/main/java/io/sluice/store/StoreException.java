package io.sluice.store;

/** An error of the engine: what kind it is, what it is about, and a sentence that says what to do. */
public final class StoreException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final ErrorKind kind;
  private final Subject subject;
  private final boolean retryable;

  /** Called by the native library, which knows kinds and subjects as numbers. */
  StoreException(int kind, int subject, String message, boolean retryable) {
    super(message);
    this.kind = ErrorKind.of(kind);
    this.subject = Subject.of(subject);
    this.retryable = retryable;
  }

  StoreException(ErrorKind kind, Subject subject, String message, Throwable cause) {
    super(message, cause);
    this.kind = kind;
    this.subject = subject;
    this.retryable = false;
  }

  /** Returns what the caller can do. */
  public ErrorKind kind() {
    return kind;
  }

  /** Returns what the error is about. */
  public Subject subject() {
    return subject;
  }

  /** Returns whether the same call may succeed later without a change by the caller. */
  public boolean retryable() {
    return retryable;
  }
}
