import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashSet;
import java.util.Set;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;

/** Compacts every table of a warehouse whose buckets are fixed, fully, as a dedicated compaction job of Paimon would. */
public class Compact {
    public static void main(String[] args) throws Exception {
        Path warehouse = Paths.get(args[0]);
        Options options = new Options();
        options.set("warehouse", warehouse.toUri().toString());
        Path scratch = Files.createTempDirectory("compact");
        int compacted = 0;
        try (Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(options))) {
            for (String name : catalog.listTables("judged")) {
                FileStoreTable table = (FileStoreTable) catalog.getTable(Identifier.create("judged", name));
                if (table.bucketMode() != BucketMode.HASH_FIXED) {
                    continue;
                }
                BatchWriteBuilder builder = table.newBatchWriteBuilder();
                try (BatchTableWrite write = builder.newWrite();
                        BatchTableCommit commit = builder.newCommit()) {
                    write.withIOManager(IOManager.create(scratch.toString()));
                    Set<String> seen = new HashSet<>();
                    for (Split split : table.newReadBuilder().newScan().plan().splits()) {
                        DataSplit data = (DataSplit) split;
                        if (seen.add(data.partition() + "/" + data.bucket())) {
                            write.compact(data.partition(), data.bucket(), true);
                        }
                    }
                    commit.commit(write.prepareCommit());
                }
                compacted += table.latestSnapshot().get().commitKind().name().equals("COMPACT") ? 1 : 0;
            }
        }
        System.out.println(compacted + " tables compacted");
        System.exit(compacted > 0 ? 0 : 1);
    }
}
