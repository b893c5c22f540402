package io.sluice.flink.lake;

import java.util.Optional;

import org.apache.flink.table.catalog.ObjectPath;

/**
 * The name under which a table's copy in the lake is read: {@code t$lake} for the copy of {@code t}, {@code t$lake$snapshots} and the like
 * for what the lake keeps about it. No table or view of a store has a {@code $} in its name.
 */
public final class LakeName {
  private static final String MARK = "$lake";

  private final ObjectPath table;
  private final String part;

  private LakeName(ObjectPath table, String part) {
    this.table = table;
    this.part = part;
  }

  /** Reads a name; empty when it is not one of the lake. */
  public static Optional<LakeName> of(ObjectPath path) {
    String name = path.getObjectName();
    int mark = name.indexOf(MARK);
    String part = mark <= 0 ? "" : name.substring(mark + MARK.length());
    if (mark <= 0 || !part.isEmpty() && !part.startsWith("$")) {
      return Optional.empty();
    }
    return Optional.of(new LakeName(new ObjectPath(path.getDatabaseName(), name.substring(0, mark)), part));
  }

  /** The table in the store. */
  public ObjectPath table() {
    return table;
  }

  /** The same as the lake's own catalog calls it: {@code t} or {@code t$snapshots}. */
  public ObjectPath inLake() {
    return new ObjectPath(table.getDatabaseName(), table.getObjectName() + part);
  }

  /** Whether it is the copy itself and not something about it. */
  public boolean isCopy() {
    return part.isEmpty();
  }

  /** As the user wrote it, with its database. */
  @Override
  public String toString() {
    return table.getFullName() + MARK + part;
  }
}
