//! Scanning: splits in, record batches out.

use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};
use sluice_base::{Offset, Result, TableBucket};
use sluice_row::{ChangeKind, Predicate};
use std::time::Duration;

/// What to scan.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// Positions of the wanted columns in the table's newest schema, in output order; `None` = all. May be empty:
    /// batches then have rows but no columns.
    pub projection: Option<Vec<usize>>,
    /// Upper bound of rows in a batch.
    pub batch_rows_max: usize,
    /// A condition on the table's rows. Rows of a log table's log that do not meet it may be left out and need not be: whoever wants only
    /// those that do asks each row again. All other rows come whatever it says.
    pub filter: Option<Predicate>,
}

/// One bucket's range for a scanner.
#[derive(Debug, Clone)]
pub struct ScanSplit {
    /// The caller's number for it; comes back with each batch.
    pub id: u32,
    /// The bucket.
    pub bucket: TableBucket,
    /// Where to start.
    pub start: ScanStart,
    /// Where to stop reading the log (exclusive); `None` = never. A start at or behind it ends the split at once.
    pub stop: Option<Offset>,
}

/// Where a split starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanStart {
    /// At an offset of the log. A primary-key bucket gives its changelog.
    Log {
        /// The first offset wanted.
        offset: Offset,
    },
    /// The rows of a leased snapshot (of a log table: of a snapshot of its lake) as inserts in a fixed order, then the log from the
    /// snapshot's offset.
    Snapshot {
        /// The snapshot's id.
        snapshot: u64,
        /// Rows of it to skip, for a reader that was restored.
        skip_rows: u64,
    },
    /// The current rows of a primary-key bucket as inserts, then the end. `stop` is ignored.
    Current,
    /// At most so many of the newest rows (log table) or of the first rows in key order (primary key), then the end.
    Limit {
        /// How many.
        rows: u64,
    },
}

/// Some rows of one split, in order.
#[derive(Debug)]
pub struct ScanBatch {
    /// The split's number.
    pub split: u32,
    /// The projected rows; none where only the position moves, over rows that the filter leaves out.
    pub rows: RecordBatch,
    /// One kind a row for a changelog; `None` means all appends (log table) or all inserts (snapshot).
    pub kinds: Option<Vec<ChangeKind>>,
    /// Log offset of the first row, the others follow it one by one; -1 in the snapshot phase and without rows.
    pub base_offset: Offset,
    /// Where to go on after this batch.
    pub next: ScanStart,
    /// Commit time of the rows, ms since 1970; -1 in the snapshot phase.
    pub timestamp_ms: i64,
    /// Whether the split ends with this batch (which may be empty).
    pub finished: bool,
}

/// An open scanner: one per source reader. One thread polls; any thread may wake it.
pub trait Scanner: Send + Sync {
    /// Adds a split.
    ///
    /// # Errors
    /// `NotFound` about `Partition`, `Bucket` or `Snapshot`; `Invalid` about `Offset` when the start is outside the log, naming the
    /// valid range.
    fn subscribe(&self, split: ScanSplit) -> Result<()>;
    /// Removes a split; an unknown one is no error.
    fn unsubscribe(&self, split: u32);
    /// Waits up to `timeout` for rows (or the end) of any split. Splits take turns; none waits for another.
    /// `None` when nothing came or [`Scanner::wake`] was called. When a partition is dropped, its splits without a stop end.
    ///
    /// # Errors
    /// `NotFound` about `Partition` when it is dropped under a split with a stop; `Corrupt` naming file and position; `Invalid` about `Offset` when retention overtook the reader.
    fn poll(&self, timeout: Duration) -> Result<Option<ScanBatch>>;
    /// Makes the running or next `poll` return at once.
    fn wake(&self);
}
