//! One bucket: its log and, in a primary-key table, its rows by key.
//!
//! Invariants: one writer at a time (`write`); `high` <= log end; all offsets below `high` are durable and applied to
//! RocksDB, so what a reader of the log has seen, a lookup sees. Rows between `high` and the log's end live in the
//! overlay. Order of locks: `write`, then `log`, then any other; none is held while waiting for a commit.

mod changelog;
mod commit;
mod groups;
mod merge;
mod merger;
mod open;
mod progress;
mod upsert;
mod version;

pub(crate) use merger::{Merger, Targets, Unit};
pub(crate) use progress::{Placed, Progress, Then};
pub(crate) use upsert::Upsert;

use crate::commit::Stage;
use crate::context::Context;
use crate::failure::Failure;
use crate::live_meta::LiveMeta;
use crate::remote::Copies;
use crate::row_numbers::RowNumbers;
use crate::signal::Bells;
use crate::snapshot_index::SnapshotIndex;
use sluice_base::{Error, ErrorKind, Offset, Result, Subject, TableBucket};
use sluice_kv::{Kv, Layer, Overlay};
use sluice_log::Log;
use sluice_row::Statistics;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU8};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// One bucket of a table.
#[derive(Debug)]
pub(crate) struct Bucket {
    pub(crate) id: TableBucket,
    pub(crate) dir: PathBuf,
    pub(crate) meta: Arc<LiveMeta>,
    numbers: Arc<RowNumbers>,
    pub(crate) context: Arc<Context>,
    pub(crate) progress: Progress,
    pub(crate) bells: Bells,
    /// Up to which offset the lake is known to have the log.
    pub(crate) in_lake: AtomicI64,
    /// Read from disk on first use.
    pub(crate) snapshots: Mutex<Option<SnapshotIndex>>,
    /// Held while a segment of the log begins to count as copied, while its local file goes, and while segments expire.
    pub(crate) moving: Mutex<()>,
    /// What the copier knows; nobody else waits for it.
    pub(crate) copies: Mutex<Copies>,
    /// The offset before which remote storage has the log.
    pub(crate) log_copied: AtomicI64,
    /// The offset before which remote storage has the rows by key.
    pub(crate) rows_copied: AtomicI64,
    /// Why segments could not be copied at the last look.
    pub(crate) not_copied: Mutex<Option<String>>,
    /// Opened on first use; replaced after a failed sync.
    log: RwLock<Option<Arc<Log>>>,
    /// Opened on first use; taken out when the bucket closes, whoever still has a handle.
    kv: RwLock<Option<Arc<Kv>>>,
    write: Mutex<WriteSide>,
    stage: AtomicU8,
}

/// What only the one writer (and, briefly, a commit) touches.
#[derive(Debug, Default)]
pub(crate) struct WriteSide {
    overlay: Overlay,
    /// Live rows, those in the overlay too.
    rows: i64,
    /// Bytes appended since the last freeze.
    pending_bytes: u64,
    frozen: Option<Frozen>,
    /// Why the log must be opened anew before the next append.
    broken: Option<Failure>,
    /// Log bytes applied since the rows were last written to files.
    replay_bytes: u64,
    scratch: upsert::Scratch,
}

/// Rows on their way from the log to RocksDB.
#[derive(Debug, Clone)]
struct Frozen {
    layer: Arc<Layer>,
    end: Offset,
    rows: i64,
    bytes: u64,
}

impl Bucket {
    pub(crate) fn new(id: TableBucket, meta: Arc<LiveMeta>, numbers: Arc<RowNumbers>, context: Arc<Context>) -> Self {
        let mut dir = context.data_dir.join(id.table.0.to_string());
        if let Some(partition) = id.partition {
            dir.push(format!("p{}", partition.0));
        }
        dir.push(id.bucket.to_string());
        Self {
            id,
            dir,
            meta,
            numbers,
            context,
            progress: Progress::default(),
            bells: Bells::default(),
            in_lake: AtomicI64::new(0),
            snapshots: Mutex::new(None),
            moving: Mutex::new(()),
            copies: Mutex::default(),
            log_copied: AtomicI64::new(0),
            rows_copied: AtomicI64::new(0),
            not_copied: Mutex::new(None),
            log: RwLock::new(None),
            kv: RwLock::new(None),
            write: Mutex::new(WriteSide::default()),
            stage: AtomicU8::new(Stage::Idle as u8),
        }
    }

    /// The one writer's side, with a log that takes appends.
    pub(crate) fn lock_write(&self) -> Result<MutexGuard<'_, WriteSide>> {
        self.progress.alive()?;
        let Ok(mut side) = self.write.lock() else {
            let why = self.stopped_by_writer();
            self.end(why.clone());
            return Err(why.error());
        };
        self.progress.alive()?;
        if side.broken.is_some() {
            self.reopen(&mut side)?;
        }
        Ok(side)
    }

    fn stopped_by_writer(&self) -> Failure {
        self.stopped_by(&"a writer panicked")
    }

    /// The sentence for a bucket that a panic stopped.
    fn stopped_by(&self, panic: &(dyn std::any::Any + Send)) -> Failure {
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let message = format!(
            "{} was stopped by a defect of the engine ({}); the other buckets go on, reopening the store heals it",
            self.id,
            text.unwrap_or("no message")
        );
        Failure::new(ErrorKind::Internal, Subject::Bucket, message)
    }

    /// Ends the bucket after a panic.
    pub(crate) fn poison(&self, panic: &(dyn std::any::Any + Send)) {
        self.end(self.stopped_by(panic));
    }

    /// Ends the bucket: writers and readers get `why`, its bytes in flight no longer count.
    pub(crate) fn end(&self, why: Failure) {
        self.progress.end(why);
        let mut side = self.write.lock().unwrap_or_else(PoisonError::into_inner);
        let frozen = side.frozen.take().map_or(0, |f| f.bytes);
        self.context.flow.release(std::mem::take(&mut side.pending_bytes) + frozen);
        drop(side);
        self.bells.ring();
    }

    /// Appends one encoded batch, with statistics of its rows if the table keeps them.
    ///
    /// # Errors
    /// `Busy` about `Disk` when the disk is full, else what the log says; nothing is appended then.
    pub(crate) fn append(self: &Arc<Self>, batch: &mut [u8], statistics: Option<&Statistics>) -> Result<Placed> {
        let mut side = self.lock_write()?;
        let placed = self.or_ended(self.append_locked(&mut side, batch, statistics))?.1;
        drop(side);
        self.context.commits.push(self);
        Ok(placed)
    }

    /// Appends one encoded batch unless its writer (id and sequence) has sent it before; tells its first offset either way.
    ///
    /// # Errors
    /// `Conflict` about `Writer` when the batch is out of order; else those of [`Bucket::append`].
    pub(crate) fn append_sent(self: &Arc<Self>, batch: &mut [u8], writer: (i64, i32)) -> Result<(Offset, Placed)> {
        let mut side = self.lock_write()?;
        if let Some(known) = self.find_sent(writer)? {
            return Ok(known);
        }
        let appended = self.or_ended(self.append_locked(&mut side, batch, None))?;
        drop(side);
        self.context.commits.push(self);
        Ok(appended)
    }

    /// First offset and whereabouts of a batch that its writer has sent before. The write side is held.
    fn find_sent(&self, (id, sequence): (i64, i32)) -> Result<Option<(Offset, Placed)>> {
        let found = self.log()?.find_sent(id, sequence)?;
        Ok(found.map(|sent| (sent.base_offset, Placed { end: sent.next_offset, epoch: self.progress.epoch() })))
    }

    fn append_locked(
        &self,
        side: &mut WriteSide,
        batch: &mut [u8],
        statistics: Option<&Statistics>,
    ) -> Result<(Offset, Placed)> {
        let appended = self.log()?.append_described(batch, statistics)?;
        side.pending_bytes += batch.len() as u64;
        self.context.flow.add(batch.len() as u64);
        Ok((appended.base_offset, Placed { end: appended.next_offset, epoch: self.progress.epoch() }))
    }

    /// The first offset that can be read and the end of what can be.
    ///
    /// # Errors
    /// What opening the log says.
    pub(crate) fn readable(&self) -> Result<(Offset, Offset)> {
        let log = self.log()?;
        Ok((log.start_offset(), self.progress.high()))
    }

    /// The error for a start outside the log.
    pub(crate) fn out_of_range(&self, offset: Offset, start: Offset, end: Offset) -> Error {
        Error::invalid(
            Subject::Offset,
            format!(
                "offset {offset} of {} is out of range: the log holds offsets {start} to {end}; start from earliest or latest, \
                 or from an offset in this range",
                self.id
            ),
        )
    }

    /// The reason for refusing a writer that waited too long for room.
    pub(crate) fn busy(&self, used: u64, max: u64) -> Error {
        let why = self.progress.stuck();
        let (subject, why) = match &why {
            Some(f) => (f.subject(), format!(": {}", f.message())),
            None => (Subject::Disk, String::new()),
        };
        let message = format!("{used} bytes wait for the disk, the limit is {max}; {} is behind{why}", self.id);
        Error::new(ErrorKind::Busy, subject, message)
    }
}
