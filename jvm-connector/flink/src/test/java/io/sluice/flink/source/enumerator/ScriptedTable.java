package io.sluice.flink.source.enumerator;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

import io.sluice.flink.partition.TablePartition;
import io.sluice.flink.source.scan.TableClient;
import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.store.Failures;

/** A table whose answers a test decides, and which remembers what it was asked. */
final class ScriptedTable implements TableClient {
  final List<String> calls = new ArrayList<>();
  long id = 7;
  int buckets = 3;
  long[] latest = {10, 0, 30};
  long[] atTimestamp = {4, 0, 30};
  OptionalLong rows = OptionalLong.of(40);
  RuntimeException failure;
  boolean closed;
  final List<TablePartition> partitions = new ArrayList<>();
  /** A partition that is dropped just before the next question about its buckets. */
  Long dropped;
  /** What only the lake has; null for a table without a lake. */
  List<TablePartition> ofLake;
  /** A partition that comes just before the next question about the lake's. */
  TablePartition created;
  private long snapshots = 100;

  private void called(String call) {
    calls.add(call);
    if (failure != null) {
      throw failure;
    }
  }

  /** Adds a partition of the one column {@code p}. */
  void add(long partition, String value, int buckets) {
    partitions.add(new TablePartition(partition, List.of(value), buckets));
  }

  private void dropMeanwhile(List<SluiceSplit> splits) {
    if (dropped != null) {
      long gone = dropped;
      partitions.removeIf(partition -> partition.id() == gone);
      if (splits.stream().anyMatch(split -> split.partition().orElse(-1) == gone)) {
        dropped = null;
        throw Failures.partitionGone();
      }
    }
  }

  private static List<Integer> numbers(List<SluiceSplit> splits) {
    List<Integer> numbers = new ArrayList<>();
    splits.forEach(split -> numbers.add(split.bucket()));
    return numbers;
  }

  private static long[] of(long[] all, List<SluiceSplit> splits) {
    return splits.stream().mapToLong(split -> all[split.bucket()]).toArray();
  }

  @Override
  public long tableId() {
    called("id");
    return id;
  }

  @Override
  public int bucketCount() {
    return buckets;
  }

  @Override
  public List<TablePartition> partitions() {
    called("partitions");
    return List.copyOf(partitions);
  }

  @Override
  public boolean hasLake() {
    return ofLake != null;
  }

  @Override
  public List<TablePartition> lakePartitions() {
    called("lake partitions");
    if (created != null) {
      TablePartition now = created;
      created = null;
      partitions.add(now);
      ofLake = ofLake.stream().filter(partition -> !partition.values().equals(now.values())).collect(Collectors.toList());
    }
    return ofLake;
  }

  @Override
  public long[] earliestOffsets(List<SluiceSplit> splits) {
    called("earliest");
    return new long[splits.size()];
  }

  @Override
  public long[] latestOffsets(List<SluiceSplit> splits) {
    called("latest");
    dropMeanwhile(splits);
    return of(latest, splits);
  }

  @Override
  public long[] offsetsAt(List<SluiceSplit> splits, long timestampMs) {
    called("at " + timestampMs);
    return of(atTimestamp, splits);
  }

  @Override
  public OptionalLong rowCount() {
    called("rows");
    return rows;
  }

  @Override
  public long[] acquireSnapshots(List<SluiceSplit> splits, String lease, long leaseMs) {
    called("acquire " + numbers(splits) + " " + lease + " " + leaseMs);
    dropMeanwhile(splits);
    return LongStream.generate(() -> snapshots++).limit(splits.size()).toArray();
  }

  @Override
  public void renewLease(String lease, long leaseMs) {
    called("renew " + lease + " " + leaseMs);
  }

  @Override
  public void releaseSnapshots(List<SluiceSplit> splits, String lease) {
    called("release " + numbers(splits) + " " + lease);
  }

  @Override
  public void close() {
    closed = true;
  }
}
