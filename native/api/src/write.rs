//! Writing.

use arrow_array::RecordBatch;
use sluice_base::Result;
use sluice_row::ChangeKind;
use std::time::Duration;

/// How to write.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// Names of the columns that the batches hold, in their order; empty = all of the table's, in its order.
    /// Anything less than all columns is a partial update and needs a primary key.
    pub target_columns: Vec<String>,
}

/// An open writer: one per sink subtask. Rows of one writer reach their buckets in the order written.
pub trait Writer: Send {
    /// Hands rows over. `kinds` is empty (all appends, or all upserts) or holds one kind a row: `Insert` and `UpdateAfter` upsert,
    /// `Delete` deletes by key, `UpdateBefore` is dropped. A log table takes appends only.
    /// Returns when the rows are ordered in their buckets; they become durable and visible by themselves within
    /// milliseconds. Blocks (bounded) while too many bytes wait for the disk.
    ///
    /// # Errors
    /// `Invalid` about `Row` (NULL in a NOT NULL column, row too large): nothing of the batch is written. `Busy` about `Disk`
    /// when the disk is full. Any error of an earlier batch that failed to become durable.
    fn write(&mut self, batch: &RecordBatch, kinds: &[ChangeKind]) -> Result<()>;
    /// Waits until all rows handed over are durable and visible.
    ///
    /// # Errors
    /// `Busy` when `timeout` passes first; else why the rows could not be made durable.
    fn flush(&mut self, timeout: Duration) -> Result<()>;
    /// Rows and bytes handed over so far.
    fn written(&self) -> (u64, u64);
}
