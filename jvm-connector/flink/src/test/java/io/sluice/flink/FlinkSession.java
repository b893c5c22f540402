package io.sluice.flink;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import io.sluice.store.Connection;
import org.apache.flink.api.java.typeutils.RowTypeInfo;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.catalog.Catalog;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/** A SQL session over one store's directory, as a user of the SQL client has it: catalog {@code c} is in use. */
public final class FlinkSession implements AutoCloseable {
  private static final long PATIENCE_MS = 60_000;
  private static final Set<Path> DIRECTORIES = ConcurrentHashMap.newKeySet();

  private final StreamExecutionEnvironment jobs;
  private final TableEnvironment environment;

  private FlinkSession(EnvironmentSettings mode, Path directory, int parallelism) {
    this(StreamExecutionEnvironment.getExecutionEnvironment(), mode, directory, parallelism);
  }

  private FlinkSession(StreamExecutionEnvironment jobs, EnvironmentSettings mode, Path directory, int parallelism) {
    this(jobs, StreamTableEnvironment.create(jobs, mode), directory, parallelism, Map.of());
  }

  private FlinkSession(
      StreamExecutionEnvironment jobs, TableEnvironment environment, Path directory, int parallelism, Map<String, String> options) {
    this.jobs = jobs;
    this.environment = environment;
    set("parallelism.default", Integer.toString(parallelism));
    set("table.local-time-zone", "UTC");
    String address = StoreAddress.of(directory, options);
    String more =
        StoreAddress.ofCatalog(options).entrySet().stream()
            .map(e -> ", '" + e.getKey() + "'='" + e.getValue() + "'")
            .collect(Collectors.joining());
    run("CREATE CATALOG c WITH ('type'='fluss', 'bootstrap.servers'='" + address + "'" + more + ")", "USE CATALOG c");
    DIRECTORIES.add(directory);
  }

  /** A session whose queries end. */
  public static FlinkSession batch(Path directory, int parallelism) {
    return new FlinkSession(EnvironmentSettings.inBatchMode(), directory, parallelism);
  }

  /** A session whose queries go on. */
  public static FlinkSession streaming(Path directory, int parallelism) {
    return new FlinkSession(EnvironmentSettings.inStreamingMode(), directory, parallelism);
  }

  /** The same, over a store with these settings. */
  public static FlinkSession streaming(Path directory, int parallelism, Map<String, String> options) {
    StreamExecutionEnvironment jobs = StreamExecutionEnvironment.getExecutionEnvironment();
    return new FlinkSession(jobs, StreamTableEnvironment.create(jobs, EnvironmentSettings.inStreamingMode()), directory, parallelism, options);
  }

  /** A session whose queries end, over a store with these settings. */
  public static FlinkSession batch(Path directory, int parallelism, Map<String, String> options) {
    StreamExecutionEnvironment jobs = StreamExecutionEnvironment.getExecutionEnvironment();
    return new FlinkSession(jobs, StreamTableEnvironment.create(jobs, EnvironmentSettings.inBatchMode()), directory, parallelism, options);
  }

  /** A session over an environment that the caller has made. */
  public static FlinkSession over(TableEnvironment environment, Path directory, int parallelism) {
    return over(environment, directory, parallelism, Map.of());
  }

  /** The same, over a store with these settings. */
  public static FlinkSession over(TableEnvironment environment, Path directory, int parallelism, Map<String, String> options) {
    return new FlinkSession(StreamExecutionEnvironment.getExecutionEnvironment(), environment, directory, parallelism, options);
  }

  /** Closes the catalog; queries that still run keep the store open. */
  @Override
  public void close() {
    environment.getCatalog("c").ifPresent(Catalog::close);
  }

  /** Checks that every native object of this process has been given back, and waits until the stores used are closed. */
  public static void assertNothingLeaks() throws Exception {
    eventually(Connection::liveHandles, 0L);
    for (Path directory : List.copyOf(DIRECTORIES)) {
      StoreAddress.close(directory);
      DIRECTORIES.remove(directory);
    }
  }

  public FlinkSession set(String key, String value) {
    environment.getConfig().set(key, value);
    return this;
  }

  public TableEnvironment environment() {
    return environment;
  }

  /** Runs statements one after the other, each to its end. */
  public FlinkSession run(String... statements) {
    for (String statement : statements) {
      try {
        environment.executeSql(statement).await(PATIENCE_MS, TimeUnit.MILLISECONDS);
      } catch (Exception e) {
        throw new IllegalStateException(statement, e);
      }
    }
    return this;
  }

  /** Applies changes of all kinds to a table of a streaming session; fields by the columns' names, in the order of the rows' fields. */
  public FlinkSession change(String table, RowTypeInfo type, Row... changes) {
    DataStream<Row> stream = jobs.fromData(List.of(changes), type).setParallelism(1);
    environment.createTemporaryView("changes", ((StreamTableEnvironment) environment).fromChangelogStream(stream));
    // Else the planner would keep only deletes of rows that this very statement has inserted.
    set("table.exec.sink.upsert-materialize", "NONE");
    // Named, for the planner counts a star as one column when only some are inserted.
    String columns = Arrays.stream(type.getFieldNames()).map(name -> "`" + name + "`").collect(Collectors.joining(", "));
    run("INSERT INTO " + table + " SELECT " + columns + " FROM changes");
    environment.dropTemporaryView("changes");
    return this;
  }

  /** All rows of a query that ends, sorted by how they print. */
  public List<String> rows(String query) {
    List<String> rows = inOrder(query);
    rows.sort(Comparator.naturalOrder());
    return rows;
  }

  /** All rows of a query that ends, as they come. */
  public List<String> inOrder(String query) {
    List<String> rows = new ArrayList<>();
    try (CloseableIterator<Row> found = environment.executeSql(query).collect()) {
      found.forEachRemaining(row -> rows.add(row.toString()));
    } catch (Exception e) {
      throw new IllegalStateException(query, e);
    }
    return rows;
  }

  /** Starts a query that does not end. */
  public Running start(String query) {
    return new Running(environment.executeSql(query));
  }

  /** Starts a statement that does not end and has no rows. */
  public TableResult submit(String statement) {
    return environment.executeSql(statement);
  }

  public String explain(String query) {
    return environment.explainSql(query);
  }

  /** Asks again and again until the answer is the one expected, or patience ends. */
  public static <T> void eventually(Callable<T> question, T expected) throws Exception {
    long end = System.currentTimeMillis() + PATIENCE_MS;
    T answer = question.call();
    while (!expected.equals(answer)) {
      if (System.currentTimeMillis() > end) {
        throw new AssertionError("expected " + expected + " but the last answer was " + answer);
      }
      Thread.sleep(50);
      answer = question.call();
    }
  }

  /** A query that goes on; its rows are read by a thread of their own so that waiting for them can end. */
  public static final class Running implements AutoCloseable {
    private final TableResult result;
    private final List<String> rows = new ArrayList<>();
    private final CloseableIterator<Row> iterator;
    private final Thread reader;
    private volatile Throwable failure;
    private volatile boolean ended;

    private Running(TableResult result) {
      this.result = result;
      this.iterator = result.collect();
      this.reader = new Thread(this::read, "query");
      reader.setDaemon(true);
      reader.start();
    }

    private void read() {
      try {
        while (iterator.hasNext()) {
          String row = iterator.next().toString();
          synchronized (rows) {
            rows.add(row);
            rows.notifyAll();
          }
        }
      } catch (Throwable e) {
        failure = e;
      }
      synchronized (rows) {
        ended = true;
        rows.notifyAll();
      }
    }

    /** The next rows, as they come; fails when fewer come in a minute. */
    public List<String> next(int count) throws Exception {
      long end = System.currentTimeMillis() + PATIENCE_MS;
      synchronized (rows) {
        while (rows.size() < count) {
          long left = end - System.currentTimeMillis();
          if (left <= 0 || ended) {
            throw new AssertionError("expected " + count + " rows, got " + rows, failure);
          }
          rows.wait(left);
        }
        List<String> next = new ArrayList<>(rows.subList(0, count));
        rows.subList(0, count).clear();
        return next;
      }
    }

    /** The next rows, sorted. */
    public List<String> nextSorted(int count) throws Exception {
      return next(count).stream().sorted().collect(Collectors.toList());
    }

    /** Rows that have come and were not asked for. */
    public List<String> more() {
      synchronized (rows) {
        return new ArrayList<>(rows);
      }
    }

    /** Waits for the end of the query; the error that ended it, or null. */
    public Throwable awaitEnd() throws InterruptedException {
      reader.join(PATIENCE_MS);
      if (reader.isAlive()) {
        throw new AssertionError("the query goes on; rows " + more());
      }
      return failure;
    }

    public TableResult result() {
      return result;
    }

    @Override
    public void close() throws Exception {
      iterator.close();
      reader.join(PATIENCE_MS);
    }
  }
}
