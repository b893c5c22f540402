package io.sluice.flink.lookup;

import java.util.Collection;
import java.util.Collections;

import io.sluice.flink.source.scan.StoreTableClient;
import io.sluice.store.RowBlock;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.functions.FunctionContext;
import org.apache.flink.table.functions.LookupFunction;

/** Looks one key up while the task waits. */
public final class SluiceLookupFunction extends LookupFunction {
  private static final long serialVersionUID = 1L;

  private final LookupPlan plan;
  private transient StoreTableClient client;
  private transient KeySession session;
  private transient KeyBatch key;

  SluiceLookupFunction(LookupPlan plan) {
    this.plan = plan;
  }

  @Override
  public void open(FunctionContext context) throws Exception {
    super.open(context);
    client = StoreTableClient.open(plan.table());
    session = plan.open(client);
    key = plan.newBatch(1);
  }

  @Override
  public Collection<RowData> lookup(RowData joinKey) {
    if (!plan.canMatch(joinKey)) {
      return Collections.emptyList();
    }
    key.reset();
    key.add(joinKey);
    RowBlock found = session.lookUp(key);
    return plan.rows(found, LookupPlan.memory(found), 0, joinKey);
  }

  @Override
  public void close() throws Exception {
    for (AutoCloseable part : new AutoCloseable[] {key, session, client}) {
      if (part != null) {
        part.close();
      }
    }
    super.close();
  }
}
