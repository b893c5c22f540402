package io.sluice.flink.sink;

import java.io.IOException;
import java.time.Duration;

import io.sluice.flink.StoreTable;
import io.sluice.flink.types.RowDataColumns;
import io.sluice.store.ColumnBuffers;
import io.sluice.store.Connection;
import io.sluice.store.ErrorKind;
import io.sluice.store.StoreException;
import io.sluice.store.TableWriter;
import org.apache.flink.api.common.operators.ProcessingTimeService;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.groups.SinkWriterMetricGroup;
import org.apache.flink.table.data.RowData;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.IOUtils;

/**
 * Writes one subtask's rows. They gather in column buffers and are handed over when a batch is full, when the input pauses, or
 * after a few milliseconds, whichever is first; a checkpoint waits until all of them are durable. All methods and timers run in the
 * task's own thread.
 */
final class SluiceSinkWriter implements SinkWriter<RowData> {
  private static final int BATCH_ROWS_MAX = 4096;
  /** Time without a new row after which the rows at hand are handed over. */
  private static final long PAUSE_MS = 1;
  /** Time between two looks while rows keep coming. */
  private static final long STEP_MS = 2;
  /** Longest time that a row waits for others. */
  private static final long LINGER_MS = 5;
  /** First and last time between two looks whether rows handed over have become durable. */
  private static final long CONFIRM_MS_MIN = 10;
  private static final long CONFIRM_MS_MAX = 1000;
  private static final long NEVER = Long.MAX_VALUE;
  /** A native wait cannot be interrupted, so that a task which is cancelled waits this long at most. */
  private static final Duration FLUSH_SLICE = Duration.ofMillis(100);
  /** Time between two offers of rows that the store does not take. */
  private static final long FULL_STEP_MS = 100;

  private final Connection connection;
  private final TableWriter writer;
  private final ColumnBuffers buffers;
  private final RowDataColumns columns;
  private final StoreTable table;
  private final WriterSettings settings;
  private final ProcessingTimeService time;
  private final Counter rowsSent;
  private final Counter bytesSent;
  private final Counter rowsFailed;

  private boolean closed;
  /** When the next timer that counts is due; an earlier one may have been overtaken by it. */
  private long timerDueMs = NEVER;
  /** When the oldest row of the buffers came. */
  private long batchStartMs;
  private int rowsAtLastLook;
  /** Whether rows were handed over that nobody has yet seen durable. */
  private boolean unconfirmed;
  private long handedOverNanos;
  private long confirmMs = CONFIRM_MS_MIN;
  private volatile long lastSendMs;

  private SluiceSinkWriter(
      StoreTable table,
      int[] written,
      WriterSettings settings,
      Connection connection,
      TableWriter writer,
      ProcessingTimeService time,
      SinkWriterMetricGroup metrics) {
    this.table = table;
    this.settings = settings;
    this.connection = connection;
    this.writer = writer;
    this.buffers = new ColumnBuffers(RowDataColumns.layouts(table.rowType(), written), BATCH_ROWS_MAX, settings.batchBytesMax);
    this.columns = new RowDataColumns(table.rowType(), written, buffers);
    this.time = time;
    this.rowsSent = metrics.getNumRecordsSendCounter();
    this.bytesSent = metrics.getNumBytesSendCounter();
    this.rowsFailed = metrics.getNumRecordsSendErrorsCounter();
    metrics.setCurrentSendTimeGauge(() -> lastSendMs);
  }

  /** Opens the store and the table for the columns at some positions. */
  static SluiceSinkWriter open(
      StoreTable table, int[] written, WriterSettings settings, ProcessingTimeService time, SinkWriterMetricGroup metrics)
      throws IOException {
    Connection connection = null;
    TableWriter writer = null;
    try {
      connection = Connection.open(table.connectionOptions());
      writer = connection.writer(WriteRequests.open(table, written, settings.createsPartitions));
      return new SluiceSinkWriter(table, written, settings, connection, writer, time, metrics);
    } catch (StoreException e) {
      IOUtils.closeAllQuietly(writer, connection);
      throw WriteFailures.of(table, e);
    }
  }

  @Override
  public void write(RowData row, Context context) throws IOException, InterruptedException {
    // The planner leaves -U out where +U follows. Where a filter behind an aggregation drops the +U, the -U is all that comes: the row goes.
    boolean gone = row.getRowKind() == RowKind.DELETE || row.getRowKind() == RowKind.UPDATE_BEFORE;
    if (gone && settings.ignoreDelete) {
      return;
    }
    // To the store an insert and an update are the same; saying insert spares it a byte a row.
    add(row, gone);
  }

  /**
   * Writes one row.
   *
   * @param gone whether it is a row that goes rather than one that comes
   */
  void add(RowData row, boolean gone) throws IOException, InterruptedException {
    columns.add(row, gone ? RowKind.DELETE.toByteValue() : 0);
    if (buffers.isFull()) {
      handOver();
    } else if (buffers.rowCount() == 1) {
      batchStartMs = time.getCurrentProcessingTime();
      rowsAtLastLook = 1;
      arm(settings.batchTimeout == null ? PAUSE_MS : settings.batchTimeout.toMillis());
    }
  }

  /** Hands all rows at hand over. They become durable and visible by themselves. */
  private void handOver() throws IOException, InterruptedException {
    int rows = buffers.rowCount();
    if (rows == 0) {
      return;
    }
    long bytes = buffers.bytes();
    long startNanos = System.nanoTime();
    while (!taken(startNanos)) {
      // Cancelling a task interrupts it, and ends it here.
      Thread.sleep(FULL_STEP_MS);
    }
    buffers.reset();
    rowsSent.inc(rows);
    bytesSent.inc(bytes);
    lastSendMs = time.getCurrentProcessingTime();
    unconfirmed = true;
    handedOverNanos = System.nanoTime();
    confirmMs = CONFIRM_MS_MIN;
    arm(CONFIRM_MS_MIN);
  }

  /**
   * Offers the rows at hand, and returns whether the store has taken them. It takes none while its disk is full or does not keep up; once
   * that has lasted too long, the reason fails the job.
   */
  private boolean taken(long startNanos) throws IOException {
    try {
      writer.write(buffers);
      return true;
    } catch (StoreException e) {
      if (e.kind() == ErrorKind.BUSY && System.nanoTime() - startNanos < settings.patience.toNanos()) {
        return false;
      }
      rowsFailed.inc(buffers.rowCount());
      throw WriteFailures.of(table, e);
    }
  }

  // ---- time

  private void arm(long delayMs) {
    long dueMs = time.getCurrentProcessingTime() + delayMs;
    if (dueMs < timerDueMs) {
      timerDueMs = dueMs;
      time.registerTimer(dueMs, this::onTimer);
    }
  }

  private void onTimer(long dueMs) throws IOException, InterruptedException {
    if (closed || dueMs != timerDueMs) {
      return;
    }
    timerDueMs = NEVER;
    if (buffers.rowCount() == 0) {
      confirm();
      return;
    }
    long limitMs = settings.batchTimeout == null ? LINGER_MS : settings.batchTimeout.toMillis();
    long age = time.getCurrentProcessingTime() - batchStartMs;
    boolean paused = settings.batchTimeout == null && buffers.rowCount() == rowsAtLastLook;
    if (paused || age >= limitMs) {
      handOver();
    } else {
      rowsAtLastLook = buffers.rowCount();
      arm(settings.batchTimeout == null ? STEP_MS : limitMs - age);
    }
  }

  /** Finds out whether the rows handed over are durable, so that a failure is known without waiting for another row. */
  private void confirm() throws IOException {
    if (unconfirmed && !flushed(Duration.ZERO)) {
      confirmMs = Math.min(2 * confirmMs, CONFIRM_MS_MAX);
      arm(confirmMs);
    }
  }

  // ---- checkpoint and end

  @Override
  public void flush(boolean endOfInput) throws IOException, InterruptedException {
    handOver();
    while (unconfirmed && !flushed(FLUSH_SLICE)) {
      if (Thread.interrupted()) {
        throw new InterruptedException("Interrupted while waiting for rows of table " + table + " to become durable.");
      }
    }
  }

  /**
   * Waits up to a time for all rows handed over to become durable, and returns whether they are. Once they have not for too long (the store
   * goes on trying, while a disk is full for example), the reason fails the job.
   */
  private boolean flushed(Duration wait) throws IOException {
    try {
      writer.flush(wait);
      unconfirmed = false;
      return true;
    } catch (StoreException e) {
      if (e.kind() != ErrorKind.BUSY || System.nanoTime() - handedOverNanos > settings.patience.toNanos()) {
        throw WriteFailures.of(table, e);
      }
      return false;
    }
  }

  /** Gives everything back and writes nothing: what is not flushed comes again from the checkpoint. */
  @Override
  public void close() throws Exception {
    closed = true;
    IOUtils.closeAll(writer, connection, buffers);
  }
}
