package io.sluice.flink.catalog;

import io.sluice.store.StoreException;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.ProcedureHint;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.procedure.ProcedureContext;
import org.apache.flink.table.procedures.Procedure;

/** {@code CALL sys.list_acl(resource[, permission, principal, operation, host])}: the rules that these words mean, one a row. */
public final class ListAclProcedure implements Procedure {
  static final ObjectPath PATH = new ObjectPath("sys", "list_acl");

  private final StoreAdmin admin;

  ListAclProcedure(StoreAdmin admin) {
    this.admin = admin;
  }

  /** Called by Flink. */
  @ProcedureHint(
      argument = {
        @ArgumentHint(name = "resource", type = @DataTypeHint("STRING")),
        @ArgumentHint(name = "permission", type = @DataTypeHint("STRING"), isOptional = true),
        @ArgumentHint(name = "principal", type = @DataTypeHint("STRING"), isOptional = true),
        @ArgumentHint(name = "operation", type = @DataTypeHint("STRING"), isOptional = true),
        @ArgumentHint(name = "host", type = @DataTypeHint("STRING"), isOptional = true)
      })
  public String[] call(
      ProcedureContext context, String resource, String permission, String principal, String operation, String host) {
    try {
      return admin.listRules(AccessRules.filter(resource, permission, principal, operation, host)).stream()
          .map(AccessRules::line)
          .toArray(String[]::new);
    } catch (StoreException e) {
      throw StoreErrors.of(e);
    }
  }
}
