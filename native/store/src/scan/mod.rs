//! Scanning: splits in, record batches out. Splits take turns; a scanner without new rows sleeps until a commit rings.

mod log_part;
mod projection;
mod row_part;

pub(crate) use projection::Wanted;

use crate::TableMeta;
use crate::bucket::Bucket;
use crate::signal::Signal;
use crate::snapshot;
use crate::table::{Holder, Table};
use arrow_array::RecordBatch;
use log_part::LogPart;
use row_part::RowPart;
use sluice_api::{ScanBatch, ScanOptions, ScanSplit, ScanStart, Scanner};
use sluice_base::{Error, Offset, Result, Subject};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An open scanner.
pub(crate) struct TableScanner {
    table: Arc<Table>,
    rows_max: usize,
    signal: Arc<Signal>,
    wanted: Mutex<Wanted>,
    splits: Arc<Splits>,
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
}

#[derive(Debug)]
struct Split {
    id: u32,
    bucket: Arc<Bucket>,
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
    /// The current rows or some of them, then the end; what a reader would start with again.
    Rows {
        rows: RowPart,
        again: ScanStart,
    },
}

impl TableScanner {
    pub(crate) fn open(table: Arc<Table>, meta: &TableMeta, options: &ScanOptions) -> Result<Self> {
        if options.batch_rows_max == 0 {
            return Err(Error::invalid(Subject::Option, "batch_rows_max is 0; a scan needs at least 1 row a batch"));
        }
        let wanted = Wanted::new(table.meta.clone(), meta, options.projection.as_deref())?;
        let splits = Arc::<Splits>::default();
        table.add_holder(&splits);
        Ok(Self { table, rows_max: options.batch_rows_max, signal: Arc::default(), wanted: Mutex::new(wanted), splits })
    }

    fn phase(&self, bucket: &Arc<Bucket>, start: &ScanStart, stop: Option<Offset>) -> Result<Phase> {
        let keyed = self.table.meta.get().has_primary_key();
        match start {
            ScanStart::Log { offset } => log_from(bucket, *offset, stop),
            ScanStart::Limit { rows } if !keyed => {
                let (first, end) = bucket.readable()?;
                let wanted = i64::try_from(*rows).unwrap_or(i64::MAX);
                Ok(Phase::Log(LogPart::new(end.saturating_sub(wanted).max(first), Some(end))))
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

    /// One turn of each split until one has something.
    fn look(&self) -> Result<Option<ScanBatch>> {
        self.table.alive()?;
        let mut splits = self.splits.lock()?;
        let broken = |_| Error::internal("the scanner was stopped by a defect of the engine; open a new one");
        let wanted = &mut *self.wanted.lock().map_err(broken)?;
        for _ in 0..splits.len() {
            let Some(mut split) = splits.pop_front() else { break };
            let turn = split.bucket.progress.alive().and_then(|()| split.turn(wanted, self.rows_max));
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
    fn turn(&mut self, wanted: &mut Wanted, rows_max: usize) -> Result<Option<ScanBatch>> {
        let found = match &mut self.phase {
            Phase::Log(log) => match log.next(&self.bucket, wanted, rows_max)? {
                None if log.is_finished() => Some(empty(wanted, log.position(), true)),
                found => found,
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
            Phase::Rows { rows, again } => {
                let batch = rows.next(wanted, rows_max)?;
                Some(inserts(batch, again.clone(), rows.ended))
            }
        };
        Ok(found.map(|batch| ScanBatch { split: self.id, ..batch }))
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
        let bucket = self.table.find(&split.bucket)?.clone();
        if split.bucket.table != self.table.id {
            return Err(Error::not_found(Subject::Bucket, format!("{} is not of the scanned table", split.bucket)));
        }
        let phase = self.phase(&bucket, &split.start, split.stop)?;
        bucket.bells.add(&self.signal);
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
