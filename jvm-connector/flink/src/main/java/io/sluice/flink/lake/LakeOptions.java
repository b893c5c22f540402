package io.sluice.flink.lake;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

import org.apache.flink.table.api.ValidationException;

/** What Paimon's own catalog of a store's lake is opened with. */
public final class LakeOptions {
  private static final String SESSION_PREFIX = "paimon.";

  private LakeOptions() {}

  /**
   * The options of Paimon's catalog: the store's, and over them {@code paimon.KEY} of the catalog as {@code KEY}, which is for this session
   * alone.
   *
   * @param catalogName for the message
   * @param stored what the store was opened with; empty when it has no lake
   * @throws ValidationException when there is no lake
   */
  public static Map<String, String> ofPaimon(String catalogName, Optional<Map<String, String>> stored, Map<String, String> catalogOptions) {
    Map<String, String> options = new LinkedHashMap<>();
    options.putAll(
        stored.orElseThrow(
            () ->
                new ValidationException(
                    String.format(
                        "The store of catalog '%s' has been opened without a lake. Make the catalog anew with 'datalake.format' = 'paimon' and"
                            + " 'datalake.paimon.warehouse' = '/path/to/the/lake' beside its other options.",
                        catalogName))));
    catalogOptions.forEach(
        (key, value) -> {
          if (key.startsWith(SESSION_PREFIX)) {
            options.put(key.substring(SESSION_PREFIX.length()), value);
          }
        });
    return options;
  }
}
