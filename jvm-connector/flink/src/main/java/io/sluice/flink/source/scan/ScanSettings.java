package io.sluice.flink.source.scan;

import java.io.Serializable;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.time.format.ResolverStyle;
import java.util.UUID;

import io.sluice.flink.ConnectorOptions.ScanStartupMode;
import io.sluice.flink.ConnectorOptions;
import io.sluice.flink.TableKind;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.api.config.TableConfigOptions;

/** How a scan starts and how it keeps what it reads, as the options of table and session say. */
public final class ScanSettings implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final DateTimeFormatter DATE_TIME =
      DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss").withResolverStyle(ResolverStyle.STRICT);

  private final boolean streaming;
  private final ScanStartupMode mode;
  private final long timestampMs;
  private final String leaseId;
  private final Duration leaseDuration;
  private final Duration discoveryInterval;

  ScanSettings(
      boolean streaming, ScanStartupMode mode, long timestampMs, String leaseId, Duration leaseDuration, Duration discoveryInterval) {
    this.streaming = streaming;
    this.mode = mode;
    this.timestampMs = timestampMs;
    this.leaseId = leaseId;
    this.leaseDuration = leaseDuration;
    this.discoveryInterval = discoveryInterval;
  }

  /**
   * Reads the settings.
   *
   * @param options the table's options
   * @param session the session's configuration
   * @throws ValidationException when mode 'timestamp' has no timestamp or one that cannot be read
   */
  public static ScanSettings of(ReadableConfig options, ReadableConfig session, boolean streaming) {
    ScanStartupMode mode = options.get(ConnectorOptions.SCAN_STARTUP_MODE);
    long timestampMs = mode == ScanStartupMode.TIMESTAMP ? timestamp(options, zone(session)) : 0;
    Duration lease = options.get(ConnectorOptions.SCAN_SNAPSHOT_LEASE_DURATION);
    if (lease.isNegative() || lease.isZero()) {
      throw new ValidationException("'" + ConnectorOptions.SCAN_SNAPSHOT_LEASE_DURATION.key() + "' must be positive.");
    }
    String leaseId = options.getOptional(ConnectorOptions.SCAN_SNAPSHOT_LEASE_ID).orElseGet(() -> UUID.randomUUID().toString());
    Duration discovery = options.get(ConnectorOptions.SCAN_PARTITION_DISCOVERY_INTERVAL);
    return new ScanSettings(streaming, mode, timestampMs, leaseId, lease, discovery);
  }

  private static ZoneId zone(ReadableConfig session) {
    String zone = session.get(TableConfigOptions.LOCAL_TIME_ZONE);
    return TableConfigOptions.LOCAL_TIME_ZONE.defaultValue().equals(zone) ? ZoneId.systemDefault() : ZoneId.of(zone);
  }

  private static long timestamp(ReadableConfig options, ZoneId zone) {
    String text =
        options.getOptional(ConnectorOptions.SCAN_STARTUP_TIMESTAMP)
            .orElseThrow(
                () ->
                    new ValidationException(
                        "'scan.startup.timestamp' is required when 'scan.startup.mode' is 'timestamp', but it is missing."));
    return parseTimestamp(text, zone);
  }

  /**
   * Milliseconds since 1970 of a timestamp as users write it.
   *
   * @throws ValidationException when it is neither a whole number nor 'yyyy-MM-dd HH:mm:ss'
   */
  static long parseTimestamp(String text, ZoneId zone) {
    String trimmed = text.trim();
    if (!trimmed.isEmpty() && trimmed.chars().allMatch(c -> c >= '0' && c <= '9')) {
      try {
        return Long.parseLong(trimmed);
      } catch (NumberFormatException e) {
        throw badTimestamp(text, e);
      }
    }
    try {
      return LocalDateTime.parse(trimmed, DATE_TIME).atZone(zone).toInstant().toEpochMilli();
    } catch (DateTimeParseException e) {
      throw badTimestamp(text, e);
    }
  }

  private static ValidationException badTimestamp(String text, Exception cause) {
    return new ValidationException(
        "'scan.startup.timestamp' should follow the format 'yyyy-MM-dd HH:mm:ss' or be milliseconds since 1970, but it is '" + text + "'.",
        cause);
  }

  /** Whether the scan follows the table for ever; else it ends at what was there when it started. */
  public boolean streaming() {
    return streaming;
  }

  /** The same scan, ending at what is there when it starts. */
  public ScanSettings bounded() {
    return new ScanSettings(false, mode, timestampMs, leaseId, leaseDuration, discoveryInterval);
  }

  /** Where it starts. */
  public ScanStartupMode mode() {
    return mode;
  }

  /** The start of mode 'timestamp', ms since 1970. */
  public long timestampMs() {
    return timestampMs;
  }

  /** Whether it reads the rows of leased snapshots, of the store or of the lake, before it follows the log. */
  public boolean readsSnapshots(TableKind kind) {
    boolean hasSnapshots = kind == TableKind.LOG_WITH_LAKE || kind == TableKind.PRIMARY_KEY && streaming;
    return hasSnapshots && mode == ScanStartupMode.FULL;
  }

  /** Name of the lease that keeps snapshots while they are read. */
  public String leaseId() {
    return leaseId;
  }

  /** Whether the scan looks for new partitions while it runs. */
  public boolean discoversPartitions() {
    return streaming && !discoveryInterval.isZero() && !discoveryInterval.isNegative();
  }

  /** Time between two looks for new partitions. */
  public Duration discoveryInterval() {
    return discoveryInterval;
  }

  /** How long the lease lasts without being renewed. */
  public Duration leaseDuration() {
    return leaseDuration;
  }
}
