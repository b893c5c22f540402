package io.sluice.flink.source.record;

import javax.annotation.Nullable;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.RowType;

/** Rows as they are, with the kind of change that each is. */
public final class RowDataDeserializationSchema implements TableDeserializationSchema<RowData> {
  private static final long serialVersionUID = 1L;

  @Nullable private final TypeInformation<RowData> type;

  public RowDataDeserializationSchema() {
    this(null);
  }

  /** @param type how the planner describes the rows; null = by their columns */
  public RowDataDeserializationSchema(@Nullable TypeInformation<RowData> type) {
    this.type = type;
  }

  @Override
  public RowData deserialize(TableRecord record) {
    return record.row();
  }

  @Override
  public TypeInformation<RowData> getProducedType(RowType rowType) {
    return type == null ? InternalTypeInfo.of(rowType) : type;
  }
}
