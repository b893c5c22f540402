package io.sluice.flink.lookup;

import io.sluice.store.RowBlock;

/** Answers a batch of keys at once. */
public interface BatchLookup extends AutoCloseable {

  /**
   * Looks all keys of a batch up; the batch can be used anew afterwards. The rows found are nobody else's.
   *
   * @throws io.sluice.store.StoreException when the store cannot answer
   */
  RowBlock lookUp(KeyBatch keys);

  @Override
  void close();
}
