package io.sluice.flink.source.reader;

import java.util.Collections;
import java.util.Set;

import javax.annotation.Nullable;

import org.apache.flink.connector.base.source.reader.RecordsWithSplitIds;
import org.apache.flink.table.data.RowData;

/** A split that is one row. */
final class SingleRow implements RecordsWithSplitIds<SplitRecord> {
  private final String splitId;
  private final SplitRecord record = new SplitRecord();
  private boolean opened;
  private boolean read;

  SingleRow(String splitId, RowData row) {
    this.splitId = splitId;
    record.row = row;
  }

  @Nullable
  @Override
  public String nextSplit() {
    if (opened) {
      return null;
    }
    opened = true;
    return splitId;
  }

  @Nullable
  @Override
  public SplitRecord nextRecordFromSplit() {
    if (read) {
      return null;
    }
    read = true;
    return record;
  }

  @Override
  public Set<String> finishedSplits() {
    return Collections.singleton(splitId);
  }
}
