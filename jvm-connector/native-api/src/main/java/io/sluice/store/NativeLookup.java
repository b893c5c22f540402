package io.sluice.store;

/** Answered by {@code native/jni/src/lookup.rs}. Addresses are read during the call only; the block is the caller's. */
final class NativeLookup {
  private NativeLookup() {}

  static native long open(long connection, String json);

  static native byte[] lookup(long lookup, long columns, int columnCount, int rows);

  static native void close(long lookup);
}
