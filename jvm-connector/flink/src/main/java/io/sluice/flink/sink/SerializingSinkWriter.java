package io.sluice.flink.sink;

import java.io.IOException;

import io.sluice.flink.StoreTable;
import org.apache.flink.api.connector.sink2.SinkWriter;

/** Makes rows of one subtask's values and has them written. */
final class SerializingSinkWriter<T> implements SinkWriter<T> {
  private final StoreTable table;
  private final TableSerializationSchema<T> schema;
  private final SluiceSinkWriter writer;
  private final int arity;

  SerializingSinkWriter(StoreTable table, TableSerializationSchema<T> schema, SluiceSinkWriter writer) {
    this.table = table;
    this.schema = schema;
    this.writer = writer;
    this.arity = table.rowType().getFieldCount();
  }

  @Override
  public void write(T value, Context context) throws IOException, InterruptedException {
    RowWithOp change = serialize(value);
    RowWithOp.Op op = change.op();
    if (op == RowWithOp.Op.IGNORE) {
      return;
    }
    if (table.hasPrimaryKey() == (op == RowWithOp.Op.APPEND)) {
      throw new UnsupportedOperationException(
          String.format(
              "Table %s %s, so its rows come with %s, but the serialization schema gave %s.",
              table,
              table.hasPrimaryKey() ? "has a primary key" : "has no primary key",
              table.hasPrimaryKey() ? "UPSERT or DELETE" : "APPEND",
              op));
    }
    if (change.row().getArity() != arity) {
      throw new IllegalArgumentException(
          String.format(
              "A row for table %s has %d fields, but the table has %d columns: %s.",
              table, change.row().getArity(), arity, table.rowType().getFieldNames()));
    }
    writer.add(change.row(), op == RowWithOp.Op.DELETE);
  }

  private RowWithOp serialize(T value) throws IOException, InterruptedException {
    try {
      return schema.serialize(value);
    } catch (IOException | InterruptedException | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException("a value for table " + table + " could not be serialized", e);
    }
  }

  @Override
  public void flush(boolean endOfInput) throws IOException, InterruptedException {
    writer.flush(endOfInput);
  }

  @Override
  public void close() throws Exception {
    writer.close();
  }
}
