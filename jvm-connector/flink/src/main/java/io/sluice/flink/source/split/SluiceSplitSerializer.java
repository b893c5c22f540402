package io.sluice.flink.source.split;

import java.io.IOException;
import java.util.OptionalLong;

import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.core.memory.DataOutputView;

/**
 * Splits in checkpoints and savepoints. Version 1, big-endian: table id (8), partition (1, then 8 if it is 1), bucket (4), kind of
 * start (1), snapshot (8), value (8), stop (1, then 8 if it is 1).
 */
public final class SluiceSplitSerializer implements SimpleVersionedSerializer<SluiceSplit> {
  /** The one instance. */
  public static final SluiceSplitSerializer INSTANCE = new SluiceSplitSerializer();

  private static final int VERSION = 1;
  private static final int BYTES_V1 = 48;

  @Override
  public int getVersion() {
    return VERSION;
  }

  @Override
  public byte[] serialize(SluiceSplit split) throws IOException {
    DataOutputSerializer out = new DataOutputSerializer(BYTES_V1);
    write(split, out);
    return out.getCopyOfBuffer();
  }

  @Override
  public SluiceSplit deserialize(int version, byte[] bytes) throws IOException {
    if (version != VERSION) {
      throw new IOException("A split was saved in version " + version + "; this connector reads version " + VERSION
          + ". Restore with the connector that took the savepoint or a newer one.");
    }
    DataInputDeserializer in = new DataInputDeserializer(bytes);
    SluiceSplit split = read(in);
    if (in.available() != 0) {
      throw new IOException("A saved split has " + in.available() + " bytes too many.");
    }
    return split;
  }

  /** Writes one split in the present version. */
  public static void write(SluiceSplit split, DataOutputView out) throws IOException {
    out.writeLong(split.tableId());
    writeOptional(split.partition(), out);
    out.writeInt(split.bucket());
    out.writeByte(split.start().kind().code());
    out.writeLong(split.start().snapshot());
    out.writeLong(split.start().value());
    writeOptional(split.stop(), out);
  }

  /** Reads one split in the present version. */
  public static SluiceSplit read(DataInputView in) throws IOException {
    long tableId = in.readLong();
    OptionalLong partition = readOptional(in);
    int bucket = in.readInt();
    SplitStart start = readStart(in);
    return new SluiceSplit(tableId, partition, bucket, start, readOptional(in));
  }

  private static SplitStart readStart(DataInputView in) throws IOException {
    int code = in.readByte();
    long snapshot = in.readLong();
    long value = in.readLong();
    try {
      return new SplitStart(SplitStart.Kind.of(code), snapshot, value);
    } catch (IllegalArgumentException e) {
      throw new IOException("A saved split cannot be read: " + e.getMessage(), e);
    }
  }

  private static void writeOptional(OptionalLong value, DataOutputView out) throws IOException {
    out.writeBoolean(value.isPresent());
    if (value.isPresent()) {
      out.writeLong(value.getAsLong());
    }
  }

  private static OptionalLong readOptional(DataInputView in) throws IOException {
    return in.readBoolean() ? OptionalLong.of(in.readLong()) : OptionalLong.empty();
  }
}
