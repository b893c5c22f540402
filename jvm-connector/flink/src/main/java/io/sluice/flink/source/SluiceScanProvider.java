package io.sluice.flink.source;

import java.util.Optional;

import javax.annotation.Nullable;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.source.DataStreamScanProvider;
import org.apache.flink.table.data.RowData;

/** Puts the source into a job. A stream provider rather than a source provider, for only it may bring watermarks. */
final class SluiceScanProvider implements DataStreamScanProvider {
  private final SluiceSource<RowData> source;
  private final String table;
  @Nullable private final WatermarkStrategy<RowData> watermarks;
  @Nullable private final Integer parallelism;

  SluiceScanProvider(
      SluiceSource<RowData> source, String table, @Nullable WatermarkStrategy<RowData> watermarks, @Nullable Integer parallelism) {
    this.source = source;
    this.table = table;
    this.watermarks = watermarks;
    this.parallelism = parallelism;
  }

  @Override
  public DataStream<RowData> produceDataStream(ProviderContext context, StreamExecutionEnvironment environment) {
    WatermarkStrategy<RowData> strategy = watermarks == null ? WatermarkStrategy.noWatermarks() : watermarks;
    DataStreamSource<RowData> stream = environment.fromSource(source, strategy, "Sluice " + table);
    context.generateUid("sluice-source").ifPresent(stream::uid);
    return stream;
  }

  @Override
  public boolean isBounded() {
    return source.getBoundedness() == Boundedness.BOUNDED;
  }

  @Override
  public Optional<Integer> getParallelism() {
    return Optional.ofNullable(parallelism);
  }
}
