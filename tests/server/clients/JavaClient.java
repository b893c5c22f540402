import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.ConnectionFactory;
import org.apache.fluss.client.admin.Admin;
import org.apache.fluss.client.admin.KvSnapshotLease;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.metadata.KvSnapshots;
import org.apache.fluss.client.lookup.Lookuper;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.Scan;
import org.apache.fluss.client.table.scanner.ScanRecord;
import org.apache.fluss.client.table.scanner.batch.BatchScanner;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.client.table.writer.AppendWriter;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.config.Configuration;
import org.apache.fluss.metadata.DatabaseDescriptor;
import org.apache.fluss.metadata.PartitionSpec;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableBucket;
import org.apache.fluss.metadata.TableChange;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.row.InternalRow;
import org.apache.fluss.types.DataTypes;
import org.apache.fluss.utils.CloseableIterator;

/**
 * Programs of a user of the Java client against a running server. Each prints one line; the last line is {@code N passed, N failed}.
 *
 * <p>{@code java -cp fluss-client.jar JavaClient.java HOST:PORT [HOST:PORT USER PASSWORD]}, the latter of a
 * listener that asks for them
 */
public final class JavaClient {

    private interface Program {
        void run() throws Exception;
    }

    private final Connection connection;
    private final Admin admin;

    private JavaClient(Connection connection) {
        this.connection = connection;
        this.admin = connection.getAdmin();
    }

    public static void main(String[] args) throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("bootstrap.servers", args[0]);
        int failed = 0;
        Map<String, Program> programs = new LinkedHashMap<>();
        try (Connection connection = ConnectionFactory.createConnection(configuration)) {
            JavaClient client = new JavaClient(connection);
            programs.put("databases and tables", client::databasesAndTables);
            programs.put("append and scan", client::appendAndScan);
            programs.put("upsert, delete, lookup", client::upsertDeleteLookup);
            programs.put("changelog", client::changelog);
            programs.put("snapshot of rows, then the changelog", client::snapshotThenChangelog);
            programs.put("prefix lookup", client::prefixLookup);
            programs.put("limit scan", client::limitScan);
            programs.put("a column is added", client::columnAdded);
            programs.put("partitions", client::partitions);
            programs.put("what is not there", client::notThere);
            if (args.length > 1) {
                programs.put("a password is asked for", () -> passwordAsked(args[1], args[2], args[3]));
            }
            for (Map.Entry<String, Program> program : programs.entrySet()) {
                long begun = System.nanoTime();
                try {
                    CompletableFuture.runAsync(() -> {
                        try {
                            program.getValue().run();
                        } catch (Exception e) {
                            throw new java.util.concurrent.CompletionException(e);
                        }
                    }).get(90, TimeUnit.SECONDS);
                    System.out.printf("ok      java %s (%.1f s)%n", program.getKey(), (System.nanoTime() - begun) / 1e9);
                } catch (Throwable e) {
                    failed++;
                    System.out.printf("FAILED  java %s%n", program.getKey());
                    e.printStackTrace(System.out);
                }
            }
        }
        System.out.printf("%d passed, %d failed%n", programs.size() - failed, failed);
        System.exit(failed == 0 ? 0 : 1);
    }

    private static Configuration secured(String bootstrap, String user, String password) {
        Configuration secured = new Configuration();
        secured.setString("bootstrap.servers", bootstrap);
        secured.setString("client.security.protocol", "SASL");
        secured.setString("client.security.sasl.mechanism", "PLAIN");
        secured.setString("client.security.sasl.username", user);
        secured.setString("client.security.sasl.password", password);
        return secured;
    }

    private static void passwordAsked(String bootstrap, String user, String password) throws Exception {
        try (Connection secure = ConnectionFactory.createConnection(secured(bootstrap, user, password))) {
            JavaClient client = new JavaClient(secure);
            client.databasesAndTables();
            client.appendAndScan();
            client.upsertDeleteLookup();
        }
        refused("Invalid username or password", secured(bootstrap, user, "wrong"));
        refused("Invalid username or password", secured(bootstrap, "nobody", password));
        Configuration plain = new Configuration();
        plain.setString("bootstrap.servers", bootstrap);
        refused("has not completed authentication yet", plain);
    }

    private static void refused(String why, Configuration configuration) throws Exception {
        StringBuilder said = new StringBuilder();
        try (Connection connection = ConnectionFactory.createConnection(configuration)) {
            connection.getAdmin().listDatabases().get(30, TimeUnit.SECONDS);
        } catch (Exception e) {
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                said.append(cause).append('\n');
            }
        }
        same(true, said.indexOf(why) >= 0 ? true : said.toString());
    }

    private static void same(Object expected, Object found) {
        if (!expected.equals(found)) {
            throw new AssertionError("expected " + expected + ", found " + found);
        }
    }

    private TablePath create(String name, Schema schema, int buckets, String... bucketKeys) throws Exception {
        TablePath path = TablePath.of("fluss", name + "_" + System.nanoTime());
        TableDescriptor table = TableDescriptor.builder().schema(schema).distributedBy(buckets, bucketKeys).build();
        admin.createTable(path, table, false).get();
        return path;
    }

    private static Schema log() {
        return Schema.newBuilder()
                .column("id", DataTypes.INT())
                .column("name", DataTypes.STRING())
                .column("amount", DataTypes.BIGINT())
                .build();
    }

    private static Schema keyed() {
        return Schema.newBuilder()
                .column("id", DataTypes.INT())
                .column("name", DataTypes.STRING())
                .column("amount", DataTypes.BIGINT())
                .primaryKey("id")
                .build();
    }

    private static GenericRow row(int id) {
        return GenericRow.of(id, id % 7 == 6 ? null : BinaryString.fromString("name " + id), id * 1_000_000_000L);
    }

    private static String show(InternalRow row) {
        return row.getInt(0) + "/" + (row.isNullAt(1) ? null : row.getString(1)) + "/" + row.getLong(2);
    }

    /** Rows of all buckets from the beginning, until as many came as are wanted. */
    private static List<ScanRecord> read(Scan scan, int buckets, int wanted) throws Exception {
        List<ScanRecord> records = new ArrayList<>();
        long deadline = System.nanoTime() + 30_000_000_000L;
        try (LogScanner scanner = scan.createLogScanner()) {
            IntStream.range(0, buckets).forEach(scanner::subscribeFromBeginning);
            while (records.size() < wanted && System.nanoTime() < deadline) {
                scanner.poll(Duration.ofSeconds(1)).forEach(records::add);
            }
        }
        same(wanted, records.size());
        return records;
    }

    private static List<String> few(Table table, int bucket, int limit) throws Exception {
        List<String> rows = new ArrayList<>();
        TableBucket id = new TableBucket(table.getTableInfo().getTableId(), bucket);
        try (BatchScanner scanner = table.newScan().limit(limit).createBatchScanner(id)) {
            while (true) {
                CloseableIterator<InternalRow> batch = scanner.pollBatch(Duration.ofSeconds(10));
                if (batch == null) {
                    return rows;
                }
                batch.forEachRemaining(row -> rows.add(show(row)));
                batch.close();
            }
        }
    }

    private void databasesAndTables() throws Exception {
        String name = "j" + System.nanoTime();
        admin.createDatabase(name, DatabaseDescriptor.builder().comment("c").customProperty("k", "v").build(), false).get();
        same(true, admin.listDatabases().get().contains(name));
        same("v", admin.getDatabaseInfo(name).get().getDatabaseDescriptor().getCustomProperties().get("k"));
        TablePath path = TablePath.of(name, "t");
        TableDescriptor table = TableDescriptor.builder().schema(keyed()).distributedBy(4, "id").property("table.log.ttl", "1d").comment("x").build();
        admin.createTable(path, table, false).get();
        same(4, admin.getTableInfo(path).get().getNumBuckets());
        same("1d", admin.getTableInfo(path).get().getProperties().toMap().get("table.log.ttl"));
        same(Collections.singletonList("t"), admin.listTables(name).get());
        admin.alterTable(path, Collections.singletonList(TableChange.set("custom.key", "1")), false).get();
        same("1", admin.getTableInfo(path).get().getCustomProperties().toMap().get("custom.key"));
        admin.dropDatabase(name, false, true).get();
        same(false, admin.databaseExists(name).get());
    }

    private void appendAndScan() throws Exception {
        TablePath path = create("append", log(), 3);
        try (Table table = connection.getTable(path)) {
            AppendWriter writer = table.newAppend().createWriter();
            for (int id = 0; id < 20_000; id++) {
                writer.append(row(id));
            }
            writer.flush();
            List<String> written = IntStream.range(0, 20_000).mapToObj(id -> show(row(id))).sorted().collect(Collectors.toList());
            List<String> read = read(table.newScan(), 3, 20_000).stream().map(r -> show(r.getRow())).sorted().collect(Collectors.toList());
            same(written, read);
            long names = read(table.newScan().project(new int[] {1}), 3, 20_000).stream().filter(r -> !r.getRow().isNullAt(0)).count();
            same(20_000L - 20_000 / 7, names);
            long end = 0;
            for (long offset : admin.listOffsets(path, Arrays.asList(0, 1, 2), new OffsetSpec.LatestSpec()).all().get().values()) {
                end += offset;
            }
            same(20_000L, end);
            same(20_000L, admin.getTableStats(path).get().getRowCount());
        }
    }

    private void upsertDeleteLookup() throws Exception {
        TablePath path = create("upsert", keyed(), 3, "id");
        try (Table table = connection.getTable(path)) {
            UpsertWriter writer = table.newUpsert().createWriter();
            for (int id = 0; id < 2000; id++) {
                writer.upsert(row(id));
            }
            writer.flush();
            writer.delete(row(5)).get();
            writer.upsert(GenericRow.of(7, BinaryString.fromString("new"), 7L)).get();
            Lookuper lookuper = table.newLookup().createLookuper();
            for (int id : new int[] {0, 6, 128, 1999}) {
                same(show(row(id)), show(lookuper.lookup(GenericRow.of(id)).get().getSingletonRow()));
            }
            same("7/new/7", show(lookuper.lookup(GenericRow.of(7)).get().getSingletonRow()));
            same(true, lookuper.lookup(GenericRow.of(5)).get().getRowList().isEmpty());
            same(1999L, admin.getTableStats(path).get().getRowCount());
        }
    }

    /** The writers create partitions that are missing. */
    private void partitions() throws Exception {
        TablePath path = TablePath.of("fluss", "cut_" + System.nanoTime());
        TableDescriptor log = TableDescriptor.builder().schema(log()).partitionedBy("name").distributedBy(2).build();
        admin.createTable(path, log, false).get();
        admin.createPartition(path, new PartitionSpec(Collections.singletonMap("name", "eu")), false).get();
        try (Table table = connection.getTable(path)) {
            AppendWriter writer = table.newAppend().createWriter();
            for (int id = 0; id < 1000; id++) {
                writer.append(GenericRow.of(id, BinaryString.fromString(id % 2 == 0 ? "eu" : "us"), 1L));
            }
            writer.flush();
            Map<String, Long> ids = ids(path);
            same(new TreeMap<>(ids).keySet().toString(), "[eu, us]");
            for (String name : ids.keySet()) {
                int rows = 0;
                long deadline = System.nanoTime() + 30_000_000_000L;
                try (LogScanner scanner = table.newScan().createLogScanner()) {
                    IntStream.range(0, 2).forEach(bucket -> scanner.subscribeFromBeginning(ids.get(name), bucket));
                    while (rows < 500 && System.nanoTime() < deadline) {
                        for (ScanRecord record : scanner.poll(Duration.ofSeconds(1))) {
                            same(name, record.getRow().getString(1).toString());
                            rows++;
                        }
                    }
                }
                same(500, rows);
            }
        }
        admin.dropPartition(path, new PartitionSpec(Collections.singletonMap("name", "eu")), false).get();
        same("[us]", ids(path).keySet().toString());

        TablePath keyedPath = TablePath.of("fluss", "keyed_cut_" + System.nanoTime());
        Schema schema = Schema.newBuilder()
                .column("id", DataTypes.INT())
                .column("name", DataTypes.STRING())
                .column("amount", DataTypes.BIGINT())
                .primaryKey("id", "name")
                .build();
        admin.createTable(keyedPath, TableDescriptor.builder().schema(schema).partitionedBy("name").distributedBy(2, "id").build(), false).get();
        try (Table table = connection.getTable(keyedPath)) {
            UpsertWriter writer = table.newUpsert().createWriter();
            for (int id = 0; id < 200; id++) {
                writer.upsert(GenericRow.of(id % 100, BinaryString.fromString(id % 2 == 0 ? "eu" : "us"), (long) id));
            }
            writer.flush();
            Lookuper lookuper = table.newLookup().createLookuper();
            same("3/us/103", show(lookuper.lookup(GenericRow.of(3, BinaryString.fromString("us"))).get().getSingletonRow()));
            for (String miss : new String[] {"eu", "asia"}) {
                same(true, lookuper.lookup(GenericRow.of(3, BinaryString.fromString(miss))).get().getRowList().isEmpty());
            }
        }
    }

    private Map<String, Long> ids(TablePath path) throws Exception {
        Map<String, Long> ids = new TreeMap<>();
        admin.listPartitionInfos(path).get().forEach(partition -> ids.put(partition.getPartitionName(), partition.getPartitionId()));
        return ids;
    }

    private void changelog() throws Exception {
        TablePath path = create("changelog", keyed(), 1, "id");
        try (Table table = connection.getTable(path)) {
            UpsertWriter writer = table.newUpsert().createWriter();
            writer.upsert(row(1)).get();
            writer.upsert(GenericRow.of(1, null, 2L)).get();
            writer.delete(row(1)).get();
            List<String> seen = read(table.newScan(), 1, 4).stream()
                    .map(r -> r.getChangeType().shortString() + " " + show(r.getRow()))
                    .collect(Collectors.toList());
            same(Arrays.asList("+I " + show(row(1)), "-U " + show(row(1)), "+U 1/null/2", "-D 1/null/2"), seen);
        }
    }

    /** The files of a snapshot are opened by the RocksDB that is in the client. */
    private void snapshotThenChangelog() throws Exception {
        TablePath path = create("snapshot", keyed(), 2, "id");
        try (Table table = connection.getTable(path)) {
            KvSnapshots none = admin.getLatestKvSnapshots(path).get();
            same(2, none.getBucketIds().size());
            same(false, none.getSnapshotId(0).isPresent());
            Map<Integer, String> expected = new TreeMap<>();
            UpsertWriter writer = table.newUpsert().createWriter();
            for (int id = 0; id < 3000; id++) {
                writer.upsert(row(id));
                expected.put(id, show(row(id)));
            }
            writer.flush();
            for (int id = 0; id < 3000; id += 7) {
                writer.delete(row(id));
                expected.remove(id);
            }
            writer.flush();
            KvSnapshots snapshots = admin.getLatestKvSnapshots(path).get();
            KvSnapshotLease lease = admin.createKvSnapshotLease("a lease", 60_000L);
            Map<TableBucket, Long> wanted = new LinkedHashMap<>();
            for (int bucket : snapshots.getBucketIds()) {
                wanted.put(new TableBucket(snapshots.getTableId(), bucket), snapshots.getSnapshotId(bucket).getAsLong());
            }
            same(true, lease.acquireSnapshots(wanted).get().getUnavailableTableBucketSet().isEmpty());
            writer.upsert(GenericRow.of(1, BinaryString.fromString("later"), 1L));
            writer.upsert(row(7));
            writer.flush();
            Map<Integer, String> found = new TreeMap<>();
            Map<TableBucket, Long> from = new LinkedHashMap<>();
            for (Map.Entry<TableBucket, Long> bucket : wanted.entrySet()) {
                try (BatchScanner scanner = table.newScan().createBatchScanner(bucket.getKey(), bucket.getValue())) {
                    CloseableIterator<InternalRow> rows;
                    while ((rows = scanner.pollBatch(Duration.ofSeconds(10))) != null) {
                        rows.forEachRemaining(r -> found.put(r.getInt(0), show(r)));
                        rows.close();
                    }
                }
                from.put(bucket.getKey(), snapshots.getLogOffset(bucket.getKey().getBucket()).getAsLong());
            }
            same(expected, found);
            List<String> after = new ArrayList<>();
            try (LogScanner scanner = table.newScan().createLogScanner()) {
                from.forEach((bucket, offset) -> scanner.subscribe(bucket.getBucket(), offset));
                for (long end = System.nanoTime() + 30_000_000_000L; after.size() < 3 && System.nanoTime() < end; ) {
                    for (ScanRecord record : scanner.poll(Duration.ofMillis(100))) {
                        after.add(record.getChangeType().shortString() + " " + show(record.getRow()));
                    }
                }
            }
            Collections.sort(after);
            same(Arrays.asList("+I " + show(row(7)), "+U 1/later/1", "-U " + show(row(1))), after);
            lease.releaseSnapshots(wanted.keySet()).get();
            lease.dropLease().get();
        }
    }

    private void prefixLookup() throws Exception {
        Schema schema = Schema.newBuilder()
                .column("a", DataTypes.STRING())
                .column("b", DataTypes.INT())
                .column("v", DataTypes.BIGINT())
                .primaryKey("a", "b")
                .build();
        TablePath path = create("prefix", schema, 3, "a");
        try (Table table = connection.getTable(path)) {
            UpsertWriter writer = table.newUpsert().createWriter();
            for (String a : new String[] {"x", "xy", "z"}) {
                for (int b = 0; b < 4; b++) {
                    writer.upsert(GenericRow.of(BinaryString.fromString(a), b, (long) b));
                }
            }
            writer.flush();
            Lookuper lookuper = table.newLookup().lookupBy("a").createLookuper();
            List<InternalRow> rows = lookuper.lookup(GenericRow.of(BinaryString.fromString("x"))).get().getRowList();
            same(Arrays.asList(0, 1, 2, 3), rows.stream().map(r -> r.getInt(1)).sorted().collect(Collectors.toList()));
        }
    }

    private void limitScan() throws Exception {
        TablePath log = create("few", log(), 1);
        TablePath kv = create("few_keyed", keyed(), 1, "id");
        try (Table logTable = connection.getTable(log); Table kvTable = connection.getTable(kv)) {
            AppendWriter appender = logTable.newAppend().createWriter();
            UpsertWriter upserter = kvTable.newUpsert().createWriter();
            for (int id = 0; id < 100; id++) {
                appender.append(row(id)).get();
                upserter.upsert(row(id));
            }
            upserter.flush();
            List<String> last = IntStream.range(90, 100).mapToObj(id -> show(row(id))).collect(Collectors.toList());
            same(last, few(logTable, 0, 10));
            same(10, few(kvTable, 0, 10).size());
            same(100, few(kvTable, 0, 1000).size());
        }
    }

    private void columnAdded() throws Exception {
        TablePath path = create("evolved", log(), 1);
        try (Table table = connection.getTable(path)) {
            AppendWriter writer = table.newAppend().createWriter();
            writer.append(row(1)).get();
        }
        TableChange change = TableChange.addColumn("extra", DataTypes.STRING(), null, TableChange.ColumnPosition.last());
        admin.alterTable(path, Collections.singletonList(change), false).get();
        same(2, admin.getTableSchema(path).get().getSchemaId());
        same(3, admin.getTableSchema(path, 1).get().getSchema().getColumns().size());
        try (Table table = connection.getTable(path)) {
            AppendWriter writer = table.newAppend().createWriter();
            writer.append(GenericRow.of(2, null, 2L, BinaryString.fromString("more"))).get();
            Map<Integer, String> extra = new TreeMap<>();
            for (ScanRecord record : read(table.newScan(), 1, 2)) {
                InternalRow row = record.getRow();
                extra.put(row.getInt(0), row.isNullAt(3) ? "NULL" : row.getString(3).toString());
            }
            same("{1=NULL, 2=more}", extra.toString());
        }
    }

    private void notThere() throws Exception {
        Map<String, Program> calls = new LinkedHashMap<>();
        calls.put("TableNotExistException", () -> admin.getTableInfo(TablePath.of("fluss", "nope")).get());
        calls.put("DatabaseNotExistException", () -> admin.getDatabaseInfo("nope").get());
        TablePath path = create("there", log(), 1);
        calls.put("TableAlreadyExistException", () -> admin.createTable(path, TableDescriptor.builder().schema(log()).build(), false).get());
        calls.put("LakeTableSnapshotNotExistException", () -> admin.getLatestLakeSnapshot(path).get());
        calls.put("TableNotPartitionedException", () -> admin.listPartitionInfos(path).get());
        calls.put("SecurityDisabledException", () -> admin.listAcls(org.apache.fluss.security.acl.AclBindingFilter.ANY).get());
        for (Map.Entry<String, Program> call : calls.entrySet()) {
            try {
                call.getValue().run();
            } catch (java.util.concurrent.ExecutionException e) {
                same(call.getKey(), e.getCause().getClass().getSimpleName());
                continue;
            }
            throw new AssertionError("no " + call.getKey());
        }
    }
}
