package io.sluice.flink.source.enumerator;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

import io.sluice.flink.ConnectorOptions.ScanStartupMode;
import io.sluice.flink.TableKind;
import io.sluice.flink.source.scan.ScanSettings;
import io.sluice.flink.source.scan.ScanTask;
import io.sluice.flink.source.scan.TableClient;
import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.flink.source.split.SplitStart;

/** Decides the splits of a scan: one for each bucket, or a single one where the whole answer is one row. */
public final class SplitPlanner {
  private final String table;
  private final ScanSettings settings;
  private final ScanTask task;
  private final TableKind kind;

  /**
   * @param table the table's name, for messages
   * @param kind where the table's rows are
   */
  public SplitPlanner(String table, ScanSettings settings, ScanTask task, TableKind kind) {
    this.table = table;
    this.settings = settings;
    this.task = task;
    this.kind = kind;
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
    List<SluiceSplit> buckets = buckets(tableId, client.bucketCount());
    return settings.streaming() ? unbounded(client, buckets, lease) : bounded(client, buckets, lease, nowMs);
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

  private static List<SluiceSplit> buckets(long tableId, int count) {
    List<SluiceSplit> buckets = new ArrayList<>(count);
    for (int bucket = 0; bucket < count; bucket++) {
      buckets.add(new SluiceSplit(tableId, OptionalLong.empty(), bucket, SplitStart.earliest(), OptionalLong.empty()));
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

  /** Leaves out buckets of which nothing is wanted. */
  private static List<SluiceSplit> stopping(List<SluiceSplit> buckets, long[] stops) {
    List<SluiceSplit> splits = new ArrayList<>(buckets.size());
    for (int i = 0; i < buckets.size(); i++) {
      SluiceSplit split = buckets.get(i);
      boolean empty = split.start().kind() == SplitStart.Kind.LOG ? split.start().value() >= stops[i] : stops[i] <= 0;
      if (!empty) {
        splits.add(split.stoppingAt(stops[i]));
      }
    }
    return splits;
  }
}
