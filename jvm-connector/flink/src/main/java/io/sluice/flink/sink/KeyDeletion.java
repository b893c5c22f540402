package io.sluice.flink.sink;

import io.sluice.flink.StoreTable;
import io.sluice.flink.source.scan.PointQuery;
import io.sluice.flink.types.RowDataColumns;
import io.sluice.store.ColumnBuffers;
import io.sluice.store.Connection;
import io.sluice.store.ErrorKind;
import io.sluice.store.StoreException;
import io.sluice.store.TableWriter;
import org.apache.flink.table.api.TableException;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.types.RowKind;

/** Deletes the row of one key, without a job and without reading. A key that is not there is no error. */
final class KeyDeletion {
  /** Time between two offers of a row that the store does not take. */
  private static final long FULL_STEP_MS = 100;

  private final StoreTable table;
  private final WriterSettings settings;

  KeyDeletion(StoreTable table, WriterSettings settings) {
    this.table = table;
    this.settings = settings;
  }

  /**
   * Deletes the row and waits until that is durable.
   *
   * @throws TableException when the store does not do it, saying why
   */
  void run(PointQuery key) {
    int[] columns = WrittenColumns.all(table);
    try (Connection connection = Connection.open(table.connectionOptions());
        // A partition that is not there has no row to delete.
        TableWriter writer = connection.writer(WriteRequests.open(table, columns, false));
        ColumnBuffers buffers = new ColumnBuffers(RowDataColumns.layouts(table.rowType(), columns), 1, Long.MAX_VALUE)) {
      new RowDataColumns(table.rowType(), columns, buffers).add(row(key.key()), RowKind.DELETE.toByteValue());
      write(writer, buffers);
      writer.flush(settings.patience);
    } catch (StoreException e) {
      throw new TableException(String.format("Cannot delete from table %s: %s", table, e.getMessage()), e);
    }
  }

  /** To delete, the store needs the key only. */
  private RowData row(RowData key) {
    GenericRowData row = new GenericRowData(table.rowType().getFieldCount());
    int[] positions = table.primaryKey();
    for (int i = 0; i < positions.length; i++) {
      row.setField(positions[i], ((GenericRowData) key).getField(i));
    }
    return row;
  }

  /** Offers the row again while the disk is full or does not keep up, as long as the table's options have patience. */
  private void write(TableWriter writer, ColumnBuffers buffers) {
    long startNanos = System.nanoTime();
    while (true) {
      try {
        writer.write(buffers);
        return;
      } catch (StoreException e) {
        if (e.kind() != ErrorKind.BUSY || System.nanoTime() - startNanos > settings.patience.toNanos()) {
          throw e;
        }
        pause();
      }
    }
  }

  private void pause() {
    try {
      Thread.sleep(FULL_STEP_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TableException("Interrupted while deleting from table " + table + ".", e);
    }
  }
}
