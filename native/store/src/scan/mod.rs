//! Scanning: splits in, record batches out. Splits take turns; a scanner without new rows sleeps until a commit rings.

mod filter;
mod log_part;
mod projection;
mod row_part;

pub(crate) use log_part::LogPart;
pub(crate) use projection::Wanted;
pub(crate) use row_part::RowPart;

use crate::TableMeta;
use crate::bucket::Bucket;
use crate::lake::{Lake, LakePlan, LakeRows, no_lake};
use crate::signal::Signal;
use crate::snapshot;
use crate::table::{Holder, Table, is_partition_gone};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use filter::ScanFilter;
use sluice_api::{ScanBatch, ScanOptions, ScanSplit, ScanStart, Scanner};
use sluice_base::{Error, Offset, PartitionId, Result, Subject};
use sluice_row::{Filter, Predicate};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An open scanner.
pub(crate) struct TableScanner {
    table: Arc<Table>,
    rows_max: usize,
    signal: Arc<Signal>,
    wanted: Mutex<(Wanted, Option<ScanFilter>)>,
    splits: Arc<Splits>,
    /// What is asked of the lake.
    filter: Option<Predicate>,
    /// The lake snapshot that splits were planned on last.
    plan: Mutex<Option<Arc<LakePlan>>>,
    output: SchemaRef,
}

/// The splits of a scanner; the next turn is the front's.
#[derive(Debug, Default)]
struct Splits(Mutex<VecDeque<Split>>);

impl Splits {
    fn lock(&self) -> Result<MutexGuard<'_, VecDeque<Split>>> {
        self.0.lock().map_err(|_| Error::internal("the scanner was stopped by a defect of the engine; open a new one"))
    }
}

impl Holder for Splits {
    fn give_up(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn give_up_partition(&self, partition: Option<PartitionId>) {
        let mut splits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for split in splits.iter_mut().filter(|s| s.bucket.as_ref().is_some_and(|b| b.id.partition == partition)) {
            let gone = Phase::Gone { follows: split.phase.follows(), next: split.phase.position() };
            // The lake keeps what it has of the partition, and nothing comes behind that any more.
            if let Phase::Lake { snapshot, rows, stop: None, again, .. } = std::mem::replace(&mut split.phase, gone) {
                split.bucket = None;
                split.phase = Phase::InLake { snapshot, rows, again };
            }
        }
    }
}

#[derive(Debug)]
struct Split {
    id: u32,
    /// `None` for one that only the lake has.
    bucket: Option<Arc<Bucket>>,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Log(LogPart),
    /// Rows of a snapshot, then the log.
    Snapshot {
        snapshot: u64,
        rows: RowPart,
        then: Offset,
        stop: Option<Offset>,
    },
    /// Rows of a snapshot of the lake, then the log. `again` is what a reader would start with anew if it cannot go on in between.
    Lake {
        snapshot: u64,
        rows: LakeRows,
        then: Offset,
        stop: Option<Offset>,
        again: Option<ScanStart>,
    },
    /// Rows of a snapshot of the lake, then the end: of a partition that the store does not have.
    InLake {
        snapshot: u64,
        rows: LakeRows,
        again: Option<ScanStart>,
    },
    /// The current rows or some of them, then the end; what a reader would start with again.
    Rows {
        rows: RowPart,
        again: ScanStart,
    },
    /// The partition was dropped.
    Gone {
        /// Whether the split had no end of its own.
        follows: bool,
        next: ScanStart,
    },
}

impl Phase {
    /// Whether the split goes on for ever.
    fn follows(&self) -> bool {
        match self {
            Self::Log(log) => log.follows(),
            Self::Snapshot { stop, .. } | Self::Lake { stop, .. } => stop.is_none(),
            Self::Rows { .. } | Self::InLake { .. } => false,
            Self::Gone { follows, .. } => *follows,
        }
    }

    /// Where a reader would go on.
    fn position(&self) -> ScanStart {
        match self {
            Self::Log(log) => log.position(),
            Self::Snapshot { snapshot, rows, .. } => ScanStart::Snapshot { snapshot: *snapshot, skip_rows: rows.read },
            Self::Lake { snapshot, rows, again, .. } | Self::InLake { snapshot, rows, again } => {
                let here = ScanStart::Snapshot { snapshot: *snapshot, skip_rows: rows.read };
                again.clone().unwrap_or(here)
            }
            Self::Rows { again, .. } => again.clone(),
            Self::Gone { next, .. } => next.clone(),
        }
    }
}

impl TableScanner {
    pub(crate) fn open(table: Arc<Table>, meta: &TableMeta, options: &ScanOptions) -> Result<Self> {
        if options.batch_rows_max == 0 {
            return Err(Error::invalid(Subject::Option, "batch_rows_max is 0; a scan needs at least 1 row a batch"));
        }
        let wanted = Wanted::new(table.meta.clone(), meta, options.projection.as_deref())?;
        // Rows by key have no statistics: a row may match where the one that replaced it does not.
        let predicate = options.filter.as_ref().filter(|_| !meta.has_primary_key());
        let filter = predicate.map(|p| Filter::bind(p, meta.schema())).transpose()?;
        let filter = filter.map(|f| ScanFilter::new(f, table.meta.clone()));
        let splits = Arc::<Splits>::default();
        table.add_holder(&splits);
        Ok(Self {
            table,
            rows_max: options.batch_rows_max,
            signal: Arc::default(),
            output: wanted.output.clone(),
            wanted: Mutex::new((wanted, filter)),
            filter: predicate.cloned(),
            splits,
            plan: Mutex::default(),
        })
    }

    fn phase(&self, bucket: &Arc<Bucket>, start: &ScanStart, stop: Option<Offset>) -> Result<Phase> {
        let keyed = self.table.meta.get().has_primary_key();
        match start {
            ScanStart::Log { offset } => log_from(bucket, *offset, stop),
            ScanStart::Limit { rows } if !keyed => self.newest_of_log(bucket, *rows),
            ScanStart::Snapshot { snapshot, skip_rows } if !keyed && self.table.meta.get().lake.is_some() => {
                self.lake_then_log(bucket, *snapshot, *skip_rows, stop)
            }
            _ if !keyed => {
                Err(Error::invalid(Subject::Snapshot, "a log table has no snapshots and no rows by key; scan its log"))
            }
            ScanStart::Snapshot { snapshot, skip_rows } => {
                let opened = snapshot::open(bucket, *snapshot)?;
                let rows = RowPart::new(opened.scan(*skip_rows)?, *skip_rows, None);
                Ok(Phase::Snapshot { snapshot: *snapshot, rows, then: opened.mark().applied, stop })
            }
            ScanStart::Current => {
                Ok(Phase::Rows { rows: RowPart::new(bucket.kv()?.scan(None), 0, None), again: ScanStart::Current })
            }
            ScanStart::Limit { rows } => {
                let part = RowPart::new(bucket.kv()?.scan(None), 0, Some(*rows));
                Ok(Phase::Rows { rows: part, again: start.clone() })
            }
        }
    }

    /// The lake that the rows of a log table flow on to.
    fn lake<'b>(&self, bucket: &'b Bucket) -> Result<Option<&'b Lake>> {
        bucket.context.lake_of(&self.table.meta.get())
    }

    /// The newest rows of a log table's bucket; where the log has fewer, some that the lake has.
    fn newest_of_log(&self, bucket: &Bucket, rows: u64) -> Result<Phase> {
        let (first, end) = bucket.readable()?;
        let wanted = i64::try_from(rows).unwrap_or(i64::MAX);
        let from = end.saturating_sub(wanted).max(first);
        if let Some(lake) = self.lake(bucket)?.filter(|_| end - first < wanted)
            && let Some((snapshot, _)) = LakePlan::newest(lake, &self.table.meta.get())?
        {
            let plan = self.plan(lake, snapshot.id.unsigned_abs())?;
            let then = self.after_lake(bucket, lake, &plan)?;
            let share = rows.saturating_sub((end - then).max(0).unsigned_abs());
            let files = plan.files(&self.table.lake_bucket(&bucket.id)?);
            let rows = LakeRows::new(plan.clone(), files, &self.output, 0, Some(share));
            let again = Some(ScanStart::Limit { rows: wanted.unsigned_abs() });
            let then = then.max(end.saturating_sub(wanted));
            return Ok(Phase::Lake { snapshot: plan.snapshot(), rows, then, stop: Some(end), again });
        }
        Ok(Phase::Log(LogPart::newest(from, end)))
    }

    /// What the lake has of a bucket of a log table, then its log.
    fn lake_then_log(&self, bucket: &Bucket, snapshot: u64, skip_rows: u64, stop: Option<Offset>) -> Result<Phase> {
        // The number for a lake that had nothing yet.
        if snapshot == 0 {
            return Ok(Phase::Log(LogPart::new(bucket.readable()?.0, stop)));
        }
        let Some(lake) = self.lake(bucket)? else { return Err(no_lake()) };
        let plan = self.plan(lake, snapshot)?;
        let then = self.after_lake(bucket, lake, &plan)?;
        let files = plan.files(&self.table.lake_bucket(&bucket.id)?);
        // A stream may be restored under another filter, and its position counts rows; a read that ends begins anew.
        let filter = self.filter.clone().filter(|_| stop.is_some());
        let rows = LakeRows::new(plan, files, &self.output, skip_rows, None).filtered(filter);
        Ok(Phase::Lake { snapshot, rows, then, stop, again: None })
    }

    /// The rows of a bucket of a partition that only the lake has: those of one snapshot, all of the newest, or some of them.
    fn in_lake(&self, split: &ScanSplit, partition: PartitionId) -> Result<Phase> {
        let ScanSplit { bucket: id, start, stop, .. } = split;
        let Some(lake) = self.table.lake()? else { return Err(no_lake()) };
        let newest = || {
            let newest = LakePlan::newest(lake, &self.table.meta.get())?;
            Ok(newest.map_or(0, |(snapshot, _)| snapshot.id.unsigned_abs()))
        };
        let (snapshot, skip, limit) = match start {
            ScanStart::Snapshot { snapshot, skip_rows } => (*snapshot, *skip_rows, None),
            ScanStart::Current => (newest()?, 0, None),
            ScanStart::Limit { rows } => (newest()?, 0, Some(*rows)),
            ScanStart::Log { .. } => {
                let message = format!("{id} is of a partition that only the lake has; there is no log to scan");
                return Err(Error::invalid(Subject::Offset, message));
            }
        };
        let plan = self.plan(lake, snapshot)?;
        let files = plan.files_beside(partition, id.bucket);
        let filter = self.filter.clone().filter(|_| stop.is_some() && limit.is_none());
        let rows = LakeRows::new(plan, files, &self.output, skip, limit).filtered(filter);
        let again = Some(start.clone()).filter(|_| !matches!(start, ScanStart::Snapshot { .. }));
        Ok(Phase::InLake { snapshot, rows, again })
    }

    /// What the lake has of a bucket whose partition was dropped after a reader that follows it for ever got a snapshot of the lake; `None` when
    /// that has nothing of it.
    fn kept_in_lake(&self, split: &ScanSplit) -> Result<Option<Phase>> {
        let (&ScanStart::Snapshot { snapshot, skip_rows }, None) = (&split.start, split.stop) else { return Ok(None) };
        let keyed = self.table.meta.get().has_primary_key();
        let Some(lake) = self.table.lake()?.filter(|_| !keyed && snapshot > 0) else { return Ok(None) };
        let plan = self.plan(lake, snapshot)?;
        let Some(name) = plan.named(&split.bucket) else { return Ok(None) };
        let rows = LakeRows::new(plan.clone(), plan.files(&name), &self.output, skip_rows, None);
        Ok(Some(Phase::InLake { snapshot, rows, again: None }))
    }

    /// The plan of a snapshot; splits of one scan mostly share it.
    fn plan(&self, lake: &Lake, snapshot: u64) -> Result<Arc<LakePlan>> {
        // A whole plan or none, whatever panicked.
        let mut kept = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = kept.as_ref().filter(|plan| plan.snapshot() == snapshot) {
            return Ok(plan.clone());
        }
        let plan = Arc::new(LakePlan::new(lake, &self.table.meta.get(), snapshot)?);
        Ok(kept.insert(plan).clone())
    }

    /// Where the log goes on behind a snapshot of the lake. A log that begins later than there is an error if the lake has gone on meanwhile:
    /// newer snapshots have the rows between. Otherwise they have expired while the lake was switched off, and nobody has them.
    fn after_lake(&self, bucket: &Bucket, lake: &Lake, plan: &LakePlan) -> Result<Offset> {
        let (first, end) = bucket.readable()?;
        let name = self.table.lake_bucket(&bucket.id)?;
        match plan.end(&name) {
            None => Ok(first),
            Some(then) if (first..=end).contains(&then) => Ok(then),
            Some(then) => {
                let newest = LakePlan::newest(lake, &self.table.meta.get())?;
                let newest = newest.and_then(|(_, offsets)| offsets.end(&name));
                if then < first && newest == Some(then) {
                    Ok(first)
                } else {
                    Err(bucket.out_of_range(then, first, end))
                }
            }
        }
    }

    /// One turn of each split until one has something.
    fn look(&self) -> Result<Option<ScanBatch>> {
        self.table.alive()?;
        let mut splits = self.splits.lock()?;
        let broken = |_| Error::internal("the scanner was stopped by a defect of the engine; open a new one");
        let (wanted, filter) = &mut *self.wanted.lock().map_err(broken)?;
        for _ in 0..splits.len() {
            let Some(mut split) = splits.pop_front() else { break };
            let turn = split.alive().and_then(|()| split.turn(wanted, filter.as_mut(), self.rows_max));
            let turn = turn.or_else(|e| split.gone(wanted, e));
            let done = matches!(&turn, Ok(Some(batch)) if batch.finished);
            if !done {
                splits.push_back(split);
            }
            if let Some(batch) = turn? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

/// A start outside the log is an error; an empty range is not.
fn log_from(bucket: &Bucket, offset: Offset, stop: Option<Offset>) -> Result<Phase> {
    let (first, end) = bucket.readable()?;
    let is_empty = stop.is_some_and(|stop| offset >= stop);
    if !is_empty && (offset < first || offset > end) {
        return Err(bucket.out_of_range(offset, first, end));
    }
    Ok(Phase::Log(LogPart::new(offset, stop)))
}

impl Split {
    fn alive(&self) -> Result<()> {
        self.bucket.as_ref().map_or(Ok(()), |bucket| bucket.progress.alive())
    }

    fn turn(
        &mut self,
        wanted: &mut Wanted,
        filter: Option<&mut ScanFilter>,
        rows_max: usize,
    ) -> Result<Option<ScanBatch>> {
        let found = match &mut self.phase {
            Phase::Log(log) => match &self.bucket {
                None => Some(empty(wanted, log.position(), true)),
                Some(bucket) => match log.next(bucket, wanted, filter, rows_max)? {
                    None if log.is_finished() => Some(empty(wanted, log.position(), true)),
                    None if log.has_skipped() => Some(empty(wanted, log.position(), false)),
                    found => found,
                },
            },
            Phase::Snapshot { snapshot, rows, then, stop } => {
                let batch = rows.next(wanted, rows_max)?;
                let mut next = ScanStart::Snapshot { snapshot: *snapshot, skip_rows: rows.read };
                if rows.ended {
                    // The switch is told, so that a reader that is restored does not walk the snapshot again.
                    let log = LogPart::new(*then, *stop);
                    next = log.position();
                    self.phase = Phase::Log(log);
                }
                let finished = matches!(&self.phase, Phase::Log(log) if log.is_finished());
                Some(inserts(batch, next, finished))
            }
            Phase::Lake { snapshot, rows, then, stop, again } => match rows.next(&wanted.output, rows_max)? {
                Some(batch) => {
                    let here = ScanStart::Snapshot { snapshot: *snapshot, skip_rows: rows.read };
                    Some(inserts(batch, again.clone().unwrap_or(here), false))
                }
                None => {
                    let log = match (&again, *stop) {
                        (Some(ScanStart::Limit { .. }), Some(stop)) => LogPart::newest(*then, stop),
                        _ => LogPart::new(*then, *stop),
                    };
                    let switched = empty(wanted, log.position(), log.is_finished());
                    self.phase = Phase::Log(log);
                    Some(switched)
                }
            },
            Phase::InLake { snapshot, rows, again } => {
                let batch = rows.next(&wanted.output, rows_max)?;
                let here = ScanStart::Snapshot { snapshot: *snapshot, skip_rows: rows.read };
                let next = again.clone().unwrap_or(here);
                Some(match batch {
                    Some(batch) => inserts(batch, next, false),
                    None => empty(wanted, next, true),
                })
            }
            Phase::Rows { rows, again } => {
                let batch = rows.next(wanted, rows_max)?;
                Some(inserts(batch, again.clone(), rows.ended))
            }
            // Its bucket has ended, so that no turn comes here.
            Phase::Gone { .. } => None,
        };
        Ok(found.map(|batch| ScanBatch { split: self.id, ..batch }))
    }

    /// What becomes of the split after an error: one that follows its bucket for ever ends quietly with its partition; one that was to give
    /// all rows up to an end must not seem complete.
    fn gone(&self, wanted: &Wanted, e: Error) -> Result<Option<ScanBatch>> {
        let e = self.alive().err().unwrap_or(e);
        if is_partition_gone(&e) && self.phase.follows() {
            return Ok(Some(ScanBatch { split: self.id, ..empty(wanted, self.phase.position(), true) }));
        }
        Err(e)
    }
}

fn inserts(rows: RecordBatch, next: ScanStart, finished: bool) -> ScanBatch {
    ScanBatch { split: 0, rows, kinds: None, base_offset: -1, next, timestamp_ms: -1, finished }
}

fn empty(wanted: &Wanted, next: ScanStart, finished: bool) -> ScanBatch {
    inserts(RecordBatch::new_empty(wanted.output.clone()), next, finished)
}

impl Scanner for TableScanner {
    fn subscribe(&self, split: ScanSplit) -> Result<()> {
        self.table.alive()?;
        if split.bucket.table != self.table.id {
            return Err(Error::not_found(Subject::Bucket, format!("{} is not of the scanned table", split.bucket)));
        }
        let (bucket, phase) = match split.bucket.partition.filter(|id| id.is_of_lake()) {
            Some(partition) => (None, self.in_lake(&split, partition)?),
            None => match self.table.find(&split.bucket) {
                Err(gone) if is_partition_gone(&gone) => (None, self.kept_in_lake(&split)?.ok_or(gone)?),
                found => {
                    let bucket = found?;
                    let phase = self.phase(&bucket, &split.start, split.stop)?;
                    bucket.bells.add(&self.signal);
                    (Some(bucket), phase)
                }
            },
        };
        let mut splits = self.splits.lock()?;
        splits.retain(|s| s.id != split.id);
        splits.push_back(Split { id: split.id, bucket, phase });
        drop(splits);
        self.signal.ring();
        Ok(())
    }

    fn unsubscribe(&self, split: u32) {
        if let Ok(mut splits) = self.splits.lock() {
            splits.retain(|s| s.id != split);
        }
    }

    fn poll(&self, timeout: Duration) -> Result<Option<ScanBatch>> {
        let deadline = Instant::now() + timeout;
        loop {
            if self.signal.take_wake() {
                return Ok(None);
            }
            let seen = self.signal.rings();
            if let Some(batch) = self.look()? {
                return Ok(Some(batch));
            }
            if !self.signal.wait(seen, deadline) {
                return Ok(None);
            }
        }
    }

    fn wake(&self) {
        self.signal.wake();
    }
}
