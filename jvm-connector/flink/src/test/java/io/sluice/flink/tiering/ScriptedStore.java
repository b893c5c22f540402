package io.sluice.flink.tiering;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.flink.table.catalog.ObjectPath;

/** A store whose answers a test decides. */
final class ScriptedStore implements TieringStore {
  final Map<String, List<BucketWork>> work = new HashMap<>();
  final List<String> commits = new ArrayList<>();
  RuntimeException listing;
  RuntimeException commit;
  boolean closed;

  void lags(String table, int... buckets) {
    List<BucketWork> of = new ArrayList<>();
    for (int bucket : buckets) {
      of.add(new BucketWork("/" + bucket, 10, 10, table + bucket));
    }
    work.put(table, of);
  }

  @Override
  public List<LakeTable> tables() {
    if (listing != null) {
      throw listing;
    }
    List<LakeTable> tables = new ArrayList<>();
    work.keySet().stream().sorted().forEach(name -> tables.add(new LakeTable(new ObjectPath("d", name), Duration.ofSeconds(2))));
    return tables;
  }

  @Override
  public List<BucketWork> work(LakeTable table) {
    return work.get(table.path().getObjectName());
  }

  @Override
  public void commit(LakeTable table, List<Long> parts) {
    commits.add(table.path().getObjectName() + parts);
    if (commit != null) {
      throw commit;
    }
  }

  @Override
  public void close() {
    closed = true;
  }
}
