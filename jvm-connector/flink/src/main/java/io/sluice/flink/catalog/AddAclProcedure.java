package io.sluice.flink.catalog;

import io.sluice.store.StoreException;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.ProcedureHint;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.procedure.ProcedureContext;
import org.apache.flink.table.procedures.Procedure;

/** {@code CALL sys.add_acl(resource, permission, principal, operation[, host])}: allows somebody something. The host is {@code *} unless one is named. */
public final class AddAclProcedure implements Procedure {
  static final ObjectPath PATH = new ObjectPath("sys", "add_acl");

  private final StoreAdmin admin;

  AddAclProcedure(StoreAdmin admin) {
    this.admin = admin;
  }

  /** Called by Flink. */
  @ProcedureHint(
      argument = {
        @ArgumentHint(name = "resource", type = @DataTypeHint("STRING")),
        @ArgumentHint(name = "permission", type = @DataTypeHint("STRING")),
        @ArgumentHint(name = "principal", type = @DataTypeHint("STRING")),
        @ArgumentHint(name = "operation", type = @DataTypeHint("STRING")),
        @ArgumentHint(name = "host", type = @DataTypeHint("STRING"), isOptional = true)
      })
  public String[] call(
      ProcedureContext context, String resource, String permission, String principal, String operation, String host) {
    try {
      admin.addRule(AccessRules.rule(resource, permission, principal, operation, host == null ? AccessRules.EVERY : host));
    } catch (StoreException e) {
      throw StoreErrors.of(e);
    }
    return new String[] {"success"};
  }
}
