package io.sluice.flink.source.enumerator;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import io.sluice.flink.ConnectorOptions.ScanStartupMode;
import io.sluice.flink.TableKind;
import io.sluice.flink.partition.TablePartition;
import io.sluice.flink.source.scan.ScanSettings;
import io.sluice.flink.source.scan.ScanTask;
import io.sluice.flink.source.scan.SourceFailure;
import io.sluice.flink.source.scan.TableClient;
import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.flink.source.split.SplitStart;
import io.sluice.store.StoreException;

/** Decides the splits of a scan: one for each bucket of each partition, or a single one where the whole answer is one row. */
public final class SplitPlanner {
  /** How often a partition may be dropped between two questions about it. */
  private static final int TRIES = 5;

  private final String table;
  private final ScanSettings settings;
  private final ScanTask task;
  private final TableKind kind;
  private final boolean partitioned;

  /**
   * @param table the table's name, for messages
   * @param kind where the table's rows are
   * @param partitioned whether it has partition columns
   */
  public SplitPlanner(String table, ScanSettings settings, ScanTask task, TableKind kind, boolean partitioned) {
    this.table = table;
    this.settings = settings;
    this.task = task;
    this.kind = kind;
    this.partitioned = partitioned;
  }

  /** The table's name, for messages. */
  String table() {
    return table;
  }

  /** Whether the scan reads leased snapshots first. */
  boolean leasesSnapshots() {
    return settings.readsSnapshots(kind);
  }

  /** Whether a streaming scan has to wait until its starting time has come. */
  boolean mustWait(long nowMs) {
    return settings.streaming() && settings.mode() == ScanStartupMode.TIMESTAMP && settings.timestampMs() > nowMs;
  }

  /**
   * Plans all splits at this moment; a bounded scan ends at what is there now.
   *
   * @param client asked for offsets and, for a scan that reads snapshots, for those
   * @param lease the name under which to lease those
   */
  List<SluiceSplit> plan(TableClient client, String lease, long nowMs) {
    long tableId = client.tableId();
    if (task.isSingle()) {
      return List.of(single(client, tableId));
    }
    if (!partitioned) {
      return starts(client, buckets(tableId, OptionalLong.empty(), client.bucketCount()), lease, nowMs);
    }
    return retrying(
        () -> {
          List<TablePartition> wanted = new ArrayList<>(partitions(client));
          wanted.removeIf(partition -> !task.wants(partition));
          List<SluiceSplit> buckets = buckets(tableId, wanted);
          return buckets.isEmpty() ? buckets : starts(client, buckets, lease, nowMs);
        });
  }

  /** The partitions of the store and, for a scan of all rows, those that only the lake has, as they were at one moment. */
  private List<TablePartition> partitions(TableClient client) {
    List<TablePartition> before = client.partitions();
    if (settings.mode() != ScanStartupMode.FULL || !client.hasLake()) {
      return before;
    }
    for (int left = TRIES; left > 0; left--) {
      List<TablePartition> beside = client.lakePartitions();
      List<TablePartition> after = client.partitions();
      if (ids(before).equals(ids(after))) {
        List<TablePartition> all = new ArrayList<>(after);
        all.addAll(beside);
        return all;
      }
      before = after;
    }
    throw new IllegalStateException("Partitions of table " + table + " come and go too fast to plan a scan of it. Run the query again.");
  }

  private static Set<Long> ids(List<TablePartition> partitions) {
    return partitions.stream().map(TablePartition::id).collect(Collectors.toSet());
  }

  private List<SluiceSplit> starts(TableClient client, List<SluiceSplit> buckets, String lease, long nowMs) {
    return settings.streaming() ? unbounded(client, buckets, lease) : bounded(client, buckets, lease, nowMs);
  }

  /** Whether a split still has rows to read when its partition has been dropped: those that the lake keeps. */
  boolean outlivesItsPartition(SluiceSplit split) {
    return kind == TableKind.LOG_WITH_LAKE && split.start().kind() == SplitStart.Kind.SNAPSHOT;
  }

  /** Whether new partitions are looked for. */
  boolean discovers() {
    return partitioned && settings.discoversPartitions();
  }

  /**
   * Looks for partitions that are new to a streaming scan, and for those that are gone. Wherever the scan itself started, new ones are
   * read from their beginning.
   *
   * @param known ids of the partitions that it reads already
   */
  Discovery discover(TableClient client, Set<Long> known, String lease) {
    return retrying(
        () -> {
          long tableId = client.tableId();
          List<TablePartition> present = client.partitions();
          List<TablePartition> fresh = new ArrayList<>(present);
          fresh.removeIf(partition -> known.contains(partition.id()) || !task.wants(partition));
          List<SluiceSplit> splits = buckets(tableId, fresh);
          if (leasesSnapshots() && !splits.isEmpty()) {
            splits = withSnapshots(client, splits, lease);
          }
          return new Discovery(ids(present), splits);
        });
  }

  /** The same buckets, read from snapshots that hold all rows acknowledged so far; without those whose partition is gone. */
  List<SluiceSplit> withSnapshotsIfThere(TableClient client, List<SluiceSplit> buckets, String lease) {
    if (!partitioned) {
      return withSnapshots(client, buckets, lease);
    }
    return retrying(
        () -> {
          Set<Long> present = ids(client.partitions());
          List<SluiceSplit> there = new ArrayList<>(buckets);
          there.removeIf(split -> !split.isOfLake() && !present.contains(split.partition().orElse(-1)));
          return there.isEmpty() ? there : withSnapshots(client, there, lease);
        });
  }

  /** Asks anew when a partition is dropped between two questions about it. */
  private static <T> T retrying(Supplier<T> questions) {
    for (int left = TRIES; ; left--) {
      try {
        return questions.get();
      } catch (StoreException e) {
        if (left == 1 || !SourceFailure.isPartitionGone(e)) {
          throw e;
        }
      }
    }
  }

  private static List<SluiceSplit> buckets(long tableId, List<TablePartition> partitions) {
    List<SluiceSplit> buckets = new ArrayList<>();
    partitions.forEach(partition -> buckets.addAll(buckets(tableId, OptionalLong.of(partition.id()), partition.bucketCount())));
    return buckets;
  }

  /** What a look for partitions found. */
  static final class Discovery {
    /** Ids of all partitions that are there, wanted or not. */
    final Set<Long> present;

    /** Splits of those that are new. */
    final List<SluiceSplit> fresh;

    Discovery(Set<Long> present, List<SluiceSplit> fresh) {
      this.present = present;
      this.fresh = fresh;
    }
  }

  private SluiceSplit single(TableClient client, long tableId) {
    SplitStart start = task.point() != null ? SplitStart.point() : SplitStart.count(rowCount(client));
    return new SluiceSplit(tableId, OptionalLong.empty(), 0, start, OptionalLong.empty());
  }

  private long rowCount(TableClient client) {
    return client.rowCount()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "The store no longer knows the number of rows of " + table + ". Run the query again; it will be answered by a scan."));
  }

  private static List<SluiceSplit> buckets(long tableId, OptionalLong partition, int count) {
    List<SluiceSplit> buckets = new ArrayList<>(count);
    for (int bucket = 0; bucket < count; bucket++) {
      buckets.add(new SluiceSplit(tableId, partition, bucket, SplitStart.earliest(), OptionalLong.empty()));
    }
    return buckets;
  }

  private List<SluiceSplit> unbounded(TableClient client, List<SluiceSplit> buckets, String lease) {
    if (leasesSnapshots()) {
      return withSnapshots(client, buckets, lease);
    }
    return starting(buckets, logStarts(client, buckets));
  }

  /** The same buckets, read from snapshots that hold all rows acknowledged so far. */
  List<SluiceSplit> withSnapshots(TableClient client, List<SluiceSplit> buckets, String lease) {
    long[] snapshots = client.acquireSnapshots(buckets, lease, settings.leaseDuration().toMillis());
    return starting(buckets, bucket -> SplitStart.snapshot(snapshots[bucket], 0));
  }

  private List<SluiceSplit> bounded(TableClient client, List<SluiceSplit> buckets, String lease, long nowMs) {
    Long limit = task.limit();
    if (limit != null) {
      return starting(buckets, bucket -> SplitStart.limit(limit));
    }
    if (kind == TableKind.PRIMARY_KEY) {
      return starting(buckets, bucket -> SplitStart.current());
    }
    if (leasesSnapshots()) {
      return withLake(client, buckets, lease);
    }
    if (settings.mode() == ScanStartupMode.TIMESTAMP && settings.timestampMs() > nowMs) {
      return List.of();
    }
    List<SluiceSplit> starting = starting(buckets, logStarts(client, buckets));
    return stopping(starting, client.latestOffsets(buckets));
  }

  /** The lake's rows and then the log up to this moment. The ends are asked for last: they must not lie before the lake's. */
  private List<SluiceSplit> withLake(TableClient client, List<SluiceSplit> buckets, String lease) {
    List<SluiceSplit> leased = withSnapshots(client, buckets, lease);
    List<SluiceSplit> wanted = stopping(leased, client.latestOffsets(buckets));
    Set<String> ids = wanted.stream().map(SluiceSplit::splitId).collect(Collectors.toSet());
    List<SluiceSplit> empty = leased.stream().filter(split -> !ids.contains(split.splitId())).collect(Collectors.toList());
    client.releaseSnapshots(empty, lease);
    return wanted;
  }

  private IntFunction<SplitStart> logStarts(TableClient client, List<SluiceSplit> buckets) {
    switch (settings.mode()) {
      case LATEST:
        return at(client.latestOffsets(buckets));
      case TIMESTAMP:
        return at(client.offsetsAt(buckets, settings.timestampMs()));
      default:
        // Looked up by the reader when it begins, for retention may move it until then.
        return bucket -> SplitStart.earliest();
    }
  }

  private static IntFunction<SplitStart> at(long[] offsets) {
    return bucket -> SplitStart.log(offsets[bucket]);
  }

  private static List<SluiceSplit> starting(List<SluiceSplit> buckets, IntFunction<SplitStart> starts) {
    List<SluiceSplit> splits = new ArrayList<>(buckets.size());
    for (int i = 0; i < buckets.size(); i++) {
      splits.add(buckets.get(i).startingAt(starts.apply(i)));
    }
    return splits;
  }

  /** Leaves out buckets of which nothing is wanted. The lake may have rows of a bucket without any, of a partition that had the same name before. */
  private static List<SluiceSplit> stopping(List<SluiceSplit> buckets, long[] stops) {
    List<SluiceSplit> splits = new ArrayList<>(buckets.size());
    for (int i = 0; i < buckets.size(); i++) {
      SluiceSplit split = buckets.get(i);
      boolean inLake = split.start().kind() == SplitStart.Kind.SNAPSHOT && split.partition().isPresent() && split.start().snapshot() > 0;
      boolean empty = split.start().kind() == SplitStart.Kind.LOG ? split.start().value() >= stops[i] : stops[i] <= 0 && !inLake;
      if (!empty) {
        splits.add(split.stoppingAt(stops[i]));
      }
    }
    return splits;
  }
}
