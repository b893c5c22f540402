package io.sluice.flink.source.reader;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.stream.IntStream;

import javax.annotation.Nullable;

import io.sluice.flink.StoreTable;
import io.sluice.flink.lookup.KeyBatch;
import io.sluice.flink.lookup.KeySession;
import io.sluice.flink.source.scan.PointQuery;
import io.sluice.flink.source.scan.ScanTask;
import io.sluice.flink.source.scan.SourceFailure;
import io.sluice.flink.source.scan.StoreTableClient;
import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.flink.source.split.SplitStart;
import io.sluice.store.ErrorKind;
import io.sluice.store.RowBlock;
import io.sluice.store.StoreException;
import io.sluice.store.Subject;
import io.sluice.store.TableScanner;
import org.apache.flink.connector.base.source.reader.RecordsBySplits;
import org.apache.flink.connector.base.source.reader.RecordsWithSplitIds;
import org.apache.flink.connector.base.source.reader.splitreader.SplitReader;
import org.apache.flink.connector.base.source.reader.splitreader.SplitsAddition;
import org.apache.flink.connector.base.source.reader.splitreader.SplitsChange;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.types.logical.RowType;

/**
 * Fetches blocks of all splits through one native scanner. Everything runs on the fetcher's thread except {@link #wakeUp}. The store is
 * opened with the first splits, so that opening it never holds a task's thread up.
 */
final class SluiceSplitReader implements SplitReader<SplitRecord, SluiceSplit> {
  /** A wake-up ends a poll at once; this bounds what a lost one could cost. */
  private static final Duration POLL = Duration.ofSeconds(1);
  /** Rows of a block: enough to make a call's cost vanish, few enough to keep a block in the caches and out of the collector's large objects. */
  private static final int ROWS_MAX = 2048;
  /** How often retention may overtake the search for the earliest offset. */
  private static final int EARLIEST_TRIES = 5;

  private static final ObjectMapper JSON = new ObjectMapper();

  private final StoreTable table;
  private final ScanTask task;
  private final ReaderMetrics metrics;
  private final int arity;
  private final Map<Integer, Subscription> subscriptions = new HashMap<>();
  private final Map<String, Subscription> bySplit = new HashMap<>();
  private final Queue<RecordsWithSplitIds<SplitRecord>> ready = new ArrayDeque<>();
  private int subscribed;
  @Nullable private StoreTableClient client;
  @Nullable private volatile TableScanner scanner;

  SluiceSplitReader(StoreTable table, ScanTask task, ReaderMetrics metrics) {
    this.table = table;
    this.task = task;
    this.metrics = metrics;
    this.arity = task.rowType().getFieldCount();
  }

  /** A split being read: its number in the scanner and where the next block starts. */
  private static final class Subscription {
    final SluiceSplit split;
    int number;
    SplitStart next;

    Subscription(SluiceSplit split) {
      this.split = split;
      this.next = split.start();
    }

    boolean followsLog() {
      SplitStart.Kind kind = split.start().kind();
      return kind == SplitStart.Kind.EARLIEST || kind == SplitStart.Kind.LOG || kind == SplitStart.Kind.SNAPSHOT;
    }
  }

  @Override
  public void handleSplitsChanges(SplitsChange<SluiceSplit> change) {
    if (!(change instanceof SplitsAddition)) {
      throw new UnsupportedOperationException("a change of splits of type " + change.getClass().getName());
    }
    guarded(
        () -> {
          for (SluiceSplit split : change.splits()) {
            add(split);
          }
        });
  }

  private void add(SluiceSplit split) {
    open(split);
    switch (split.start().kind()) {
      case COUNT:
        ready.add(new SingleRow(split.splitId(), counts(split.start().value())));
        break;
      case POINT:
        ready.add(lookUp(split, task.point()));
        break;
      default:
        subscribeIfThere(new Subscription(split));
    }
  }

  /** A partition may be dropped before a reader comes to its splits, or while a job is down: nothing of it is left to read. */
  private void subscribeIfThere(Subscription subscription) {
    try {
      subscribe(subscription);
    } catch (StoreException e) {
      if (!SourceFailure.isPartitionGone(e)) {
        throw e;
      }
      forget(subscription);
      RecordsBySplits.Builder<SplitRecord> end = new RecordsBySplits.Builder<>();
      end.addFinishedSplit(subscription.split.splitId());
      ready.add(end.build());
    }
  }

  private void open(SluiceSplit split) {
    if (client == null) {
      client = StoreTableClient.open(table);
    }
    long present = client.tableId();
    if (present != split.tableId()) {
      throw SourceFailure.otherTable(table.toString(), split.tableId(), present);
    }
  }

  private GenericRowData counts(long rows) {
    GenericRowData row = new GenericRowData(arity);
    for (int i = 0; i < arity; i++) {
      row.setField(i, rows);
    }
    return row;
  }

  private BlockRecords lookUp(SluiceSplit split, PointQuery point) {
    RowType keyType = point.keyType();
    int[] all = IntStream.range(0, keyType.getFieldCount()).toArray();
    try (KeySession session = KeySession.open(client, table, keyType.getFieldNames(), task.columns(), false);
        KeyBatch key = new KeyBatch(keyType, all, 1)) {
      key.add(point.key());
      RowBlock found = session.lookUp(key);
      metrics.fetched(found);
      return new BlockRecords(split.splitId(), found, arity, SplitRecord.Phase.NONE, 0, SplitRecord.Phase.NONE, 0, true);
    }
  }

  private void subscribe(Subscription subscription) {
    subscription.number = ++subscribed;
    if (subscription.next.kind() == SplitStart.Kind.EARLIEST) {
      subscribeEarliest(subscription);
    } else {
      scanner().subscribe(request(subscription, subscription.next));
    }
    subscriptions.put(subscription.number, subscription);
    bySplit.put(subscription.split.splitId(), subscription);
  }

  private void subscribeEarliest(Subscription subscription) {
    for (int left = EARLIEST_TRIES; ; left--) {
      long earliest = client.earliestOffsets(List.of(subscription.split))[0];
      try {
        scanner().subscribe(request(subscription, SplitStart.log(earliest)));
        return;
      } catch (StoreException e) {
        if (left == 1 || e.kind() != ErrorKind.INVALID || e.subject() != Subject.OFFSET) {
          throw e;
        }
      }
    }
  }

  private TableScanner scanner() {
    TableScanner opened = scanner;
    if (opened == null) {
      ObjectNode options = JSON.createObjectNode().put("batch_rows_max", ROWS_MAX);
      options.set("path", StoreTableClient.path(table));
      options.set("projection", JSON.valueToTree(client.positions(task.columns())));
      if (task.filter() != null) {
        options.set("filter", json(task.filter()));
      }
      opened = client.connection().scanner(options.toString());
      scanner = opened;
    }
    return opened;
  }

  private static JsonNode json(String text) {
    try {
      return JSON.readTree(text);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a filter that is not JSON: " + text, e);
    }
  }

  private static String request(Subscription subscription, SplitStart start) {
    ObjectNode request = JSON.createObjectNode().put("id", subscription.number);
    request.set("bucket", StoreTableClient.id(subscription.split));
    switch (start.kind()) {
      case LOG:
        request.putObject("start").putObject("log").put("offset", start.value());
        break;
      case SNAPSHOT:
        request.putObject("start").putObject("snapshot").put("snapshot", start.snapshot()).put("skip_rows", start.value());
        break;
      case LIMIT:
        request.putObject("start").putObject("limit").put("rows", start.value());
        break;
      case CURRENT:
        request.put("start", "current");
        break;
      default:
        throw new IllegalStateException("a scan cannot start at " + start);
    }
    if (subscription.split.stop().isPresent()) {
      request.put("stop", subscription.split.stop().getAsLong());
    } else {
      request.putNull("stop");
    }
    return request.toString();
  }

  @Override
  public RecordsWithSplitIds<SplitRecord> fetch() throws IOException {
    RecordsWithSplitIds<SplitRecord> waiting = ready.poll();
    if (waiting != null) {
      return waiting;
    }
    RowBlock block = poll();
    return block == null ? nothing() : records(block);
  }

  @Nullable
  private RowBlock poll() {
    TableScanner open = scanner;
    if (open == null) {
      return null;
    }
    try {
      return open.poll(POLL);
    } catch (StoreException e) {
      throw SourceFailure.of(e);
    }
  }

  private static RecordsWithSplitIds<SplitRecord> nothing() {
    return new RecordsBySplits.Builder<SplitRecord>().build();
  }

  private RecordsWithSplitIds<SplitRecord> records(RowBlock block) {
    metrics.fetched(block);
    Subscription subscription = subscriptions.get(block.splitId());
    if (subscription == null) {
      return nothing(); // left over from before the split was paused
    }
    BlockRecords records = subscription.followsLog() ? following(subscription, block) : whole(subscription, block);
    if (block.finished()) {
      forget(subscription);
    }
    return records;
  }

  private BlockRecords whole(Subscription subscription, RowBlock block) {
    SplitRecord.Phase none = SplitRecord.Phase.NONE;
    return new BlockRecords(subscription.split.splitId(), block, arity, none, 0, none, 0, block.finished());
  }

  private BlockRecords following(Subscription subscription, RowBlock block) {
    boolean fromNext = block.isSnapshot() || block.rowCount() == 0;
    boolean inSnapshot = fromNext && subscription.next.kind() == SplitStart.Kind.SNAPSHOT;
    SplitRecord.Phase phase = inSnapshot ? SplitRecord.Phase.SNAPSHOT : SplitRecord.Phase.LOG;
    long first = fromNext ? subscription.next.value() : block.baseOffset();
    SplitRecord.Phase endPhase = block.nextIsSnapshot() ? SplitRecord.Phase.SNAPSHOT : SplitRecord.Phase.LOG;
    long end = block.nextIsSnapshot() ? block.nextSnapshotRows() : block.nextOffset();
    subscription.next =
        block.nextIsSnapshot() ? SplitStart.snapshot(subscription.split.start().snapshot(), end) : SplitStart.log(end);
    return new BlockRecords(subscription.split.splitId(), block, arity, phase, first, endPhase, end, block.finished());
  }

  private void forget(Subscription subscription) {
    subscriptions.remove(subscription.number);
    bySplit.remove(subscription.split.splitId());
  }

  @Override
  public void pauseOrResumeSplits(Collection<SluiceSplit> pause, Collection<SluiceSplit> resume) {
    guarded(
        () -> {
          for (SluiceSplit split : pause) {
            Subscription subscription = bySplit.get(split.splitId());
            if (subscription != null && subscriptions.remove(subscription.number) != null) {
              scanner().unsubscribe(subscription.number);
            }
          }
          for (SluiceSplit split : resume) {
            Subscription subscription = bySplit.get(split.splitId());
            if (subscription != null && !subscriptions.containsKey(subscription.number)) {
              subscribeIfThere(subscription);
            }
          }
        });
  }

  private static void guarded(Runnable work) {
    try {
      work.run();
    } catch (StoreException e) {
      throw SourceFailure.of(e);
    }
  }

  @Override
  public void wakeUp() {
    TableScanner open = scanner;
    if (open == null) {
      return;
    }
    try {
      open.wakeUp();
    } catch (StoreException e) {
      if (e.kind() != ErrorKind.CLOSED) {
        throw e;
      }
    }
  }

  @Override
  public void close() {
    if (scanner != null) {
      scanner.close();
    }
    if (client != null) {
      client.close();
    }
  }
}
