package io.sluice.flink.sink;

import java.io.Serializable;
import java.time.Duration;

import io.sluice.flink.ConnectorOptions;
import org.apache.flink.configuration.ReadableConfig;

/** What a table's options say about its writers. */
final class WriterSettings implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Whether deletes are dropped and updates taken as inserts. */
  final boolean ignoreDelete;

  /** Bytes of rows at which they are handed over. */
  final long batchBytesMax;

  /** Longest time that a row waits for others; {@code null} = until the input pauses, and a few milliseconds at most. */
  final Duration batchTimeout;

  /** Longest time to wait for the store. */
  final Duration patience;

  /** Whether rows may create partitions. */
  final boolean createsPartitions;

  private WriterSettings(
      boolean ignoreDelete, long batchBytesMax, Duration batchTimeout, Duration patience, boolean createsPartitions) {
    this.ignoreDelete = ignoreDelete;
    this.batchBytesMax = batchBytesMax;
    this.batchTimeout = batchTimeout;
    this.patience = patience;
    this.createsPartitions = createsPartitions;
  }

  static WriterSettings of(ReadableConfig options) {
    return new WriterSettings(
        options.get(ConnectorOptions.SINK_IGNORE_DELETE),
        options.get(ConnectorOptions.WRITER_BATCH_SIZE).getBytes(),
        options.getOptional(ConnectorOptions.WRITER_BATCH_TIMEOUT).orElse(null),
        options.get(ConnectorOptions.REQUEST_TIMEOUT),
        options.get(ConnectorOptions.WRITER_CREATES_PARTITIONS));
  }
}
