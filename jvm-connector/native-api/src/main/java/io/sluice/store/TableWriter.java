package io.sluice.store;

import java.time.Duration;

/**
 * Writes rows into one table. One thread writes at a time; any thread may close. Rows of one writer reach their buckets in the order
 * written.
 */
public final class TableWriter implements AutoCloseable {
  private final Handle handle;

  TableWriter(long number) {
    this.handle = new Handle(this, "table writer", number, NativeWriter::close);
  }

  /**
   * Hands all finished rows of {@code rows} over and returns when they have their place in their buckets; the buffers may be reset
   * at once. The rows become durable and visible by themselves within milliseconds. Blocks, for about a second at most, while too many
   * bytes wait for the disk. Without rows it does nothing.
   *
   * @throws StoreException INVALID about ROW or COLUMN when a row breaks a rule of the table: then none of them was written; BUSY
   *     about DISK when the disk is full or does not keep up: the same rows may be handed over again, none of them is there twice
   *     then; IO about DISK when only some rows could be written; any error of an earlier batch that could not be made durable
   */
  public void write(ColumnBuffers rows) {
    synchronized (rows) { // so that another thread's close() of the buffers waits
      int count = rows.rowCount();
      if (count > 0) {
        NativeWriter.write(handle.get(), rows.address(), rows.columnCount(), rows.kindsAddress(), count);
      }
    }
  }

  /**
   * Waits until all rows handed over are durable and visible.
   *
   * @throws StoreException BUSY when {@code timeout} passes first; else why the rows could not be made durable
   */
  public void flush(Duration timeout) {
    NativeWriter.flush(handle.get(), timeout.toMillis());
  }

  /**
   * Takes back what was written to a bucket since an offset, whoever wrote it: in the columns that this writer writes, every key that the
   * changelog names from there on becomes what it was before. Doing so twice comes to the same. The changes become durable by themselves.
   *
   * @param bucket {@code {"table_id","partition_id":null,"bucket"}}
   * @throws StoreException INVALID about OFFSET when the log does not reach from there to here
   */
  public void undo(String bucket, long from) {
    NativeWriter.undo(handle.get(), bucket, from);
  }

  /** Gives the native writer back. Does not flush. */
  @Override
  public void close() {
    handle.close();
  }
}
