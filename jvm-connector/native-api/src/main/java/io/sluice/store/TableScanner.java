package io.sluice.store;

import java.time.Duration;

/** Reads splits of one table. One thread polls; any thread may {@linkplain #wakeUp wake} it or close it. */
public final class TableScanner implements AutoCloseable {
  private final Handle handle;

  TableScanner(long number) {
    this.handle = new Handle(this, "table scanner", number, NativeScanner::close);
  }

  /**
   * Adds a split: {@code {"id","bucket":{"table_id","partition_id":null,"bucket"},"start":START,"stop":n|null}}, with START one of
   * {@code {"log":{"offset":n}}}, {@code {"snapshot":{"snapshot":n,"skip_rows":n}}}, {@code "current"}, {@code {"limit":{"rows":n}}}.
   *
   * @throws StoreException NOT_FOUND about BUCKET or SNAPSHOT; INVALID about OFFSET, naming the valid range
   */
  public void subscribe(String json) {
    NativeScanner.subscribe(handle.get(), json);
  }

  /** Removes a split; an unknown one is no error. */
  public void unsubscribe(int split) {
    NativeScanner.unsubscribe(handle.get(), split);
  }

  /**
   * Waits up to {@code timeout} for rows, or the end, of any split.
   *
   * @return null when nothing came or {@link #wakeUp} was called
   * @throws StoreException CORRUPT naming file and position; INVALID about OFFSET when retention overtook the reader; CLOSED when
   *     another thread closed this scanner meanwhile
   */
  public RowBlock poll(Duration timeout) {
    byte[] block = NativeScanner.poll(handle.get(), timeout.toMillis());
    return block == null ? null : new RowBlock(block);
  }

  /** Makes the running or the next {@link #poll} return at once. */
  public void wakeUp() {
    NativeScanner.wake(handle.get());
  }

  @Override
  public void close() {
    handle.close();
  }
}
