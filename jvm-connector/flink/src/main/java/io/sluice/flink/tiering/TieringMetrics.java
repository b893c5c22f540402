package io.sluice.flink.tiering;

import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;

/** What the enumerator counts. */
final class TieringMetrics {
  private final Counter rounds;
  private final Counter rows;
  private final Counter fenced;
  private final Counter failed;

  /** @param lag asks how many offsets the lake was behind when rounds were planned last */
  TieringMetrics(MetricGroup group, Gauge<Long> lag) {
    rounds = group.counter("tieredRounds");
    rows = group.counter("tieredRows");
    fenced = group.counter("fencedRounds");
    failed = group.counter("failedRounds");
    group.gauge("lakeLag", lag);
  }

  /** A round was committed. */
  void brought(long count) {
    rounds.inc();
    rows.inc(count);
  }

  /** A round was refused, for somebody else had brought the same rows. */
  void fenced() {
    fenced.inc();
  }

  /** A round failed. */
  void failed() {
    failed.inc();
  }
}
