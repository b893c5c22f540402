package io.sluice.flink.source.enumerator;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import javax.annotation.Nullable;

import io.sluice.flink.source.scan.NothingToRead;
import io.sluice.flink.source.scan.ScanSettings;
import io.sluice.flink.source.scan.SnapshotsRead;
import io.sluice.flink.source.scan.SourceFailure;
import io.sluice.flink.source.scan.TableClient;
import io.sluice.flink.source.split.SluiceSplit;
import io.sluice.flink.source.split.SplitStart;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.SplitsAssignment;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides the splits, and those of partitions that come later, and gives each to the reader that its partition and bucket pick. Everything
 * that asks the store runs on the context's worker thread, the rest on the coordinator's.
 */
public final class SluiceSplitEnumerator implements SplitEnumerator<SluiceSplit, SourceState> {
  private static final Logger LOG = LoggerFactory.getLogger(SluiceSplitEnumerator.class);
  private static final long WAIT_MS = 500;

  private final SplitEnumeratorContext<SluiceSplit> context;
  private final SplitPlanner planner;
  private final ScanSettings settings;
  private final Supplier<TableClient> opener;
  private final String leaseId;

  private final Map<String, SluiceSplit> unassigned = new LinkedHashMap<>();
  private final Map<String, SluiceSplit> assigned = new LinkedHashMap<>();
  private final Map<String, SluiceSplit> leased = new LinkedHashMap<>();
  private final Set<Integer> askers = new HashSet<>();
  private final Set<Integer> given = new HashSet<>();
  private boolean planned;
  private boolean acquiring;
  /** Whether there is a checkpoint that may hold splits inside their snapshots. */
  private boolean checkpointed;
  /** Whether there are leases to renew; read by the worker. */
  private volatile boolean leases;
  /** Partitions that are read; read by the worker. */
  private volatile Set<Long> known = Set.of();
  /** Whether a scan that had to wait has been planned; the worker's own. */
  private boolean due;

  /** Guards the two below where closing meets opening, which may take long and must not be waited for. */
  private final Object closing = new Object();

  @Nullable private volatile TableClient client;
  private boolean closed;

  /**
   * @param opener opens the client on first use, which may take as long as opening the store takes
   * @param state what to go on from; {@link SourceState#fresh} for a new scan
   */
  public SluiceSplitEnumerator(
      SplitEnumeratorContext<SluiceSplit> context,
      SplitPlanner planner,
      Supplier<TableClient> opener,
      ScanSettings settings,
      SourceState state) {
    this.context = context;
    this.planner = planner;
    this.opener = opener;
    this.settings = settings;
    this.leaseId = state.leaseId();
    this.planned = state.planned();
    this.checkpointed = state.planned();
    state.unassigned().forEach(split -> unassigned.put(split.splitId(), split));
    state.assigned().forEach(split -> assigned.put(split.splitId(), split));
    state.leased().forEach(split -> leased.put(split.splitId(), split));
    this.leases = !leased.isEmpty();
    noteKnown();
  }

  // ---- coordinator thread

  @Override
  public void start() {
    if (planned) {
      Optional<SluiceSplit> any = Stream.concat(unassigned.values().stream(), assigned.values().stream()).findAny();
      any.ifPresent(split -> ask(() -> checkTable(split.tableId()), ignored -> {}));
      acquireMissing();
    } else if (planner.mustWait(System.currentTimeMillis())) {
      context.callAsync(this::planWhenDue, (splits, failure) -> handle(splits, failure, this::planned), 0, WAIT_MS);
    } else {
      ask(this::plan, this::planned);
    }
    if (planner.leasesSnapshots()) {
      long every = Math.max(1, settings.leaseDuration().toMillis() / 3);
      context.callAsync(this::renew, (ignored, failure) -> handle(ignored, failure, done -> {}), 0, every);
    }
    if (planner.discovers()) {
      long every = Math.max(1, settings.discoveryInterval().toMillis());
      // Once at the start too: partitions may have come and gone while a restored job was down.
      context.callAsync(() -> planner.discover(client(), known, leaseId), this::discovered, planned ? 0 : every, every);
    }
  }

  private void planned(List<SluiceSplit> splits) {
    if (planned || splits == null) {
      return;
    }
    planned = true;
    splits.forEach(split -> unassigned.put(split.splitId(), split));
    noteKnown();
    lease(splits);
    assign();
    if (!settings.streaming()) {
      context.registeredReaders().keySet().forEach(context::signalNoMoreSplits);
    }
  }

  // ---- partitions

  /** Remembers which partitions are read. */
  private void noteKnown() {
    Set<Long> partitions = new HashSet<>();
    Stream.concat(unassigned.values().stream(), assigned.values().stream())
        .forEach(split -> split.partition().ifPresent(partitions::add));
    known = Set.copyOf(partitions);
  }

  /** Takes new partitions up and forgets those that are gone, whose splits end in the readers by themselves. */
  private void discovered(@Nullable SplitPlanner.Discovery found, @Nullable Throwable failure) {
    if (failure != null) {
      LOG.warn("Looking for partitions of table {} failed and will be tried again.", planner.table(), failure);
      return;
    }
    if (!planned) {
      return;
    }
    unassigned.values().removeIf(split -> isGone(split, found) && !planner.outlivesItsPartition(split));
    assigned.values().removeIf(split -> isGone(split, found));
    leased.values().removeIf(split -> isGone(split, found) && !unassigned.containsKey(split.splitId()));
    leases = !leased.isEmpty();
    List<SluiceSplit> fresh = new ArrayList<>(found.fresh);
    fresh.removeIf(split -> known.contains(split.partition().getAsLong()));
    fresh.forEach(split -> unassigned.put(split.splitId(), split));
    noteKnown();
    lease(fresh);
    assign();
  }

  private static boolean isGone(SluiceSplit split, SplitPlanner.Discovery found) {
    return split.partition().isPresent() && !split.isOfLake() && !found.present.contains(split.partition().getAsLong());
  }

  // ---- assignment

  private void lease(List<SluiceSplit> splits) {
    splits.stream().filter(split -> split.start().kind() == SplitStart.Kind.SNAPSHOT).forEach(split -> leased.put(split.splitId(), split));
    leases = !leased.isEmpty();
  }

  @Override
  public void addReader(int subtask) {
    given.remove(subtask);
    if (planned) {
      assign();
      if (!settings.streaming()) {
        context.signalNoMoreSplits(subtask);
      }
    }
  }

  /** A reader that has nothing to read says so, to learn whether it will ever have. */
  @Override
  public void handleSplitRequest(int subtask, @Nullable String host) {
    askers.add(subtask);
    tellIdleReaders();
  }

  private void assign() {
    Map<Integer, List<SluiceSplit>> assignment = new HashMap<>();
    for (SluiceSplit split : List.copyOf(unassigned.values())) {
      int reader = readerOf(split);
      if (context.registeredReaders().containsKey(reader) && !lacksSnapshot(split)) {
        assignment.computeIfAbsent(reader, absent -> new ArrayList<>()).add(split);
        unassigned.remove(split.splitId());
        assigned.put(split.splitId(), split);
        given.add(reader);
      }
    }
    if (!assignment.isEmpty()) {
      context.assignSplits(new SplitsAssignment<>(assignment));
    }
    tellIdleReaders();
  }

  private int readerOf(SluiceSplit split) {
    int shift = Long.hashCode(split.tableId()) + Long.hashCode(split.partition().orElse(0));
    return Math.floorMod(shift + split.bucket(), context.currentParallelism());
  }

  private void tellIdleReaders() {
    if (!planned) {
      return;
    }
    for (int reader : List.copyOf(askers)) {
      boolean waits = unassigned.values().stream().anyMatch(split -> readerOf(split) == reader);
      if (!waits && context.registeredReaders().containsKey(reader)) {
        askers.remove(reader);
        if (!given.contains(reader)) {
          context.sendEventToSourceReader(reader, new NothingToRead());
        }
      }
    }
  }

  @Override
  public void addSplitsBack(List<SluiceSplit> splits, int subtask) {
    given.remove(subtask);
    askers.remove(subtask);
    splits.forEach(
        split -> {
          assigned.remove(split.splitId());
          unassigned.put(split.splitId(), split);
        });
    acquireMissing();
    if (planned) {
      assign();
    }
  }

  // ---- snapshots

  /** Whether a split starts over in a snapshot that has been given back; happens only where no checkpoint was there to restore. */
  private boolean lacksSnapshot(SluiceSplit split) {
    boolean startsOver = split.start().kind() == SplitStart.Kind.SNAPSHOT && split.start().value() == 0;
    return startsOver && !leased.containsKey(split.splitId());
  }

  private void acquireMissing() {
    List<SluiceSplit> missing = new ArrayList<>();
    unassigned.values().stream().filter(this::lacksSnapshot).forEach(missing::add);
    if (missing.isEmpty() || acquiring) {
      return;
    }
    acquiring = true;
    ask(() -> planner.withSnapshotsIfThere(client(), missing, leaseId), splits -> acquired(missing, splits));
  }

  private void acquired(List<SluiceSplit> missing, List<SluiceSplit> splits) {
    acquiring = false;
    Set<String> there = splits.stream().map(SluiceSplit::splitId).collect(Collectors.toSet());
    missing.stream().map(SluiceSplit::splitId).filter(id -> !there.contains(id)).forEach(unassigned::remove);
    splits.forEach(split -> unassigned.replace(split.splitId(), split));
    lease(splits);
    acquireMissing();
    assign();
  }

  @Override
  public void handleSourceEvent(int subtask, SourceEvent event) {
    if (event instanceof SnapshotsRead) {
      snapshotsRead((SnapshotsRead) event);
    }
  }

  /** Gives snapshots back that no restore can ask for: a checkpoint says so, or there is none to restore from. */
  private void snapshotsRead(SnapshotsRead event) {
    if (checkpointed && !event.checkpointed()) {
      return;
    }
    List<SluiceSplit> done = new ArrayList<>();
    for (String splitId : event.splitIds()) {
      SluiceSplit split = leased.remove(splitId);
      if (split != null) {
        done.add(split);
      }
    }
    leases = !leased.isEmpty();
    if (!done.isEmpty()) {
      ask(() -> release(done), ignored -> {});
    }
  }

  // ---- worker thread

  private List<SluiceSplit> plan() {
    return planner.plan(client(), leaseId, System.currentTimeMillis());
  }

  @Nullable
  private List<SluiceSplit> planWhenDue() {
    if (due || planner.mustWait(System.currentTimeMillis())) {
      return null;
    }
    List<SluiceSplit> splits = plan();
    due = true;
    return splits;
  }

  private Void checkTable(long saved) {
    long present = client().tableId();
    if (present != saved) {
      throw SourceFailure.otherTable(planner.table(), saved, present);
    }
    return null;
  }

  private Void renew() {
    if (leases) {
      client().renewLease(leaseId, settings.leaseDuration().toMillis());
    }
    return null;
  }

  private Void release(List<SluiceSplit> splits) {
    client().releaseSnapshots(splits, leaseId);
    return null;
  }

  private TableClient client() {
    if (client == null) {
      TableClient opened = opener.get();
      synchronized (closing) {
        client = opened;
        if (closed) {
          opened.close();
        }
      }
    }
    return client;
  }

  // ---- both

  private <T> void ask(Callable<T> question, Consumer<T> then) {
    context.callAsync(question, (answer, failure) -> handle(answer, failure, then));
  }

  private static <T> void handle(@Nullable T answer, @Nullable Throwable failure, Consumer<T> then) {
    if (failure != null) {
      throw SourceFailure.of(failure);
    }
    then.accept(answer);
  }

  @Override
  public SourceState snapshotState(long checkpointId) {
    checkpointed = true;
    return new SourceState(planned, leaseId, List.copyOf(unassigned.values()), List.copyOf(assigned.values()), List.copyOf(leased.values()));
  }

  @Override
  public void close() throws IOException {
    synchronized (closing) {
      closed = true;
      if (client != null) {
        client.close();
      }
    }
  }
}
