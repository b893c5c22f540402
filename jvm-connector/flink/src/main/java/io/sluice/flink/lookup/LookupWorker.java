package io.sluice.flink.lookup;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

import javax.annotation.Nullable;

import io.sluice.store.RowBlock;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.table.data.RowData;

/**
 * One thread that answers lookups in batches. It takes whatever waits and never waits for more: while it is at work, the next batch
 * fills by itself. A key is copied out of the caller's row before {@link #submit} returns.
 */
final class LookupWorker implements AutoCloseable {
  /** Keys of one call into the engine. */
  private static final int KEYS_MAX = 1024;
  /** Empty batches kept for reuse: one fills while the other is being answered. */
  private static final int SPARE_MAX = 2;
  /** How long closing waits for the call that is running; it is abandoned then, and its callers get an error. */
  private static final long CLOSE_MS = 2_000;

  private final LookupPlan plan;
  private final BatchLookup lookup;
  private final Thread thread;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition work = lock.newCondition();
  // Guarded by the lock:
  private final Deque<Waiting> queue = new ArrayDeque<>();
  private final Deque<Waiting> spare = new ArrayDeque<>();
  @Nullable private Waiting running;
  private boolean closed;

  private LookupWorker(LookupPlan plan, BatchLookup lookup) {
    this.plan = plan;
    this.lookup = lookup;
    this.thread = new Thread(this::run, "sluice-lookup-" + plan.table());
    thread.setDaemon(true);
  }

  /** Starts the thread; the lookup is closed with the worker. */
  static LookupWorker start(LookupPlan plan, BatchLookup lookup) {
    LookupWorker worker = new LookupWorker(plan, lookup);
    worker.thread.start();
    return worker;
  }

  /** Keys and who waits for them. */
  private final class Waiting {
    final KeyBatch keys = plan.newBatch(KEYS_MAX);
    final List<CompletableFuture<Collection<RowData>>> futures = new ArrayList<>();
    /** The join's keys, where rows are compared with more than the table's key. */
    final List<RowData> joinKeys = new ArrayList<>();

    void add(RowData joinKey, CompletableFuture<Collection<RowData>> future) {
      keys.add(joinKey);
      futures.add(future);
      if (plan.comparesMore()) {
        joinKeys.add(plan.copy(joinKey));
      }
    }

    void answer(RowBlock found) {
      MemorySegment[] memory = LookupPlan.memory(found);
      for (int key = 0; key < futures.size(); key++) {
        RowData joinKey = plan.comparesMore() ? joinKeys.get(key) : null;
        futures.get(key).complete(plan.rows(found, memory, key, joinKey));
      }
    }

    void fail(Throwable cause) {
      // Those that have an answer keep it.
      futures.forEach(future -> future.completeExceptionally(cause));
    }

    void reset() {
      keys.reset();
      futures.clear();
      joinKeys.clear();
    }
  }

  /** Adds a key, to be answered as soon as the thread is free. */
  CompletableFuture<Collection<RowData>> submit(RowData joinKey) {
    CompletableFuture<Collection<RowData>> future = new CompletableFuture<>();
    lock.lock();
    try {
      if (closed) {
        future.completeExceptionally(closedError());
        return future;
      }
      filling().add(joinKey, future);
      work.signal();
    } catch (RuntimeException e) {
      future.completeExceptionally(failure(e));
    } finally {
      lock.unlock();
    }
    return future;
  }

  private Waiting filling() {
    Waiting last = queue.peekLast();
    if (last == null || last.keys.isFull()) {
      last = spare.isEmpty() ? new Waiting() : spare.pop();
      queue.addLast(last);
    }
    return last;
  }

  private void run() {
    for (Waiting batch = take(); batch != null; batch = take()) {
      try {
        batch.answer(lookup.lookUp(batch.keys));
      } catch (Throwable e) {
        batch.fail(failure(e));
      }
      done(batch);
    }
  }

  /** Waits for keys; null when closed. */
  @Nullable
  private Waiting take() {
    lock.lock();
    try {
      while (queue.isEmpty() && !closed) {
        work.awaitUninterruptibly();
      }
      running = closed ? null : queue.pollFirst();
      return running;
    } finally {
      lock.unlock();
    }
  }

  private void done(Waiting batch) {
    lock.lock();
    try {
      running = null;
      batch.reset();
      if (spare.size() < SPARE_MAX && !closed) {
        spare.push(batch);
      } else {
        batch.keys.close();
      }
    } finally {
      lock.unlock();
    }
  }

  private RuntimeException failure(Throwable cause) {
    return new IllegalStateException("A lookup in table " + plan.table() + " failed: " + cause.getMessage(), cause);
  }

  private RuntimeException closedError() {
    return new IllegalStateException("A lookup in table " + plan.table() + " was abandoned because the job is stopping.");
  }

  /** Stops the thread. Whoever still waits gets an error. */
  @Override
  public void close() throws InterruptedException {
    List<CompletableFuture<Collection<RowData>>> abandoned = new ArrayList<>();
    lock.lock();
    try {
      closed = true;
      work.signal();
      for (Waiting batch : queue) {
        abandoned.addAll(batch.futures);
        batch.keys.close();
      }
      queue.clear();
      spare.forEach(batch -> batch.keys.close());
      spare.clear();
      if (running != null) {
        abandoned.addAll(running.futures);
      }
    } finally {
      lock.unlock();
    }
    thread.join(CLOSE_MS);
    abandoned.forEach(future -> future.completeExceptionally(closedError()));
    lookup.close();
  }
}
