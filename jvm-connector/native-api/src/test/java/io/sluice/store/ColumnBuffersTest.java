package io.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Column buffers hold what was put, in the layout that the engine reads, and hold no more memory than they say. */
class ColumnBuffersTest {
  private static final int WORDS = 5 * 8;

  private static long word(ColumnBuffers buffers, int column, int word) {
    long at = buffers.address() + (long) column * WORDS + 8L * word;
    return (OffHeap.getInt(at) & 0xFFFFFFFFL) | (long) OffHeap.getInt(at + 4) << 32;
  }

  private static byte[] read(long address, int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = OffHeap.getByte(address + i);
    }
    return bytes;
  }

  private static boolean present(ColumnBuffers buffers, int column, int row) {
    long validity = word(buffers, column, 0);
    return validity == 0 || (OffHeap.getByte(validity + row / 8) >> (row % 8) & 1) == 1;
  }

  private static ColumnBuffers buffers(ColumnLayout... layouts) {
    return new ColumnBuffers(Arrays.asList(layouts), 1 << 20, 1 << 30);
  }

  @Test
  void everyLayoutHoldsItsValuesThroughGrowth() {
    int rows = 5000; // grows several times
    try (ColumnBuffers buffers = buffers(ColumnLayout.values())) {
      Random random = new Random(1);
      byte[][] texts = new byte[rows][];
      for (int row = 0; row < rows; row++) {
        texts[row] = new byte[random.nextInt(90)];
        random.nextBytes(texts[row]);
        buffers.column(0).putByte((byte) row);
        buffers.column(1).putShort((short) row);
        buffers.column(2).putInt(row * 3);
        buffers.column(3).putLong(row * 5L);
        buffers.column(4).putTimestamp(-row, row % 1000);
        buffers.column(5).putBytes(texts[row]);
        buffers.endRow();
      }
      long[] data = new long[6];
      for (int column = 0; column < 6; column++) {
        assertThat(word(buffers, column, 0)).as("no NULL, no bitmap").isZero();
        data[column] = word(buffers, column, 1);
      }
      long offsets = word(buffers, 5, 2);
      for (int row = 0; row < rows; row++) {
        assertThat(OffHeap.getByte(data[0] + row)).isEqualTo((byte) row);
        assertThat(OffHeap.getInt(data[1] + 2L * row & ~3L) >> 16 * (row & 1) & 0xFFFF).isEqualTo(row);
        assertThat(OffHeap.getInt(data[2] + 4L * row)).isEqualTo(row * 3);
        assertThat(OffHeap.getInt(data[3] + 8L * row)).isEqualTo(row * 5);
        assertThat(OffHeap.getInt(data[4] + 8L * row)).isEqualTo(-row);
        assertThat(OffHeap.getInt(word(buffers, 4, 4) + 4L * row)).isEqualTo(row % 1000);
        int start = OffHeap.getInt(offsets + 4L * row);
        assertThat(read(data[5] + start, OffHeap.getInt(offsets + 4L * row + 4) - start)).isEqualTo(texts[row]);
      }
      assertThat(word(buffers, 5, 3)).isEqualTo(OffHeap.getInt(offsets + 4L * rows));
      assertThat(word(buffers, 3, 3)).isEqualTo(8L * rows);
      assertThat(buffers.kindsAddress()).isZero();
    }
  }

  @Test
  void nullsAreBitsAndVanishWithTheirBatch() {
    try (ColumnBuffers buffers = buffers(ColumnLayout.INT, ColumnLayout.VARIABLE)) {
      for (int round = 0; round < 3; round++) {
        int every = 3 + round;
        for (int row = 0; row < 700; row++) {
          if (row % every == 0) {
            buffers.column(0).putNull();
            buffers.column(1).putNull();
          } else {
            buffers.column(0).putInt(row);
            buffers.column(1).putBytes(new byte[] {1, 2});
          }
          buffers.endRow();
        }
        for (int row = 0; row < 700; row++) {
          assertThat(present(buffers, 0, row)).isEqualTo(row % every != 0);
          assertThat(present(buffers, 1, row)).isEqualTo(row % every != 0);
        }
        buffers.reset();
        assertThat(buffers.rowCount()).isZero();
        assertThat(buffers.bytes()).isZero();
      }
      buffers.column(0).putInt(1);
      buffers.column(1).putBytes(new byte[0]);
      buffers.endRow();
      assertThat(word(buffers, 0, 0)).isZero();
    }
  }

  @Test
  void aRowThatCannotBeFinishedLeavesNothing() {
    try (ColumnBuffers buffers = buffers(ColumnLayout.VARIABLE, ColumnLayout.INT)) {
      buffers.column(0).putBytes("kept".getBytes(StandardCharsets.UTF_8));
      buffers.column(1).putInt(1);
      buffers.endRow();
      long bytes = buffers.bytes();

      buffers.column(0).putNull();
      buffers.dropRow();
      buffers.column(0).putBytes("dropped".getBytes(StandardCharsets.UTF_8));
      buffers.dropRow();
      assertThat(buffers.bytes()).isEqualTo(bytes);

      buffers.column(0).putBytes("next".getBytes(StandardCharsets.UTF_8));
      buffers.column(1).putInt(2);
      buffers.endRow();
      assertThat(buffers.rowCount()).isEqualTo(2);
      assertThat(present(buffers, 0, 1)).isTrue();
      assertThat(read(word(buffers, 0, 1), 8)).isEqualTo("keptnext".getBytes(StandardCharsets.UTF_8));
    }
  }

  @Test
  void rowsEndOnlyWithOneValueInEveryColumn() {
    try (ColumnBuffers buffers = buffers(ColumnLayout.INT, ColumnLayout.INT)) {
      buffers.column(0).putInt(1);
      assertThatThrownBy(buffers::endRow).isInstanceOf(IllegalStateException.class).hasMessageContaining("1 0");
      assertThatThrownBy(buffers::address).isInstanceOf(IllegalStateException.class);
      buffers.column(1).putInt(1);
      buffers.column(1).putInt(1);
      assertThatThrownBy(buffers::endRow).isInstanceOf(IllegalStateException.class).hasMessageContaining("1 2");
      buffers.dropRow();
      assertThat(buffers.rowCount()).isZero();
      assertThat(buffers.address()).isNotZero();
    }
  }

  @Test
  void aPutOfAnotherLayoutIsRefusedAndWritesNothing() {
    try (ColumnBuffers buffers = buffers(ColumnLayout.values())) {
      for (ColumnLayout layout : ColumnLayout.values()) {
        ColumnBuffer column = buffers.column(layout.ordinal());
        List<Runnable> puts =
            List.of(
                () -> column.putByte((byte) 1),
                () -> column.putShort((short) 1),
                () -> column.putInt(1),
                () -> column.putLong(1),
                () -> column.putTimestamp(1, 1),
                () -> column.putBytes(new byte[1]));
        for (int i = 0; i < puts.size(); i++) {
          if (i != layout.ordinal()) {
            assertThatThrownBy(puts.get(i)::run).isInstanceOf(IllegalStateException.class).hasMessageContaining(layout.name());
          }
        }
        assertThat(column.rows()).isZero();
      }
    }
  }

  @Test
  void partsOfAnArrayStayInsideIt() {
    try (ColumnBuffers buffers = buffers(ColumnLayout.VARIABLE)) {
      byte[] array = new byte[10];
      for (int[] part : new int[][] {{-1, 2}, {9, 2}, {0, 11}, {5, -1}, {Integer.MAX_VALUE, 1}}) {
        assertThatThrownBy(() -> buffers.column(0).putBytes(array, part[0], part[1])).isInstanceOf(IndexOutOfBoundsException.class);
      }
      assertThat(buffers.column(0).rows()).isZero();
    }
  }

  @Test
  void kindsAppearWithTheFirstRowThatIsNoInsert() {
    try (ColumnBuffers buffers = buffers(ColumnLayout.BYTE)) {
      byte[] kinds = new byte[1000];
      for (int row = 0; row < kinds.length; row++) {
        kinds[row] = (byte) (row < 300 ? 0 : row % 4);
        buffers.column(0).putByte((byte) 0);
        buffers.endRow(kinds[row]);
        assertThat(buffers.kindsAddress() == 0).isEqualTo(row <= 300);
      }
      assertThat(read(buffers.kindsAddress(), kinds.length)).isEqualTo(kinds);
      buffers.reset();
      assertThat(buffers.kindsAddress()).isZero();
    }
  }

  @Test
  void fullByRowsAndByBytes() {
    try (ColumnBuffers rows = new ColumnBuffers(List.of(ColumnLayout.INT), 2, 1 << 20);
        ColumnBuffers bytes = new ColumnBuffers(List.of(ColumnLayout.VARIABLE), 1000, 100)) {
      rows.column(0).putInt(1);
      rows.endRow();
      assertThat(rows.isFull()).isFalse();
      rows.column(0).putInt(1);
      rows.endRow();
      assertThat(rows.isFull()).isTrue();
      bytes.column(0).putBytes(new byte[95]);
      bytes.endRow();
      assertThat(bytes.bytes()).isEqualTo(99);
      assertThat(bytes.isFull()).isFalse();
      bytes.column(0).putBytes(new byte[0]);
      bytes.endRow();
      assertThat(bytes.isFull()).isTrue();
    }
  }

  @Test
  void memoryIsCountedAndAHugeBatchGivesItBack() {
    long before = OffHeap.allocatedBytes();
    ColumnBuffers buffers = new ColumnBuffers(List.of(ColumnLayout.VARIABLE), 1000, 1 << 20);
    buffers.column(0).putBytes(new byte[16 << 20]);
    buffers.endRow();
    assertThat(buffers.allocatedBytes()).isGreaterThan(16 << 20).isEqualTo(OffHeap.allocatedBytes() - before);
    buffers.reset();
    assertThat(buffers.allocatedBytes()).isLessThan(1 << 20);
    buffers.column(0).putBytes(new byte[] {5});
    buffers.endRow();
    assertThat(OffHeap.getByte(word(buffers, 0, 1))).isEqualTo((byte) 5);
    buffers.close();
    buffers.close();
    assertThat(OffHeap.allocatedBytes()).isEqualTo(before);
  }

  @Test
  void closedBuffersRefuseEveryUse() {
    ColumnBuffers buffers = buffers(ColumnLayout.INT, ColumnLayout.VARIABLE);
    buffers.column(0).putInt(1);
    buffers.column(1).putNull();
    buffers.close();
    List<Runnable> uses =
        List.of(
            () -> buffers.column(0).putInt(1),
            () -> buffers.column(0).putNull(),
            () -> buffers.column(1).putBytes(new byte[3]),
            buffers::endRow,
            buffers::address);
    for (Runnable use : uses) {
      assertThatThrownBy(use::run)
          .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.kind()).isEqualTo(ErrorKind.CLOSED));
    }
    buffers.reset();
    buffers.dropRow();
  }

  @Test
  void forgottenBuffersFreeTheirMemory() throws InterruptedException {
    long before = OffHeap.allocatedBytes();
    WeakReference<ColumnBuffers> forgotten = new WeakReference<>(buffers(ColumnLayout.LONG));
    forgotten.get().column(0).putLong(1);
    for (int i = 0; i < 100 && OffHeap.allocatedBytes() > before; i++) {
      System.gc();
      Thread.sleep(20);
    }
    assertThat(OffHeap.allocatedBytes()).isEqualTo(before);
  }
}
