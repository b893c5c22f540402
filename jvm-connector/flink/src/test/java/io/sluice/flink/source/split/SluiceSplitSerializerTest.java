package io.sluice.flink.source.split;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.OptionalLong;
import java.util.stream.Stream;

import org.apache.flink.util.StringUtils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Splits in savepoints. The bytes are those of version 1: savepoints hold them, so they never change. */
final class SluiceSplitSerializerTest {
  private static final OptionalLong NONE = OptionalLong.empty();

  static Stream<Arguments> golden() {
    return Stream.of(
        Arguments.of(
            new SluiceSplit(5, NONE, 3, SplitStart.earliest(), NONE), "0000000000000005" + "00" + "00000003" + "01" + zeros(8) + zeros(8) + "00"),
        Arguments.of(
            new SluiceSplit(5, NONE, 3, SplitStart.log(258), OptionalLong.of(1L << 40)),
            "0000000000000005" + "00" + "00000003" + "02" + zeros(8) + "0000000000000102" + "01" + "0000010000000000"),
        Arguments.of(
            new SluiceSplit(-1, OptionalLong.of(9), 0, SplitStart.snapshot(77, 12), NONE),
            "ffffffffffffffff" + "01" + "0000000000000009" + "00000000" + "03" + "000000000000004d" + "000000000000000c" + "00"),
        Arguments.of(new SluiceSplit(1, NONE, 0, SplitStart.current(), NONE), "0000000000000001" + "00" + zeros(4) + "04" + zeros(16) + "00"),
        Arguments.of(
            new SluiceSplit(1, NONE, 0, SplitStart.limit(4096), NONE),
            "0000000000000001" + "00" + zeros(4) + "05" + zeros(8) + "0000000000001000" + "00"),
        Arguments.of(new SluiceSplit(1, NONE, 0, SplitStart.point(), NONE), "0000000000000001" + "00" + zeros(4) + "06" + zeros(16) + "00"),
        Arguments.of(
            new SluiceSplit(1, NONE, 0, SplitStart.count(3), NONE),
            "0000000000000001" + "00" + zeros(4) + "07" + zeros(8) + "0000000000000003" + "00"));
  }

  private static String zeros(int bytes) {
    return "00".repeat(bytes);
  }

  @ParameterizedTest
  @MethodSource("golden")
  void bytesOfVersionOneAreWrittenAndRead(SluiceSplit split, String hex) throws Exception {
    byte[] bytes = SluiceSplitSerializer.INSTANCE.serialize(split);
    assertThat(StringUtils.byteToHexString(bytes)).isEqualTo(hex);
    assertThat(SluiceSplitSerializer.INSTANCE.deserialize(1, StringUtils.hexStringToByte(hex))).isEqualTo(split);
  }

  @Test
  void everyKindOfStartHasGoldenBytes() {
    assertThat(golden().map(arguments -> ((SluiceSplit) arguments.get()[0]).start().kind())).containsExactlyInAnyOrder(SplitStart.Kind.values());
  }

  @Test
  void aNewerVersionIsRefusedByName() throws Exception {
    byte[] bytes = SluiceSplitSerializer.INSTANCE.serialize(new SluiceSplit(5, NONE, 3, SplitStart.earliest(), NONE));
    assertThatThrownBy(() -> SluiceSplitSerializer.INSTANCE.deserialize(2, bytes)).isInstanceOf(IOException.class).hasMessageContaining("version 2");
  }

  @Test
  void damagedBytesAreRefused() throws Exception {
    byte[] bytes = SluiceSplitSerializer.INSTANCE.serialize(new SluiceSplit(5, NONE, 3, SplitStart.earliest(), NONE));
    for (int length = 0; length < bytes.length; length++) {
      byte[] cut = java.util.Arrays.copyOf(bytes, length);
      assertThatThrownBy(() -> SluiceSplitSerializer.INSTANCE.deserialize(1, cut)).isInstanceOf(IOException.class);
    }
    byte[] longer = java.util.Arrays.copyOf(bytes, bytes.length + 1);
    assertThatThrownBy(() -> SluiceSplitSerializer.INSTANCE.deserialize(1, longer)).isInstanceOf(IOException.class).hasMessageContaining("too many");
    bytes[13] = 99;
    assertThatThrownBy(() -> SluiceSplitSerializer.INSTANCE.deserialize(1, bytes)).isInstanceOf(IOException.class).hasMessageContaining("99");
  }

  @Test
  void aStateMovesFromTheSnapshotToTheLog() {
    SluiceSplit split = new SluiceSplit(5, NONE, 3, SplitStart.snapshot(8, 2), NONE);
    SluiceSplitState state = new SluiceSplitState(split);
    assertThat(state.toSplit()).isEqualTo(split);
    state.movedInSnapshot(3);
    assertThat(state.toSplit().start()).isEqualTo(SplitStart.snapshot(8, 3));
    assertThat(state.readsSnapshot()).isTrue();
    state.movedToOffset(40);
    assertThat(state.toSplit().start()).isEqualTo(SplitStart.log(40));
    assertThat(state.readsSnapshot()).isFalse();
  }
}
