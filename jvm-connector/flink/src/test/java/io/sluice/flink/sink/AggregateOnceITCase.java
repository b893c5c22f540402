package io.sluice.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

import io.sluice.flink.FlinkSession;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.flink.types.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** An aggregate counts each row once, whatever happens to the job that writes it. */
final class AggregateOnceITCase {
  private static final long ROWS = 6000;

  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(8).build());

  @TempDir Path directory;

  private FlinkSession session;

  @AfterEach
  void close() throws Exception {
    session.close();
    FlinkSession.assertNothingLeaks();
  }

  /** Sums 1 to {@link #ROWS} into ten keys with a job that fails three times. */
  private void runFailingJob(Configuration configuration, boolean afterCheckpoint, boolean partitioned) {
    configuration.setString("restart-strategy.type", "fixed-delay");
    configuration.setString("restart-strategy.fixed-delay.attempts", "10");
    configuration.setString("restart-strategy.fixed-delay.delay", "50ms");
    StreamExecutionEnvironment streams = StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    streams.setParallelism(1);
    StreamTableEnvironment tables = StreamTableEnvironment.create(streams);
    session = FlinkSession.over(tables, directory, 2);
    session.run(
        "CREATE TABLE t (k INT, p STRING, s BIGINT, n BIGINT, m BIGINT, PRIMARY KEY (k, p) NOT ENFORCED)"
            + (partitioned ? " PARTITIONED BY (p)" : "")
            + " WITH ('bucket.num' = '3',"
            + " 'table.merge-engine' = 'aggregation', 'fields.s.agg' = 'sum', 'fields.n.agg' = 'sum', 'fields.m.agg' = 'max')");
    DataStream<Row> rows =
        streams
            .fromSequence(1, ROWS)
            .setParallelism(1)
            .map(new FailingMap(afterCheckpoint))
            .setParallelism(1)
            .returns(Types.ROW_NAMED(new String[] {"k", "s", "n", "m"}, Types.INT, Types.LONG, Types.LONG, Types.LONG));
    tables.createTemporaryView("src", tables.fromDataStream(rows));
    FailingMap.failures.set(0);
    // Partitions come to be all along.
    session.run("INSERT INTO t SELECT k, CAST(m / 1500 AS STRING), s, n, m FROM src");
    assertThat(FailingMap.failures.get()).isEqualTo(FailingMap.FAILURES);
    try (FlinkSession reader = FlinkSession.batch(directory, 2)) {
      assertThat(reader.rows("SELECT COUNT(*), SUM(s), SUM(n), MAX(m) FROM t"))
          .containsExactly("+I[41, " + ROWS * (ROWS + 1) / 2 + ", " + ROWS + ", " + ROWS + "]");
    }
  }

  @Test
  void failuresAfterCheckpointsCountNothingTwice() {
    Configuration configuration = new Configuration();
    configuration.setString("execution.checkpointing.interval", "100ms");
    runFailingJob(configuration, true, false);
  }

  @Test
  void failuresCountNothingTwiceInAnyPartition() {
    Configuration configuration = new Configuration();
    configuration.setString("execution.checkpointing.interval", "100ms");
    runFailingJob(configuration, true, true);
  }

  @Test
  void failuresBeforeTheFirstCheckpointCountNothingTwiceInAnyPartition() {
    runFailingJob(new Configuration(), false, true);
  }

  @Test
  void failuresBeforeTheFirstCheckpointCountNothingTwice() {
    runFailingJob(new Configuration(), false, false);
  }

  /** Fails now and then, with or without a checkpoint since the last failure. */
  private static final class FailingMap implements MapFunction<Long, Row>, CheckpointListener {
    private static final long serialVersionUID = 1L;
    static final int FAILURES = 3;
    static final AtomicInteger failures = new AtomicInteger();

    private final boolean afterCheckpoint;
    private int seen;
    private int checkpoints;
    private int sinceCheckpoint;

    FailingMap(boolean afterCheckpoint) {
      this.afterCheckpoint = afterCheckpoint;
    }

    @Override
    public Row map(Long value) throws Exception {
      seen++;
      sinceCheckpoint++;
      if (seen % 10 == 0) {
        Thread.sleep(2);
      }
      boolean due = afterCheckpoint ? checkpoints > 0 && sinceCheckpoint > 200 : seen > 1000;
      if (due && failures.get() < FAILURES) {
        failures.incrementAndGet();
        throw new IllegalStateException("a failure that the test wants");
      }
      return Row.of((int) (value % 10), value, 1L, value);
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
      checkpoints++;
      sinceCheckpoint = 0;
    }
  }
}
