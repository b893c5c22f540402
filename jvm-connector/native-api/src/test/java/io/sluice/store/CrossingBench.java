package io.sluice.store;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.IntSupplier;
import java.util.stream.Stream;

/**
 * CPU time of the calling thread a row, for eight columns: BIGINT, INT (a tenth NULL), DOUBLE, DECIMAL(10, 2), STRING of 5, 20 and 42 bytes (the last
 * a tenth NULL), TIMESTAMP(3). Batches of 4096 rows.
 *
 * <p>{@code fill}: values into column buffers. {@code cross}: the same, and into an Arrow batch behind the native call, which is then refused for a bad row kind. {@code
 * write}: the same, and through the writer into a log table. {@code read}: poll, and copy each row out as Flink's serializer does.
 *
 * <p>Arguments: seconds of measuring for each (default 3), compression of the table (default none).
 */
final class CrossingBench {
  private static final int ROWS = 4096;
  private static final int BATCHES = 8;
  private static final Duration LONG = Duration.ofMinutes(1);
  private static final String PATH = "\"path\":{\"database\":\"d\",\"table\":\"t\"}";
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final Object[][] values = new Object[ROWS * BATCHES][];
  private final ColumnBuffers buffers =
      new ColumnBuffers(
          List.of(
              ColumnLayout.LONG,
              ColumnLayout.INT,
              ColumnLayout.LONG,
              ColumnLayout.LONG,
              ColumnLayout.VARIABLE,
              ColumnLayout.VARIABLE,
              ColumnLayout.VARIABLE,
              ColumnLayout.LONG),
          ROWS,
          8 << 20);
  private final byte[] output = new byte[1 << 20];
  private final double seconds;
  private int batch;

  private CrossingBench(double seconds) {
    this.seconds = seconds;
    for (int i = 0; i < values.length; i++) {
      int row = i % ROWS;
      values[i] =
          new Object[] {
            (long) i,
            row % 10 == 3 ? null : (Integer) (row * 7),
            row * 0.5,
            row * 101L + 5,
            utf8(String.format("k%04d", row)),
            utf8(String.format("customer-%011d", i)),
            row % 10 == 0 ? null : utf8(String.format("some longer text value number %012d", i)),
            1_700_000_000_000L + row
          };
    }
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private int fill(byte lastKind) {
    buffers.reset();
    ColumnBuffer c0 = buffers.column(0);
    ColumnBuffer c1 = buffers.column(1);
    ColumnBuffer c2 = buffers.column(2);
    ColumnBuffer c3 = buffers.column(3);
    ColumnBuffer c4 = buffers.column(4);
    ColumnBuffer c5 = buffers.column(5);
    ColumnBuffer c6 = buffers.column(6);
    ColumnBuffer c7 = buffers.column(7);
    int first = batch++ % BATCHES * ROWS;
    for (int i = 0; i < ROWS; i++) {
      Object[] row = values[first + i];
      c0.putLong((Long) row[0]);
      if (row[1] == null) {
        c1.putNull();
      } else {
        c1.putInt((Integer) row[1]);
      }
      c2.putDouble((Double) row[2]);
      c3.putLong((Long) row[3]);
      c4.putBytes((byte[]) row[4]);
      c5.putBytes((byte[]) row[5]);
      if (row[6] == null) {
        c6.putNull();
      } else {
        c6.putBytes((byte[]) row[6]);
      }
      c7.putLong((Long) row[7]);
      buffers.endRow(i == ROWS - 1 ? lastKind : 0);
    }
    return ROWS;
  }

  private int cross(TableWriter writer) {
    fill((byte) 9);
    try {
      writer.write(buffers);
      throw new IllegalStateException("a row of kind 9 was taken");
    } catch (StoreException refused) {
      return ROWS;
    }
  }

  private int write(TableWriter writer) {
    fill((byte) 0);
    writer.write(buffers);
    return ROWS;
  }

  /** Copies rows as Flink's serializer of binary rows does: the length, then the bytes. */
  private int copyOut(RowBlock block) {
    int at = 0;
    int rows = block.rowCount();
    byte[] bytes = block.bytes();
    for (int i = 0; i < rows; i++) {
      int length = block.rowLength(i);
      if (at + 4 + length > output.length) {
        at = 0;
      }
      output[at] = (byte) (length >>> 24);
      output[at + 1] = (byte) (length >>> 16);
      output[at + 2] = (byte) (length >>> 8);
      output[at + 3] = (byte) length;
      System.arraycopy(bytes, block.rowStart(i), output, at + 4, length);
      at += 4 + length;
    }
    return rows;
  }

  /** Prints the lowest and the lower quartile of ns a row over runs of 32 batches, after one second of warming up. */
  private void measure(String name, IntSupplier work) {
    run(work, (long) 1e9, new long[4096]);
    long[] runs = new long[1 << 16];
    int count = run(work, (long) (seconds * 1e9), runs);
    long[] sorted = Arrays.copyOf(runs, count);
    Arrays.sort(sorted);
    System.out.printf("%-6s %4d ns/row at best, %4d lower quartile, of %d runs%n", name, sorted[0], sorted[count / 4], count);
  }

  private static int run(IntSupplier work, long nanos, long[] runs) {
    long end = THREADS.getCurrentThreadCpuTime() + nanos;
    int count = 0;
    while (THREADS.getCurrentThreadCpuTime() < end && count < runs.length) {
      long start = THREADS.getCurrentThreadCpuTime();
      long rows = 0;
      for (int i = 0; i < 32; i++) {
        rows += work.getAsInt();
      }
      if (rows > 0) {
        runs[count++] = (THREADS.getCurrentThreadCpuTime() - start) / rows;
      }
    }
    return count;
  }

  private static void createTable(Connection connection, String compression) {
    String[] types = {
      "\"BIGINT\"", "\"INTEGER\"", "\"DOUBLE\"", "\"DECIMAL\",\"precision\":10,\"scale\":2", "\"STRING\"", "\"STRING\"", "\"STRING\"",
      "\"TIMESTAMP_WITHOUT_TIME_ZONE\",\"precision\":3"
    };
    StringBuilder columns = new StringBuilder();
    for (int i = 0; i < types.length; i++) {
      columns.append(i == 0 ? "" : ",").append("{\"name\":\"c").append(i).append("\",\"data_type\":{\"type\":").append(types[i]).append("}}");
    }
    connection.admin("create_database", "{\"name\":\"d\",\"descriptor\":{},\"ignore_if_exists\":true}");
    connection.admin(
        "create_table",
        "{" + PATH + ",\"ignore_if_exists\":false,\"descriptor\":{\"schema\":{\"columns\":[" + columns + "]},\"bucket_count\":1,"
            + "\"properties\":{\"table.log.arrow.compression.type\":\"" + compression + "\"}}}");
  }

  private void run(Connection connection, String compression) {
    createTable(connection, compression);
    measure("fill", () -> fill((byte) 0));
    try (TableWriter writer = connection.writer("{" + PATH + "}")) {
      measure("cross", () -> cross(writer));
      measure("write", () -> write(writer));
      writer.flush(LONG);
    }
    long table = Long.parseLong(connection.admin("table", "{" + PATH + "}").replaceAll(".*\"table_id\":(-?\\d+).*", "$1"));
    String bucket = "{\"table_id\":" + table + ",\"partition_id\":null,\"bucket\":0}";
    String latest = connection.admin("list_offsets", "{\"buckets\":[" + bucket + "],\"spec\":\"latest\"}").replaceAll("[\\[\\]]", "");
    try (TableScanner scanner = connection.scanner("{" + PATH + ",\"batch_rows_max\":" + ROWS + "}")) {
      String split = "{\"id\":0,\"bucket\":" + bucket + ",\"start\":{\"log\":{\"offset\":0}},\"stop\":" + latest + "}";
      scanner.subscribe(split);
      measure("read", () -> read(scanner, split));
    }
  }

  private int read(TableScanner scanner, String split) {
    RowBlock block = scanner.poll(LONG);
    if (block.finished()) {
      scanner.subscribe(split); // from the start again
    }
    return copyOut(block);
  }

  public static void main(String[] arguments) throws IOException {
    double seconds = arguments.length > 0 ? Double.parseDouble(arguments[0]) : 3;
    String compression = arguments.length > 1 ? arguments[1] : "none";
    Path directory = Files.createTempDirectory("crossing");
    try (Connection connection = Connection.open(Map.of("bootstrap.servers", "embedded:" + directory))) {
      new CrossingBench(seconds).run(connection, compression);
    } finally {
      try (Stream<Path> files = Files.walk(directory)) {
        files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
      }
    }
  }
}
