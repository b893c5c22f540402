package io.sluice.flink.lake;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;

import org.apache.flink.table.catalog.ObjectPath;
import org.junit.jupiter.api.Test;

/** Which names are those of the lake, and whose. */
final class LakeNameTest {
  private static Optional<LakeName> read(String name) {
    return LakeName.of(new ObjectPath("d", name));
  }

  private static void assertLake(String name, String table, String inLake) {
    LakeName read = read(name).orElseThrow();
    assertThat(read.table()).isEqualTo(new ObjectPath("d", table));
    assertThat(read.inLake()).isEqualTo(new ObjectPath("d", inLake));
    assertThat(read.toString()).isEqualTo("d." + name);
  }

  @Test
  void copiesAndWhatIsKeptAboutThem() {
    assertLake("t$lake", "t", "t");
    assertLake("t$lake$snapshots", "t", "t$snapshots");
    assertLake("lake$lake$branch_b$files", "lake", "lake$branch_b$files");
    assertThat(read("t$lake").orElseThrow().isCopy()).isTrue();
    assertThat(read("t$lake$files").orElseThrow().isCopy()).isFalse();
  }

  @Test
  void otherNamesAreNotOfTheLake() {
    for (String name : new String[] {"t", "lake", "t_lake", "$lake", "t$lakes", "t$LAKE", "t$changelog", "t$"}) {
      assertThat(read(name)).as(name).isEmpty();
    }
  }
}
