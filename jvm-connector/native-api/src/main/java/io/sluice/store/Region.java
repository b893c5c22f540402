package io.sluice.store;

/** A piece of memory outside the heap that can grow; empty at first. */
final class Region {
  private long address;
  private long bytes;

  long address() {
    return address;
  }

  long bytes() {
    return bytes;
  }

  /** Takes {@code size} bytes, not fewer than now, and keeps the content. */
  void resize(long size) {
    long grown = OffHeap.allocate(size);
    if (address != 0) {
      OffHeap.copy(address, grown, bytes);
    }
    free();
    address = grown;
    bytes = size;
  }

  void free() {
    if (address != 0) {
      OffHeap.free(address, bytes);
      address = 0;
      bytes = 0;
    }
  }
}
