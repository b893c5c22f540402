package io.sluice.flink.source.scan;

import java.io.Serializable;
import java.util.List;

import javax.annotation.Nullable;

import io.sluice.flink.partition.PartitionFilter;
import io.sluice.flink.partition.TablePartition;
import org.apache.flink.table.types.logical.RowType;

/** What one scan reads of its table, after the planner has pushed down what it could. */
public final class ScanTask implements Serializable {
  private static final long serialVersionUID = 1L;

  private final RowType rowType;
  @Nullable private final Long limit;
  @Nullable private final PointQuery point;
  @Nullable private final String filter;
  private final int counts;
  @Nullable private final PartitionFilter partitions;

  private ScanTask(
      RowType rowType,
      @Nullable Long limit,
      @Nullable PointQuery point,
      @Nullable String filter,
      int counts,
      @Nullable PartitionFilter partitions) {
    this.rowType = rowType;
    this.limit = limit;
    this.point = point;
    this.filter = filter;
    this.counts = counts;
    this.partitions = partitions;
  }

  /** All rows, with some columns. */
  public static ScanTask rows(RowType columns) {
    return new ScanTask(columns, null, null, null, 0, null);
  }

  /** All rows that meet a condition, and some or all of the others. */
  public static ScanTask filtered(RowType columns, String filter) {
    return new ScanTask(columns, null, null, filter, 0, null);
  }

  /** At least {@code limit} rows if the table has as many, at most so many of each bucket. */
  public static ScanTask limited(RowType columns, long limit) {
    return new ScanTask(columns, limit, null, null, 0, null);
  }

  /** The row of one primary key. */
  public static ScanTask point(RowType columns, PointQuery point) {
    return new ScanTask(columns, null, point, null, 0, null);
  }

  /** One row that holds the number of rows as often as there are columns. */
  public static ScanTask count(RowType counts) {
    return new ScanTask(counts, null, null, null, counts.getFieldCount(), null);
  }

  /** The same of some partitions only. */
  public ScanTask ofPartitions(@Nullable PartitionFilter wanted) {
    return new ScanTask(rowType, limit, point, filter, counts, wanted);
  }

  /** Whether a partition may hold rows that are wanted. */
  public boolean wants(TablePartition partition) {
    return partitions == null || partitions.matches(partition);
  }

  /** Names and types of the rows that come out. */
  public RowType rowType() {
    return rowType;
  }

  /** Names of the table's columns to read. */
  public List<String> columns() {
    return rowType.getFieldNames();
  }

  /** The most rows wanted of a bucket; null = all. */
  @Nullable
  public Long limit() {
    return limit;
  }

  /** The key to look up instead of scanning; null = scan. */
  @Nullable
  public PointQuery point() {
    return point;
  }

  /** The condition as the store reads it; null = all rows are wanted. */
  @Nullable
  public String filter() {
    return filter;
  }

  /** Whether only the number of rows is wanted. */
  public boolean isCount() {
    return counts > 0;
  }

  /** Whether one reader answers it alone. */
  public boolean isSingle() {
    return isCount() || point != null;
  }
}
