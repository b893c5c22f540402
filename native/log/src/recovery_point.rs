//! The recovery point: up to where the log is known to be good, kept durably beside it.

use crate::file_header::{self, BODY_BYTES, POINT_MAGIC};
use sluice_base::{ErrorKind, Fs, Offset, Result};
use std::path::{Path, PathBuf};

/// Everything before it was synced and its indexes are saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecoveryPoint {
    /// Base offset of the segment it lies in.
    pub segment: Offset,
    /// Position in that segment's file.
    pub position: u64,
    /// Offset of the batch that begins there.
    pub offset: Offset,
    /// Timestamp of the batch before it; `i64::MIN` for none.
    pub timestamp_ms: i64,
}

/// Name of the file.
pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join("recovery.point")
}

impl RecoveryPoint {
    /// Reads it; `None` when it is missing or damaged: then everything is checked.
    ///
    /// # Errors
    /// `Unsupported` when a newer version wrote it; `Io`.
    pub(crate) fn load(fs: &dyn Fs, dir: &Path) -> Result<Option<Self>> {
        let path = path(dir);
        let bytes = match fs.read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let (segment, body) = match file_header::decode(POINT_MAGIC, &bytes, &path) {
            Err(e) if e.kind() == ErrorKind::Corrupt => return Ok(None),
            decoded => decoded?,
        };
        let word = |at: usize| body.get(at..at + 8).and_then(|b| b.try_into().ok()).unwrap_or([0; 8]);
        Ok(Some(Self {
            segment,
            position: u64::from_le_bytes(word(0)),
            offset: i64::from_le_bytes(word(8)),
            timestamp_ms: i64::from_le_bytes(word(16)),
        }))
    }

    /// Replaces the file in one step.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`; the old point then stands.
    pub(crate) fn save(&self, fs: &dyn Fs, dir: &Path) -> Result<()> {
        let mut body = [0; BODY_BYTES];
        body[..8].copy_from_slice(&self.position.to_le_bytes());
        body[8..16].copy_from_slice(&self.offset.to_le_bytes());
        body[16..24].copy_from_slice(&self.timestamp_ms.to_le_bytes());
        fs.replace(&path(dir), &file_header::encode(POINT_MAGIC, self.segment, &body))
    }
}
