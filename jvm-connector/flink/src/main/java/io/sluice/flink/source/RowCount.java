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

  private RowCount() {}

  /** Whether each of some ungrouped aggregates is the number of rows. */
  static boolean answers(List<AggregateExpression> aggregates) {
    return !aggregates.isEmpty() && aggregates.stream().allMatch(RowCount::isRowCount);
  }

  /**
   * COUNT(*), and what the planner has made of a COUNT of something that is never NULL. It also offers counts of expressions, with
   * arguments that name columns of the expressions as if they were the table's: those are never the number of rows.
   */
  private static boolean isRowCount(AggregateExpression aggregate) {
    return !aggregate.isDistinct()
        && !aggregate.isApproximate()
        && aggregate.getFilterExpression().isEmpty()
        && aggregate.getArgs().isEmpty()
        && aggregate.getFunctionDefinition().getClass().getSimpleName().equals(COUNT_ROWS);
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
