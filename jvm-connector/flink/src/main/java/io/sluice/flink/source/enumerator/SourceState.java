package io.sluice.flink.source.enumerator;

import java.util.List;
import java.util.Objects;

import io.sluice.flink.source.split.SluiceSplit;

/** What an enumerator remembers across a restore. Immutable. */
public final class SourceState {
  private final boolean planned;
  private final String leaseId;
  private final List<SluiceSplit> unassigned;
  private final List<SluiceSplit> assigned;
  private final List<SluiceSplit> leased;

  /**
   * @param planned whether the splits have been decided; before that there are none
   * @param leaseId name of the lease that keeps snapshots
   * @param unassigned splits that no reader has taken yet
   * @param assigned splits as they were given to readers, which keep the progress themselves
   * @param leased splits whose snapshots are still leased
   */
  public SourceState(
      boolean planned, String leaseId, List<SluiceSplit> unassigned, List<SluiceSplit> assigned, List<SluiceSplit> leased) {
    this.planned = planned;
    this.leaseId = Objects.requireNonNull(leaseId);
    this.unassigned = List.copyOf(unassigned);
    this.assigned = List.copyOf(assigned);
    this.leased = List.copyOf(leased);
  }

  /** The state of a scan that has not started. */
  public static SourceState fresh(String leaseId) {
    return new SourceState(false, leaseId, List.of(), List.of(), List.of());
  }

  boolean planned() {
    return planned;
  }

  String leaseId() {
    return leaseId;
  }

  List<SluiceSplit> unassigned() {
    return unassigned;
  }

  List<SluiceSplit> assigned() {
    return assigned;
  }

  List<SluiceSplit> leased() {
    return leased;
  }

  @Override
  public boolean equals(Object other) {
    if (!(other instanceof SourceState)) {
      return false;
    }
    SourceState that = (SourceState) other;
    return planned == that.planned
        && leaseId.equals(that.leaseId)
        && unassigned.equals(that.unassigned)
        && assigned.equals(that.assigned)
        && leased.equals(that.leased);
  }

  @Override
  public int hashCode() {
    return Objects.hash(planned, leaseId, unassigned, assigned, leased);
  }

  @Override
  public String toString() {
    return "planned " + planned + ", lease " + leaseId + ", unassigned " + unassigned + ", assigned " + assigned + ", leased " + leased;
  }
}
