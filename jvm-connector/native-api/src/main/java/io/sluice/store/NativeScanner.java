package io.sluice.store;

/** Answered by {@code native/jni/src/scanner.rs}. A polled block is an ordinary array of the caller's. */
final class NativeScanner {
  private NativeScanner() {}

  static native long open(long connection, String json);

  static native void subscribe(long scanner, String json);

  static native void unsubscribe(long scanner, int split);

  static native byte[] poll(long scanner, long timeoutMs);

  static native void wake(long scanner);

  static native void close(long scanner);
}
