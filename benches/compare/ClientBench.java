import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.ConnectionFactory;
import org.apache.fluss.client.admin.Admin;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.lookup.Lookuper;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.Scan;
import org.apache.fluss.client.table.scanner.ScanRecord;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.client.table.writer.AppendWriter;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.config.Configuration;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.row.InternalRow;
import org.apache.fluss.types.DataTypes;

/**
 * Work for a server through Apache Fluss's own Java client, unchanged. {@code clients.py} runs it against two servers.
 *
 * <p>{@code java ClientBench.java HOST:PORT CASE ROWS RUNS [client.KEY=VALUE]...}: for each run the lines {@code begin} and
 * {@code end SECONDS ROWS [P50_MS P99_MS]}; the first run is to warm up.
 */
public final class ClientBench {
  private static final int BUCKETS = 4;
  private static final int KEYS = 500_000;
  private static final int POOL = 100_000;
  private static final TablePath EVENTS = TablePath.of("fluss", "bench_events");
  private static final TablePath LATEST = TablePath.of("fluss", "bench_latest");

  private final Configuration settings;
  private final Connection connection;
  private final int rows;

  private ClientBench(Configuration settings, Connection connection, int rows) {
    this.settings = settings;
    this.connection = connection;
    this.rows = rows;
  }

  public static void main(String[] given) throws Exception {
    Configuration settings = new Configuration();
    settings.setString("bootstrap.servers", given[0]);
    Arrays.stream(given).skip(4).map(s -> s.split("=", 2)).forEach(s -> settings.setString(s[0], s[1]));
    try (Connection connection = ConnectionFactory.createConnection(settings)) {
      ClientBench bench = new ClientBench(settings, connection, Integer.parseInt(given[2]));
      for (int run = 0; run <= Integer.parseInt(given[3]); run++) {
        bench.prepare(given[1]);
        System.out.println("begin");
        long start = System.nanoTime();
        String more = bench.run(given[1], run);
        System.out.printf("end %.6f %d%s%n", (System.nanoTime() - start) / 1e9, bench.rows, more);
      }
    }
    // The client leaves threads behind.
    System.exit(0);
  }

  private void prepare(String name) throws Exception {
    if (name.equals("append") || name.startsWith("visible")) {
      create(EVENTS, false);
    } else if (name.equals("upsert")) {
      create(LATEST, true);
    }
  }

  private String run(String name, int seed) throws Exception {
    switch (name) {
      case "append":
        return append(seed);
      case "upsert":
        return upsert(seed);
      case "scan":
        return scan(null);
      case "scan-2":
        return scan(List.of("id", "c1"));
      case "lookup":
        return lookupMany(seed);
      case "lookup-1":
        return lookupOneByOne(seed);
      case "visible":
        return visible(0);
      case "visible-busy":
        return visible(20_000);
      default:
        throw new IllegalArgumentException("there is no case " + name);
    }
  }

  private void create(TablePath path, boolean keyed) throws Exception {
    Schema.Builder columns =
        Schema.newBuilder()
            .column("id", DataTypes.BIGINT())
            .column("c1", DataTypes.INT())
            .column("c2", DataTypes.INT())
            .column("c3", DataTypes.BIGINT());
    for (String text : List.of("s1", "s2", "s3", "s4")) {
      columns = columns.column(text, DataTypes.STRING());
    }
    Schema schema = (keyed ? columns.primaryKey("id") : columns).build();
    TableDescriptor.Builder described = TableDescriptor.builder().schema(schema);
    described = keyed ? described.distributedBy(BUCKETS, "id") : described.distributedBy(BUCKETS);
    try (Admin admin = connection.getAdmin()) {
      admin.dropTable(path, true).get();
      admin.createTable(path, described.build(), false).get();
      // A new table's buckets may have no leader yet.
      for (int tries = 0; ; tries++) {
        try {
          ends(admin, path);
          return;
        } catch (Exception e) {
          if (tries == 100) {
            throw e;
          }
          Thread.sleep(100);
        }
      }
    }
  }

  private static Map<Integer, Long> ends(Admin admin, TablePath path) throws Exception {
    List<Integer> buckets = IntStream.range(0, BUCKETS).boxed().collect(Collectors.toList());
    return admin.listOffsets(path, buckets, new OffsetSpec.LatestSpec()).all().get();
  }

  private static BinaryString letters(SplittableRandom random, int count) {
    byte[] letters = new byte[count];
    for (int i = 0; i < count; i++) {
      letters[i] = (byte) ('a' + random.nextInt(26));
    }
    return BinaryString.fromBytes(letters);
  }

  /** 100 bytes of values. */
  private static GenericRow row(SplittableRandom random, long id) {
    return GenericRow.of(
        id, random.nextInt(), random.nextInt(), random.nextLong(), letters(random, 16), letters(random, 20), letters(random, 20), letters(random, 20));
  }

  private static GenericRow[] pool(SplittableRandom random) {
    return IntStream.range(0, POOL).mapToObj(i -> row(random, i)).toArray(GenericRow[]::new);
  }

  private String append(int seed) throws Exception {
    GenericRow[] pool = pool(new SplittableRandom(seed));
    try (Table table = connection.getTable(EVENTS)) {
      AppendWriter writer = table.newAppend().createWriter();
      for (int i = 0; i < rows; i++) {
        GenericRow next = pool[i % POOL];
        next.setField(0, (long) i);
        writer.append(next);
      }
      writer.flush();
    }
    return "";
  }

  private String upsert(int seed) throws Exception {
    SplittableRandom random = new SplittableRandom(seed);
    GenericRow[] pool = pool(random);
    try (Table table = connection.getTable(LATEST)) {
      UpsertWriter writer = table.newUpsert().createWriter();
      for (int i = 0; i < rows; i++) {
        GenericRow next = pool[i % POOL];
        next.setField(0, (long) random.nextInt(KEYS));
        writer.upsert(next);
      }
      writer.flush();
    }
    return "";
  }

  /** Reads all that {@code append} left; touches a column of each row. */
  private String scan(List<String> columns) throws Exception {
    try (Admin admin = connection.getAdmin(); Table table = connection.getTable(EVENTS)) {
      long wanted = ends(admin, EVENTS).values().stream().mapToLong(Long::longValue).sum();
      if (wanted != rows) {
        throw new IllegalStateException("the table has " + wanted + " rows, not " + rows);
      }
      Scan scan = columns == null ? table.newScan() : table.newScan().project(columns);
      long seen = 0;
      long sum = 0;
      try (LogScanner scanner = scan.createLogScanner()) {
        IntStream.range(0, BUCKETS).forEach(scanner::subscribeFromBeginning);
        while (seen < wanted) {
          for (ScanRecord found : scanner.poll(Duration.ofSeconds(1))) {
            InternalRow row = found.getRow();
            sum += row.getLong(0) + (columns == null ? row.getString(4).getSizeInBytes() : row.getInt(1));
            seen++;
          }
        }
      }
      if (sum == 0) {
        throw new IllegalStateException("the rows are empty");
      }
    }
    return "";
  }

  private static String percentiles(List<Long> nanos) {
    Collections.sort(nanos);
    return String.format(" %.3f %.3f", nanos.get(nanos.size() / 2) / 1e6, nanos.get(nanos.size() * 99 / 100) / 1e6);
  }

  private String lookupOneByOne(int seed) throws Exception {
    SplittableRandom random = new SplittableRandom(seed);
    List<Long> nanos = new ArrayList<>();
    try (Table table = connection.getTable(LATEST)) {
      Lookuper lookuper = table.newLookup().createLookuper();
      for (int i = 0; i < rows; i++) {
        long start = System.nanoTime();
        lookuper.lookup(GenericRow.of((long) random.nextInt(KEYS))).get();
        nanos.add(System.nanoTime() - start);
      }
    }
    return percentiles(nanos);
  }

  private String lookupMany(int seed) throws Exception {
    int atOnce = 1000;
    SplittableRandom random = new SplittableRandom(seed);
    AtomicLong found = new AtomicLong();
    Semaphore free = new Semaphore(atOnce);
    try (Table table = connection.getTable(LATEST)) {
      Lookuper lookuper = table.newLookup().createLookuper();
      for (int i = 0; i < rows; i++) {
        free.acquire();
        lookuper
            .lookup(GenericRow.of((long) random.nextInt(KEYS)))
            .whenComplete(
                (result, failure) -> {
                  if (failure == null && result.getSingletonRow() != null) {
                    found.incrementAndGet();
                  }
                  free.release();
                });
      }
      free.acquire(atOnce);
    }
    if (found.get() == 0) {
      throw new IllegalStateException("none of " + rows + " keys was found");
    }
    return "";
  }

  /** One row is written and flushed; how long until a subscribed scanner has it; beside so many other rows a second. */
  private String visible(int beside) throws Exception {
    long marked = 1L << 50;
    List<Long> nanos = new ArrayList<>();
    SplittableRandom random = new SplittableRandom(1);
    AtomicBoolean ended = new AtomicBoolean();
    AtomicLong seen = new AtomicLong(-1);
    try (Table table = connection.getTable(EVENTS); LogScanner scanner = table.newScan().createLogScanner()) {
      IntStream.range(0, BUCKETS).forEach(scanner::subscribeFromBeginning);
      Thread reader =
          new Thread(
              () -> {
                while (!ended.get()) {
                  for (ScanRecord found : scanner.poll(Duration.ofMillis(100))) {
                    long id = found.getRow().getLong(0);
                    if (id >= marked) {
                      synchronized (seen) {
                        seen.set(id - marked);
                        seen.notifyAll();
                      }
                    }
                  }
                }
              });
      reader.start();
      CountDownLatch busy = new CountDownLatch(beside > 0 ? 1 : 0);
      Thread others = new Thread(() -> writeBeside(beside, ended, busy));
      others.start();
      busy.await();
      AppendWriter writer = table.newAppend().createWriter();
      for (int i = 0; i < rows; i++) {
        GenericRow next = row(random, marked + i);
        long start = System.nanoTime();
        writer.append(next);
        writer.flush();
        synchronized (seen) {
          while (seen.get() < i) {
            seen.wait();
          }
        }
        // The first ones meet a client that does not know all leaders yet.
        if (i >= 10) {
          nanos.add(System.nanoTime() - start);
        }
        Thread.sleep(random.nextInt(20));
      }
      ended.set(true);
      reader.join();
      others.join();
    }
    return percentiles(nanos);
  }

  private void writeBeside(int perSecond, AtomicBoolean ended, CountDownLatch busy) {
    if (perSecond == 0) {
      return;
    }
    try (Connection own = ConnectionFactory.createConnection(settings); Table table = own.getTable(EVENTS)) {
      AppendWriter writer = table.newAppend().createWriter();
      SplittableRandom random = new SplittableRandom(2);
      long start = System.nanoTime();
      for (long written = 0; !ended.get(); ) {
        long due = (System.nanoTime() - start) * perSecond / 1_000_000_000L;
        for (; written < due; written++) {
          writer.append(row(random, written));
        }
        if (due > perSecond) {
          busy.countDown();
        }
        Thread.sleep(2);
      }
      writer.flush();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    } finally {
      busy.countDown();
    }
  }
}
