package io.sluice.flink.catalog;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.procedures.Procedure;

/** The procedures of a catalog, by their paths. */
final class Procedures {
  private static final Map<ObjectPath, Function<StoreAdmin, Procedure>> ALL =
      Map.of(
          TierProcedure.PATH, TierProcedure::new,
          AddAclProcedure.PATH, AddAclProcedure::new,
          DropAclProcedure.PATH, DropAclProcedure::new,
          ListAclProcedure.PATH, ListAclProcedure::new);

  private Procedures() {}

  /** Returns the names of those in a database, sorted. */
  static List<String> names(String database) {
    return ALL.keySet().stream()
        .filter(path -> path.getDatabaseName().equals(database))
        .map(ObjectPath::getObjectName)
        .sorted()
        .collect(Collectors.toList());
  }

  /** Makes a procedure, if there is one at the path. */
  static Optional<Procedure> make(ObjectPath path, StoreAdmin admin) {
    return Optional.ofNullable(ALL.get(path)).map(procedure -> procedure.apply(admin));
  }
}
