package io.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;

/** A block is read as {@code docs/jni.md} lays it out. */
class RowBlockTest {
  private static ByteBuffer header(int split, int rows, int flags, long next, long base, long time, int keys) {
    ByteBuffer block = ByteBuffer.allocate(512).order(ByteOrder.LITTLE_ENDIAN);
    return block.putInt(1).putInt(split).putInt(rows).putInt(flags).putLong(next).putLong(base).putLong(time).putInt(keys).putInt(0);
  }

  @Test
  void changelog() {
    ByteBuffer block = header(3, 2, 1 | 2, 12, 10, 99, 0).putInt(64).putInt(80).putInt(104).put((byte) 1).put((byte) 2);
    RowBlock rows = new RowBlock(block.array());
    assertThat(rows.splitId()).isEqualTo(3);
    assertThat(rows.rowCount()).isEqualTo(2);
    assertThat(rows.finished()).isTrue();
    assertThat(rows.isSnapshot()).isFalse();
    assertThat(rows.nextOffset()).isEqualTo(12);
    assertThat(rows.nextSnapshotRows()).isEqualTo(-1);
    assertThat(rows.baseOffset()).isEqualTo(10);
    assertThat(rows.timestampMs()).isEqualTo(99);
    assertThat(new int[] {rows.rowStart(0), rows.rowLength(0), rows.rowStart(1), rows.rowLength(1)}).containsExactly(64, 16, 80, 24);
    assertThat(rows.hasKinds()).isTrue();
    assertThat(new byte[] {rows.kind(0), rows.kind(1)}).containsExactly(1, 2);
    assertThat(rows.keyCount()).isZero();
    assertThatThrownBy(() -> rows.keyEnd(0)).isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void snapshot() {
    RowBlock rows = new RowBlock(header(0, 0, 4, 500, -1, -1, 0).putInt(56).array());
    assertThat(rows.isSnapshot()).isTrue();
    assertThat(rows.nextIsSnapshot()).isTrue();
    assertThat(rows.nextSnapshotRows()).isEqualTo(500);
    assertThat(rows.nextOffset()).isEqualTo(-1);
    assertThat(rows.finished()).isFalse();
  }

  @Test
  void lookup() {
    RowBlock rows = new RowBlock(header(0, 1, 8, 0, -1, -1, 3).putInt(72).putInt(88).putInt(0).putInt(1).putInt(1).array());
    assertThat(rows.keyCount()).isEqualTo(3);
    assertThat(new int[] {rows.keyEnd(0), rows.keyEnd(1), rows.keyEnd(2)}).containsExactly(0, 1, 1);
    assertThat(rows.kind(0)).isZero();
  }

  @Test
  void anotherFormatIsRefused() {
    assertThatThrownBy(() -> new RowBlock(ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN).putInt(2).array()))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("format 2");
  }

  @Test
  void numbersNobodyKnowsReadAsInternalAndNone() {
    StoreException later = new StoreException(999, 999, "m", false);
    assertThat(later.kind()).isEqualTo(ErrorKind.INTERNAL);
    assertThat(later.subject()).isEqualTo(Subject.NONE);
    for (ErrorKind kind : ErrorKind.values()) {
      assertThat(ErrorKind.of(kind.code())).isEqualTo(kind);
    }
    for (Subject subject : Subject.values()) {
      assertThat(Subject.of(subject.code())).isEqualTo(subject);
    }
  }
}
