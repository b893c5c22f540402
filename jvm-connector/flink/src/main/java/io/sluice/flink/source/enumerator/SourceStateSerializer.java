package io.sluice.flink.source.enumerator;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.flink.source.split.SluiceSplitSerializer;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

/**
 * Enumerator states in checkpoints and savepoints. Version 1: planned (1), lease id (UTF), then three lists of splits (unassigned, assigned,
 * leased), each its length (4) and its splits in version 1 of {@link SluiceSplitSerializer}.
 */
public final class SourceStateSerializer implements SimpleVersionedSerializer<SourceState> {
  /** The one instance. */
  public static final SourceStateSerializer INSTANCE = new SourceStateSerializer();

  private static final int VERSION = 1;

  @Override
  public int getVersion() {
    return VERSION;
  }

  @Override
  public byte[] serialize(SourceState state) throws IOException {
    DataOutputSerializer out = new DataOutputSerializer(256);
    out.writeBoolean(state.planned());
    out.writeUTF(state.leaseId());
    write(state.unassigned(), out);
    write(state.assigned(), out);
    write(state.leased(), out);
    return out.getCopyOfBuffer();
  }

  private static void write(List<SluiceSplit> splits, DataOutputSerializer out) throws IOException {
    out.writeInt(splits.size());
    for (SluiceSplit split : splits) {
      SluiceSplitSerializer.write(split, out);
    }
  }

  @Override
  public SourceState deserialize(int version, byte[] bytes) throws IOException {
    if (version != VERSION) {
      throw new IOException("The source's state was saved in version " + version + "; this connector reads version " + VERSION
          + ". Restore with the connector that took the savepoint or a newer one.");
    }
    DataInputDeserializer in = new DataInputDeserializer(bytes);
    boolean planned = in.readBoolean();
    String leaseId = in.readUTF();
    SourceState state = new SourceState(planned, leaseId, read(in), read(in), read(in));
    if (in.available() != 0) {
      throw new IOException("The source's saved state has " + in.available() + " bytes too many.");
    }
    return state;
  }

  private static List<SluiceSplit> read(DataInputDeserializer in) throws IOException {
    int count = in.readInt();
    List<SluiceSplit> splits = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      splits.add(SluiceSplitSerializer.read(in));
    }
    return splits;
  }
}
