package io.sluice.flink;

import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.connector.source.lookup.LookupOptions;
import org.apache.flink.table.factories.FactoryUtil;

/**
 * Every key that the connector reads from a catalog's or a table's options. Keys of the engine ({@code log.*}, {@code kv.*} and so
 * on in a catalog, {@code table.*} in a table) are the store's: they pass through unread and the store checks them.
 */
public final class ConnectorOptions {
  /** The word for {@code 'type'} of a catalog and {@code 'connector'} of a table. */
  public static final String IDENTIFIER = "fluss";

  /** Prefix of options that the store itself checks and acts on. */
  public static final String TABLE_PREFIX = "table.";

  /** Prefix of options of the client side. Unknown ones are kept and ignored. */
  public static final String CLIENT_PREFIX = "client.";

  /** Prefix of the client options that a catalog hands on to each of its tables. */
  public static final String SECURITY_PREFIX = "client.security.";

  /** The store's option that lets a table's rows flow into the lake. */
  public static final String LAKE_ENABLED = "table.datalake.enabled";

  // ---- catalog

  public static final ConfigOption<String> BOOTSTRAP_SERVERS =
      ConfigOptions.key("bootstrap.servers")
          .stringType()
          .noDefaultValue()
          .withDescription("Where the store is: 'embedded:/path/to/directory' runs the engine inside this JVM, 'host:port' (several with commas"
                  + " between) is that of servers.");

  public static final ConfigOption<String> DEFAULT_DATABASE =
      ConfigOptions.key("default-database")
          .stringType()
          .defaultValue("fluss")
          .withDescription("The database that a session is in after USE CATALOG. It must exist.");

  // ---- table: shape

  public static final ConfigOption<Integer> BUCKET_NUMBER =
      ConfigOptions.key("bucket.num").intType().noDefaultValue().withDescription("Number of buckets.");

  public static final ConfigOption<String> BUCKET_KEY =
      ConfigOptions.key("bucket.key")
          .stringType()
          .noDefaultValue()
          .withDescription("Columns whose values decide a row's bucket, separated by commas.");

  public static final ConfigOption<String> AUTO_INCREMENT_FIELDS =
      ConfigOptions.key("auto-increment.fields")
          .stringType()
          .noDefaultValue()
          .withDescription("The column that the store numbers by itself.");

  // ---- table: reading

  public static final ConfigOption<ScanStartupMode> SCAN_STARTUP_MODE =
      ConfigOptions.key("scan.startup.mode")
          .enumType(ScanStartupMode.class)
          .defaultValue(ScanStartupMode.FULL)
          .withDescription("Where a streaming read starts.");

  public static final ConfigOption<String> SCAN_STARTUP_TIMESTAMP =
      ConfigOptions.key("scan.startup.timestamp")
          .stringType()
          .noDefaultValue()
          .withDescription(
              "Start of mode 'timestamp': milliseconds since 1970, or 'yyyy-MM-dd HH:mm:ss' in the session's time zone.");

  public static final ConfigOption<Duration> SCAN_PARTITION_DISCOVERY_INTERVAL =
      ConfigOptions.key("scan.partition.discovery.interval")
          .durationType()
          .defaultValue(Duration.ofMinutes(1))
          .withDescription("Time between two looks for new partitions; zero or less turns them off.");

  public static final ConfigOption<Integer> SCAN_SPLIT_ASSIGNMENT_BATCH_SIZE =
      ConfigOptions.key("scan.split.assignment.batch-size")
          .intType()
          .defaultValue(Integer.MAX_VALUE)
          .withDescription("The most splits handed out at once.");

  public static final ConfigOption<String> SCAN_SNAPSHOT_LEASE_ID =
      ConfigOptions.key("scan.kv.snapshot.lease.id")
          .stringType()
          .noDefaultValue()
          .withDescription("Name of the lease that keeps snapshots while they are read; random when absent.");

  public static final ConfigOption<Duration> SCAN_SNAPSHOT_LEASE_DURATION =
      ConfigOptions.key("scan.kv.snapshot.lease.duration")
          .durationType()
          .defaultValue(Duration.ofDays(1))
          .withDescription("How long such a lease lasts without being renewed.");

  public static final ConfigOption<Boolean> LOOKUP_ASYNC =
      ConfigOptions.key("lookup.async")
          .booleanType()
          .defaultValue(true)
          .withDescription("Whether lookup joins look up asynchronously.");

  public static final ConfigOption<Boolean> LOOKUP_INSERT_IF_NOT_EXISTS =
      ConfigOptions.key("lookup.insert-if-not-exists")
          .booleanType()
          .defaultValue(false)
          .withDescription("Whether a lookup that finds nothing inserts a row with the key.");

  // ---- table: writing

  public static final ConfigOption<Boolean> SINK_IGNORE_DELETE =
      ConfigOptions.key("sink.ignore-delete")
          .booleanType()
          .defaultValue(false)
          .withDescription("Whether the sink drops deletes; a log table then takes updates as new rows.");

  public static final ConfigOption<DistributionMode> SINK_DISTRIBUTION_MODE =
      ConfigOptions.key("sink.distribution-mode")
          .enumType(DistributionMode.class)
          .defaultValue(DistributionMode.AUTO)
          .withDescription("How rows are spread over the sink's subtasks.");

  public static final ConfigOption<Boolean> SINK_BUCKET_SHUFFLE =
      ConfigOptions.key("sink.bucket-shuffle")
          .booleanType()
          .defaultValue(true)
          .withDescription("Replaced by 'sink.distribution-mode'; accepted and ignored.");

  public static final ConfigOption<String> SINK_PRODUCER_ID =
      ConfigOptions.key("sink.producer-id")
          .stringType()
          .noDefaultValue()
          .withDescription("Name under which an aggregation table's sink remembers its offsets.");

  // ---- table or catalog: client

  public static final ConfigOption<Duration> WRITER_BATCH_TIMEOUT =
      ConfigOptions.key("client.writer.batch-timeout")
          .durationType()
          .noDefaultValue()
          .withDescription(
              "Longest time that a row waits in the sink for others. When absent, rows go as soon as the input pauses, at most a few"
                  + " milliseconds later.");

  public static final ConfigOption<MemorySize> WRITER_BATCH_SIZE =
      ConfigOptions.key("client.writer.batch-size")
          .memoryType()
          .defaultValue(MemorySize.ofMebiBytes(2))
          .withDescription("Bytes of rows at which the sink hands them over.");

  public static final ConfigOption<Boolean> WRITER_CREATES_PARTITIONS =
      ConfigOptions.key("client.writer.dynamic-create-partition.enabled")
          .booleanType()
          .defaultValue(true)
          .withDescription("Whether a row of a partition that is not there creates it; else such a row fails the job.");

  public static final ConfigOption<Duration> REQUEST_TIMEOUT =
      ConfigOptions.key("client.request-timeout")
          .durationType()
          .defaultValue(Duration.ofSeconds(30))
          .withDescription("Longest time that the sink waits for the store before it fails the job.");

  private ConnectorOptions() {}

  /** All options that a table may have and the connector reads. */
  public static Set<ConfigOption<?>> tableOptions() {
    Set<ConfigOption<?>> options = new LinkedHashSet<>();
    options.add(BOOTSTRAP_SERVERS);
    options.add(BUCKET_NUMBER);
    options.add(BUCKET_KEY);
    options.add(AUTO_INCREMENT_FIELDS);
    options.add(SCAN_STARTUP_MODE);
    options.add(SCAN_STARTUP_TIMESTAMP);
    options.add(SCAN_PARTITION_DISCOVERY_INTERVAL);
    options.add(SCAN_SPLIT_ASSIGNMENT_BATCH_SIZE);
    options.add(SCAN_SNAPSHOT_LEASE_ID);
    options.add(SCAN_SNAPSHOT_LEASE_DURATION);
    options.add(LOOKUP_ASYNC);
    options.add(LOOKUP_INSERT_IF_NOT_EXISTS);
    options.add(LookupOptions.CACHE_TYPE);
    options.add(LookupOptions.MAX_RETRIES);
    options.add(LookupOptions.PARTIAL_CACHE_EXPIRE_AFTER_ACCESS);
    options.add(LookupOptions.PARTIAL_CACHE_EXPIRE_AFTER_WRITE);
    options.add(LookupOptions.PARTIAL_CACHE_CACHE_MISSING_KEY);
    options.add(LookupOptions.PARTIAL_CACHE_MAX_ROWS);
    options.add(SINK_IGNORE_DELETE);
    options.add(SINK_DISTRIBUTION_MODE);
    options.add(SINK_BUCKET_SHUFFLE);
    options.add(SINK_PRODUCER_ID);
    options.add(WRITER_BATCH_TIMEOUT);
    options.add(WRITER_BATCH_SIZE);
    options.add(WRITER_CREATES_PARTITIONS);
    options.add(REQUEST_TIMEOUT);
    options.add(FactoryUtil.SINK_PARALLELISM);
    options.add(FactoryUtil.SOURCE_PARALLELISM);
    return options;
  }

  /**
   * Reads every option that the connector knows once, so that a value that cannot be understood is refused by the statement that
   * gives it and not by the first query.
   */
  public static void checkValues(Map<String, String> options) {
    Configuration read = Configuration.fromMap(options);
    for (ConfigOption<?> option : tableOptions()) {
      try {
        read.getOptional(option);
      } catch (IllegalArgumentException e) {
        throw new ValidationException(
            String.format("The value '%s' of option '%s' cannot be read: %s", options.get(option.key()), option.key(), reason(option, e)));
      }
    }
  }

  private static String reason(ConfigOption<?> option, IllegalArgumentException e) {
    if (option.hasDefaultValue() && option.defaultValue() instanceof Enum) {
      Object[] values = ((Enum<?>) option.defaultValue()).getDeclaringClass().getEnumConstants();
      return Arrays.stream(values)
          .map(value -> value.toString().toLowerCase(Locale.ROOT))
          .collect(Collectors.joining(", ", "it is none of ", "."));
    }
    Throwable cause = e.getCause() == null ? e : e.getCause();
    return cause instanceof NumberFormatException ? "it is not a whole number." : cause.getMessage();
  }

  /** Where a streaming read starts. */
  public enum ScanStartupMode {
    /** All rows present, then their changes. */
    FULL,
    /** The oldest change that is kept. */
    EARLIEST,
    /** What is written from now on. */
    LATEST,
    /** The first change committed at or after 'scan.startup.timestamp'. */
    TIMESTAMP
  }

  /** How rows are spread over the sink's subtasks. */
  public enum DistributionMode {
    /** BUCKET where rows would otherwise be mixed among subtasks and the table has a bucket key; else NONE. */
    AUTO,
    /** As they come. */
    NONE,
    /** All rows of a bucket to one subtask. */
    BUCKET,
    /** By how many rows each partition gets; for partitioned log tables. */
    PARTITION_DYNAMIC
  }
}
