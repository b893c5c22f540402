package io.sluice.flink.lookup;

import java.util.Collection;
import java.util.Collections;
import java.util.concurrent.CompletableFuture;

import io.sluice.flink.source.scan.StoreTableClient;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.functions.AsyncLookupFunction;
import org.apache.flink.table.functions.FunctionContext;

/** Looks keys up beside the task, as many at once as are waiting. */
public final class SluiceAsyncLookupFunction extends AsyncLookupFunction {
  private static final long serialVersionUID = 1L;

  private final LookupPlan plan;
  private transient StoreTableClient client;
  private transient LookupWorker worker;

  SluiceAsyncLookupFunction(LookupPlan plan) {
    this.plan = plan;
  }

  @Override
  public void open(FunctionContext context) throws Exception {
    super.open(context);
    client = StoreTableClient.open(plan.table());
    worker = LookupWorker.start(plan, plan.open(client));
  }

  @Override
  public CompletableFuture<Collection<RowData>> asyncLookup(RowData joinKey) {
    return plan.canMatch(joinKey) ? worker.submit(joinKey) : CompletableFuture.completedFuture(Collections.emptyList());
  }

  @Override
  public void close() throws Exception {
    if (worker != null) {
      worker.close();
    }
    if (client != null) {
      client.close();
    }
    super.close();
  }
}
