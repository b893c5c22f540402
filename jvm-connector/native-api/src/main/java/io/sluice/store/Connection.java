package io.sluice.store;

import java.util.Map;

/**
 * An open store. Threads may share it. Closing it closes every writer, scanner and lookup made from it; what was written but not
 * flushed may then be lost.
 */
public final class Connection implements AutoCloseable {
  /** Version of the calls between Java and the native library. */
  static final int ABI_VERSION = 1;

  private final Handle handle;

  private Connection(long number) {
    this.handle = new Handle(this, "connection", number, NativeConnection::close);
  }

  /**
   * Opens the store that {@code bootstrap.servers} names: {@code embedded:/directory}, or servers as {@code host:port,host:port}.
   *
   * @param options all options of the catalog, as the user wrote them
   * @throws StoreException INVALID about OPTION for a wrong option; BUSY about STORE when another process owns the directory;
   *     IO about STORE when no server can be reached;
   *     UNSUPPORTED when the native library does not run here
   */
  public static Connection open(Map<String, String> options) {
    NativeLoader.load();
    return new Connection(NativeConnection.open(Json.object(options)));
  }

  /**
   * Runs an admin operation of {@code docs/jni.md}.
   *
   * @param operation its name, for example {@code create_table}
   * @param json its arguments, one JSON object
   * @return its result as JSON, {@code null} (the JSON word) when it has none
   */
  public String admin(String operation, String json) {
    return NativeConnection.admin(handle.get(), operation, json);
  }

  /** Opens a writer: {@code {"path":{"database","table"},"target_columns":[names]}}. */
  public TableWriter writer(String json) {
    return new TableWriter(NativeWriter.open(handle.get(), json));
  }

  /** Opens a scanner with no splits yet: {@code {"path","projection":[int]|null,"batch_rows_max":n,"filter":condition|null}}. */
  public TableScanner scanner(String json) {
    return new TableScanner(NativeScanner.open(handle.get(), json));
  }

  /** Opens a lookup: {@code {"path","key_columns":[names],"projection":[int]|null}}. */
  public KeyLookup lookup(String json) {
    return new KeyLookup(NativeLookup.open(handle.get(), json));
  }

  @Override
  public void close() {
    handle.close();
  }

  /** Returns how many native objects are open in this process, whoever opened them. */
  public static long liveHandles() {
    NativeLoader.load();
    return NativeConnection.liveHandles();
  }

  /**
   * Returns the bytes that the engine has allocated in this process, column buffers included. RocksDB's own memory is not in it; the
   * store's settings bound that.
   */
  public static long nativeBytes() {
    NativeLoader.load();
    return NativeConnection.nativeBytes() + OffHeap.allocatedBytes();
  }
}
