package io.sluice.flink.sink;

import java.io.IOException;

import io.sluice.flink.StoreTable;
import org.apache.flink.api.connector.sink2.InitContext;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.table.data.RowData;

/** The sink of a table: stateless writers that flush at each checkpoint. */
final class SluiceSink implements Sink<RowData> {
  private static final long serialVersionUID = 1L;

  private final StoreTable table;
  private final int[] columns;
  private final WriterSettings settings;

  /**
   * @param columns positions of the columns that are written
   */
  SluiceSink(StoreTable table, int[] columns, WriterSettings settings) {
    this.table = table;
    this.columns = columns;
    this.settings = settings;
  }

  @Override
  public SinkWriter<RowData> createWriter(WriterInitContext context) throws IOException {
    return SluiceSinkWriter.open(table, columns, settings, context.getProcessingTimeService(), context.metricGroup());
  }

  /**
   * Flink 1.20 declares this method with {@code Sink.InitContext}, which its own runtime no longer calls; the name means that type
   * there, and the imported one in Flink 2, where the method is nobody's.
   */
  @SuppressWarnings("deprecation")
  public SinkWriter<RowData> createWriter(InitContext context) throws IOException {
    throw new UnsupportedOperationException("Flink 1.20 and later make writers from a WriterInitContext.");
  }
}
