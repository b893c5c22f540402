package io.sluice.flink.source.split;

/** The progress of one split in a reader; moved on with each row that was handed to Flink. */
public final class SluiceSplitState {
  private final SluiceSplit split;
  private SplitStart.Kind kind;
  private long value;

  /** The progress of a split of which nothing was read. */
  public SluiceSplitState(SluiceSplit split) {
    this.split = split;
    this.kind = split.start().kind();
    this.value = split.start().value();
  }

  /** The next row to read is the one at a log offset. */
  public void movedToOffset(long offset) {
    kind = SplitStart.Kind.LOG;
    value = offset;
  }

  /** So many rows of the snapshot have been read. */
  public void movedInSnapshot(long rowsRead) {
    value = rowsRead;
  }

  /** The split from here on. */
  public SluiceSplit toSplit() {
    return split.startingAt(new SplitStart(kind, kind == SplitStart.Kind.SNAPSHOT ? split.start().snapshot() : 0, value));
  }

  /** Whether rows of the snapshot may still be to come. */
  public boolean readsSnapshot() {
    return kind == SplitStart.Kind.SNAPSHOT;
  }

  /** The id of the split. */
  public String splitId() {
    return split.splitId();
  }
}
