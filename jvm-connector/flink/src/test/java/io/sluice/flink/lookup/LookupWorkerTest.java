package io.sluice.flink.lookup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import io.sluice.flink.StoreTable;
import io.sluice.store.BlockBuilder;
import io.sluice.store.ColumnContents;
import io.sluice.store.RowBlock;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Lookups beside the task: every answer belongs to its question, and nobody waits for ever. */
@Timeout(30)
final class LookupWorkerTest {
  private static final StoreTable TABLE = Tables.table(null, "k1");
  private static final LookupPlan BY_KEY = LookupPlan.of(TABLE, TABLE.rowType(), new int[][] {{0}}, false, false);
  private static final LookupPlan BY_KEY_AND_VALUE = LookupPlan.of(TABLE, TABLE.rowType(), new int[][] {{2}, {0}}, false, false);

  /** Answers key k with (k, null, "v" + k, null), none for keys divisible by ten; waits for its gate first. */
  private static final class Answers implements BatchLookup {
    final List<Integer> batches = Collections.synchronizedList(new ArrayList<>());
    final CountDownLatch entered = new CountDownLatch(1);
    final CountDownLatch gate;
    volatile RuntimeException failure;
    volatile boolean closed;

    Answers(boolean open) {
      gate = new CountDownLatch(open ? 0 : 1);
    }

    @Override
    public RowBlock lookUp(KeyBatch keys) {
      entered.countDown();
      awaitGate();
      if (failure != null) {
        throw failure;
      }
      int count = keys.buffers().rowCount();
      batches.add(count);
      ColumnContents contents = new ColumnContents(keys.buffers());
      BlockBuilder block = new BlockBuilder(TABLE.rowType());
      for (int i = 0; i < count; i++) {
        long key = ByteBuffer.wrap(contents.fixed(0, i, 8)).order(ByteOrder.LITTLE_ENDIAN).getLong();
        if (key % 10 != 0) {
          block.row(GenericRowData.of(key, null, StringData.fromString("v" + key), null));
        }
        block.endKey();
      }
      return block.build();
    }

    private void awaitGate() {
      try {
        gate.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void close() {
      closed = true;
      gate.countDown();
    }
  }

  private LookupWorker worker;

  @AfterEach
  void stop() throws Exception {
    worker.close();
  }

  private static Collection<RowData> get(CompletableFuture<Collection<RowData>> future) throws Exception {
    return future.get(20, TimeUnit.SECONDS);
  }

  @Test
  void answersBelongToTheirKeysEvenWhenTheCallersRowIsReused() throws Exception {
    Answers answers = new Answers(true);
    worker = LookupWorker.start(BY_KEY, answers);
    GenericRowData reused = new GenericRowData(1);
    List<CompletableFuture<Collection<RowData>>> futures = new ArrayList<>();
    for (long key = 0; key < 10_000; key++) {
      reused.setField(0, key);
      futures.add(worker.submit(reused));
    }
    reused.setField(0, -1L);
    List<Collection<RowData>> all = new ArrayList<>();
    for (CompletableFuture<Collection<RowData>> future : futures) {
      all.add(get(future));
    }
    for (int key = 0; key < all.size(); key++) {
      if (key % 10 == 0) {
        assertThat(all.get(key)).isEmpty();
      } else {
        RowData row = all.get(key).iterator().next();
        assertThat(row.getLong(0)).isEqualTo(key);
        assertThat(row.getString(2)).hasToString("v" + key);
      }
    }
    assertThat(answers.batches).allMatch(size -> size >= 1 && size <= 1024);
    assertThat(answers.batches.stream().mapToInt(Integer::intValue).sum()).isEqualTo(10_000);
  }

  @Test
  void whatWaitsIsAskedAtOnceAndALoneKeyDoesNotWait() throws Exception {
    Answers answers = new Answers(false);
    worker = LookupWorker.start(BY_KEY, answers);
    List<CompletableFuture<Collection<RowData>>> futures = new ArrayList<>();
    futures.add(worker.submit(GenericRowData.of(1L)));
    assertThat(answers.entered.await(20, TimeUnit.SECONDS)).isTrue();
    for (long key = 2; key <= 1500; key++) {
      futures.add(worker.submit(GenericRowData.of(key)));
    }
    answers.gate.countDown();
    for (CompletableFuture<Collection<RowData>> future : futures) {
      get(future);
    }
    assertThat(answers.batches).containsExactly(1, 1024, 475);
  }

  @Test
  void otherEqualitiesAreComparedWithTheKeyAsItWasAsked() throws Exception {
    worker = LookupWorker.start(BY_KEY_AND_VALUE, new Answers(true));
    GenericRowData reused = GenericRowData.of(StringData.fromString("v5"), 5L);
    CompletableFuture<Collection<RowData>> right = worker.submit(reused);
    reused.setField(0, StringData.fromString("other"));
    CompletableFuture<Collection<RowData>> wrong = worker.submit(reused);
    assertThat(get(right)).hasSize(1);
    assertThat(get(wrong)).isEmpty();
  }

  @Test
  void anErrorReachesEveryoneOfTheBatchByNameAndTheNextBatchIsAnswered() throws Exception {
    Answers answers = new Answers(true);
    worker = LookupWorker.start(BY_KEY, answers);
    answers.failure = new IllegalStateException("disk on fire");
    CompletableFuture<Collection<RowData>> failed = worker.submit(GenericRowData.of(1L));
    assertThatThrownBy(() -> get(failed))
        .isInstanceOf(ExecutionException.class)
        .hasRootCauseMessage("disk on fire")
        .hasMessageContaining("table d.t");
    answers.failure = null;
    assertThat(get(worker.submit(GenericRowData.of(2L)))).hasSize(1);
  }

  @Test
  void aKeyThatCannotBeWrittenFailsAloneAndHoldsNobodyUp() throws Exception {
    worker = LookupWorker.start(BY_KEY, new Answers(true));
    CompletableFuture<Collection<RowData>> bad = worker.submit(GenericRowData.of("not a number"));
    assertThatThrownBy(() -> get(bad)).isInstanceOf(ExecutionException.class).hasMessageContaining("table d.t");
    assertThat(get(worker.submit(GenericRowData.of(2L)))).hasSize(1);
  }

  @Test
  void closingFailsWhoeverStillWaits() throws Exception {
    Answers answers = new Answers(false);
    worker = LookupWorker.start(BY_KEY, answers);
    CompletableFuture<Collection<RowData>> running = worker.submit(GenericRowData.of(1L));
    assertThat(answers.entered.await(20, TimeUnit.SECONDS)).isTrue();
    CompletableFuture<Collection<RowData>> queued = worker.submit(GenericRowData.of(2L));
    worker.close();
    for (CompletableFuture<Collection<RowData>> future : List.of(running, queued, worker.submit(GenericRowData.of(3L)))) {
      assertThatThrownBy(() -> get(future)).isInstanceOf(ExecutionException.class).hasMessageContaining("stopping");
    }
    assertThat(answers.closed).isTrue();
  }
}
