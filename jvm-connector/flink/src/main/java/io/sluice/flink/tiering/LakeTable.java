package io.sluice.flink.tiering;

import java.time.Duration;
import java.util.Objects;

import org.apache.flink.table.catalog.ObjectPath;

/** A table whose rows flow into the lake. */
final class LakeTable {
  private final ObjectPath path;
  private final Duration freshness;

  LakeTable(ObjectPath path, Duration freshness) {
    this.path = path;
    this.freshness = freshness;
  }

  ObjectPath path() {
    return path;
  }

  /** How far the lake may lag, and how long a round takes at most. */
  Duration freshness() {
    return freshness;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof LakeTable && path.equals(((LakeTable) other).path) && freshness.equals(((LakeTable) other).freshness);
  }

  @Override
  public int hashCode() {
    return Objects.hash(path, freshness);
  }

  @Override
  public String toString() {
    return path.getFullName();
  }
}
