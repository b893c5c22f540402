package io.sluice.store;

import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicLong;

/** Memory outside the heap, counted. The only class that names {@code Unsafe}; callers check bounds. */
@SuppressWarnings("sunapi")
final class OffHeap {
  private static final sun.misc.Unsafe UNSAFE = unsafe();
  private static final long BYTES = sun.misc.Unsafe.ARRAY_BYTE_BASE_OFFSET;
  /** Up to this length eight-byte moves beat the call into the copy routine. */
  private static final int SHORT_COPY = 32;

  private static final AtomicLong ALLOCATED = new AtomicLong();

  private OffHeap() {}

  private static sun.misc.Unsafe unsafe() {
    try {
      Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      return (sun.misc.Unsafe) field.get(null);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Returns the bytes allocated and not yet freed. */
  static long allocatedBytes() {
    return ALLOCATED.get();
  }

  static long allocate(long bytes) {
    long address = UNSAFE.allocateMemory(bytes);
    ALLOCATED.addAndGet(bytes);
    return address;
  }

  static void free(long address, long bytes) {
    UNSAFE.freeMemory(address);
    ALLOCATED.addAndGet(-bytes);
  }

  static void putByte(long address, byte value) {
    UNSAFE.putByte(address, value);
  }

  static void putShort(long address, short value) {
    UNSAFE.putShort(address, value);
  }

  static void putInt(long address, int value) {
    UNSAFE.putInt(address, value);
  }

  static void putLong(long address, long value) {
    UNSAFE.putLong(address, value);
  }

  static byte getByte(long address) {
    return UNSAFE.getByte(address);
  }

  static int getInt(long address) {
    return UNSAFE.getInt(address);
  }

  static void fill(long address, long bytes, byte value) {
    UNSAFE.setMemory(address, bytes, value);
  }

  static void copy(long from, long to, long bytes) {
    UNSAFE.copyMemory(from, to, bytes);
  }

  static void copy(byte[] from, int offset, long to, int length) {
    long source = BYTES + offset;
    if (length > SHORT_COPY) {
      UNSAFE.copyMemory(from, source, null, to, length);
      return;
    }
    int done = 0;
    for (; done + 8 <= length; done += 8) {
      UNSAFE.putLong(to + done, UNSAFE.getLong(from, source + done));
    }
    for (; done < length; done++) {
      UNSAFE.putByte(to + done, UNSAFE.getByte(from, source + done));
    }
  }
}
