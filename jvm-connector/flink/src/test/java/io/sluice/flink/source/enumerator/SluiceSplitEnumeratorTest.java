package io.sluice.flink.source.enumerator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

import io.sluice.flink.source.scan.NothingToRead;
import io.sluice.flink.TableKind;
import io.sluice.flink.source.scan.ScanSettings;
import io.sluice.flink.source.scan.ScanTask;
import io.sluice.flink.source.scan.SnapshotsRead;
import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.flink.source.split.SplitStart;
import org.apache.flink.connector.testutils.source.reader.TestingSplitEnumeratorContext;
import org.apache.flink.runtime.execution.SuppressRestartsException;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;

/** Who gets which split when, and when snapshots are given back. */
final class SluiceSplitEnumeratorTest {
  private final ScriptedTable table = new ScriptedTable();
  private final TestingSplitEnumeratorContext<SluiceSplit> context = new TestingSplitEnumeratorContext<>(2);

  private SluiceSplitEnumerator enumerator(boolean streaming, TableKind kind, String mode, SourceState state) {
    ScanSettings settings = SplitPlannerTest.settings(streaming, mode, System.currentTimeMillis() + 1_000);
    SplitPlanner planner = new SplitPlanner("d.t", settings, ScanTask.rows(RowType.of(new BigIntType())), kind, false);
    return new SluiceSplitEnumerator(context, planner, () -> table, settings, state);
  }

  private SluiceSplitEnumerator started(boolean streaming, TableKind kind, String mode) {
    SluiceSplitEnumerator enumerator = enumerator(streaming, kind, mode, SourceState.fresh("lease"));
    enumerator.start();
    context.triggerAllActions();
    return enumerator;
  }

  private void register(SluiceSplitEnumerator enumerator, int reader) {
    context.registerReader(reader, "host");
    enumerator.addReader(reader);
  }

  private List<SluiceSplit> given(int reader) {
    return context.getSplitAssignments().containsKey(reader) ? context.getSplitAssignments().get(reader).getAssignedSplits() : List.of();
  }

  private static SluiceSplit split(int bucket, SplitStart start) {
    return new SluiceSplit(7, OptionalLong.empty(), bucket, start, OptionalLong.empty());
  }

  @Test
  void eachSplitGoesToOneReaderAndReadersShareEvenly() {
    table.buckets = 5;
    SluiceSplitEnumerator enumerator = started(true, TableKind.LOG, "full");
    register(enumerator, 0);
    assertThat(given(1)).isEmpty();
    register(enumerator, 1);
    List<SluiceSplit> all = new ArrayList<>(given(0));
    all.addAll(given(1));
    assertThat(all).extracting(SluiceSplit::bucket).containsExactlyInAnyOrder(0, 1, 2, 3, 4);
    assertThat(Math.abs(given(0).size() - given(1).size())).isEqualTo(1);
  }

  @Test
  void splitsPlannedAfterReadersCameAreGivenOutToo() {
    SluiceSplitEnumerator enumerator = enumerator(true, TableKind.LOG, "full", SourceState.fresh("lease"));
    enumerator.start();
    register(enumerator, 0);
    register(enumerator, 1);
    assertThat(given(0)).isEmpty();
    context.triggerAllActions();
    assertThat(given(0).size() + given(1).size()).isEqualTo(3);
  }

  @Test
  void boundedReadersLearnThatNoMoreComes() {
    SluiceSplitEnumerator enumerator = enumerator(false, TableKind.LOG, "full", SourceState.fresh("lease"));
    enumerator.start();
    register(enumerator, 0);
    assertThat(context.getSplitAssignments()).isEmpty();
    context.triggerAllActions();
    register(enumerator, 1);
    assertThat(context.getSplitAssignments().get(0).hasReceivedNoMoreSplitsSignal()).isTrue();
    assertThat(context.getSplitAssignments().get(1).hasReceivedNoMoreSplitsSignal()).isTrue();
  }

  @Test
  void unboundedReadersAreNeverToldThatNoMoreComes() {
    SluiceSplitEnumerator enumerator = started(true, TableKind.LOG, "full");
    register(enumerator, 0);
    register(enumerator, 1);
    assertThat(context.getSplitAssignments().values()).noneMatch(state -> state.hasReceivedNoMoreSplitsSignal());
  }

  @Test
  void aReaderWithoutASplitIsToldOnceThatIsCertain() {
    table.buckets = 1;
    SluiceSplitEnumerator enumerator = enumerator(true, TableKind.LOG, "full", SourceState.fresh("lease"));
    enumerator.start();
    register(enumerator, 0);
    register(enumerator, 1);
    enumerator.handleSplitRequest(0, "host");
    enumerator.handleSplitRequest(1, "host");
    assertThat(context.getSentEvents()).isEmpty();
    context.triggerAllActions();
    int busy = given(0).isEmpty() ? 1 : 0;
    assertThat(context.getSentEvents()).containsOnlyKeys(1 - busy);
    assertThat(context.getSentEvents().get(1 - busy)).hasOnlyElementsOfType(NothingToRead.class).hasSize(1);
  }

  @Test
  void splitsOfAFailedReaderComeBackAndAreGivenOutAgain() {
    SluiceSplitEnumerator enumerator = started(true, TableKind.LOG, "full");
    register(enumerator, 0);
    register(enumerator, 1);
    List<SluiceSplit> first = new ArrayList<>(given(0));
    context.registeredReaders().remove(0);
    enumerator.addSplitsBack(first, 0);
    assertThat(enumerator.snapshotState(1).unassigned()).isEqualTo(first);
    register(enumerator, 0);
    assertThat(given(0)).hasSize(2 * first.size());
    assertThat(enumerator.snapshotState(2).unassigned()).isEmpty();
  }

  @Test
  void aRestoredEnumeratorPlansNothingAndGivesOutOnlyWhatWasLeft() {
    SourceState state = new SourceState(true, "lease", List.of(split(0, SplitStart.log(3))), List.of(split(1, SplitStart.log(0))), List.of());
    SluiceSplitEnumerator enumerator = enumerator(true, TableKind.LOG, "full", state);
    enumerator.start();
    context.triggerAllActions();
    register(enumerator, 0);
    register(enumerator, 1);
    List<SluiceSplit> all = new ArrayList<>(given(0));
    all.addAll(given(1));
    assertThat(all).containsExactly(split(0, SplitStart.log(3)));
    assertThat(table.calls).containsExactly("id");
  }

  @Test
  void aCheckpointBeforePlanningRestoresToAFreshStart() {
    SluiceSplitEnumerator enumerator = enumerator(true, TableKind.LOG, "latest", SourceState.fresh("lease"));
    enumerator.start();
    assertThat(enumerator.snapshotState(1)).isEqualTo(SourceState.fresh("lease"));
  }

  @Test
  void stateOfAReplacedTableIsRefusedWithoutRestarts() {
    table.id = 8;
    SourceState state = new SourceState(true, "lease", List.of(), List.of(split(0, SplitStart.log(3))), List.of());
    SluiceSplitEnumerator enumerator = enumerator(true, TableKind.LOG, "full", state);
    enumerator.start();
    assertThatThrownBy(context::triggerAllActions)
        .isInstanceOf(SuppressRestartsException.class)
        .hasRootCauseMessage(
            "Table ID mismatch: the saved state belongs to table d.t with id 7, but the table now has id 8, for it was dropped and created again."
                + " Please restart the job without its savepoint or checkpoint.");
  }

  @Test
  void aFailureOfTheStoreFailsTheJob() {
    table.failure = new IllegalStateException("disk on fire");
    SluiceSplitEnumerator enumerator = enumerator(true, TableKind.LOG, "full", SourceState.fresh("lease"));
    enumerator.start();
    assertThatThrownBy(context::triggerAllActions).hasMessageContaining("disk on fire");
  }

  @Test
  void aFutureTimestampIsWaitedFor() throws Exception {
    SluiceSplitEnumerator enumerator = enumerator(true, TableKind.LOG, "timestamp", SourceState.fresh("lease"));
    enumerator.start();
    register(enumerator, 0);
    register(enumerator, 1);
    context.triggerAllActions();
    assertThat(table.calls).isEmpty();
    assertThat(enumerator.snapshotState(1)).isEqualTo(SourceState.fresh("lease"));
    Thread.sleep(1_100);
    context.triggerAllActions();
    context.triggerAllActions();
    assertThat(given(0).size() + given(1).size()).isEqualTo(3);
    assertThat(table.calls.stream().filter(call -> call.startsWith("at"))).hasSize(1);
  }

  @Test
  void snapshotsAreReleasedWhenACheckpointSaysThatTheyAreRead() {
    SluiceSplitEnumerator enumerator = started(true, TableKind.PRIMARY_KEY, "full");
    register(enumerator, 0);
    register(enumerator, 1);
    assertThat(enumerator.snapshotState(1).leased()).hasSize(3);
    table.calls.clear();
    enumerator.handleSourceEvent(0, new SnapshotsRead(List.of("bucket-1"), false));
    context.triggerAllActions();
    assertThat(table.calls).noneMatch(call -> call.startsWith("release"));
    enumerator.handleSourceEvent(0, new SnapshotsRead(List.of("bucket-1", "bucket-2"), true));
    enumerator.handleSourceEvent(0, new SnapshotsRead(List.of("bucket-1"), true));
    context.triggerAllActions();
    assertThat(table.calls.stream().filter(call -> call.startsWith("release"))).containsExactly("release [1, 2] lease");
    assertThat(enumerator.snapshotState(2).leased()).extracting(SluiceSplit::bucket).containsExactly(0);
  }

  @Test
  void withoutCheckpointsSnapshotsAreReleasedWhenReadAndLeasedAnewForARestartedReader() {
    SluiceSplitEnumerator enumerator = started(true, TableKind.PRIMARY_KEY, "full");
    register(enumerator, 0);
    register(enumerator, 1);
    enumerator.handleSourceEvent(0, new SnapshotsRead(List.of("bucket-0", "bucket-1", "bucket-2"), false));
    context.triggerAllActions();
    assertThat(table.calls).contains("release [0, 1, 2] lease");
    table.calls.clear();
    List<SluiceSplit> lost = new ArrayList<>(given(0));
    context.registeredReaders().remove(0);
    enumerator.addSplitsBack(lost, 0);
    register(enumerator, 0);
    assertThat(given(0)).isEqualTo(lost);
    context.triggerAllActions();
    List<SluiceSplit> again = given(0).subList(lost.size(), given(0).size());
    assertThat(again).extracting(SluiceSplit::bucket).containsExactlyElementsOf(buckets(lost));
    assertThat(again).allMatch(split -> split.start().snapshot() > 102);
  }

  private static List<Integer> buckets(List<SluiceSplit> splits) {
    List<Integer> buckets = new ArrayList<>();
    splits.forEach(split -> buckets.add(split.bucket()));
    return buckets;
  }

  @Test
  void leasesAreRenewedAsLongAsThereAreAny() {
    SluiceSplitEnumerator enumerator = started(true, TableKind.PRIMARY_KEY, "full");
    table.calls.clear();
    context.triggerAllActions();
    assertThat(table.calls).containsExactly("renew lease 9000");
    enumerator.handleSourceEvent(0, new SnapshotsRead(List.of("bucket-0", "bucket-1", "bucket-2"), false));
    context.triggerAllActions();
    table.calls.clear();
    context.triggerAllActions();
    assertThat(table.calls).isEmpty();
  }

  @Test
  void closingClosesTheConnectionEvenOneThatIsJustBeingOpened() throws Exception {
    SluiceSplitEnumerator enumerator = started(true, TableKind.LOG, "full");
    enumerator.close();
    assertThat(table.closed).isTrue();
    table.closed = false;
    SluiceSplitEnumerator early = enumerator(true, TableKind.LOG, "full", SourceState.fresh("lease"));
    early.start();
    early.close();
    context.triggerAllActions();
    assertThat(table.closed).isTrue();
  }
}
