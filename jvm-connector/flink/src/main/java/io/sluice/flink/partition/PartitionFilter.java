package io.sluice.flink.partition;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.apache.flink.table.expressions.ResolvedExpression;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;

/**
 * What a query's filters say about partitions, so that those without rows for it are not read. Filters stay in the plan: a condition that is
 * not understood here costs speed, never a row.
 */
public final class PartitionFilter implements Serializable {
  private static final long serialVersionUID = 1L;

  private final ArrayList<LogicalType> types;
  private final ArrayList<Condition> conditions;
  private final transient List<ResolvedExpression> filters;

  private PartitionFilter(ArrayList<LogicalType> types, ArrayList<Condition> conditions, List<ResolvedExpression> filters) {
    this.types = types;
    this.conditions = conditions;
    this.filters = filters;
  }

  /**
   * Finds what the filters say.
   *
   * @param rowType the table's columns
   * @param partitionKeys names of its partition columns, in order
   * @param filters what the planner asks for, all of which must hold
   * @return empty when they say nothing about partitions
   */
  public static Optional<PartitionFilter> of(RowType rowType, List<String> partitionKeys, List<ResolvedExpression> filters) {
    ArrayList<LogicalType> types = new ArrayList<>();
    partitionKeys.forEach(key -> types.add(rowType.getTypeAt(rowType.getFieldIndex(key))));
    ConditionReader reader = new ConditionReader(partitionKeys, types);
    ArrayList<Condition> conditions = new ArrayList<>();
    List<ResolvedExpression> used = new ArrayList<>();
    for (ResolvedExpression filter : filters) {
      reader.read(filter)
          .ifPresent(
              condition -> {
                conditions.add(condition);
                used.add(filter);
              });
    }
    return conditions.isEmpty() ? Optional.empty() : Optional.of(new PartitionFilter(types, conditions, used));
  }

  /** The filters that say something about partitions; only while planning. */
  public List<ResolvedExpression> filters() {
    return filters;
  }

  /** Whether a partition may hold rows for the query. */
  public boolean matches(TablePartition partition) {
    List<Comparable<?>> values = new ArrayList<>(types.size());
    for (int i = 0; i < types.size(); i++) {
      values.add(ValueText.parse(partition.values().get(i), types.get(i)));
    }
    // A value that did not parse is not NULL in truth: nothing can be said then.
    return values.contains(null) || conditions.stream().allMatch(condition -> Boolean.TRUE.equals(condition.holds(values)));
  }
}
