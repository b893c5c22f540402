package io.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.sluice.store.Columns.Case;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is written through column buffers comes back through scans and lookups; calls that wait can be ended. */
@Timeout(60)
class RoundTripTest {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final String PATH = "\"path\":{\"database\":\"d\",\"table\":\"t\"}";

  @TempDir Path temp;
  private Connection connection;
  private long handlesBefore;

  @BeforeEach
  void open() {
    handlesBefore = Connection.liveHandles();
    connection = Connection.open(Map.of("bootstrap.servers", "embedded:" + temp.resolve("store")));
    connection.admin("create_database", "{\"name\":\"d\",\"descriptor\":{},\"ignore_if_exists\":true}");
  }

  @AfterEach
  void close() {
    connection.close();
    assertThat(Connection.liveHandles()).isEqualTo(handlesBefore);
  }

  private void createTable(String columns, String primaryKey) {
    String schema = "{\"columns\":[" + columns + "]" + (primaryKey.isEmpty() ? "" : ",\"primary_key\":[\"" + primaryKey + "\"]") + "}";
    connection.admin("create_table", "{" + PATH + ",\"descriptor\":{\"schema\":" + schema + ",\"bucket_count\":1},\"ignore_if_exists\":false}");
  }

  private String bucket() {
    String info = connection.admin("table", "{" + PATH + "}");
    String id = info.replaceAll(".*\"table_id\":(-?\\d+).*", "$1");
    return "{\"table_id\":" + id + ",\"partition_id\":null,\"bucket\":0}";
  }

  private TableScanner scan(String start, String stop) {
    TableScanner scanner = connection.scanner("{" + PATH + "}");
    scanner.subscribe("{\"id\":7,\"bucket\":" + bucket() + ",\"start\":" + start + ",\"stop\":" + stop + "}");
    return scanner;
  }

  private static List<RowBlock> readToEnd(TableScanner scanner) {
    List<RowBlock> blocks = new ArrayList<>();
    while (true) {
      RowBlock block = scanner.poll(LONG);
      assertThat(block).as("rows within %s", LONG).isNotNull();
      assertThat(block.splitId()).isEqualTo(7);
      blocks.add(block);
      if (block.finished()) {
        return blocks;
      }
    }
  }

  private static ColumnBuffers buffers(List<Case> cases) {
    return new ColumnBuffers(cases.stream().map(c -> c.layout).collect(Collectors.toList()), 1 << 16, 64 << 20);
  }

  @Test
  void everyTypeThroughTheLog() {
    List<Case> cases = Columns.everyType();
    createTable(cases.stream().map(Case::json).collect(Collectors.joining(",")), "");
    int rows = 1000;
    try (TableWriter writer = connection.writer("{" + PATH + "}");
        ColumnBuffers buffers = buffers(cases)) {
      for (int row = 0; row < rows; row++) {
        for (int column = 0; column < cases.size(); column++) {
          cases.get(column).put(buffers.column(column), row);
        }
        buffers.endRow();
        if (row % 300 == 299) {
          writer.write(buffers);
          buffers.reset();
        }
      }
      writer.write(buffers);
      writer.flush(LONG);
    }
    try (TableScanner scanner = scan("{\"log\":{\"offset\":0}}", Integer.toString(rows))) {
      int row = 0;
      for (RowBlock block : readToEnd(scanner)) {
        if (block.rowCount() > 0) {
          assertThat(block.baseOffset()).isEqualTo(row);
          assertThat(block.timestampMs()).isBetween(System.currentTimeMillis() - 60_000, System.currentTimeMillis());
        }
        for (int i = 0; i < block.rowCount(); i++, row++) {
          BinaryRow found = new BinaryRow(block, i, cases.size());
          assertThat(block.rowStart(i) % 8).isZero();
          assertThat(found.header()).isZero();
          assertThat(block.kind(i)).isZero();
          for (int column = 0; column < cases.size(); column++) {
            cases.get(column).check(found, column, row);
          }
        }
        assertThat(block.nextOffset()).isEqualTo(row);
      }
      assertThat(row).isEqualTo(rows);
    }
  }

  @Test
  void everyTypeThroughUpsertAndLookup() {
    List<Case> cases = Columns.everyType();
    String key = "{\"name\":\"k\",\"data_type\":{\"type\":\"STRING\",\"nullable\":false}},";
    createTable(key + cases.stream().map(Case::json).collect(Collectors.joining(",")), "k");
    int rows = 500;
    List<ColumnLayout> layouts = cases.stream().map(c -> c.layout).collect(Collectors.toList());
    layouts.add(0, ColumnLayout.VARIABLE);
    try (TableWriter writer = connection.writer("{" + PATH + "}");
        ColumnBuffers buffers = new ColumnBuffers(layouts, 1 << 16, 64 << 20)) {
      for (int row = 0; row < rows; row++) {
        buffers.column(0).putBytes(("key " + row).getBytes(StandardCharsets.UTF_8));
        for (int column = 0; column < cases.size(); column++) {
          cases.get(column).put(buffers.column(column + 1), row);
        }
        buffers.endRow();
      }
      writer.write(buffers);
      writer.flush(LONG);
    }
    try (KeyLookup lookup = connection.lookup("{" + PATH + ",\"key_columns\":[\"k\"],\"projection\":null}");
        ColumnBuffers keys = new ColumnBuffers(List.of(ColumnLayout.VARIABLE), rows * 2, 1 << 20)) {
      for (int row = 0; row < rows; row++) {
        keys.column(0).putBytes(("key " + row).getBytes(StandardCharsets.UTF_8));
        keys.endRow();
        if (row % 2 == 0) {
          keys.column(0).putNull();
        } else {
          keys.column(0).putBytes(("nobody " + row).getBytes(StandardCharsets.UTF_8));
        }
        keys.endRow();
      }
      RowBlock block = lookup.lookup(keys);
      assertThat(block.keyCount()).isEqualTo(2 * rows);
      assertThat(block.rowCount()).isEqualTo(rows);
      for (int row = 0; row < rows; row++) {
        assertThat(block.keyEnd(2 * row)).isEqualTo(row + 1);
        assertThat(block.keyEnd(2 * row + 1)).isEqualTo(row + 1);
        BinaryRow found = new BinaryRow(block, row, layouts.size());
        assertThat(found.variable(0)).isEqualTo(("key " + row).getBytes(StandardCharsets.UTF_8));
        for (int column = 0; column < cases.size(); column++) {
          cases.get(column).check(found, column + 1, row);
        }
      }
    }
  }

  @Test
  void changesComeBackWithTheirKinds() {
    createTable("{\"name\":\"k\",\"data_type\":{\"type\":\"INTEGER\",\"nullable\":false}},{\"name\":\"v\",\"data_type\":{\"type\":\"BIGINT\"}}", "k");
    try (TableWriter writer = connection.writer("{" + PATH + "}");
        ColumnBuffers buffers = new ColumnBuffers(List.of(ColumnLayout.INT, ColumnLayout.LONG), 100, 1 << 20)) {
      int[][] changes = {{1, 10, 0}, {1, 11, 2}, {2, 20, 0}, {1, 0, 3}};
      for (int[] change : changes) {
        buffers.column(0).putInt(change[0]);
        buffers.column(1).putLong(change[1]);
        buffers.endRow((byte) change[2]);
      }
      writer.write(buffers);
      writer.flush(LONG);
    }
    StringBuilder seen = new StringBuilder();
    try (TableScanner scanner = scan("{\"log\":{\"offset\":0}}", "5")) {
      for (RowBlock block : readToEnd(scanner)) {
        for (int i = 0; i < block.rowCount(); i++) {
          BinaryRow row = new BinaryRow(block, i, 2);
          seen.append(block.kind(i)).append(':').append((int) row.fixed(0)).append('=').append(row.fixed(1)).append(' ');
        }
      }
    }
    assertThat(seen.toString().trim()).isEqualTo("0:1=10 1:1=10 2:1=11 0:2=20 3:1=11");
  }

  @Test
  void aRowThatBreaksARuleIsRefusedAndNothingOfItsBatchIsWritten() {
    createTable("{\"name\":\"a\",\"data_type\":{\"type\":\"INTEGER\",\"nullable\":false}},{\"name\":\"s\",\"data_type\":{\"type\":\"STRING\"}}", "");
    try (TableWriter writer = connection.writer("{" + PATH + "}");
        ColumnBuffers buffers = new ColumnBuffers(List.of(ColumnLayout.INT, ColumnLayout.VARIABLE), 100, 1 << 20)) {
      buffers.column(0).putInt(1);
      buffers.column(1).putNull();
      buffers.endRow();
      buffers.column(0).putNull();
      buffers.column(1).putNull();
      buffers.endRow();
      assertInvalid(() -> writer.write(buffers), "a");
      buffers.reset();
      buffers.column(0).putInt(1);
      buffers.column(1).putBytes(new byte[] {(byte) 0xC3, 0x28});
      buffers.endRow();
      assertInvalid(() -> writer.write(buffers), "s");
      buffers.reset();
      buffers.column(0).putInt(1);
      buffers.column(1).putNull();
      buffers.endRow((byte) 3);
      assertThatThrownBy(() -> writer.write(buffers)).isInstanceOf(StoreException.class);
      writer.flush(LONG);
    }
    assertThat(connection.admin("list_offsets", "{\"buckets\":[" + bucket() + "],\"spec\":\"latest\"}")).isEqualTo("[0]");
    try (ColumnBuffers tooFew = new ColumnBuffers(List.of(ColumnLayout.INT), 10, 100);
        TableWriter writer = connection.writer("{" + PATH + "}")) {
      tooFew.column(0).putInt(1);
      tooFew.endRow();
      assertThatThrownBy(() -> writer.write(tooFew)).isInstanceOf(StoreException.class).hasMessageContaining("1 columns");
    }
  }

  private static void assertInvalid(Runnable call, String part) {
    assertThatThrownBy(call::run)
        .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.kind()).isEqualTo(ErrorKind.INVALID))
        .hasMessageContaining("'" + part + "'");
  }

  @Test
  void wakeUpEndsARunningPollAndTheNextOne() throws Exception {
    createTable("{\"name\":\"a\",\"data_type\":{\"type\":\"INTEGER\"}}", "");
    try (TableScanner scanner = scan("{\"log\":{\"offset\":0}}", "null")) {
      CompletableFuture<RowBlock> poll = CompletableFuture.supplyAsync(() -> scanner.poll(LONG));
      Thread.sleep(100);
      assertThat(poll).isNotDone();
      scanner.wakeUp();
      assertThat(poll.get(10, TimeUnit.SECONDS)).isNull();

      scanner.wakeUp();
      long start = System.nanoTime();
      assertThat(scanner.poll(LONG)).isNull();
      assertThat(System.nanoTime() - start).isLessThan(LONG.toNanos() / 3);

      start = System.nanoTime();
      assertThat(scanner.poll(Duration.ofMillis(50))).isNull();
      assertThat(System.nanoTime() - start).isGreaterThan(Duration.ofMillis(40).toNanos());
    }
  }

  @Test
  void closingWhileAnotherThreadPollsEndsThePoll() throws Exception {
    createTable("{\"name\":\"a\",\"data_type\":{\"type\":\"INTEGER\"}}", "");
    for (boolean closeConnection : new boolean[] {false, true}) {
      TableScanner scanner = scan("{\"log\":{\"offset\":0}}", "null");
      CompletableFuture<RowBlock> poll = CompletableFuture.supplyAsync(() -> scanner.poll(LONG));
      Thread.sleep(100);
      if (closeConnection) {
        connection.close();
      } else {
        scanner.close();
      }
      assertThatThrownBy(() -> poll.join())
          .isInstanceOf(CompletionException.class)
          .cause()
          .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.kind()).isEqualTo(ErrorKind.CLOSED));
      assertThatThrownBy(() -> scanner.poll(LONG))
          .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.kind()).isEqualTo(ErrorKind.CLOSED));
      scanner.close();
    }
  }

  @Test
  void everythingIsClosedInTheWrongOrder() {
    createTable("{\"name\":\"k\",\"data_type\":{\"type\":\"INTEGER\",\"nullable\":false}}", "k");
    TableWriter writer = connection.writer("{" + PATH + "}");
    TableScanner scanner = scan("{\"log\":{\"offset\":0}}", "null");
    KeyLookup lookup = connection.lookup("{" + PATH + ",\"key_columns\":[\"k\"],\"projection\":[0]}");
    ColumnBuffers buffers = new ColumnBuffers(List.of(ColumnLayout.INT), 10, 100);
    buffers.column(0).putInt(1);
    buffers.endRow();
    connection.close();
    List<Runnable> uses =
        List.of(() -> writer.write(buffers), () -> writer.flush(LONG), scanner::wakeUp, () -> scanner.unsubscribe(7), () -> lookup.lookup(buffers));
    for (Runnable use : uses) {
      assertThatThrownBy(use::run)
          .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.kind()).isEqualTo(ErrorKind.CLOSED));
    }
    buffers.close();
    lookup.close();
    scanner.close();
    writer.close();
  }

  @Test
  void memoryGoesBackToWhereItWas() {
    createTable("{\"name\":\"a\",\"data_type\":{\"type\":\"STRING\"}}", "");
    long[] after = new long[6];
    for (int round = 0; round < after.length; round++) {
      try (TableWriter writer = connection.writer("{" + PATH + "}");
          ColumnBuffers buffers = new ColumnBuffers(List.of(ColumnLayout.VARIABLE), 1 << 20, 8 << 20);
          TableScanner scanner = scan("{\"log\":{\"offset\":" + 20_000 * round + "}}", Integer.toString(20_000 * (round + 1)))) {
        for (int row = 0; row < 20_000; row++) {
          buffers.column(0).putBytes(new byte[100]);
          buffers.endRow();
        }
        writer.write(buffers);
        writer.flush(LONG);
        assertThat(readToEnd(scanner).stream().mapToInt(RowBlock::rowCount).sum()).isEqualTo(20_000);
      }
      after[round] = Connection.nativeBytes();
    }
    assertThat(after[5] - after[1]).as("bytes kept after rounds of 2 MB each").isLessThan(512 << 10);
  }
}
