//! One bucket's step of the group commit: sync the log, apply to RocksDB, move the watermark, wake.

use super::{Bucket, Frozen};
use crate::commit::{Committable, Committed, Stage};
use crate::failure::Failure;
use sluice_base::{ErrorKind, Result};
use sluice_kv::{Kv, Mark};
use sluice_log::Log;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

impl Committable for Bucket {
    fn commit(&self) -> Committed {
        let Some((log, work)) = self.freeze() else { return Committed::Done };
        if self.must_sync(&work)
            && let Err(e) = log.sync()
        {
            drop(work);
            self.break_log(&e.context(self.id));
            self.bells.ring();
            return Committed::Done;
        }
        let end = work.end;
        match self.apply(&log, work) {
            // While a bucket is stuck nobody queues it, so what came meanwhile would wait for the next write.
            Ok(()) if log.end_offset() > end => Committed::Again,
            Ok(()) => Committed::Done,
            Err(e) if e.kind() == ErrorKind::Corrupt => {
                self.end(Failure::of(&e.context(self.id)));
                Committed::Done
            }
            Err(e) => {
                self.progress.stick(Failure::of(&e.context(self.id)));
                if self.progress.has_ended() { Committed::Done } else { Committed::Retry }
            }
        }
    }

    fn poison(&self, panic: &(dyn std::any::Any + Send)) {
        Self::poison(self, panic);
    }

    fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Relaxed) {
            s if s == Stage::Queued as u8 => Stage::Queued,
            s if s == Stage::Running as u8 => Stage::Running,
            s if s == Stage::RunningAgain as u8 => Stage::RunningAgain,
            s if s == Stage::Stuck as u8 => Stage::Stuck,
            _ => Stage::Idle,
        }
    }

    fn set_stage(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Relaxed);
    }
}

impl Bucket {
    /// Under the `os` policy only what RocksDB may write to its files soon must be on disk before: rows must never outlive
    /// their log.
    fn must_sync(&self, work: &Frozen) -> bool {
        self.context.syncs() || self.kv_if_open().is_some_and(|kv| kv.nears_flush(work.bytes))
    }

    /// What the next step has to do; the same again when the last one could not be applied.
    fn freeze(&self) -> Option<(Arc<Log>, Frozen)> {
        if self.progress.has_ended() {
            return None;
        }
        let log = self.log_if_open()?;
        let Ok(mut side) = self.write.lock() else {
            // A panicked writer may have appended rows that it did not note for RocksDB: stop here.
            self.end(self.stopped_by_writer());
            return None;
        };
        if side.broken.is_some() {
            return None;
        }
        if side.frozen.is_none() {
            let end = log.end_offset();
            if end == self.progress.high() {
                return None;
            }
            let (layer, rows, bytes) = (side.overlay.freeze(), side.rows, std::mem::take(&mut side.pending_bytes));
            side.frozen = Some(Frozen { layer, end, rows, bytes });
        }
        side.frozen.clone().map(|work| (log, work))
    }

    fn apply(&self, log: &Log, work: Frozen) -> Result<()> {
        let Frozen { layer, end, rows, bytes } = work;
        if let Some(kv) = self.kv_if_open() {
            kv.write(layer.iter(), Mark { applied: end, rows })?;
        }
        drop(layer);
        let mut side = self.write.lock().unwrap_or_else(PoisonError::into_inner);
        side.frozen = None;
        side.overlay.drop_frozen();
        side.replay_bytes += bytes;
        let write_out = side.replay_bytes > self.context.settings.kv_replay_bytes_max;
        if write_out {
            side.replay_bytes = 0;
        }
        drop(side);
        self.progress.advance(end);
        self.context.flow.release(bytes);
        self.bells.ring();
        match self.kv_if_open() {
            Some(kv) if write_out => start_flush(log, &kv),
            _ => Ok(()),
        }
    }

    /// Writes everything out before the store closes, so that the next opening has nothing to check or replay.
    pub(crate) fn save(&self) -> Result<()> {
        if self.progress.has_ended() || self.context.read_only {
            return Ok(());
        }
        let rows = self.flush_kv();
        match self.log_if_open() {
            Some(log) => log.save_recovery_point().and(rows),
            None => rows,
        }
    }

    /// Writes applied rows to files, so that an opening after a crash replays little.
    pub(crate) fn flush_kv(&self) -> Result<()> {
        let Some(kv) = self.kv_if_open() else { return Ok(()) };
        if kv.mark().applied > kv.flushed_offset() {
            // Before for the rows that are there, after for those that come meanwhile (only the `os` policy has any).
            self.log()?.sync()?;
            kv.flush()?;
            self.log()?.sync()?;
            self.write.lock().unwrap_or_else(PoisonError::into_inner).replay_bytes = 0;
        }
        Ok(())
    }
}

/// Bounds the replay after a crash. The rows are visible already: a failure here only makes the next try larger.
fn start_flush(log: &Log, kv: &Kv) -> Result<()> {
    match log.sync().and_then(|_| kv.start_flush()) {
        Err(e) if e.kind() == ErrorKind::Corrupt => Err(e),
        _ => Ok(()),
    }
}
