package io.sluice.flink.source;

import java.util.List;

import io.sluice.flink.StoreTable;
import io.sluice.flink.source.scan.StoreTableClient;
import io.sluice.flink.source.scan.TableClient;
import io.sluice.store.StoreException;
import org.apache.flink.table.expressions.AggregateExpression;

/** When the store's own number of rows answers an aggregate. */
final class RowCount {
  // The planner's classes are hidden from connectors, so their names have to do.
  private static final String COUNT_ROWS = "Count1AggFunction";
  private static final String COUNT_VALUES = "CountAggFunction";

  private RowCount() {}

  /** Whether each of some ungrouped aggregates is the number of rows. */
  static boolean answers(List<AggregateExpression> aggregates) {
    return !aggregates.isEmpty() && aggregates.stream().allMatch(RowCount::isRowCount);
  }

  private static boolean isRowCount(AggregateExpression aggregate) {
    if (aggregate.isDistinct() || aggregate.isApproximate() || aggregate.getFilterExpression().isPresent()) {
      return false;
    }
    String function = aggregate.getFunctionDefinition().getClass().getSimpleName();
    boolean allArgumentsPresent =
        aggregate.getArgs().stream().noneMatch(column -> column.getOutputDataType().getLogicalType().isNullable());
    return function.equals(COUNT_ROWS) || function.equals(COUNT_VALUES) && allArgumentsPresent;
  }

  /** Whether the store can tell the number without a scan. */
  static boolean isKnown(StoreTable table) {
    try (TableClient client = StoreTableClient.open(table)) {
      return client.rowCount().isPresent();
    } catch (StoreException e) {
      // The scan will meet the same trouble and say so.
      return false;
    }
  }
}
