//! One round of a table: what its buckets' logs have beyond the lake becomes one snapshot of the lake, or none of it does.
//!
//! Buckets are worked off one after the other with one open file each, so the memory of a round does not grow with the backlog. A round ends at
//! its time with what it has by then.

use super::bucket_rows::BucketRows;
use super::job::Job;
use crate::lake::Lake;
use crate::table::{Table, is_partition_gone};
use sluice_base::{Error, ErrorKind, Offset, Result, Subject};
use sluice_lake::{LakeBucket, LakeOffsets, Round};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Who commits, as the lake's snapshots tell.
pub(super) const USER: &str = "sluice-tiering";

/// When a round has to end.
#[derive(Debug)]
pub(super) struct Until<'s> {
    /// With what it has at this time.
    pub(super) time: Instant,
    /// At once, with nothing.
    pub(super) stopped: &'s AtomicBool,
}

impl Until<'_> {
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.time
    }

    /// Refuses to go on once the store closes.
    pub(super) fn check_stopped(&self) -> Result<()> {
        if self.stopped.load(Ordering::Acquire) {
            let message = "the store is closed; the next process that opens it goes on with the lake";
            return Err(Error::new(ErrorKind::Closed, Subject::Store, message));
        }
        Ok(())
    }
}

/// What a round came to.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Whether there is a new snapshot.
    pub(super) committed: bool,
    /// Whether the round ended before all was done.
    pub(super) left_over: bool,
    /// How far each bucket is in the lake now.
    pub(super) ends: BTreeMap<LakeBucket, Offset>,
}

/// Runs one round.
///
/// # Errors
/// Those of [`Lake::open`], `LakeTable::tiered` and [`Round::commit`]; `Conflict` about `Table` when log and lake do not fit each other;
/// `Closed` when the store closes or the table is dropped; what log and rows say. Nothing is in the lake then, unless the error came while
/// publishing.
pub(super) fn run_round(lake: &Lake, table: &Table, job: &Job, until: &Until<'_>) -> Result<Done> {
    table.alive()?;
    until.check_stopped()?;
    let meta = table.meta.get();
    let lake_table = lake.open(&meta)?;
    let tiered = lake_table.tiered()?.offsets;
    let mut done =
        Done { ends: tiered.iter().map(|(bucket, range)| (bucket.clone(), range.end)).collect(), ..Done::default() };
    let rows = BucketRows::new(&lake_table, table, &meta)?;
    let mut round = Round::new(&lake_table, USER);
    match fill(&mut round, rows, &tiered, table, job, until, &mut done) {
        Ok(false) => Ok(done),
        Ok(true) => {
            round.commit()?;
            done.committed = true;
            Ok(done)
        }
        Err(e) => {
            round.abandon();
            Err(e)
        }
    }
}

/// Writes the files of a round and says whether it brings anything.
fn fill<'t>(
    round: &mut Round<'t>,
    mut rows: BucketRows<'t>,
    tiered: &LakeOffsets,
    table: &Table,
    job: &Job,
    until: &Until<'_>,
    done: &mut Done,
) -> Result<bool> {
    let buckets = table.lake_buckets();
    let count = buckets.len();
    let mut brings = false;
    for at in (0..count).map(|i| (job.first() + i) % count.max(1)).collect::<Vec<_>>() {
        let Some((name, bucket)) = buckets.get(at) else { continue };
        let start = tiered.end(name);
        let (first, end) = match bucket.readable() {
            Err(e) if is_partition_gone(&e) => continue,
            readable => readable?,
        };
        check_fits(table, name, start, end)?;
        if start.map_or(end == 0, |start| start == end) {
            continue;
        }
        // At least one bucket gets on in every round.
        if brings && until.is_over() {
            done.left_over = true;
            job.begin_with(at);
            break;
        }
        let base = tiered.sequence_base(name);
        let (range, files) = match rows.write(bucket, start, first..end, base, until) {
            // Dropped while it was read: its files are gone too, and the others go on.
            Err(e) if table.alive().is_ok() && bucket.progress.alive().is_err_and(|gone| is_partition_gone(&gone)) => {
                drop(e);
                continue;
            }
            written => written?,
        };
        if range.end < end {
            done.left_over = true;
            job.begin_with((at + 1) % count);
        }
        done.ends.insert(name.clone(), range.end);
        round.add(name.clone(), start, range, files);
        brings = true;
    }
    // The table may have been dropped, and made anew, while its rows were read.
    table.alive()?;
    until.check_stopped()?;
    Ok(brings)
}

/// A lake that has more than the log is that of a store that was put back to an older state.
pub(super) fn check_fits(table: &Table, bucket: &LakeBucket, start: Option<Offset>, end: Offset) -> Result<()> {
    match start.filter(|start| *start > end) {
        None => Ok(()),
        Some(start) => {
            let message = format!(
                "the lake of table {} has {bucket} up to offset {start}, its log ends at {end}: the store was put back to an older \
                 state; drop the lake table, then set 'table.datalake.enabled' to false and to true",
                table.meta.get().path
            );
            Err(Error::new(ErrorKind::Conflict, Subject::Table, message))
        }
    }
}
