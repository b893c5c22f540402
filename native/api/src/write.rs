//! Writing.

use arrow_array::RecordBatch;
use sluice_base::{Offset, Result, TableBucket};
use sluice_row::ChangeKind;
use std::time::Duration;

/// How to write.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// Names of the columns that the batches hold, in their order; empty = all of the table's, in its order.
    /// Anything less than all columns is a partial update: it needs all columns of a primary key and leaves the others as they are.
    pub target_columns: Vec<String>,
    /// Whether rows replace what is there and deletes delete, whatever the table's merge engine and delete behavior say: for putting rows
    /// back as they were.
    pub overwrite: bool,
    /// Whether a row of a partition that is not there creates it; else such a row is refused.
    pub create_partitions: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { target_columns: Vec::new(), overwrite: false, create_partitions: true }
    }
}

/// An open writer: one per sink subtask. Rows of one writer reach their buckets in the order written.
pub trait Writer: Send {
    /// Hands rows over. `kinds` is empty (all appends, or all upserts) or holds one kind a row: `Insert` and `UpdateAfter` upsert,
    /// `Delete` deletes by key, `UpdateBefore` is dropped (a table that retracts takes both as taking a row back). A log table takes
    /// appends only.
    /// Returns when the rows are ordered in their buckets; they become durable and visible by themselves within
    /// milliseconds. Blocks, for about a second at most, while too many bytes wait for the disk.
    ///
    /// # Errors
    /// `Invalid` about `Row` (NULL in a NOT NULL or partition column, row too large, a delete that the table refuses), `NotFound` or `Invalid`
    /// about `Partition` (one that is not there and may not be created): nothing of the batch is written. A row that cannot be merged with the
    /// one that is there (a DECIMAL sum of too many digits) is `Invalid` too, but rows of other buckets may be written. `Busy` about `Disk` when
    /// the disk is full or does not keep up: the same batch may be written again, then each of its rows is there once (in a log table nothing
    /// of it was written; in a primary-key table some rows may be, which stay as they are; where merging a row twice is not merging it once, it
    /// is `Io` then). `Io` about `Disk` when a log table's batch could be written in part only. Any error of an earlier batch that failed to
    /// become durable; rows that went with a dropped partition are none. After an error other than these two the outcome of what was not
    /// flushed is unknown: each of its rows is there, or will be when the store is opened again, or not.
    fn write(&mut self, batch: &RecordBatch, kinds: &[ChangeKind]) -> Result<()>;
    /// Waits until all rows handed over are durable and visible.
    ///
    /// # Errors
    /// `Busy` when `timeout` passes first; else why the rows could not be made durable.
    fn flush(&mut self, timeout: Duration) -> Result<()>;
    /// Takes back what was written to a bucket of a primary-key table since an offset, whoever wrote it: in the columns that this writer
    /// writes, every key that the changelog names from there on becomes what it was before. Doing so twice comes to the same. Like
    /// [`Writer::write`] it returns when the changes are ordered, not when they are durable.
    ///
    /// # Errors
    /// `NotFound` about `Bucket`; `Invalid` about `Offset` when the log does not reach from there to here; `Unsupported` about `Table` when
    /// the changelog does not say what rows were before.
    fn undo(&mut self, bucket: &TableBucket, from: Offset) -> Result<()>;
    /// Rows and bytes handed over so far.
    fn written(&self) -> (u64, u64);
}
