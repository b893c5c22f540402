package io.sluice.flink.sink;

import io.sluice.flink.StoreTable;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** The JSON with which a writer is opened. */
final class WriteRequests {
  private WriteRequests() {}

  /**
   * Returns the request for a writer of the columns at some positions. It names them, so that a job which outlives its table does not
   * write into another one of the same name by position.
   *
   * @param createPartitions whether rows of partitions that are not there create them
   */
  static String open(StoreTable table, int[] columns, boolean createPartitions) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    json.putObject("path").put("database", table.database()).put("table", table.name());
    ArrayNode names = json.putArray("target_columns");
    for (int column : columns) {
      names.add(table.rowType().getFieldNames().get(column));
    }
    return json.put("create_partitions", createPartitions).toString();
  }
}
