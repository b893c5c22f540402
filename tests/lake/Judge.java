import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.options.Options;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.StreamTableScan;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.RowType;

/** Reads a warehouse with Paimon's Java and compares every table with expected.json: rows, and the changelog of a streaming read. */
public class Judge {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    public static void main(String[] args) throws Exception {
        Path warehouse = Paths.get(args[0]);
        Options options = new Options();
        options.set("warehouse", warehouse.toUri().toString());
        int passed = 0;
        int failed = 0;
        try (Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(options))) {
            JsonNode tables = new ObjectMapper().readTree(Files.readAllBytes(warehouse.resolve("expected.json")));
            for (JsonNode expected : tables) {
                String name = expected.get("name").asText();
                String found;
                try {
                    found = judge(expected, catalog.getTable(Identifier.create("judged", name)));
                } catch (Exception e) {
                    found = e.toString() + " at " + Arrays.toString(e.getStackTrace()).substring(0, 600);
                }
                if (found == null) {
                    passed++;
                } else {
                    failed++;
                    System.out.println("java: " + name + ": " + found);
                }
            }
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 && passed > 0 ? 0 : 1);
    }

    private static String judge(JsonNode expected, Table table) throws Exception {
        List<String> columns = new ArrayList<>();
        expected.get("columns").forEach(c -> columns.add(c.asText()));
        if (!columns.equals(table.rowType().getFieldNames())) {
            return "columns " + table.rowType().getFieldNames();
        }
        ReadBuilder builder = table.newReadBuilder();
        String rows = compare("rows", expected.get("rows"), read(builder, builder.newScan().plan().splits(), table.rowType(), false));
        if (rows != null || expected.get("changes").isNull()) {
            return rows;
        }
        List<String> changes = new ArrayList<>();
        Map<String, String> fromStart = new HashMap<>();
        fromStart.put("scan.mode", "from-snapshot");
        fromStart.put("scan.snapshot-id", "1");
        Table streamed = table.copy(fromStart);
        ReadBuilder stream = streamed.newReadBuilder();
        StreamTableScan scan = stream.newStreamScan();
        long last = table.latestSnapshot().get().id();
        for (long i = 0; i <= last; i++) {
            changes.addAll(read(stream, scan.plan().splits(), table.rowType(), true));
        }
        return compare("changes", expected.get("changes"), changes);
    }

    private static List<String> read(ReadBuilder builder, List<Split> splits, RowType type, boolean kinds) throws Exception {
        List<String> rows = new ArrayList<>();
        try (RecordReader<InternalRow> reader = builder.newRead().createReader(splits)) {
            reader.forEachRemaining(
                    row -> {
                        ArrayNode values = JSON.arrayNode();
                        if (kinds) {
                            values.add(row.getRowKind().shortString());
                        }
                        fields(row, type, values);
                        rows.add(values.toString());
                    });
        }
        return rows;
    }

    private static String compare(String what, JsonNode expected, List<String> found) {
        Map<String, Integer> counts = new HashMap<>();
        expected.forEach(row -> counts.merge(row.toString(), 1, Integer::sum));
        List<String> extra = new ArrayList<>();
        for (String row : found) {
            Integer left = counts.get(row);
            if (left == null || left == 0) {
                extra.add(row);
            } else {
                counts.put(row, left - 1);
            }
        }
        List<String> missing = new ArrayList<>();
        counts.forEach((row, left) -> { for (int i = 0; i < left; i++) missing.add(row); });
        if (missing.isEmpty() && extra.isEmpty()) {
            return null;
        }
        return what + ": " + missing.size() + " missing " + some(missing) + ", " + extra.size() + " too many " + some(extra);
    }

    private static String some(List<String> rows) {
        String text = rows.subList(0, Math.min(2, rows.size())).toString();
        return text.substring(0, Math.min(1500, text.length()));
    }

    private static void fields(InternalRow row, RowType type, ArrayNode out) {
        for (int i = 0; i < type.getFieldCount(); i++) {
            out.add(value(InternalRow.createFieldGetter(type.getTypeAt(i), i).getFieldOrNull(row), type.getTypeAt(i)));
        }
    }

    private static JsonNode value(Object value, DataType type) {
        if (value == null) {
            return JSON.nullNode();
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return JSON.booleanNode((Boolean) value);
            case CHAR:
            case VARCHAR:
                return JSON.textNode(value.toString());
            case BINARY:
            case VARBINARY:
                StringBuilder hex = new StringBuilder();
                for (byte b : (byte[]) value) {
                    hex.append(String.format("%02x", b));
                }
                return JSON.textNode(hex.toString());
            case DECIMAL:
                BigInteger unscaled = ((org.apache.paimon.data.Decimal) value).toBigDecimal().setScale(((DecimalType) type).getScale()).unscaledValue();
                return JSON.textNode(unscaled.toString());
            case FLOAT:
                Float f = (Float) value;
                return JSON.textNode(f.isNaN() ? "NaN" : Integer.toHexString(Float.floatToRawIntBits(f)));
            case DOUBLE:
                Double d = (Double) value;
                return JSON.textNode(d.isNaN() ? "NaN" : Long.toHexString(Double.doubleToRawLongBits(d)));
            case TIMESTAMP_WITHOUT_TIME_ZONE:
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                Timestamp stamp = (Timestamp) value;
                BigInteger nanos = BigInteger.valueOf(stamp.getMillisecond()).multiply(BigInteger.valueOf(1_000_000));
                return JSON.textNode(nanos.add(BigInteger.valueOf(stamp.getNanoOfMillisecond())).toString());
            case ARRAY:
                return elements((InternalArray) value, ((ArrayType) type).getElementType());
            case MAP:
                InternalMap map = (InternalMap) value;
                ArrayNode keys = elements(map.keyArray(), ((MapType) type).getKeyType());
                ArrayNode values = elements(map.valueArray(), ((MapType) type).getValueType());
                ArrayNode pairs = JSON.arrayNode();
                for (int i = 0; i < keys.size(); i++) {
                    pairs.add(JSON.arrayNode().add(keys.get(i)).add(values.get(i)));
                }
                return pairs;
            case ROW:
                ArrayNode row = JSON.arrayNode();
                fields((InternalRow) value, (RowType) type, row);
                return row;
            default:
                return JSON.textNode(value.toString());
        }
    }

    private static ArrayNode elements(InternalArray array, DataType type) {
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(type);
        ArrayNode out = JSON.arrayNode();
        for (int i = 0; i < array.size(); i++) {
            out.add(value(getter.getElementOrNull(array, i), type));
        }
        return out;
    }
}
