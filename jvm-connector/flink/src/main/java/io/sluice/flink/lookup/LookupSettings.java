package io.sluice.flink.lookup;

import javax.annotation.Nullable;

import io.sluice.flink.ConnectorOptions;
import io.sluice.flink.StoreTable;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.connector.source.LookupTableSource.LookupRuntimeProvider;
import org.apache.flink.table.connector.source.lookup.AsyncLookupFunctionProvider;
import org.apache.flink.table.connector.source.lookup.LookupFunctionProvider;
import org.apache.flink.table.connector.source.lookup.LookupOptions;
import org.apache.flink.table.connector.source.lookup.PartialCachingAsyncLookupProvider;
import org.apache.flink.table.connector.source.lookup.PartialCachingLookupProvider;
import org.apache.flink.table.connector.source.lookup.cache.DefaultLookupCache;
import org.apache.flink.table.connector.source.lookup.cache.LookupCache;
import org.apache.flink.table.types.logical.RowType;

/** How a table is looked up, as its options say. */
public final class LookupSettings {
  private final boolean async;
  private final boolean insertIfNotExists;
  private final LookupOptions.LookupCacheType cacheType;
  @Nullable private final LookupCache cache;

  private LookupSettings(
      boolean async, boolean insertIfNotExists, LookupOptions.LookupCacheType cacheType, @Nullable LookupCache cache) {
    this.async = async;
    this.insertIfNotExists = insertIfNotExists;
    this.cacheType = cacheType;
    this.cache = cache;
  }

  /** Reads the settings from a table's options. */
  public static LookupSettings of(ReadableConfig options) {
    LookupOptions.LookupCacheType type = options.get(LookupOptions.CACHE_TYPE);
    LookupCache cache = type == LookupOptions.LookupCacheType.PARTIAL ? DefaultLookupCache.fromConfig(options) : null;
    return new LookupSettings(
        options.get(ConnectorOptions.LOOKUP_ASYNC), options.get(ConnectorOptions.LOOKUP_INSERT_IF_NOT_EXISTS), type, cache);
  }

  /**
   * What a lookup join calls.
   *
   * @param rowType the columns wanted
   * @param keys the join's keys as paths into {@code rowType}
   */
  public LookupRuntimeProvider provider(StoreTable table, RowType rowType, int[][] keys) {
    if (cacheType == LookupOptions.LookupCacheType.FULL) {
      throw new UnsupportedOperationException("Full lookup caching is not supported yet; use 'lookup.cache' = 'PARTIAL' or 'NONE'.");
    }
    LookupPlan plan = LookupPlan.of(table, rowType, keys, cache != null, insertIfNotExists);
    if (async) {
      SluiceAsyncLookupFunction function = new SluiceAsyncLookupFunction(plan);
      return cache == null ? AsyncLookupFunctionProvider.of(function) : PartialCachingAsyncLookupProvider.of(function, cache);
    }
    SluiceLookupFunction function = new SluiceLookupFunction(plan);
    return cache == null ? LookupFunctionProvider.of(function) : PartialCachingLookupProvider.of(function, cache);
  }
}
