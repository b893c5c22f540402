package io.sluice.store;

/** Looks keys of one table up, a batch at a time. Threads may share it, each with column buffers of its own. */
public final class KeyLookup implements AutoCloseable {
  private final Handle handle;

  KeyLookup(long number) {
    this.handle = new Handle(this, "key lookup", number, NativeLookup::close);
  }

  /**
   * Looks up the finished rows of {@code keys}, one key a row, in the order of the key columns this lookup was opened with. Sees
   * every row acknowledged before the call.
   *
   * @return the rows found, those of the first key first; {@link RowBlock#keyEnd} says whose they are
   */
  public RowBlock lookup(ColumnBuffers keys) {
    synchronized (keys) { // so that another thread's close() of the buffers waits
      return new RowBlock(NativeLookup.lookup(handle.get(), keys.address(), keys.columnCount(), keys.rowCount()));
    }
  }

  @Override
  public void close() {
    handle.close();
  }
}
