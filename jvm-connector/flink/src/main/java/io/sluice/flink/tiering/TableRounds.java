package io.sluice.flink.tiering;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import javax.annotation.Nullable;

import org.apache.flink.table.catalog.ObjectPath;

/** The rounds of one table, one at a time: which of its buckets wait, are being written, have been written, and when the next round is due. */
final class TableRounds {
  /** Shortest time between two rounds that have nothing left over, and shortest time that a round gives its buckets. */
  private static final long PAUSE_MIN_MS = 100;

  private static final long ROUND_MIN_MS = 1_000;
  private static final long WRITE_MIN_MS = 200;
  /** Pauses after failures: doubled from the first on. */
  private static final long RETRY_MIN_MS = 1_000;

  private static final int RETRY_DOUBLINGS_MAX = 6;

  private enum Phase {
    RESTING,
    PLANNING,
    WRITING,
    COMMITTING
  }

  /** A bucket that a reader has. */
  private static final class Given {
    final int reader;
    final BucketWork work;

    Given(int reader, BucketWork work) {
      this.reader = reader;
      this.work = work;
    }
  }

  private LakeTable table;
  private Phase phase = Phase.RESTING;
  private long due;
  private int failures;

  private long began;
  private long endsAt;
  private final Deque<BucketWork> waiting = new ArrayDeque<>();
  private final Map<String, Given> given = new HashMap<>();
  private final List<Long> parts = new ArrayList<>();
  private long rows;
  /** Read by those who ask for metrics. */
  private volatile long lag;

  private boolean leftOver;
  @Nullable private Throwable trouble;
  /** Buckets that had their turn since all of them had one; the others come first. */
  private final Set<String> served = new HashSet<>();

  TableRounds(LakeTable table, long nowMs) {
    this.table = table;
    this.due = nowMs;
  }

  /** The table has other options. */
  void describe(LakeTable now) {
    if (!now.equals(table)) {
      // The old ones need not be waited for.
      due = Math.min(due, began + now.freshness().toMillis());
      table = now;
    }
  }

  LakeTable described() {
    return table;
  }

  ObjectPath path() {
    return table.path();
  }

  boolean isBusy() {
    return phase != Phase.RESTING;
  }

  boolean isDue(long nowMs) {
    return phase == Phase.RESTING && due <= nowMs;
  }

  void planning() {
    phase = Phase.PLANNING;
  }

  /** A round begins. */
  void begin(List<BucketWork> work, long nowMs) {
    phase = Phase.WRITING;
    began = nowMs;
    endsAt = nowMs + Math.max(table.freshness().toMillis(), ROUND_MIN_MS);
    waiting.clear();
    work.stream().sorted(Comparator.comparing(bucket -> served.contains(bucket.bucket()))).forEach(waiting::add);
    given.clear();
    parts.clear();
    rows = 0;
    lag = work.stream().mapToLong(BucketWork::rows).sum();
    leftOver = false;
    trouble = null;
  }

  long began() {
    return began;
  }

  /** Whether the round goes to its end without the buckets that still wait. */
  private boolean isOver(long nowMs) {
    return nowMs >= endsAt && (!given.isEmpty() || !parts.isEmpty());
  }

  boolean hasWaiting(long nowMs) {
    return phase == Phase.WRITING && !waiting.isEmpty() && !isOver(nowMs);
  }

  /** Gives the next bucket to a reader. */
  TieringSplit give(String splitId, int reader, long nowMs) {
    BucketWork work = waiting.remove();
    served.add(work.bucket());
    given.put(splitId, new Given(reader, work));
    long time = Math.max(WRITE_MIN_MS, Math.min(endsAt - nowMs, TieringEnumerator.WRITE_MAX.toMillis()));
    return new TieringSplit(splitId, work.json(), time);
  }

  List<String> splitsOf(int reader) {
    return given.entrySet().stream().filter(entry -> entry.getValue().reader == reader).map(Map.Entry::getKey).collect(Collectors.toList());
  }

  void written(String splitId, WrittenPart part) {
    Given done = given.remove(splitId);
    parts.add(part.number());
    rows += part.rows();
    leftOver |= part.end() < done.work.end();
  }

  /** A bucket comes to nothing in this round; with a failure, the next one waits a little. */
  void lost(String splitId, @Nullable Throwable failure) {
    given.remove(splitId);
    leftOver = true;
    trouble = failure != null ? failure : trouble;
  }

  /** Whether all that the round is to have has been written. */
  boolean isWritten(long nowMs) {
    return phase == Phase.WRITING && given.isEmpty() && (waiting.isEmpty() || isOver(nowMs));
  }

  /** What to commit. */
  List<Long> committing() {
    phase = Phase.COMMITTING;
    leftOver |= !waiting.isEmpty();
    return List.copyOf(parts);
  }

  /** Why a bucket could not be written. */
  @Nullable
  Throwable trouble() {
    return trouble;
  }

  /** How many rows the round has. */
  long rows() {
    return rows;
  }

  /** How many offsets the lake was behind when the round was planned, and is by what has not been committed since. */
  long lag() {
    return lag;
  }

  /** The round is done; the next is due at once if something was left over. */
  void end(long nowMs) {
    phase = Phase.RESTING;
    failures = 0;
    if (leftOver) {
      due = nowMs;
    } else {
      lag = 0;
      served.clear();
      due = began + Math.max(table.freshness().toMillis(), PAUSE_MIN_MS);
    }
  }

  /** The round came to nothing; tells how long the next one waits. */
  long fail(long nowMs) {
    phase = Phase.RESTING;
    long pause = RETRY_MIN_MS << Math.min(failures, RETRY_DOUBLINGS_MAX);
    failures++;
    due = nowMs + pause;
    return pause;
  }
}
