package io.sluice.flink.source.reader;

import io.sluice.store.RowBlock;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.metrics.Counter;

/** Metrics that Flink cannot keep by itself. */
final class ReaderMetrics {
  private final Counter bytes;
  /** Time between the commit and the fetch of the newest rows, in ms; -1 before any came from the log. */
  private volatile long fetchEventTimeLagMs = -1;

  ReaderMetrics(SourceReaderContext context) {
    bytes = context.metricGroup().getIOMetricGroup().getNumBytesInCounter();
    context.metricGroup().gauge("currentFetchEventTimeLag", () -> fetchEventTimeLagMs);
  }

  void fetched(RowBlock block) {
    bytes.inc(block.bytes().length);
    if (block.timestampMs() >= 0) {
      fetchEventTimeLagMs = System.currentTimeMillis() - block.timestampMs();
    }
  }
}
