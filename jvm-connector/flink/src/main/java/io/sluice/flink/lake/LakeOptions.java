package io.sluice.flink.lake;

import java.util.LinkedHashMap;
import java.util.Map;

import org.apache.flink.table.api.ValidationException;

/** Where the lake is, as the options of a catalog say. The store checks the keys; here they are turned into Paimon's own. */
public final class LakeOptions {
  private static final String STORE_PREFIX = "datalake.paimon.";
  private static final String SESSION_PREFIX = "paimon.";
  private static final String WAREHOUSE = "warehouse";

  private LakeOptions() {}

  /**
   * The options of Paimon's catalog: {@code datalake.paimon.KEY} of this catalog as {@code KEY}, and over them {@code paimon.KEY}, which
   * is for this session alone (credentials, for example).
   *
   * @param catalogName for the message
   * @throws ValidationException when they do not name a warehouse
   */
  public static Map<String, String> ofPaimon(String catalogName, Map<String, String> catalogOptions) {
    Map<String, String> options = new LinkedHashMap<>();
    copy(catalogOptions, STORE_PREFIX, options);
    copy(catalogOptions, SESSION_PREFIX, options);
    if (options.getOrDefault(WAREHOUSE, "").isBlank()) {
      throw new ValidationException(
          String.format(
              "Catalog '%s' does not say where the lake is. Make it anew with 'datalake.format' = 'paimon' and"
                  + " 'datalake.paimon.warehouse' = '/path/to/the/lake' beside its other options.",
              catalogName));
    }
    return options;
  }

  private static void copy(Map<String, String> from, String prefix, Map<String, String> to) {
    from.forEach(
        (key, value) -> {
          if (key.startsWith(prefix)) {
            to.put(key.substring(prefix.length()), value);
          }
        });
  }
}
