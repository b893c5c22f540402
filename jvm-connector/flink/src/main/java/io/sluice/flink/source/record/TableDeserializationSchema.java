package io.sluice.flink.source.record;

import java.io.Serializable;

import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.table.types.logical.RowType;

/**
 * Makes values of a job out of a table's rows.
 *
 * @param <T> the values
 */
public interface TableDeserializationSchema<T> extends Serializable {
  /** Called once in each subtask before its first row. */
  default void open(DeserializationSchema.InitializationContext context) throws Exception {}

  /**
   * Returns the value of a row.
   *
   * @throws Exception which fails the job
   */
  T deserialize(TableRecord record) throws Exception;

  /**
   * Returns the type of the values.
   *
   * @param rowType the columns that are read, in the order of the rows' fields
   */
  TypeInformation<T> getProducedType(RowType rowType);
}
