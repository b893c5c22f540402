package io.sluice.flink.tiering;

import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

import javax.annotation.Nullable;

import io.sluice.flink.source.scan.SourceFailure;
import io.sluice.store.ErrorKind;
import io.sluice.store.StoreException;
import io.sluice.store.Subject;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.table.catalog.ObjectPath;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Drives the rounds of all tables: plans them, gives their buckets to readers that are free, and commits what those have written. It is the
 * one committer of its job; against those of other jobs, and of itself in an earlier life, the store guards the lake.
 */
final class TieringEnumerator implements SplitEnumerator<TieringSplit, NoState> {
  /** Longest time that one file may take: a reader that is to end waits for it. */
  static final Duration WRITE_MAX = Duration.ofSeconds(5);

  private static final Logger LOG = LoggerFactory.getLogger(TieringEnumerator.class);
  private static final long LIST_EVERY_MS = 10_000;
  private static final long LOOK_EVERY_MS = 100;

  private final SplitEnumeratorContext<TieringSplit> context;
  private final Supplier<TieringStore> opener;
  private final LongSupplier clock;
  private final TieringMetrics metrics;
  /** Begins the names of all splits of this object. */
  private final String name = UUID.randomUUID().toString();

  /** Whoever asks for metrics reads it too. */
  private final Map<ObjectPath, TableRounds> tables = new ConcurrentHashMap<>();
  /** Which table waits for which split. */
  private final Map<String, TableRounds> given = new HashMap<>();
  private final Set<Integer> idle = new LinkedHashSet<>();
  private long splits;
  private boolean listed;

  /** Guards the two below where closing meets opening, which may take long and must not be waited for. */
  private final Object closing = new Object();

  @Nullable private volatile TieringStore store;
  private boolean closed;

  /** @param opener opens the connection on first use, which may take as long as opening the store takes */
  TieringEnumerator(SplitEnumeratorContext<TieringSplit> context, Supplier<TieringStore> opener, LongSupplier clock) {
    this.context = context;
    this.opener = opener;
    this.clock = clock;
    this.metrics = new TieringMetrics(context.metricGroup(), this::lag);
  }

  // ---- coordinator thread

  @Override
  public void start() {
    context.callAsync(() -> store().tables(), this::listed);
    context.callAsync(() -> store().tables(), this::listed, LIST_EVERY_MS, LIST_EVERY_MS);
    context.callAsync(() -> null, (ignored, failure) -> look(), 0, LOOK_EVERY_MS);
  }

  private void listed(@Nullable List<LakeTable> found, @Nullable Throwable failure) {
    if (failure != null) {
      if (!listed) {
        throw SourceFailure.of(failure);
      }
      LOG.warn("Listing the tables to tier failed and will be tried again.", failure);
      return;
    }
    listed = true;
    Map<ObjectPath, LakeTable> present = new LinkedHashMap<>();
    found.forEach(table -> present.put(table.path(), table));
    // A round under way ends by itself first.
    tables.values().removeIf(table -> !present.containsKey(table.path()) && !table.isBusy());
    present.values().forEach(table -> tables.computeIfAbsent(table.path(), absent -> new TableRounds(table, clock.getAsLong())).describe(table));
    look();
  }

  /** Plans what is due. */
  private void look() {
    long now = clock.getAsLong();
    for (TableRounds table : tables.values()) {
      if (table.isDue(now)) {
        table.planning();
        LakeTable described = table.described();
        context.callAsync(() -> store().work(described), (work, failure) -> planned(table, work, failure));
      }
    }
    assign();
  }

  private void planned(TableRounds table, @Nullable List<BucketWork> work, @Nullable Throwable failure) {
    if (failure != null) {
      failed(table, failure);
      return;
    }
    table.begin(work, clock.getAsLong());
    assign();
  }

  private void assign() {
    for (int reader : List.copyOf(idle)) {
      if (!context.registeredReaders().containsKey(reader)) {
        idle.remove(reader);
        continue;
      }
      TieringSplit split = next(reader);
      if (split == null) {
        break;
      }
      idle.remove(reader);
      context.assignSplit(split, reader);
    }
    // A round whose time is over goes without what nobody has begun.
    tables.values().forEach(this::commitIfWritten);
  }

  /** The next bucket of the round that began first; null when there is none. */
  @Nullable
  private TieringSplit next(int reader) {
    long now = clock.getAsLong();
    TableRounds first = null;
    for (TableRounds table : tables.values()) {
      if (table.hasWaiting(now) && (first == null || table.began() < first.began())) {
        first = table;
      }
    }
    if (first == null) {
      return null;
    }
    String id = name + "-" + splits++;
    given.put(id, first);
    return first.give(id, reader, now);
  }

  @Override
  public void handleSplitRequest(int subtask, @Nullable String host) {
    idle.add(subtask);
    assign();
  }

  @Override
  public void handleSourceEvent(int subtask, SourceEvent event) {
    if (!(event instanceof SplitDone)) {
      return;
    }
    SplitDone done = (SplitDone) event;
    TableRounds table = given.remove(done.splitId());
    // Else it is of a reader that was given up, and another may have the bucket.
    if (table != null) {
      if (done.part() != null) {
        table.written(done.splitId(), done.part());
      } else {
        // A partition that was dropped needs no files, and is not planned again.
        table.lost(done.splitId(), isPartitionGone(done.failure()) ? null : done.failure());
      }
      idle.add(subtask);
    }
    assign();
  }

  private void commitIfWritten(TableRounds table) {
    if (!table.isWritten(clock.getAsLong())) {
      return;
    }
    List<Long> parts = table.committing();
    if (parts.isEmpty()) {
      ended(table);
      return;
    }
    LakeTable described = table.described();
    context.callAsync(
        () -> {
          store().commit(described, parts);
          return parts.size();
        },
        (ignored, failure) -> committed(table, failure));
  }

  private void committed(TableRounds table, @Nullable Throwable failure) {
    if (failure != null) {
      failed(table, failure);
      return;
    }
    metrics.brought(table.rows());
    ended(table);
  }

  private void ended(TableRounds table) {
    Throwable trouble = table.trouble();
    if (trouble != null) {
      failed(table, trouble);
    } else {
      table.end(clock.getAsLong());
    }
  }

  private void failed(TableRounds table, Throwable failure) {
    if (failure instanceof StoreException && lacksWords((StoreException) failure)) {
      throw SourceFailure.of(failure);
    }
    long pause = table.fail(clock.getAsLong());
    ErrorKind kind = failure instanceof StoreException ? ((StoreException) failure).kind() : ErrorKind.INTERNAL;
    if (kind == ErrorKind.FENCED) {
      metrics.fenced();
    } else {
      metrics.failed();
    }
    LOG.warn("A round of table {} failed ({}) and will be tried again in {} ms: {}", table.path(), kind, pause, failure.getMessage(), failure);
  }

  /** Whether it is another kind of server, which cannot do for any table what is asked. */
  private static boolean lacksWords(StoreException failure) {
    return failure.kind() == ErrorKind.UNSUPPORTED && failure.subject() == Subject.STORE;
  }

  // ---- readers that come and go

  @Override
  public void addReader(int subtask) {
    giveUp(subtask);
  }

  @Override
  public void addSplitsBack(List<TieringSplit> back, int subtask) {
    giveUp(subtask);
  }

  /** What a reader of an earlier attempt had is planned again with the next round. */
  private void giveUp(int subtask) {
    idle.remove(subtask);
    for (TableRounds table : tables.values()) {
      List<String> lost = table.splitsOf(subtask);
      given.keySet().removeAll(lost);
      lost.forEach(split -> table.lost(split, null));
    }
    assign();
  }

  private static boolean isPartitionGone(@Nullable Throwable failure) {
    return failure instanceof StoreException && SourceFailure.isPartitionGone((StoreException) failure);
  }

  private long lag() {
    return tables.values().stream().mapToLong(TableRounds::lag).sum();
  }

  @Override
  public NoState snapshotState(long checkpointId) {
    return NoState.INSTANCE;
  }

  // ---- worker thread

  private TieringStore store() {
    if (store == null) {
      TieringStore opened = opener.get();
      synchronized (closing) {
        store = opened;
        if (closed) {
          opened.close();
        }
      }
    }
    return store;
  }

  @Override
  public void close() throws IOException {
    synchronized (closing) {
      closed = true;
      if (store != null) {
        store.close();
      }
    }
  }
}
