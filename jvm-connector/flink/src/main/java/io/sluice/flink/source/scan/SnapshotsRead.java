package io.sluice.flink.source.scan;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

import org.apache.flink.api.connector.source.SourceEvent;

/** Tells the enumerator of splits that have left their snapshots behind. */
public final class SnapshotsRead implements SourceEvent {
  private static final long serialVersionUID = 1L;

  private final ArrayList<String> splitIds;
  private final boolean checkpointed;

  /**
   * @param splitIds the splits
   * @param checkpointed whether a completed checkpoint says so too
   */
  public SnapshotsRead(Collection<String> splitIds, boolean checkpointed) {
    this.splitIds = new ArrayList<>(splitIds);
    this.checkpointed = checkpointed;
  }

  /** Whether a completed checkpoint says so too. */
  public boolean checkpointed() {
    return checkpointed;
  }

  /** The splits by their ids. */
  public List<String> splitIds() {
    return splitIds;
  }
}
