package io.sluice.flink.lookup;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;

import javax.annotation.Nullable;

import io.sluice.flink.StoreTable;
import io.sluice.flink.source.scan.StoreTableClient;
import io.sluice.store.RowBlock;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.table.api.TableException;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.RowType;

/**
 * How the keys of a lookup join become keys of the table and the rows found become answers. The join may name its keys in any order,
 * and more of them than the table's key has: those are compared afterwards, for the planner trusts us with all equalities.
 */
final class LookupPlan implements Serializable {
  private static final long serialVersionUID = 1L;

  private final StoreTable table;
  private final RowType rowType;
  private final RowType joinKeyType;
  private final ArrayList<String> tableKey;
  /** For each column of the table's key its field in the join's key. */
  private final int[] keyFields;
  private final ValueComparison[] others;
  /** Whether answers are kept and so must not hold on to a whole block. */
  private final boolean kept;
  /** Whether a key that finds nothing gets a row. */
  private final boolean inserting;

  @Nullable private transient RowDataSerializer joinKeys;

  private LookupPlan(
      StoreTable table, RowType rowType, List<String> joinKeys, List<String> tableKey, boolean kept, boolean inserting) {
    this.table = table;
    this.rowType = rowType;
    this.joinKeyType = typeOf(table, joinKeys);
    this.tableKey = new ArrayList<>(tableKey);
    this.keyFields = tableKey.stream().mapToInt(joinKeys::indexOf).toArray();
    this.others = others(table, rowType, joinKeys, tableKey);
    this.kept = kept;
    this.inserting = inserting;
  }

  /**
   * Plans lookups.
   *
   * @param rowType the columns wanted
   * @param keys the join's keys as paths into {@code rowType}
   * @param kept whether answers go into a cache
   * @param inserting whether a key that finds nothing gets a row
   * @throws TableException when the keys do not hold the primary key, nor a bucket key that is a prefix of it
   * @throws IllegalArgumentException when rows shall be inserted and cannot be
   */
  static LookupPlan of(StoreTable table, RowType rowType, int[][] keys, boolean kept, boolean inserting) {
    if (!table.hasPrimaryKey()) {
      throw new UnsupportedOperationException(
          "Lookup joins only support lookup table with primary key; table " + table + " is a log table.");
    }
    List<String> joinKeys = new ArrayList<>();
    for (int[] path : keys) {
      if (path.length != 1) {
        throw new TableException("A lookup join on table " + table + " cannot have a nested field as its key.");
      }
      joinKeys.add(rowType.getFieldNames().get(path[0]));
    }
    List<String> tableKey = tableKey(table, joinKeys);
    if (inserting) {
      checkInserting(table, tableKey);
    }
    return new LookupPlan(table, rowType, joinKeys, tableKey, kept, inserting);
  }

  private static void checkInserting(StoreTable table, List<String> tableKey) {
    List<String> primaryKey = names(table, table.primaryKey());
    if (!tableKey.equals(primaryKey)) {
      throw new IllegalArgumentException(
          String.format(
              "'lookup.insert-if-not-exists' = 'true' is not possible for a prefix lookup: the join on table %s has equalities on %s only,"
                  + " its primary key is %s.",
              table, tableKey, primaryKey));
    }
    for (RowType.RowField field : table.rowType().getFields()) {
      boolean filled = primaryKey.contains(field.getName()) || table.autoIncrement().filter(field.getName()::equals).isPresent();
      if (!filled && !field.getType().isNullable()) {
        throw new IllegalArgumentException(
            String.format(
                "'lookup.insert-if-not-exists' = 'true' is not possible for table %s: its column '%s' is NOT NULL, and a new row would have no"
                    + " value for it.",
                table, field.getName()));
      }
    }
  }

  private static List<String> tableKey(StoreTable table, List<String> joinKeys) {
    List<String> primaryKey = names(table, table.primaryKey());
    if (joinKeys.containsAll(primaryKey)) {
      return primaryKey;
    }
    // What rows of one partition are kept by; the bucket key must begin it.
    List<String> rowKey = new ArrayList<>(primaryKey);
    rowKey.removeAll(table.partitionKeys());
    List<String> bucketKey = names(table, table.bucketKey());
    boolean prefix = bucketKey.size() < rowKey.size() && rowKey.subList(0, bucketKey.size()).equals(bucketKey);
    List<String> prefixKey = new ArrayList<>(bucketKey);
    prefixKey.addAll(table.partitionKeys());
    if (prefix && !bucketKey.isEmpty() && joinKeys.containsAll(prefixKey)) {
      return prefixKey;
    }
    throw new TableException(
        String.format(
            "A lookup join on table %s requires lookup keys to include all primary keys %s%s, but the join has equalities on %s only.",
            table, primaryKey, prefix ? prefixHint(table, bucketKey) : "", joinKeys));
  }

  private static String prefixHint(StoreTable table, List<String> bucketKey) {
    return " or all bucket keys " + bucketKey + (table.isPartitioned() ? " with all partition keys " + table.partitionKeys() : "");
  }

  private static List<String> names(StoreTable table, int[] positions) {
    List<String> names = new ArrayList<>();
    Arrays.stream(positions).forEach(position -> names.add(table.rowType().getFieldNames().get(position)));
    return names;
  }

  private static RowType typeOf(StoreTable table, List<String> columns) {
    List<RowType.RowField> fields = new ArrayList<>();
    columns.forEach(column -> fields.add(table.rowType().getFields().get(table.rowType().getFieldIndex(column))));
    return new RowType(false, fields);
  }

  private static ValueComparison[] others(StoreTable table, RowType rowType, List<String> joinKeys, List<String> tableKey) {
    List<ValueComparison> others = new ArrayList<>();
    for (int field = 0; field < joinKeys.size(); field++) {
      String column = joinKeys.get(field);
      // The same column may be compared with two values: both must hold.
      if (!tableKey.contains(column) || joinKeys.indexOf(column) != field) {
        int position = rowType.getFieldIndex(column);
        others.add(ValueComparison.of(table.toString(), column, rowType.getTypeAt(position), field, position));
      }
    }
    return others.toArray(new ValueComparison[0]);
  }

  StoreTable table() {
    return table;
  }

  KeySession open(StoreTableClient client) {
    return KeySession.open(client, table, tableKey, rowType.getFieldNames(), inserting);
  }

  KeyBatch newBatch(int rowsMax) {
    return new KeyBatch(joinKeyType, keyFields, rowsMax);
  }

  /** Whether the key can match anything: NULL equals nothing, so a key with one is not even asked for. */
  boolean canMatch(RowData joinKey) {
    for (int field = 0; field < joinKey.getArity(); field++) {
      if (joinKey.isNullAt(field)) {
        return false;
      }
    }
    return true;
  }

  /** A copy of a key of the join that shares nothing with it. One thread at a time. */
  RowData copy(RowData joinKey) {
    if (joinKeys == null) {
      joinKeys = new RowDataSerializer(joinKeyType);
    }
    return joinKeys.toBinaryRow(joinKey).copy();
  }

  /** Whether answers are compared with more than the table's key. */
  boolean comparesMore() {
    return others.length > 0;
  }

  /** The rows found for one key of a block. */
  Collection<RowData> rows(RowBlock block, MemorySegment[] memory, int key, RowData joinKey) {
    int first = key == 0 ? 0 : block.keyEnd(key - 1);
    int end = block.keyEnd(key);
    if (first == end) {
      return Collections.emptyList();
    }
    List<RowData> rows = new ArrayList<>(end - first);
    for (int i = first; i < end; i++) {
      BinaryRowData row = new BinaryRowData(rowType.getFieldCount());
      row.pointTo(memory, block.rowStart(i), block.rowLength(i));
      if (matches(joinKey, row)) {
        rows.add(kept ? row.copy() : row);
      }
    }
    return rows;
  }

  private boolean matches(RowData joinKey, RowData row) {
    for (ValueComparison other : others) {
      if (!other.equal(joinKey, row)) {
        return false;
      }
    }
    return true;
  }

  /** The memory of a block as rows want it. */
  static MemorySegment[] memory(RowBlock block) {
    return new MemorySegment[] {MemorySegmentFactory.wrap(block.bytes())};
  }
}
