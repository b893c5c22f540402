package io.sluice.flink.tiering;

import javax.annotation.Nullable;

import org.apache.flink.api.connector.source.SourceEvent;

/** Tells the enumerator what became of a split, and that the reader is free for another. */
final class SplitDone implements SourceEvent {
  private static final long serialVersionUID = 1L;

  private final String splitId;
  @Nullable private final WrittenPart part;
  @Nullable private final RuntimeException failure;

  private SplitDone(String splitId, @Nullable WrittenPart part, @Nullable RuntimeException failure) {
    this.splitId = splitId;
    this.part = part;
    this.failure = failure;
  }

  static SplitDone written(String splitId, WrittenPart part) {
    return new SplitDone(splitId, part, null);
  }

  static SplitDone failed(String splitId, RuntimeException failure) {
    return new SplitDone(splitId, null, failure);
  }

  String splitId() {
    return splitId;
  }

  /** What was written; null after a failure. */
  @Nullable
  WrittenPart part() {
    return part;
  }

  /** Why nothing was written; null when something was. */
  @Nullable
  RuntimeException failure() {
    return failure;
  }
}
