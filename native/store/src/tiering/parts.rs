//! Rounds that somebody outside the engine drives: which buckets have rows to bring, files of one bucket that no snapshot names yet, and the
//! commit that makes one snapshot of them.
//!
//! Files written for a driver are known in this process only, under a number, so a driver cannot make others part of the lake. What is not
//! committed within an hour, or when the store closes, is removed again.

use super::bucket_rows::BucketRows;
use super::round::{USER, Until, check_fits};
use super::{Tiering, lock};
use crate::table::Table;
use sluice_api::{LakeSnapshot, TierPart, TierWork};
use sluice_base::{Error, ErrorKind, Offset, Result, Subject, TableBucket, TableId};
use sluice_lake::{LakeBucket, LakeTable, Round, WrittenFiles};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long files wait for their commit.
const LIFE: Duration = Duration::from_secs(3600);
/// How long a commit waits for a round under way.
const COMMIT_WAIT: Duration = Duration::from_secs(10);
/// The first number is the time in ms, shifted by this: those of an earlier process name nothing here.
const NUMBER_SHIFT: u32 = 20;

/// Files of one bucket.
#[derive(Debug)]
struct Part {
    id: TableBucket,
    name: LakeBucket,
    start: Option<Offset>,
    range: Range<Offset>,
    files: WrittenFiles,
    lake_table: Arc<LakeTable>,
    written: Instant,
}

impl Part {
    fn is_old(&self) -> bool {
        self.written.elapsed() > LIFE
    }
}

/// All parts that wait for their commit.
#[derive(Debug, Default)]
pub(super) struct Parts(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    next: u64,
    by_number: BTreeMap<u64, Part>,
}

impl Parts {
    fn keep(&self, part: Part, now_ms: i64) -> u64 {
        let mut kept = lock(&self.0);
        kept.next = kept.next.max(now_ms.unsigned_abs() << NUMBER_SHIFT) + 1;
        let number = kept.next;
        kept.by_number.insert(number, part);
        number
    }

    /// Takes parts of one table, all or none.
    fn take(&self, table: TableId, numbers: &[u64]) -> Result<Vec<Part>> {
        let mut kept = lock(&self.0);
        let is_there = |number: &&u64| kept.by_number.get(*number).is_some_and(|part| part.id.table == table);
        if let Some(missing) = numbers.iter().find(|number| !is_there(number)) {
            let message = format!(
                "part {missing} of a tiering round is not there: it has been committed, or was not within an hour, or the store was opened \
                 since it was written; ask for the work again"
            );
            return Err(Error::not_found(Subject::File, message));
        }
        Ok(numbers.iter().filter_map(|number| kept.by_number.remove(number)).collect())
    }

    /// Gives up the parts that `are` it: their files are removed.
    pub(super) fn give_up(&self, are: impl Fn(TableId) -> bool) {
        self.remove(|part| are(part.id.table));
    }

    fn remove(&self, is_it: impl Fn(&Part) -> bool) {
        let mut kept = lock(&self.0);
        let (gone, left): (BTreeMap<_, _>, _) =
            std::mem::take(&mut kept.by_number).into_iter().partition(|(_, part)| is_it(part));
        kept.by_number = left;
        drop(kept);
        abandon(gone.into_values());
    }
}

fn abandon(parts: impl IntoIterator<Item = Part>) {
    for part in parts {
        let mut round = Round::new(&part.lake_table, USER);
        round.add(part.name, part.start, part.range, part.files);
        round.abandon();
    }
}

impl Tiering {
    /// Which buckets have rows that the lake does not have.
    ///
    /// # Errors
    /// As `sluice_api::Connection::tier_work`.
    pub(crate) fn work(&self, table: &Table) -> Result<Vec<TierWork>> {
        self.context.writable()?;
        self.parts.remove(Part::is_old);
        let meta = table.meta.get();
        let tiered = self.lake(&meta)?.open(&meta)?.tiered()?.offsets;
        let mut work = Vec::new();
        for (name, bucket) in table.lake_buckets() {
            let start = tiered.end(&name);
            start.into_iter().for_each(|end| table.note_in_lake(&name, end));
            let end = match bucket.readable() {
                // Dropped since.
                Err(_) if bucket.progress.has_ended() && table.alive().is_ok() => continue,
                readable => readable?.1,
            };
            check_fits(table, &name, start, end)?;
            if start.map_or(end > 0, |start| start < end) {
                work.push(TierWork {
                    table_id: table.id.0,
                    partition_id: bucket.id.partition.map(|p| p.0),
                    bucket: bucket.id.bucket,
                    start,
                    end,
                });
            }
        }
        Ok(work)
    }

    /// Writes files of a bucket.
    ///
    /// # Errors
    /// As `sluice_api::Connection::tier_write`.
    pub(crate) fn write(&self, table: &Table, work: &TierWork, timeout: Duration) -> Result<TierPart> {
        self.context.writable()?;
        let id = work.id();
        let meta = table.meta.get();
        let lake_table = Arc::new(self.lake(&meta)?.open(&meta)?);
        let (bucket, name) = (table.find(&id)?, table.lake_bucket(&id)?);
        let base = lake_table.tiered()?.offsets.sequence_base(&name);
        let (first, end) = bucket.readable()?;
        check_fits(table, &name, work.start, end)?;
        let until = Until { time: Instant::now() + timeout, stopped: &self.stopped };
        let mut rows = BucketRows::new(&lake_table, table, &meta)?;
        let (range, files) = rows.write(&bucket, work.start, first..end, base, &until)?;
        drop(rows);
        let (end, rows) = (range.end, files.rows());
        let part = Part { id, name, start: work.start, range, files, lake_table, written: Instant::now() };
        let part = self.parts.keep(part, self.context.clock.now_ms());
        if self.has_stopped() {
            self.parts.give_up(|_| true);
        }
        Ok(TierPart { part, end, rows })
    }

    /// Makes one snapshot of parts of a table.
    ///
    /// # Errors
    /// As `sluice_api::Connection::tier_commit`.
    pub(crate) fn commit(&self, table: &Table, numbers: &[u64]) -> Result<LakeSnapshot> {
        self.context.writable()?;
        let meta = table.meta.get();
        let lake_table = self.lake(&meta)?.open(&meta)?;
        let job = self.job(table.id);
        let Some(turn) = job.turn(COMMIT_WAIT) else {
            let message = format!("another round of table {} takes long; try again", meta.path);
            return Err(Error::new(ErrorKind::Busy, Subject::Table, message));
        };
        let parts = self.parts.take(table.id, numbers)?;
        // Those of partitions that were dropped meanwhile are in the lake already, or were to go without it.
        let (parts, gone): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| table.find(&part.id).is_ok());
        abandon(gone);
        let mut round = Round::new(&lake_table, USER);
        let mut ends = Vec::new();
        for part in parts {
            ends.push((part.name.clone(), part.range.end));
            round.add(part.name, part.start, part.range, part.files);
        }
        if let Err(e) = table.alive().and_then(|()| if self.has_stopped() { Err(stopped()) } else { Ok(()) }) {
            round.abandon();
            return Err(e);
        }
        let committed = !ends.is_empty();
        if committed {
            round.commit().inspect_err(|e| turn.job().failed(e))?;
        }
        for (name, end) in ends {
            table.note_in_lake(&name, end);
        }
        turn.job().succeeded(Some(self.context.clock.now_ms()));
        if committed {
            self.follow_up(&meta, turn.job());
        }
        drop(turn);
        self.snapshot(table)
    }
}

fn stopped() -> Error {
    Error::new(ErrorKind::Closed, Subject::Store, "the store is closing; open it again")
}
