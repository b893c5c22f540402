//! Point and prefix lookups.

use arrow_array::RecordBatch;
use sluice_base::Result;

/// What to look up.
#[derive(Debug, Clone)]
pub struct LookupOptions {
    /// Names of the key columns, in the order in which key batches hold them: all primary-key columns in any order, or all
    /// bucket-key columns (a strict prefix of the key) and all partition columns for a prefix lookup.
    pub key_columns: Vec<String>,
    /// Positions of the wanted columns in the table's newest schema, in output order; `None` = all.
    pub projection: Option<Vec<usize>>,
}

/// The answer to a batch of keys.
#[derive(Debug)]
pub struct LookupRows {
    /// All found rows, those of the first key first.
    pub rows: RecordBatch,
    /// For each key, the end (exclusive) of its rows in `rows`; the start is the previous key's end.
    pub ends: Vec<u32>,
}

/// An open lookup; threads may share it.
pub trait Lookup: Send + Sync {
    /// Looks a batch of keys up, one key a row. A key with a NULL, or in a partition that is not there, finds nothing. Sees every row that was
    /// acknowledged before the call.
    ///
    /// # Errors
    /// `Invalid` when the columns are not those promised; `Corrupt`, `Io`.
    fn lookup(&self, keys: &RecordBatch) -> Result<LookupRows>;
}
