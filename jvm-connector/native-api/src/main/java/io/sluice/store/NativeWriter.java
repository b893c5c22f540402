package io.sluice.store;

/** Answered by {@code native/jni/src/writer.rs}. Addresses are read during the call only and stay the caller's. */
final class NativeWriter {
  private NativeWriter() {}

  static native long open(long connection, String json);

  static native void write(long writer, long columns, int columnCount, long kinds, int rows);

  static native void flush(long writer, long timeoutMs);

  static native void undo(long writer, String bucket, long from);

  static native void close(long writer);
}
