//! Making a log durable: group commit and the recovery point.

use super::{Active, Appender, Log};
use crate::lock::lock;
use crate::recovery_point::RecoveryPoint;
use crate::segment::Segment;
use crate::writers;
use sluice_base::{Error, Offset, Result};
use std::sync::atomic::Ordering;

#[derive(Debug)]
pub(super) struct Syncing {
    pub(super) saved: Option<RecoveryPoint>,
    /// What had been appended when it was saved.
    pub(super) saved_at_bytes: u64,
}

/// What one sync of the disk covered.
struct Synced {
    point: RecoveryPoint,
    rolled: bool,
    appended_bytes: u64,
}

impl Log {
    /// Makes all that was appended so far durable and returns that end. Concurrent calls share one sync of the disk; appends
    /// go on meanwhile.
    ///
    /// # Errors
    /// `Io`: what was not durable may be lost, and the log takes no more appends until it is opened again (`Closed`).
    /// Reading goes on.
    pub fn sync(&self) -> Result<Offset> {
        let wanted = self.end_offset();
        if self.durable_offset() >= wanted {
            return Ok(self.durable_offset());
        }
        let mut syncing = lock(&self.syncing);
        if self.durable_offset() >= wanted {
            return Ok(self.durable_offset());
        }
        self.refuse_poisoned()?;
        let synced = self.sync_files().inspect_err(|e| {
            // Only the first reason is kept; the one before it explains all later ones.
            let _ = self.poison.set(format!("a sync failed ({e})"));
        })?;
        self.durable.store(synced.point.offset, Ordering::Release);
        let unsaved = synced.appended_bytes.saturating_sub(syncing.saved_at_bytes);
        if synced.rolled || unsaved >= self.settings.recovery_interval_bytes {
            // Tried once an interval and best effort: an older recovery point only makes the next opening check more.
            syncing.saved_at_bytes = synced.appended_bytes;
            let _ = self.save(&mut syncing, synced.point);
        }
        Ok(synced.point.offset)
    }

    /// Syncs all that is dirty, older segments first: a segment's durable content implies that of those before it.
    fn sync_files(&self) -> Result<Synced> {
        let mut appender = lock(&self.appender);
        let Some(active) = appender.active.clone() else {
            return Err(Error::internal("a log without a segment has nothing to sync"));
        };
        let closed = std::mem::take(&mut appender.unsynced);
        let rolled = std::mem::take(&mut appender.created);
        let (point, appended_bytes) = (self.point_at(&active, &appender), appender.appended_bytes);
        drop(appender);
        for file in &closed {
            file.sync()?;
        }
        active.file.sync()?;
        if rolled {
            self.fs.sync_dir(&self.dir)?;
        }
        Ok(Synced { point, rolled, appended_bytes })
    }

    fn point_at(&self, active: &Active, appender: &Appender) -> RecoveryPoint {
        RecoveryPoint {
            segment: active.segment.base,
            position: active.segment.bytes(),
            offset: self.end_offset(),
            timestamp_ms: appender.last_timestamp_ms,
        }
    }

    /// Syncs and saves the recovery point, so that the next opening has nothing to check. For closing.
    ///
    /// # Errors
    /// As [`Log::sync`]; `Busy` about `Disk` or `Io` when only saving failed: nothing is lost, the next opening checks more.
    pub fn save_recovery_point(&self) -> Result<()> {
        self.sync()?;
        let mut syncing = lock(&self.syncing);
        self.save_point(&mut syncing)?;
        self.save_made_statistics();
        Ok(())
    }

    /// Saves the statistics that readers have made of rows which had none. Best effort: who needs them makes them once more.
    fn save_made_statistics(&self) {
        let at_hand: Vec<_> = lock(&self.at_hand).iter().cloned().collect();
        let newest = self.all_segments().pop();
        for segment in at_hand.iter().chain(&newest) {
            let _ = segment.save_statistics(self.fs.as_ref(), self.durable_offset());
        }
    }

    /// Saves the statistics of a closed segment, if that is allowed now. Best effort: what is not saved stays in memory. Nothing behind the
    /// recovery point will be believed. After a failed sync the files belong to the log that was opened anew.
    pub(super) fn save_statistics_of(&self, closed: &Segment) {
        let Ok(_held) = self.syncing.try_lock() else { return };
        if self.poison.get().is_none() {
            let _ = closed.save_statistics(self.fs.as_ref(), Offset::MAX);
        }
    }

    /// Saves the recovery point at the durable end, if that is the end.
    pub(super) fn save_point(&self, syncing: &mut Syncing) -> Result<()> {
        let point = {
            let appender = lock(&self.appender);
            appender.active.as_ref().map(|active| self.point_at(active, &appender))
        };
        match point.filter(|p| p.offset == self.durable_offset() && syncing.saved != Some(*p)) {
            Some(point) => self.save(syncing, point),
            None => Ok(()),
        }
    }

    /// Saves indexes and statistics, then the point that makes them believed.
    fn save(&self, syncing: &mut Syncing, point: RecoveryPoint) -> Result<()> {
        let from = syncing.saved.map_or(i64::MIN, |p| p.segment);
        let segments = self.all_segments();
        for segment in segments.iter().filter(|s| s.base >= from && s.base < point.segment) {
            segment.save_index(self.fs.as_ref(), u64::MAX)?;
            segment.save_statistics(self.fs.as_ref(), Offset::MAX)?;
            self.keep_at_hand(segment);
        }
        if let Some(active) = segments.iter().find(|s| s.base == point.segment) {
            active.save_index(self.fs.as_ref(), point.position)?;
            active.save_statistics(self.fs.as_ref(), point.offset)?;
        }
        point.save(self.fs.as_ref(), &self.dir)?;
        syncing.saved = Some(point);
        let writers = lock(&self.writers).as_mut().map(|w| w.render(point.offset, self.clock.now_ms()));
        writers.map_or(Ok(()), |bytes| self.fs.replace(&writers::path(&self.dir), &bytes))
    }
}
