package io.sluice.flink.lookup;

import java.util.List;

import io.sluice.flink.StoreTable;
import io.sluice.flink.source.scan.StoreTableClient;
import io.sluice.store.KeyLookup;
import io.sluice.store.RowBlock;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** An open lookup into one table. Threads may share it, each with batches of its own. */
public final class KeySession implements BatchLookup {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final KeyLookup lookup;

  private KeySession(KeyLookup lookup) {
    this.lookup = lookup;
  }

  /**
   * Opens a lookup on somebody's connection.
   *
   * @param keyColumns names of the key's columns in the order in which batches hold them
   * @param columns names of the columns wanted
   * @param inserting whether a key that finds nothing gets a row
   */
  public static KeySession open(
      StoreTableClient client, StoreTable table, List<String> keyColumns, List<String> columns, boolean inserting) {
    ObjectNode options = JSON.createObjectNode();
    options.set("path", StoreTableClient.path(table));
    options.set("key_columns", JSON.valueToTree(keyColumns));
    options.set("projection", JSON.valueToTree(client.positions(columns)));
    options.put("insert_missing", inserting);
    return new KeySession(client.connection().lookup(options.toString()));
  }

  @Override
  public RowBlock lookUp(KeyBatch keys) {
    return lookup.lookup(keys.buffers());
  }

  @Override
  public void close() {
    lookup.close();
  }
}
