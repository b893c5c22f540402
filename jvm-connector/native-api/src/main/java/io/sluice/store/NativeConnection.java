package io.sluice.store;

/** Answered by {@code native/jni/src/connection.rs}. Handles belong to the caller, who gives each back once with {@link #close}. */
final class NativeConnection {
  private NativeConnection() {}

  static native int abiVersion();

  static native long open(String json);

  static native String admin(long connection, String operation, String json);

  static native void close(long connection);

  static native long liveHandles();

  static native long nativeBytes();

  /** Always fails, by a panic or by an error of kind INTERNAL: proves on the library that ships that neither takes the JVM down. */
  static native void fail(boolean panics);
}
