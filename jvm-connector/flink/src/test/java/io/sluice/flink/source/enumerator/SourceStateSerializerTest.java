package io.sluice.flink.source.enumerator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;

import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.flink.source.split.SplitStart;
import org.apache.flink.util.StringUtils;
import org.junit.jupiter.api.Test;

/** Enumerator states in savepoints, with the bytes of version 1. */
final class SourceStateSerializerTest {
  private static final String LOG_SPLIT = "0000000000000005" + "00" + "00000003" + "02" + "00".repeat(8) + "000000000000000a" + "00";
  private static final String SNAPSHOT_SPLIT = "0000000000000005" + "00" + "00000004" + "03" + "0000000000000007" + "00".repeat(8) + "00";

  private static final SourceState STATE =
      new SourceState(
          true,
          "lease",
          List.of(split(3, SplitStart.log(10))),
          List.of(split(4, SplitStart.snapshot(7, 0))),
          List.of(split(4, SplitStart.snapshot(7, 0))));

  private static final String BYTES =
      "01" + "0005" + "6c65617365" + "00000001" + LOG_SPLIT + "00000001" + SNAPSHOT_SPLIT + "00000001" + SNAPSHOT_SPLIT;

  private static SluiceSplit split(int bucket, SplitStart start) {
    return new SluiceSplit(5, OptionalLong.empty(), bucket, start, OptionalLong.empty());
  }

  @Test
  void bytesOfVersionOneAreWrittenAndRead() throws Exception {
    assertThat(StringUtils.byteToHexString(SourceStateSerializer.INSTANCE.serialize(STATE))).isEqualTo(BYTES);
    assertThat(SourceStateSerializer.INSTANCE.deserialize(1, StringUtils.hexStringToByte(BYTES))).isEqualTo(STATE);
  }

  @Test
  void aFreshStateIsWrittenAndRead() throws Exception {
    SourceState fresh = SourceState.fresh("größe");
    byte[] bytes = SourceStateSerializer.INSTANCE.serialize(fresh);
    assertThat(SourceStateSerializer.INSTANCE.deserialize(1, bytes)).isEqualTo(fresh);
  }

  @Test
  void newerAndDamagedStatesAreRefused() throws Exception {
    byte[] bytes = SourceStateSerializer.INSTANCE.serialize(STATE);
    assertThatThrownBy(() -> SourceStateSerializer.INSTANCE.deserialize(2, bytes)).isInstanceOf(IOException.class).hasMessageContaining("version 2");
    for (int length = 0; length < bytes.length; length++) {
      byte[] cut = Arrays.copyOf(bytes, length);
      assertThatThrownBy(() -> SourceStateSerializer.INSTANCE.deserialize(1, cut)).isInstanceOf(IOException.class);
    }
    byte[] longer = Arrays.copyOf(bytes, bytes.length + 1);
    assertThatThrownBy(() -> SourceStateSerializer.INSTANCE.deserialize(1, longer)).isInstanceOf(IOException.class);
  }
}
