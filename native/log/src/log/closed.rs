//! Closed segments as whoever copies them elsewhere sees them.

use super::Log;
use crate::lock::{lock, read};
use crate::segment::Segment;
use sluice_base::{Fs, Offset, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A segment that gets no more batches and is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedSegment {
    /// Its file, whether that is there or elsewhere.
    pub path: PathBuf,
    /// Its first offset.
    pub base: Offset,
    /// The first offset behind it.
    pub end: Offset,
    /// Length of its file.
    pub bytes: u64,
}

impl Log {
    /// The closed segments, oldest first: those that no later opening checks again, so that they need not be at hand for it.
    #[must_use]
    pub fn closed_segments(&self) -> Vec<ClosedSegment> {
        let checked_from = lock(&self.syncing).saved.map_or(Offset::MIN, |point| point.segment);
        let segments = read(&self.segments);
        let closed = segments.iter().zip(segments.iter().skip(1)).take_while(|(_, next)| next.base <= checked_from);
        let of = |(segment, next): (&Arc<Segment>, &Arc<Segment>)| ClosedSegment {
            path: segment.path.clone(),
            base: segment.base,
            end: next.base,
            bytes: segment.bytes(),
        };
        closed.map(of).collect()
    }

    /// Closes the segment that takes appends, if it has any batch, and makes all before the new one durable and closed for good.
    ///
    /// # Errors
    /// As [`Log::append`] and [`Log::save_recovery_point`].
    pub fn close_active(&self) -> Result<()> {
        let mut appender = lock(&self.appender);
        self.refuse_poisoned()?;
        if let Some(active) = appender.active.clone().filter(|active| active.segment.end() > active.segment.base) {
            if appender.torn {
                active.file.set_len(active.segment.bytes())?;
                appender.torn = false;
            }
            self.roll(&mut appender)?;
        }
        drop(appender);
        // Also after a try that failed here: only what lies before the recovery point counts as closed.
        self.save_recovery_point()
    }

    /// Writes the empty segment that a log begins with at `base`, where there is none.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub fn begin_at(fs: &dyn Fs, dir: &Path, base: Offset) -> Result<()> {
        let (_, file) = Segment::create(fs, dir, base, 1)?;
        file.sync()?;
        fs.sync_dir(dir)
    }

    /// Timestamp of the last batch of the segment that begins at `base`; `None` when there is no such batch.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn last_timestamp_of(&self, base: Offset) -> Result<Option<i64>> {
        let segment = read(&self.segments).iter().find(|s| s.base == base).cloned();
        segment.map_or(Ok(None), |segment| self.last_timestamp(&segment))
    }

    /// Gives up the open file of the closed segment that begins at `base`: it is elsewhere from now on.
    pub fn let_go(&self, base: Offset) {
        lock(&self.at_hand).retain(|s| s.base != base);
        if let Some(segment) = read(&self.segments).iter().find(|s| s.base == base) {
            self.save_statistics_of(segment);
            segment.forget();
        }
    }
}
