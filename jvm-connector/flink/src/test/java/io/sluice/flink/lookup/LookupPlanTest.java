package io.sluice.flink.lookup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.sluice.flink.StoreTable;
import io.sluice.store.BlockBuilder;
import io.sluice.store.ColumnContents;
import io.sluice.store.RowBlock;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.TableException;
import org.apache.flink.table.connector.source.LookupTableSource;
import org.apache.flink.table.connector.source.lookup.AsyncLookupFunctionProvider;
import org.apache.flink.table.connector.source.lookup.LookupFunctionProvider;
import org.apache.flink.table.connector.source.lookup.PartialCachingAsyncLookupProvider;
import org.apache.flink.table.connector.source.lookup.PartialCachingLookupProvider;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;

/** Keys of a lookup join into keys of the table. */
final class LookupPlanTest {
  private static final StoreTable TABLE = Tables.table(null, "k1", "k2");
  private static final RowType ALL = TABLE.rowType();

  private static LookupPlan plan(StoreTable table, int... keys) {
    int[][] paths = new int[keys.length][];
    for (int i = 0; i < keys.length; i++) {
      paths[i] = new int[] {keys[i]};
    }
    return LookupPlan.of(table, table.rowType(), paths, false, false);
  }

  private static RowData key(Object... values) {
    GenericRowData row = new GenericRowData(values.length);
    for (int i = 0; i < values.length; i++) {
      row.setField(i, values[i] instanceof String ? StringData.fromString((String) values[i]) : values[i]);
    }
    return row;
  }

  private static RowBlock found(RowData... rows) {
    BlockBuilder block = new BlockBuilder(ALL);
    for (RowData row : rows) {
      block.row(row);
    }
    return block.endKey().build();
  }

  @Test
  void keysInAnyOrderBecomeTheTablesKeyInItsOrder() {
    LookupPlan plan = plan(TABLE, 1, 0);
    try (KeyBatch batch = plan.newBatch(4)) {
      batch.add(key("x", 7L));
      ColumnContents contents = new ColumnContents(batch.buffers());
      assertThat(contents.fixed(0, 0, 8)).isEqualTo(new byte[] {7, 0, 0, 0, 0, 0, 0, 0});
      assertThat(contents.variable(1, 0)).isEqualTo(new byte[] {'x'});
    }
  }

  @Test
  void aLogTableAndMissingKeysAreRefusedByName() {
    assertThatThrownBy(() -> plan(Tables.table(null), 0))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining("only support lookup table with primary key");
    assertThatThrownBy(() -> plan(TABLE, 0))
        .isInstanceOf(TableException.class)
        .hasMessageContaining("lookup keys to include all primary keys [k1, k2]")
        .hasMessageContaining("[k1] only");
  }

  @Test
  void aBucketKeyThatIsAPrefixOfTheKeyIsEnough() {
    StoreTable prefixed = Tables.table("k1", "k1", "k2");
    assertThat(plan(prefixed, 0).comparesMore()).isFalse();
    assertThat(plan(prefixed, 0, 2).comparesMore()).isTrue();
    assertThatThrownBy(() -> plan(prefixed, 1)).isInstanceOf(TableException.class).hasMessageContaining("or all bucket keys [k1]");
    assertThatThrownBy(() -> plan(Tables.table("k2", "k1", "k2"), 1)).isInstanceOf(TableException.class);
  }

  @Test
  void aKeyWithANullMatchesNothing() {
    LookupPlan plan = plan(TABLE, 0, 1);
    assertThat(plan.canMatch(key(1L, ""))).isTrue();
    assertThat(plan.canMatch(key(1L, null))).isFalse();
    assertThat(plan.canMatch(key(null, "a"))).isFalse();
  }

  @Test
  void equalitiesOnOtherColumnsAreCheckedOnTheRowsFound() {
    LookupPlan plan = plan(TABLE, 2, 0, 3, 1);
    RowBlock block = found(key(1L, "a", "v", 0.0), key(1L, "a", "w", 0.0), key(1L, "a", null, 0.0), key(1L, "a", "v", 1.0));
    assertThat(plan.comparesMore()).isTrue();
    assertThat(plan.rows(block, LookupPlan.memory(block), 0, key("v", 1L, -0.0, "a")))
        .singleElement()
        .satisfies(row -> assertThat(row.getString(2)).hasToString("v"));
  }

  @Test
  void rowsThatAreKeptHoldOnToNothingElse() {
    RowBlock block = found(key(1L, "a", "v", 0.0));
    int[][] keys = {{0}, {1}};
    RowData shared = LookupPlan.of(TABLE, ALL, keys, false, false).rows(block, LookupPlan.memory(block), 0, null).iterator().next();
    RowData kept = LookupPlan.of(TABLE, ALL, keys, true, false).rows(block, LookupPlan.memory(block), 0, null).iterator().next();
    assertThat(kept).isEqualTo(shared);
    assertThat(((BinaryRowData) shared).getSegments()[0].size()).isEqualTo(block.bytes().length);
    assertThat(((BinaryRowData) kept).getSegments()[0].size()).isEqualTo(block.rowLength(0));
  }

  private static LookupTableSource.LookupRuntimeProvider provider(String... options) {
    Configuration read = new Configuration();
    for (int i = 0; i < options.length; i += 2) {
      read.setString(options[i], options[i + 1]);
    }
    return LookupSettings.of(read).provider(TABLE, ALL, new int[][] {{0}, {1}});
  }

  @Test
  void optionsChooseTheFunctionAndItsCache() {
    assertThat(provider()).isInstanceOf(AsyncLookupFunctionProvider.class).isNotInstanceOf(PartialCachingAsyncLookupProvider.class);
    assertThat(provider("lookup.async", "false")).isInstanceOf(LookupFunctionProvider.class).isNotInstanceOf(PartialCachingLookupProvider.class);
    String[] cached = {"lookup.cache", "PARTIAL", "lookup.partial-cache.max-rows", "10", "lookup.async", "true"};
    assertThat(provider(cached)).isInstanceOf(PartialCachingAsyncLookupProvider.class);
    cached[5] = "false";
    assertThat(provider(cached)).isInstanceOf(PartialCachingLookupProvider.class);
  }

  @Test
  void whatIsNotSupportedSaysSo() {
    assertThatThrownBy(() -> provider("lookup.cache", "FULL"))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining("Full lookup caching is not supported yet");
  }

  @Test
  void aPrefixLookupCannotInsert() {
    StoreTable table = Tables.table("k1", "k1", "k2");
    assertThatThrownBy(() -> LookupPlan.of(table, table.rowType(), new int[][] {{0}}, false, true))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("not possible for a prefix lookup");
    assertThat(LookupPlan.of(table, table.rowType(), new int[][] {{1}, {0}}, false, true)).isNotNull();
  }
}
