package io.sluice.flink.source.enumerator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.OptionalLong;

import io.sluice.flink.TableKind;
import io.sluice.flink.source.scan.ScanSettings;
import io.sluice.flink.source.scan.ScanTask;
import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.flink.source.split.SplitStart;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;

/** Which splits a scan gets. */
final class SplitPlannerTest {
  private static final RowType COLUMNS = RowType.of(new BigIntType());
  private static final long NOW = 1_000_000;

  private final ScriptedTable table = new ScriptedTable();

  static ScanSettings settings(boolean streaming, String mode, long timestampMs) {
    Configuration options = new Configuration();
    options.setString("scan.startup.mode", mode);
    options.setString("scan.startup.timestamp", Long.toString(timestampMs));
    options.setString("scan.kv.snapshot.lease.duration", "9 s");
    return ScanSettings.of(options, new Configuration(), streaming);
  }

  private List<SluiceSplit> plan(boolean streaming, TableKind kind, String mode, long timestampMs, ScanTask task) {
    return new SplitPlanner("d.t", settings(streaming, mode, timestampMs), task, kind, false).plan(table, "lease", NOW);
  }

  private List<SluiceSplit> plan(boolean streaming, TableKind kind, String mode) {
    return plan(streaming, kind, mode, 500, ScanTask.rows(COLUMNS));
  }

  private static SluiceSplit split(int bucket, SplitStart start) {
    return new SluiceSplit(7, OptionalLong.empty(), bucket, start, OptionalLong.empty());
  }

  @Test
  void streamingLogTableInFullStartsAtTheEarliestOffset() {
    assertThat(plan(true, TableKind.LOG, "full"))
        .containsExactly(split(0, SplitStart.earliest()), split(1, SplitStart.earliest()), split(2, SplitStart.earliest()))
        .isEqualTo(plan(true, TableKind.LOG, "earliest"))
        .isEqualTo(plan(true, TableKind.PRIMARY_KEY, "earliest"));
  }

  @Test
  void streamingPrimaryKeyTableInFullStartsAtLeasedSnapshots() {
    assertThat(plan(true, TableKind.PRIMARY_KEY, "full"))
        .containsExactly(split(0, SplitStart.snapshot(100, 0)), split(1, SplitStart.snapshot(101, 0)), split(2, SplitStart.snapshot(102, 0)));
    assertThat(table.calls).containsExactly("id", "acquire [0, 1, 2] lease 9000");
  }

  @Test
  void streamingLatestStartsAtTheOffsetsOfThisMoment() {
    assertThat(plan(true, TableKind.LOG, "latest")).containsExactly(split(0, SplitStart.log(10)), split(1, SplitStart.log(0)), split(2, SplitStart.log(30)));
  }

  @Test
  void streamingTimestampStartsAtTheOffsetsOfThatTime() {
    assertThat(plan(true, TableKind.PRIMARY_KEY, "timestamp")).containsExactly(split(0, SplitStart.log(4)), split(1, SplitStart.log(0)), split(2, SplitStart.log(30)));
    assertThat(table.calls).containsExactly("id", "at 500");
  }

  @Test
  void aStreamingScanWaitsForAFutureTimestamp() {
    SplitPlanner planner = new SplitPlanner("d.t", settings(true, "timestamp", NOW), ScanTask.rows(COLUMNS), TableKind.LOG, false);
    assertThat(planner.mustWait(NOW - 1)).isTrue();
    assertThat(planner.mustWait(NOW)).isFalse();
    assertThat(new SplitPlanner("d.t", settings(false, "timestamp", NOW), ScanTask.rows(COLUMNS), TableKind.LOG, false).mustWait(NOW - 1)).isFalse();
  }

  @Test
  void batchLogTableEndsAtTheOffsetsOfThisMomentAndLeavesEmptyBucketsOut() {
    assertThat(plan(false, TableKind.LOG, "full")).containsExactly(split(0, SplitStart.earliest()).stoppingAt(10), split(2, SplitStart.earliest()).stoppingAt(30));
    assertThat(plan(false, TableKind.LOG, "timestamp")).containsExactly(split(0, SplitStart.log(4)).stoppingAt(10));
    assertThat(plan(false, TableKind.LOG, "latest")).isEmpty();
  }

  @Test
  void aLogTableInTheLakeStartsAtItsSnapshotsAndEndsBehindThem() {
    assertThat(plan(true, TableKind.LOG_WITH_LAKE, "full")).hasSize(3).contains(split(1, SplitStart.snapshot(101, 0)));
    table.calls.clear();
    assertThat(plan(false, TableKind.LOG_WITH_LAKE, "full"))
        .containsExactly(split(0, SplitStart.snapshot(103, 0)).stoppingAt(10), split(2, SplitStart.snapshot(105, 0)).stoppingAt(30));
    assertThat(table.calls).containsExactly("id", "acquire [0, 1, 2] lease 9000", "latest", "release [1] lease");
  }

  @Test
  void otherStartsThanFullReadTheLogAlone() {
    assertThat(plan(true, TableKind.LOG_WITH_LAKE, "earliest")).isEqualTo(plan(true, TableKind.LOG, "earliest"));
    assertThat(plan(false, TableKind.LOG_WITH_LAKE, "timestamp")).isEqualTo(plan(false, TableKind.LOG, "timestamp"));
  }

  @Test
  void batchFromAFutureTimestampIsEmpty() {
    assertThat(plan(false, TableKind.LOG, "timestamp", NOW + 1, ScanTask.rows(COLUMNS))).isEmpty();
  }

  @Test
  void batchPrimaryKeyTableReadsTheCurrentRows() {
    assertThat(plan(false, TableKind.PRIMARY_KEY, "full"))
        .containsExactly(split(0, SplitStart.current()), split(1, SplitStart.current()), split(2, SplitStart.current()));
  }

  @Test
  void aLimitGoesToEveryBucket() {
    assertThat(plan(false, TableKind.LOG, "full", 0, ScanTask.limited(COLUMNS, 5)))
        .containsExactly(split(0, SplitStart.limit(5)), split(1, SplitStart.limit(5)), split(2, SplitStart.limit(5)));
  }

  @Test
  void aCountIsOneSplitWithTheStoresOwnNumber() {
    assertThat(plan(false, TableKind.PRIMARY_KEY, "full", 0, ScanTask.count(COLUMNS))).containsExactly(split(0, SplitStart.count(40)));
    table.rows = OptionalLong.empty();
    assertThatThrownBy(() -> plan(false, TableKind.PRIMARY_KEY, "full", 0, ScanTask.count(COLUMNS))).hasMessageContaining("d.t").hasMessageContaining("again");
  }
}
