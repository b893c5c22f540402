package io.sluice.flink.tiering;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/**
 * Brings the rows of tables into the lake. The enumerator plans rounds and commits them; readers have files of buckets written. For each file
 * comes the number of its rows.
 */
final class TieringSource implements Source<Long, TieringSplit, NoState>, ResultTypeQueryable<Long> {
  private static final long serialVersionUID = 1L;

  private final TieringSettings settings;

  TieringSource(TieringSettings settings) {
    this.settings = settings;
  }

  @Override
  public Boundedness getBoundedness() {
    return Boundedness.CONTINUOUS_UNBOUNDED;
  }

  @Override
  public SplitEnumerator<TieringSplit, NoState> createEnumerator(SplitEnumeratorContext<TieringSplit> context) {
    return new TieringEnumerator(context, () -> TieringClient.open(settings), System::currentTimeMillis);
  }

  @Override
  public SplitEnumerator<TieringSplit, NoState> restoreEnumerator(SplitEnumeratorContext<TieringSplit> context, NoState state) {
    return createEnumerator(context);
  }

  @Override
  public SourceReader<Long, TieringSplit> createReader(SourceReaderContext context) {
    return new TieringReader(context, () -> TieringClient.open(settings));
  }

  @Override
  public SimpleVersionedSerializer<TieringSplit> getSplitSerializer() {
    return TieringSplit.SERIALIZER;
  }

  @Override
  public SimpleVersionedSerializer<NoState> getEnumeratorCheckpointSerializer() {
    return NoState.SERIALIZER;
  }

  @Override
  public TypeInformation<Long> getProducedType() {
    return Types.LONG;
  }
}
