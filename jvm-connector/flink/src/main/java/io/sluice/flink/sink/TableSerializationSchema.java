package io.sluice.flink.sink;

import java.io.Serializable;

import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.table.types.logical.RowType;

/**
 * Makes rows of a table out of a job's values.
 *
 * @param <T> the values
 */
public interface TableSerializationSchema<T> extends Serializable {
  /**
   * Called once in each subtask before its first value.
   *
   * @param rowType the table's columns, in the order of the fields that rows must have
   */
  default void open(SerializationSchema.InitializationContext context, RowType rowType) throws Exception {}

  /**
   * Returns the row of a value and what to do with it.
   *
   * @throws Exception which fails the job
   */
  RowWithOp serialize(T value) throws Exception;
}
