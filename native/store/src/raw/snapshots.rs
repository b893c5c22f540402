//! A bucket's snapshots for clients that read row files themselves.

use super::RawBucket;
use sluice_base::{Offset, Result};
use std::path::PathBuf;

impl RawBucket {
    /// The id of the snapshot to read and the log offset to go on from; `None` as long as there was never a row. What was told stays for a
    /// while (`kv.snapshot.interval` times `kv.snapshot.num-retained`).
    ///
    /// # Errors
    /// `NotFound` about `Table` once it is dropped; `Invalid` about `Table` without a primary key; `Busy` about `Disk`; `Corrupt`, `Io`.
    pub fn snapshot(&self) -> Result<Option<(u64, Offset)>> {
        self.keyed()?;
        self.bucket.told_snapshot()
    }

    /// The log offset to go on from, and the snapshot's files: a RocksDB database of encoded keys, each with its schema id and row.
    ///
    /// # Errors
    /// As for [`RawBucket::snapshot`], and `NotFound` about `Snapshot` when it is not there (any more).
    pub fn snapshot_files(&self, id: u64) -> Result<(Offset, Vec<PathBuf>)> {
        self.keyed()?;
        self.bucket.snapshot_files(id)
    }

    /// Keeps a snapshot for `lease_ms`, with all else of this bucket that the lease holds; false when it is not there (any more).
    ///
    /// # Errors
    /// As for [`RawBucket::snapshot`].
    pub fn hold_snapshot(&self, id: u64, lease: &str, lease_ms: u64) -> Result<bool> {
        self.keyed()?;
        self.bucket.hold_snapshot(id, lease, lease_ms)
    }
}
