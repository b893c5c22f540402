package io.sluice.flink.tiering;

import java.io.IOException;

import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

/** The part that one bucket has in a round. Immutable. Checkpoints hold none: what is not committed is planned anew. */
final class TieringSplit implements SourceSplit {
  /** Version 1: id (UTF), work (UTF), time in ms (8). */
  static final SimpleVersionedSerializer<TieringSplit> SERIALIZER = new Serializer();

  private final String id;
  private final String work;
  private final long timeoutMs;

  /**
   * @param id unlike that of any other split of any attempt
   * @param work the work as the store told it
   * @param timeoutMs how long writing may take
   */
  TieringSplit(String id, String work, long timeoutMs) {
    this.id = id;
    this.work = work;
    this.timeoutMs = timeoutMs;
  }

  @Override
  public String splitId() {
    return id;
  }

  String work() {
    return work;
  }

  long timeoutMs() {
    return timeoutMs;
  }

  @Override
  public String toString() {
    return id + " " + work;
  }

  private static final class Serializer implements SimpleVersionedSerializer<TieringSplit> {
    private static final int VERSION = 1;
    private static final int BYTES = 192;

    @Override
    public int getVersion() {
      return VERSION;
    }

    @Override
    public byte[] serialize(TieringSplit split) throws IOException {
      DataOutputSerializer out = new DataOutputSerializer(BYTES);
      out.writeUTF(split.id);
      out.writeUTF(split.work);
      out.writeLong(split.timeoutMs);
      return out.getCopyOfBuffer();
    }

    @Override
    public TieringSplit deserialize(int version, byte[] bytes) throws IOException {
      if (version != VERSION) {
        throw new IOException("A part of a tiering round has version " + version + "; this connector reads version " + VERSION
            + ". Use one version of the connector in the whole cluster.");
      }
      DataInputDeserializer in = new DataInputDeserializer(bytes);
      return new TieringSplit(in.readUTF(), in.readUTF(), in.readLong());
    }
  }
}
