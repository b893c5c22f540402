//! One bucket's log: append, sync, read, find by time, expire.

use crate::recover::Recovery;
use crate::{BatchHeader, LogSettings};
use arrow_buffer::Buffer;
use sluice_base::{Clock, Error, Fs, Offset, Result};
use std::path::Path;
use std::sync::Arc;

/// What became of an appended batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Offset of its first record.
    pub base_offset: Offset,
    /// Offset behind its last record.
    pub next_offset: Offset,
    /// Its commit time.
    pub timestamp_ms: i64,
}

/// A batch as it is stored.
#[derive(Debug, Clone)]
pub struct StoredBatch {
    /// Its header.
    pub header: BatchHeader,
    /// All its bytes, header too.
    pub bytes: Buffer,
}

/// One bucket's log. One appender at a time (its own lock); readers and `sync` do not block it.
#[derive(Debug)]
pub struct Log {}

impl Log {
    /// Opens the log in `dir`, creating it when missing. Only what was written after the last recovery point is checked.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported` (newer format), `Io`.
    pub fn open(
        _fs: Arc<dyn Fs>,
        _clock: Arc<dyn Clock>,
        _dir: &Path,
        _settings: LogSettings,
    ) -> Result<(Self, Recovery)> {
        Err(Error::internal("not written yet"))
    }
    /// Appends one encoded batch, stamping offset and timestamp into it. Written, not synced.
    ///
    /// # Errors
    /// `Busy` about `Disk`, `Io`: the log is as before. `Closed` after a failed sync.
    pub fn append(&self, _batch: &mut [u8]) -> Result<Appended> {
        Err(Error::internal("not written yet"))
    }
    /// Makes all appended so far durable; returns that end.
    ///
    /// # Errors
    /// `Io`: the log takes no more appends until reopened.
    pub fn sync(&self) -> Result<Offset> {
        Err(Error::internal("not written yet"))
    }
    /// First offset still kept.
    pub fn start_offset(&self) -> Offset {
        0
    }
    /// Offset behind the last appended record.
    pub fn end_offset(&self) -> Offset {
        0
    }
    /// Offset behind the last durable record.
    pub fn durable_offset(&self) -> Offset {
        0
    }
    /// Bytes of all segments.
    pub fn size_bytes(&self) -> u64 {
        0
    }
    /// Whole batches from the one that holds `from` on, as long as they begin below `limit`, up to about `bytes_max` bytes, but at
    /// least one if there is one.
    ///
    /// # Errors
    /// `Invalid` about `Offset` naming the valid range; `Corrupt` naming file and position.
    pub fn read(&self, _from: Offset, _limit: Offset, _bytes_max: usize) -> Result<Vec<StoredBatch>> {
        Err(Error::internal("not written yet"))
    }
    /// Offset of the first batch with a timestamp of at least `timestamp_ms`.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn offset_for_timestamp(&self, _timestamp_ms: i64) -> Result<Option<Offset>> {
        Err(Error::internal("not written yet"))
    }
    /// Drops whole closed segments older than the time to live and wholly below `keep_from`; returns their base offsets.
    ///
    /// # Errors
    /// `Io`.
    pub fn expire(&self, _now_ms: i64, _ttl_ms: Option<i64>, _keep_from: Offset) -> Result<Vec<Offset>> {
        Err(Error::internal("not written yet"))
    }
    /// Syncs and saves the recovery point, so that the next opening has nothing to check.
    ///
    /// # Errors
    /// As [`Log::sync`].
    pub fn save_recovery_point(&self) -> Result<()> {
        Err(Error::internal("not written yet"))
    }
}
