package io.sluice.flink.sink;

import io.sluice.flink.StoreTable;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** The JSON with which a writer is opened. */
final class WriteRequests {
  private WriteRequests() {}

  /**
   * Returns the request for a writer of all columns of a table. It names them, so that a job which outlives its table does not
   * write into another one of the same name by position.
   */
  static String open(StoreTable table) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    json.putObject("path").put("database", table.database()).put("table", table.name());
    table.rowType().getFieldNames().forEach(json.putArray("target_columns")::add);
    return json.toString();
  }
}
