//! What opening a log found.

use sluice_base::Offset;
use std::path::PathBuf;

/// What opening a log found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Bytes behind the recovery point, all of which were checked.
    pub checked_bytes: u64,
    /// Bytes of a torn end that were cut off.
    pub cut_bytes: u64,
    /// Where the cut was made.
    pub cut: Option<(PathBuf, u64)>,
    /// Stretches that are damaged but followed by good batches: kept; reading them is an error.
    pub damaged: Vec<Damage>,
}

/// A stretch of a segment that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The segment.
    pub path: PathBuf,
    /// Where it begins.
    pub position: u64,
    /// How long it is.
    pub bytes: u64,
    /// First offset lost.
    pub offset: Offset,
}
