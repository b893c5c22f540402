//! Bringing rows into the lake: by a thread of the engine from time to time, or when somebody asks.
//!
//! One round of a table at a time, whoever asks. What the lake has is asked of the lake at each round, so a process that dies at any moment
//! leaves nothing to make good: the next round goes on from what the newest snapshot records.

mod bucket_rows;
mod compactor;
mod job;
mod parts;
mod round;

use crate::bucket::Bucket;
use crate::catalog::TableMeta;
use crate::context::Context;
use crate::lake::{Lake, LakePlan};
use crate::lake_settings::TieringMode;
use crate::table::Table;
use crate::tables::Tables;
use compactor::{Compactor, USER};
use job::{Job, Turn};
use parts::Parts;
use round::{Done, Until, run_round};
use sluice_api::{LakePartitionOffsets, LakeSnapshot};
use sluice_base::{Error, ErrorKind, PartitionId, Result, Subject, TableId};
use sluice_lake::{LakeBucket, LakeOffsets};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest time between two looks for tables that are due.
const LOOK_MAX: Duration = Duration::from_secs(10);
/// Shortest time between two rounds of a table that has nothing left over.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// How long closing waits for a round; it ends at its next batch of rows, or when the lake answers.
const STOP_MAX: Duration = Duration::from_secs(5);

/// The rounds of one store.
#[derive(Debug)]
pub(crate) struct Tiering {
    context: Arc<Context>,
    jobs: Mutex<BTreeMap<TableId, Arc<Job>>>,
    /// What others drive.
    parts: Parts,
    compactor: Compactor,
    stopped: AtomicBool,
    /// Set when a table may have become due.
    hint: (Mutex<bool>, Condvar),
    /// Whether the thread runs.
    running: (Mutex<bool>, Condvar),
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    // Flags and a map of whole entries: right whatever panicked.
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tiering {
    pub(crate) fn new(context: Arc<Context>) -> Arc<Self> {
        Arc::new(Self {
            context,
            jobs: Mutex::default(),
            parts: Parts::default(),
            compactor: Compactor::default(),
            stopped: AtomicBool::new(false),
            hint: Default::default(),
            running: Default::default(),
        })
    }

    /// Starts the thread of a store that has a lake: it brings rows there if the settings say so, and else only learns how far others are,
    /// for the log may go as far as the lake has it.
    ///
    /// # Errors
    /// `Io` when the system gives no thread.
    pub(crate) fn start(self: &Arc<Self>, tables: Arc<Tables>) -> Result<()> {
        if self.context.lake.is_none() || self.context.read_only {
            return Ok(());
        }
        self.start_compactor(tables.clone())?;
        let tiering = self.clone();
        *lock(&self.running.0) = true;
        let spawned = std::thread::Builder::new().name("sluice-tier".to_owned()).spawn(move || {
            // A panic ends rounds of this process, which `error` tells; the store itself goes on.
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tiering.run(&tables)));
            if ended.is_err() {
                lock(&tiering.jobs)
                    .values()
                    .for_each(|job| job.failed(&Error::internal("the tiering thread panicked")));
            }
            *lock(&tiering.running.0) = false;
            tiering.running.1.notify_all();
        });
        if let Err(e) = spawned {
            *lock(&self.running.0) = false;
            return Err(Error::io("start thread sluice-tier", e));
        }
        Ok(())
    }

    /// Starts the thread that compacts beside the rounds, which need not wait for it.
    fn start_compactor(self: &Arc<Self>, tables: Arc<Tables>) -> Result<()> {
        let tiering = self.clone();
        self.compactor.begin();
        let spawned = std::thread::Builder::new().name("sluice-compact".to_owned()).spawn(move || {
            while let Some(id) = tiering.compactor.next() {
                // None for a table that was dropped.
                let Some(job) = lock(&tiering.jobs).get(&id).cloned() else { continue };
                let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tiering.compact(&tables, id)));
                match done {
                    Ok(Ok(())) => {}
                    Ok(Err(e)) => job.note(&e),
                    Err(_) => job.note(&Error::internal("compacting a lake table panicked")),
                }
            }
            tiering.compactor.end();
        });
        match spawned {
            Ok(_) => Ok(()),
            Err(e) => {
                self.compactor.end();
                Err(Error::io("start thread sluice-compact", e))
            }
        }
    }

    /// Merges files of one lake table, if there are many. What the lake holds is the same before and after.
    fn compact(&self, tables: &Tables, id: TableId) -> Result<()> {
        let Ok(table) = tables.get(id) else { return Ok(()) };
        let meta = table.meta.get();
        if meta.lake.is_none() || !meta.lake_compacts() {
            return Ok(());
        }
        let stopped = || self.has_stopped() || table.alive().is_err();
        let compact = || -> Result<()> {
            let lake_table = self.lake(&meta)?.open(&meta)?;
            while lake_table.compact(USER, &stopped)?.is_some() {}
            Ok(())
        };
        compact().map_err(|e| e.context(format!("lake table {} is not compacted", meta.path)))
    }

    /// Ends the thread and refuses rounds from now on. A round that waits for a lake that does not answer is not waited for: whatever comes
    /// of it is whole in the lake or not there.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.look();
        let running = lock(&self.running.0);
        drop(self.running.1.wait_timeout_while(running, STOP_MAX, |running| *running));
        self.compactor.stop(STOP_MAX);
        self.parts.give_up(|_| true);
    }

    /// Tables have come or changed: the thread looks again when they are due.
    pub(crate) fn look(&self) {
        *lock(&self.hint.0) = true;
        self.hint.1.notify_all();
    }

    /// A table has other options: its next round need not wait for the time that the old ones said.
    pub(crate) fn changed(&self, id: TableId) {
        if let Some(job) = lock(&self.jobs).get(&id) {
            job.set_due(Instant::now());
        }
        self.look();
    }

    /// A table was dropped: nothing more of it goes into the lake, where a table of the same name may be made next. Waits for a round that is
    /// just being published.
    pub(crate) fn forget(&self, id: TableId) {
        let job = lock(&self.jobs).remove(&id);
        drop(job.as_ref().and_then(|job| job.turn(STOP_MAX)));
        self.parts.give_up(|table| table == id);
    }

    fn job(&self, id: TableId) -> Arc<Job> {
        lock(&self.jobs).entry(id).or_default().clone()
    }

    fn has_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    fn run(&self, tables: &Tables) {
        loop {
            let mut next = Instant::now() + LOOK_MAX;
            for table in tables.all() {
                if self.has_stopped() {
                    return;
                }
                next = self.visit(&table).map_or(next, |due| next.min(due));
            }
            let hinted = lock(&self.hint.0);
            let left = next.saturating_duration_since(Instant::now());
            let waited = self.hint.1.wait_timeout_while(hinted, left, |hinted| !*hinted);
            *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
            if self.has_stopped() {
                return;
            }
        }
    }

    /// Does what is due for a table and tells when it is due next; `None` for a table without a lake.
    fn visit(&self, table: &Table) -> Option<Instant> {
        let freshness = table.meta.get().lake?.freshness;
        let job = self.job(table.id);
        if job.due() > Instant::now() {
            return Some(job.due());
        }
        let began = Instant::now();
        let pause = match self.context.settings.lake.tiering {
            TieringMode::Embedded => freshness.max(PAUSE_MIN),
            TieringMode::None => self.context.settings.retention_check_interval,
        };
        let outcome = match self.context.settings.lake.tiering {
            TieringMode::Embedded => {
                let until = Until { time: began + freshness, stopped: &self.stopped };
                match job.turn(Duration::ZERO) {
                    Some(turn) => self.round(table, &turn, &until),
                    // Somebody asked for a round, which is under way.
                    None => Ok(Done::default()),
                }
            }
            TieringMode::None => self.learn(table).map(|_| Done::default()),
        };
        match outcome {
            Ok(done) if done.left_over => job.set_due(Instant::now()),
            Ok(_) => job.set_due(began + pause),
            Err(e) => job.failed(&e),
        }
        Some(job.due())
    }

    /// One round, which notes how it went.
    fn round(&self, table: &Table, turn: &Turn<'_>, until: &Until<'_>) -> Result<Done> {
        let meta = table.meta.get();
        let done = run_round(self.lake(&meta)?, table, turn.job(), until)?;
        for (bucket, end) in &done.ends {
            table.note_in_lake(bucket, *end);
        }
        turn.job().succeeded(done.committed.then(|| self.context.clock.now_ms()));
        if done.committed {
            self.follow_up(&meta, turn.job());
        }
        Ok(done)
    }

    /// What a table asks for behind its rounds. The round's rows are in the lake whatever comes of this.
    fn follow_up(&self, meta: &TableMeta, job: &Job) {
        self.expire(meta, job);
        if meta.lake_compacts() {
            self.compactor.ask(meta.id);
        }
    }

    /// Takes old snapshots away, if the table asks for it.
    fn expire(&self, meta: &TableMeta, job: &Job) {
        if !meta.lake_expires() {
            return;
        }
        let expired = self.lake(meta).and_then(|lake| lake.open(meta)).and_then(|table| table.expire_snapshots());
        if let Err(e) = expired {
            job.failed(&e.context(format!("old snapshots of lake table {} stay", meta.path)));
        }
    }

    fn lake(&self, meta: &TableMeta) -> Result<&Lake> {
        self.context.lake_of(meta)?.ok_or_else(|| {
            let message = format!("table {} has no lake; set its option 'table.datalake.enabled' to true", meta.path);
            Error::invalid(Subject::Option, message)
        })
    }

    /// Asks the lake how far it is, and lets the log go so far.
    fn learn(&self, table: &Table) -> Result<LakeSnapshot> {
        let meta = table.meta.get();
        let Some((snapshot, offsets)) = LakePlan::newest(self.lake(&meta)?, &meta)? else {
            return Ok(told(None, &LakeOffsets::default()));
        };
        for (bucket, range) in offsets.iter() {
            table.note_in_lake(bucket, range.end);
        }
        Ok(told(Some(snapshot.id), &offsets))
    }

    /// How far the lake of a table is.
    ///
    /// # Errors
    /// As `sluice_api::Connection::lake_snapshot`.
    pub(crate) fn snapshot(&self, table: &Table) -> Result<LakeSnapshot> {
        let learnt = self.learn(table)?;
        let (last_round_ms, error) = self.job(table.id).status();
        Ok(LakeSnapshot { last_round_ms, error, ..learnt })
    }

    /// Rounds until all that is visible now, of the whole table or of one partition, is in the lake.
    ///
    /// # Errors
    /// As `sluice_api::Connection::tier`.
    pub(crate) fn tier(
        &self,
        table: &Table,
        partition: Option<PartitionId>,
        timeout: Duration,
    ) -> Result<LakeSnapshot> {
        self.context.writable()?;
        self.lake(&table.meta.get())?;
        let deadline = Instant::now() + timeout;
        let is_wanted = |(_, b): &(LakeBucket, Arc<Bucket>)| partition.is_none() || b.id.partition == partition;
        let wanted: Vec<_> = table.lake_buckets().into_iter().filter(is_wanted).collect();
        let ends = wanted.into_iter().filter(|(_, bucket)| !bucket.progress.has_ended());
        let ends = ends.map(|(name, bucket)| Ok((name, bucket.readable()?.1, bucket)));
        let wanted = ends.collect::<Result<Vec<_>>>()?;
        let job = self.job(table.id);
        let late = || {
            let message =
                format!("table {}: the time is over before all rows are in the lake; ask again", table.meta.get().path);
            Error::new(ErrorKind::Busy, Subject::Table, message)
        };
        loop {
            let turn = job.turn(deadline.saturating_duration_since(Instant::now())).ok_or_else(late)?;
            let done = self.round(table, &turn, &Until { time: deadline, stopped: &self.stopped });
            let done = done.inspect_err(|e| job.failed(e))?;
            drop(turn);
            let end = |bucket: &LakeBucket| done.ends.get(bucket).copied().unwrap_or(0);
            // What was dropped meanwhile has no rows to wait for.
            if wanted.iter().all(|(name, wanted, bucket)| end(name) >= *wanted || bucket.progress.has_ended()) {
                return self.snapshot(table);
            }
            if self.has_stopped() {
                return Err(Error::new(ErrorKind::Closed, Subject::Store, "the store is closed; open it again"));
            }
            if Instant::now() >= deadline {
                return Err(late());
            }
        }
    }
}

/// A snapshot of a lake as callers are told of it.
fn told(snapshot: Option<i64>, offsets: &LakeOffsets) -> LakeSnapshot {
    let mut told =
        LakeSnapshot { snapshot, buckets: Vec::new(), partitions: Vec::new(), last_round_ms: None, error: None };
    for (bucket, range) in offsets.iter() {
        let end = (bucket.bucket, range.end);
        match (&bucket.partition, told.partitions.last_mut()) {
            (None, _) => told.buckets.push(end),
            (Some(partition), Some(last)) if last.partition_id == partition.id => last.buckets.push(end),
            (Some(partition), _) => told.partitions.push(LakePartitionOffsets {
                partition_id: partition.id,
                name: partition.name.clone(),
                buckets: vec![end],
            }),
        }
    }
    told
}

/// How far the lake of a table is by its newest snapshot, with the rows that snapshot holds.
///
/// # Errors
/// Those of [`LakePlan::newest`].
pub(crate) fn lake_rows(lake: &Lake, meta: &TableMeta) -> Result<(i64, LakeOffsets)> {
    let newest = LakePlan::newest(lake, meta)?;
    Ok(newest.map_or((0, LakeOffsets::default()), |(snapshot, offsets)| (snapshot.total_record_count, offsets)))
}
