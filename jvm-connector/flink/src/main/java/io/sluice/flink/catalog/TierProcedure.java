package io.sluice.flink.catalog;

import java.time.Duration;

import io.sluice.store.ErrorKind;
import io.sluice.store.StoreException;
import io.sluice.store.Subject;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.ProcedureHint;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.procedure.ProcedureContext;
import org.apache.flink.table.procedures.Procedure;
import org.apache.flink.types.Row;

/**
 * {@code CALL sys.tier('database.table')}: brings all that the table holds at this moment into the lake and answers with the lake's
 * snapshot. For those who do not want to wait for 'table.datalake.freshness', and for stores without tiering of their own.
 */
public final class TierProcedure implements Procedure {
  static final ObjectPath PATH = new ObjectPath("sys", "tier");
  private static final Duration TIMEOUT = Duration.ofMinutes(10);

  private final StoreAdmin admin;

  TierProcedure(StoreAdmin admin) {
    this.admin = admin;
  }

  /** Called by Flink. */
  @ProcedureHint(argument = @ArgumentHint(name = "table", type = @DataTypeHint("STRING")), output = @DataTypeHint("ROW<snapshot BIGINT>"))
  public Row[] call(ProcedureContext context, String table) {
    ObjectPath path;
    try {
      path = ObjectPath.fromString(table);
    } catch (IllegalArgumentException e) {
      throw new ValidationException(String.format("'%s' does not name a table; write CALL sys.tier('database.table').", table));
    }
    try {
      return new Row[] {Row.of(admin.tier(path, TIMEOUT.toMillis()))};
    } catch (StoreException e) {
      if (StoreErrors.is(e, ErrorKind.NOT_FOUND, Subject.TABLE)) {
        throw StoreErrors.keeping(new ValidationException(String.format("Table %s does not exist.", path.getFullName())), e);
      }
      throw StoreErrors.of(e);
    }
  }
}
