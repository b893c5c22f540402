package io.sluice.flink.tiering;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.Collectors;

import io.sluice.store.ErrorKind;
import io.sluice.store.Failures;
import io.sluice.store.Subject;
import org.apache.flink.connector.testutils.source.reader.TestingSplitEnumeratorContext;
import org.junit.jupiter.api.Test;

/** How rounds are planned, shared among readers, committed, and tried again. */
final class TieringEnumeratorTest {
  private final ScriptedStore store = new ScriptedStore();
  private final TestingSplitEnumeratorContext<TieringSplit> context = new TestingSplitEnumeratorContext<>(2);
  private long now = 1_000;
  private final TieringEnumerator enumerator = new TieringEnumerator(context, () -> store, () -> now);

  private void started() {
    enumerator.start();
    register(0);
    register(1);
    settle();
  }

  private void register(int reader) {
    context.registerReader(reader, "host");
    enumerator.addReader(reader);
    enumerator.handleSplitRequest(reader, null);
  }

  private void settle() {
    for (int i = 0; i < 4; i++) {
      context.triggerAllActions();
    }
  }

  private List<TieringSplit> given(int reader) {
    return context.getSplitAssignments().containsKey(reader) ? context.getSplitAssignments().get(reader).getAssignedSplits() : List.of();
  }

  private List<String> work(int reader) {
    return given(reader).stream().map(TieringSplit::work).collect(Collectors.toList());
  }

  private void written(int reader, long part, long end) {
    List<TieringSplit> splits = given(reader);
    enumerator.handleSourceEvent(reader, SplitDone.written(splits.get(splits.size() - 1).splitId(), new WrittenPart(part, end, end)));
    settle();
  }

  @Test
  void aRoundIsSharedAndCommittedAsOne() {
    store.lags("t", 0, 1, 2);
    started();
    assertThat(work(0)).hasSize(1);
    assertThat(work(1)).hasSize(1);
    written(0, 7, 10);
    assertThat(work(0)).hasSize(2);
    written(1, 8, 10);
    assertThat(store.commits).isEmpty();
    written(0, 9, 10);
    assertThat(store.commits).containsExactly("t[7, 8, 9]");
  }

  @Test
  void theNextRoundWaitsForTheFreshnessUnlessSomethingIsLeftOver() {
    store.lags("t", 0);
    started();
    written(0, 1, 5);
    assertThat(work(0)).hasSize(1);
    assertThat(work(1)).as("the rest of the bucket, at once").hasSize(1);
    written(1, 2, 10);
    assertThat(store.commits).containsExactly("t[1]", "t[2]");
    now += 1_999;
    settle();
    assertThat(work(0).size() + work(1).size()).isEqualTo(2);
    now += 1;
    settle();
    assertThat(work(0).size() + work(1).size()).isEqualTo(3);
  }

  @Test
  void aRoundWhoseTimeIsOverGoesWithoutWhatNobodyBegan() {
    store.lags("t", 0, 1, 2, 3);
    started();
    now += 5_000;
    written(0, 1, 10);
    written(1, 2, 10);
    assertThat(store.commits).containsExactly("t[1, 2]");
    assertThat(List.of(work(0).get(1), work(1).get(1))).as("those that had no turn come first").containsExactlyInAnyOrder("t2", "t3");
  }

  @Test
  void aFencedRoundIsTriedAgainLaterAndOtherTablesGoOn() {
    store.lags("a", 0);
    store.lags("b", 0);
    store.commit = Failures.of(ErrorKind.FENCED, Subject.TABLE, "another tiering job works on the same table");
    started();
    written(0, 1, 10);
    store.commit = null;
    written(1, 2, 10);
    assertThat(store.commits).hasSize(2);
    store.commits.clear();
    now += 999;
    settle();
    assertThat(given(0).size() + given(1).size()).isEqualTo(2);
    now += 1;
    settle();
    assertThat(given(0).size() + given(1).size()).as("planned anew, for the lake has moved").isEqualTo(3);
  }

  @Test
  void whatALostReaderHadIsPlannedAnewAndItsLateAnswerCountsForNothing() {
    store.lags("t", 0, 1);
    started();
    TieringSplit lost = given(0).get(0);
    enumerator.addReader(0);
    enumerator.handleSourceEvent(0, SplitDone.written(lost.splitId(), new WrittenPart(1, 10, 10)));
    written(1, 2, 10);
    assertThat(store.commits).containsExactly("t[2]");
    enumerator.handleSplitRequest(0, null);
    settle();
    assertThat(given(0).size() + given(1).size()).as("both buckets of the next round").isEqualTo(4);
  }

  @Test
  void aDroppedPartitionIsNoFailureAndOtherFailuresCommitWhatIsThere() {
    store.lags("t", 0, 1);
    started();
    enumerator.handleSourceEvent(
        0, SplitDone.failed(given(0).get(0).splitId(), Failures.of(ErrorKind.NOT_FOUND, Subject.PARTITION, "gone")));
    written(1, 2, 10);
    assertThat(store.commits).containsExactly("t[2]");
    assertThat(given(0).size() + given(1).size()).as("the next round has begun").isEqualTo(4);
    enumerator.handleSourceEvent(0, SplitDone.failed(given(0).get(1).splitId(), Failures.of(ErrorKind.IO, Subject.DISK, "full")));
    written(1, 3, 10);
    assertThat(store.commits).containsExactly("t[2]", "t[3]");
    assertThat(given(0).size() + given(1).size()).as("the next round waits").isEqualTo(4);
  }

  @Test
  void aStoreThatCannotBeReachedAtFirstEndsTheJob() {
    store.listing = Failures.of(ErrorKind.IO, Subject.STORE, "no server at h:1");
    enumerator.start();
    assertThatThrownBy(this::settle).hasStackTraceContaining("no server at h:1");
  }

  @Test
  void aServerThatHasNoWordsForItEndsTheJob() {
    store.lags("t", 0);
    store.commit = Failures.of(ErrorKind.UNSUPPORTED, Subject.STORE, "it needs a Sluice server");
    started();
    assertThatThrownBy(() -> written(0, 1, 10)).hasStackTraceContaining("it needs a Sluice server");
  }

  @Test
  void laterItIsWaitedFor() throws Exception {
    store.lags("t", 0);
    started();
    store.listing = Failures.of(ErrorKind.IO, Subject.STORE, "no server at h:1");
    settle();
    written(0, 1, 10);
    assertThat(store.commits).containsExactly("t[1]");
    enumerator.close();
    assertThat(store.closed).isTrue();
  }
}
