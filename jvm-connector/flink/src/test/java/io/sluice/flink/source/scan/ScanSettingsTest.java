package io.sluice.flink.source.scan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.time.ZoneId;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.ValidationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the options of a scan mean. */
final class ScanSettingsTest {
  private static ScanSettings read(String... keysAndValues) {
    Configuration options = new Configuration();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      options.setString(keysAndValues[i], keysAndValues[i + 1]);
    }
    Configuration session = new Configuration();
    session.setString("table.local-time-zone", "Asia/Shanghai");
    return ScanSettings.of(options, session, true);
  }

  @ParameterizedTest
  @CsvSource({
    "0, UTC, 0",
    "1700000000123, America/New_York, 1700000000123",
    "2023-11-14 22:13:20, UTC, 1700000000000",
    "2023-11-14 17:13:20, America/New_York, 1700000000000",
    "1969-12-31 23:59:59, UTC, -1000",
    "' 2023-11-14 22:13:20 ', UTC, 1700000000000"
  })
  void timestampsAreMillisecondsOrLocalTimes(String text, String zone, long expected) {
    assertThat(ScanSettings.parseTimestamp(text, ZoneId.of(zone))).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "yesterday", "2023-11-14", "2023-02-30 00:00:00", "2023-11-14T22:13:20", "2023-11-14 22:13:20.5", "-1", "99999999999999999999", "1e3"})
  void otherTimestampsAreRefusedWithTheFormat(String text) {
    assertThatThrownBy(() -> read("scan.startup.mode", "timestamp", "scan.startup.timestamp", text))
        .isInstanceOf(ValidationException.class)
        .hasMessageContaining("should follow the format")
        .hasMessageContaining("'" + text + "'");
  }

  @Test
  void theTimestampIsReadInTheSessionsZone() {
    ScanSettings settings = read("scan.startup.mode", "timestamp", "scan.startup.timestamp", "2023-11-15 06:13:20");
    assertThat(settings.timestampMs()).isEqualTo(1_700_000_000_000L);
  }

  @Test
  void modeTimestampNeedsATimestamp() {
    assertThatThrownBy(() -> read("scan.startup.mode", "timestamp"))
        .isInstanceOf(ValidationException.class)
        .hasMessageContaining("'scan.startup.timestamp' is required");
  }

  @Test
  void aTimestampOfAnotherModeIsNotLookedAt() {
    assertThat(read("scan.startup.timestamp", "yesterday").mode()).isEqualTo(io.sluice.flink.ConnectorOptions.ScanStartupMode.FULL);
  }

  @Test
  void leasesHaveARandomNameAndADayUnlessTold() {
    assertThat(read().leaseId()).isNotEqualTo(read().leaseId());
    assertThat(read().leaseDuration()).isEqualTo(Duration.ofDays(1));
    ScanSettings settings = read("scan.kv.snapshot.lease.id", "mine", "scan.kv.snapshot.lease.duration", "5 min");
    assertThat(settings.leaseId()).isEqualTo("mine");
    assertThat(settings.leaseDuration()).isEqualTo(Duration.ofMinutes(5));
    assertThatThrownBy(() -> read("scan.kv.snapshot.lease.duration", "0 s")).isInstanceOf(ValidationException.class);
  }
}
