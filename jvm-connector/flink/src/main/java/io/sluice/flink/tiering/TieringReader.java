package io.sluice.flink.tiering;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import javax.annotation.Nullable;

import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.metrics.Counter;

/** Has files written, one split after the other, by a thread of its own. */
final class TieringReader implements SourceReader<Long, TieringSplit> {
  /** How long closing waits for the file that is being written. */
  private static final long CLOSE_WAIT_MS = 2 * TieringEnumerator.WRITE_MAX.toMillis();

  private final SourceReaderContext context;
  private final Supplier<TieringClient> opener;
  private final Counter rows;
  private final Queue<SplitDone> done = new ConcurrentLinkedQueue<>();
  private final ExecutorService writer;
  /** Completed when there is something in {@link #done}. Guarded by this object. */
  private CompletableFuture<Void> available = new CompletableFuture<>();

  private volatile boolean closed;
  /** The writer's own. */
  @Nullable private TieringClient client;

  TieringReader(SourceReaderContext context, Supplier<TieringClient> opener) {
    this.context = context;
    this.opener = opener;
    this.rows = context.metricGroup().counter("rowsWritten");
    this.writer =
        Executors.newSingleThreadExecutor(
            work -> {
              Thread thread = new Thread(work, "tiering-writer-" + context.getIndexOfSubtask());
              thread.setDaemon(true);
              return thread;
            });
  }

  // ---- task thread

  @Override
  public void start() {
    context.sendSplitRequest();
  }

  @Override
  public InputStatus pollNext(ReaderOutput<Long> output) {
    SplitDone next = done.poll();
    if (next == null) {
      return InputStatus.NOTHING_AVAILABLE;
    }
    context.sendSourceEventToCoordinator(next);
    WrittenPart part = next.part();
    if (part != null) {
      rows.inc(part.rows());
      output.collect(part.rows());
    }
    return done.isEmpty() ? InputStatus.NOTHING_AVAILABLE : InputStatus.MORE_AVAILABLE;
  }

  @Override
  public synchronized CompletableFuture<Void> isAvailable() {
    if (available.isDone() && done.isEmpty()) {
      available = new CompletableFuture<>();
    }
    return available;
  }

  @Override
  public List<TieringSplit> snapshotState(long checkpointId) {
    return List.of();
  }

  @Override
  public void addSplits(List<TieringSplit> splits) {
    splits.forEach(split -> writer.execute(() -> write(split)));
  }

  @Override
  public void notifyNoMoreSplits() {
    // There always may be more.
  }

  @Override
  public void close() throws InterruptedException {
    if (closed) {
      return;
    }
    closed = true;
    writer.execute(this::closeClient);
    writer.shutdown();
    // The thread ends by itself when this is not enough, and closes the connection then.
    writer.awaitTermination(CLOSE_WAIT_MS, TimeUnit.MILLISECONDS);
  }

  // ---- writer thread

  private void write(TieringSplit split) {
    if (closed) {
      return;
    }
    SplitDone outcome;
    try {
      if (client == null) {
        client = opener.get();
      }
      outcome = SplitDone.written(split.splitId(), client.write(split));
    } catch (RuntimeException e) {
      outcome = SplitDone.failed(split.splitId(), e);
    }
    done.add(outcome);
    synchronized (this) {
      available.complete(null);
    }
  }

  private void closeClient() {
    if (client != null) {
      client.close();
    }
  }
}
