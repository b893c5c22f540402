package io.sluice.flink.source.enumerator;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;

import io.sluice.flink.TableKind;
import io.sluice.flink.partition.TablePartition;
import io.sluice.flink.source.scan.ScanTask;
import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.flink.source.split.SplitStart;
import org.apache.flink.connector.testutils.source.reader.TestingSplitEnumeratorContext;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;

/** Which partitions a scan reads: those that are there, those that come, and no longer those that went. */
final class PartitionDiscoveryTest {
  private final ScriptedTable table = new ScriptedTable();
  private final TestingSplitEnumeratorContext<SluiceSplit> context = new TestingSplitEnumeratorContext<>(2);

  private SluiceSplitEnumerator started(boolean streaming, boolean primaryKey, String mode, SourceState state) {
    SplitPlanner planner =
        new SplitPlanner(
            "d.t",
            SplitPlannerTest.settings(streaming, mode, 0),
            ScanTask.rows(RowType.of(new BigIntType())),
            primaryKey ? TableKind.PRIMARY_KEY : TableKind.LOG,
            true);
    SluiceSplitEnumerator enumerator = new SluiceSplitEnumerator(context, planner, () -> table, SplitPlannerTest.settings(streaming, mode, 0), state);
    enumerator.start();
    for (int reader = 0; reader < 2; reader++) {
      context.registerReader(reader, "host");
      enumerator.addReader(reader);
    }
    context.triggerAllActions();
    return enumerator;
  }

  private SluiceSplitEnumerator started(boolean streaming, boolean primaryKey, String mode) {
    return started(streaming, primaryKey, mode, SourceState.fresh("lease"));
  }

  private List<SluiceSplit> given() {
    List<SluiceSplit> given = new ArrayList<>();
    context.getSplitAssignments().values().forEach(state -> given.addAll(state.getAssignedSplits()));
    return given;
  }

  private static Set<String> ids(List<SluiceSplit> splits) {
    return splits.stream().map(SluiceSplit::splitId).collect(Collectors.toSet());
  }

  private static SluiceSplit split(long partition, int bucket, SplitStart start) {
    return new SluiceSplit(7, OptionalLong.of(partition), bucket, start, OptionalLong.empty());
  }

  @Test
  void everyPartitionIsReadWithItsOwnBuckets() {
    table.add(1, "a", 1);
    table.add(2, "b", 3);
    started(false, true, "full");
    assertThat(ids(given()))
        .containsExactlyInAnyOrder("partition-1-bucket-0", "partition-2-bucket-0", "partition-2-bucket-1", "partition-2-bucket-2");
  }

  @Test
  void aTableWithoutPartitionsEndsABoundedScan() {
    started(false, false, "full");
    assertThat(given()).isEmpty();
    assertThat(context.getSplitAssignments().values()).allMatch(state -> state.hasReceivedNoMoreSplitsSignal());
  }

  @Test
  void aNewPartitionIsReadFromItsBeginningWhereverTheScanStarted() {
    table.add(1, "a", 1);
    SluiceSplitEnumerator enumerator = started(true, false, "latest");
    assertThat(given()).containsExactly(split(1, 0, SplitStart.log(10)));
    table.add(2, "b", 2);
    context.triggerAllActions();
    context.triggerAllActions();
    assertThat(given())
        .containsExactlyInAnyOrder(split(1, 0, SplitStart.log(10)), split(2, 0, SplitStart.earliest()), split(2, 1, SplitStart.earliest()));
    assertThat(enumerator.snapshotState(1).assigned()).hasSize(3);
  }

  @Test
  void aNewPartitionOfAPrimaryKeyTableIsReadFromASnapshot() {
    SluiceSplitEnumerator enumerator = started(true, true, "full");
    assertThat(given()).isEmpty();
    table.add(1, "a", 2);
    context.triggerAllActions();
    assertThat(given()).extracting(split -> split.start().kind()).containsExactly(SplitStart.Kind.SNAPSHOT, SplitStart.Kind.SNAPSHOT);
    assertThat(enumerator.snapshotState(1).leased()).hasSize(2);
  }

  @Test
  void aDroppedPartitionLeavesTheState() {
    table.add(1, "a", 2);
    table.add(2, "b", 1);
    SluiceSplitEnumerator enumerator = started(true, true, "full");
    assertThat(enumerator.snapshotState(1).assigned()).hasSize(3);
    table.partitions.remove(0);
    context.triggerAllActions();
    SourceState state = enumerator.snapshotState(2);
    assertThat(ids(state.assigned())).containsExactly("partition-2-bucket-0");
    assertThat(ids(state.leased())).containsExactly("partition-2-bucket-0");
    table.add(3, "a", 1);
    context.triggerAllActions();
    assertThat(ids(enumerator.snapshotState(3).assigned())).containsExactlyInAnyOrder("partition-2-bucket-0", "partition-3-bucket-0");
  }

  @Test
  void aPartitionDroppedWhilePlanningIsLeftOut() {
    table.add(0, "a", 1);
    table.add(1, "b", 1);
    table.dropped = 0L;
    started(false, false, "full");
    assertThat(ids(given())).containsExactly("partition-1-bucket-0");
  }

  @Test
  void failuresToLookAreNotTheEnd() {
    table.add(1, "a", 1);
    SluiceSplitEnumerator enumerator = started(true, false, "full");
    table.failure = new IllegalStateException("not now");
    context.triggerAllActions();
    table.failure = null;
    table.add(2, "b", 1);
    context.triggerAllActions();
    assertThat(ids(given())).containsExactlyInAnyOrder("partition-1-bucket-0", "partition-2-bucket-0");
    assertThat(enumerator.snapshotState(1).unassigned()).isEmpty();
  }

  @Test
  void aRestoredScanForgetsPartitionsThatWentWhileItWasDown() {
    table.add(2, "b", 1);
    table.add(3, "c", 1);
    List<SluiceSplit> left = List.of(split(1, 0, SplitStart.snapshot(5, 0)), split(2, 0, SplitStart.snapshot(6, 0)));
    SourceState state = new SourceState(true, "lease", left, List.of(split(9, 0, SplitStart.log(3))), List.of());
    SluiceSplitEnumerator enumerator = started(true, true, "full", state);
    assertThat(ids(given())).containsExactlyInAnyOrder("partition-2-bucket-0", "partition-3-bucket-0");
    assertThat(enumerator.snapshotState(2).unassigned()).isEmpty();
    assertThat(ids(enumerator.snapshotState(3).assigned())).containsExactlyInAnyOrder("partition-2-bucket-0", "partition-3-bucket-0");
  }

  @Test
  void partitionsThatOnlyTheLakeHasAreReadWithTheOthersAndNeverGo() {
    table.add(1, "a", 1);
    table.ofLake = List.of(new TablePartition(-9, List.of("z"), 2));
    SluiceSplitEnumerator enumerator = started(true, true, "full");
    Set<String> all = Set.of("partition-1-bucket-0", "partition--9-bucket-0", "partition--9-bucket-1");
    assertThat(ids(given())).isEqualTo(all);
    context.triggerAllActions();
    assertThat(ids(enumerator.snapshotState(1).assigned())).isEqualTo(all);
  }

  @Test
  void aScanOfTheLogAloneDoesNotAskForThem() {
    table.add(1, "a", 1);
    table.ofLake = List.of(new TablePartition(-9, List.of("z"), 2));
    started(true, false, "earliest");
    assertThat(ids(given())).containsExactly("partition-1-bucket-0");
    assertThat(table.calls).doesNotContain("lake partitions");
  }

  @Test
  void aPartitionMadeAgainWhilePlanningIsReadOnce() {
    table.ofLake = List.of(new TablePartition(-9, List.of("z"), 1));
    table.created = new TablePartition(4, List.of("z"), 1);
    started(false, true, "full");
    assertThat(ids(given())).containsExactly("partition-4-bucket-0");
  }
}
