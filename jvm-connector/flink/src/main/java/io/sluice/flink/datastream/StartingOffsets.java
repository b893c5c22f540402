package io.sluice.flink.datastream;

import java.io.Serializable;

import io.sluice.flink.ConnectorOptions;
import io.sluice.flink.ConnectorOptions.ScanStartupMode;
import org.apache.flink.configuration.Configuration;

/** Where a source starts to read. */
public final class StartingOffsets implements Serializable {
  private static final long serialVersionUID = 1L;

  private final ScanStartupMode mode;
  private final long timestampMs;

  private StartingOffsets(ScanStartupMode mode, long timestampMs) {
    this.mode = mode;
    this.timestampMs = timestampMs;
  }

  /** All rows present, then their changes. The default. */
  public static StartingOffsets full() {
    return new StartingOffsets(ScanStartupMode.FULL, 0);
  }

  /** The oldest change that is kept. */
  public static StartingOffsets earliest() {
    return new StartingOffsets(ScanStartupMode.EARLIEST, 0);
  }

  /** What is written from now on. */
  public static StartingOffsets latest() {
    return new StartingOffsets(ScanStartupMode.LATEST, 0);
  }

  /**
   * The first change committed at or after a time.
   *
   * @param timestampMs ms since 1970
   */
  public static StartingOffsets timestamp(long timestampMs) {
    return new StartingOffsets(ScanStartupMode.TIMESTAMP, timestampMs);
  }

  ScanStartupMode mode() {
    return mode;
  }

  void addTo(Configuration options) {
    options.set(ConnectorOptions.SCAN_STARTUP_MODE, mode);
    if (mode == ScanStartupMode.TIMESTAMP) {
      options.set(ConnectorOptions.SCAN_STARTUP_TIMESTAMP, Long.toString(timestampMs));
    }
  }
}
