//! Opening a bucket's parts on first use, and opening the log anew after a failed sync.

use super::{Bucket, WriteSide};
use crate::failure::Failure;
use crate::recover;
use sluice_base::{Error, Result};
use sluice_kv::{Kv, Overlay};
use sluice_log::Log;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// How long closing waits for calls that still use the rows.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

impl Bucket {
    /// The log.
    ///
    /// # Errors
    /// `NotFound` once the table is dropped; `Corrupt`, `Unsupported`, `Io`.
    pub(crate) fn log(&self) -> Result<Arc<Log>> {
        self.progress.alive()?;
        // The slot holds a whole log or none, whatever panicked.
        if let Some(log) = self.log.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
            return Ok(log.clone());
        }
        let mut slot = self.log.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = slot.as_ref() {
            return Ok(log.clone());
        }
        let log = Arc::new(self.or_ended(self.open_log())?);
        self.progress.advance(log.end_offset());
        Ok(slot.insert(log).clone())
    }

    /// An error of a bucket whose files are just being removed tells that it has ended, not that a file is missing.
    pub(super) fn or_ended<T>(&self, result: Result<T>) -> Result<T> {
        result.or_else(|e| {
            self.progress.alive()?;
            Err(e)
        })
    }

    /// The log if it is open.
    pub(crate) fn log_if_open(&self) -> Option<Arc<Log>> {
        self.log.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn open_log(&self) -> Result<Log> {
        let context = &self.context;
        let open = if context.read_only { Log::open_read_only } else { Log::open };
        let opened = open(context.fs.clone(), context.clock.clone(), &self.dir.join("log"), context.log_settings());
        let (log, _) = opened.map_err(|e| e.context(self.id))?;
        // What a killed process wrote may still be on its way to the disk; readers see only what is there.
        log.sync()?;
        Ok(log)
    }

    /// The rows by key.
    ///
    /// # Errors
    /// `NotFound` once the table is dropped; `Corrupt`, `Io`, `Busy` about `Disk`.
    pub(crate) fn kv(&self) -> Result<Arc<Kv>> {
        self.progress.alive()?;
        match self.kv_if_open() {
            Some(kv) => Ok(kv),
            None => self.or_ended(self.open_kv(&mut *self.lock_write()?)),
        }
    }

    /// The rows by key if they are open.
    pub(crate) fn kv_if_open(&self) -> Option<Arc<Kv>> {
        // The slot holds a whole store of rows or none, whatever panicked.
        self.kv.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives RocksDB up after the bucket has ended, so that its directory can be opened again or removed. Calls that are
    /// using it finish first, but nobody waits for ever for one that does not.
    pub(crate) fn close_kv(&self) {
        let taken = self.kv.write().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut kv) = taken else { return };
        kv.stop();
        let deadline = Instant::now() + CLOSE_WAIT;
        while Instant::now() < deadline {
            match Arc::try_unwrap(kv) {
                Ok(last) => return drop(last),
                Err(shared) => kv = shared,
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Opens RocksDB and replays the log from its mark. The writer's side is held, so nothing is appended meanwhile.
    pub(super) fn open_kv(&self, side: &mut WriteSide) -> Result<Arc<Kv>> {
        if let Some(kv) = self.kv_if_open() {
            return Ok(kv);
        }
        let log = self.log()?;
        let dir = self.dir.join("kv");
        let open = if self.context.read_only { Kv::open_read_only } else { Kv::open };
        let mut kv = open(&dir, &self.context.kv).map_err(|e| e.context(self.id))?;
        if kv.mark().applied > log.end_offset() {
            kv = self.rebuild_kv(kv, &log)?;
        }
        side.replay_bytes += recover::replay(&log, &kv, &self.meta).map_err(|e| e.context(self.id))?;
        side.rows = kv.mark().rows;
        let kv = Arc::new(kv);
        *self.kv.write().unwrap_or_else(PoisonError::into_inner) = Some(kv.clone());
        Ok(kv)
    }

    /// RocksDB knows rows that the log has lost: a power cut under `log.flush.policy = os`. The log decides.
    fn rebuild_kv(&self, kv: Kv, log: &Log) -> Result<Kv> {
        let dir = self.dir.join("kv");
        self.context.writable().map_err(|e| e.context(format_args!("the rows of {} must be built anew", self.id)))?;
        if log.start_offset() > 0 {
            return Err(Error::corrupt(format!(
                "{}: {} has rows up to offset {}, but the log ends at {} and its beginning is expired, so they cannot be built anew",
                self.id,
                dir.display(),
                kv.mark().applied,
                log.end_offset()
            )));
        }
        drop(kv);
        self.context.fs.remove_dir_all(&dir)?;
        Kv::open(&dir, &self.context.kv)
    }

    /// Opens the log anew after a failed sync, without the rows whose writers have been told that they are lost.
    pub(super) fn reopen(&self, side: &mut WriteSide) -> Result<()> {
        let reopened = self.log_if_open().map(|log| log.reopen(self.progress.high()).map_err(|e| e.context(self.id)));
        let log = Arc::new(match reopened {
            Some(log) => log?.0,
            None => self.open_log()?,
        });
        if let Some(kv) = self.kv_if_open() {
            recover::replay(&log, &kv, &self.meta)?;
            side.rows = kv.mark().rows;
        }
        side.overlay = Overlay::default();
        side.broken = None;
        *self.log.write().unwrap_or_else(PoisonError::into_inner) = Some(log.clone());
        self.progress.advance(log.end_offset());
        self.bells.ring();
        Ok(())
    }

    /// Notes that the log takes no more appends: writers of rows that are not durable get `why`.
    pub(super) fn break_log(&self, why: &Error) {
        let mut side = self.write.lock().unwrap_or_else(PoisonError::into_inner);
        let failure = match self.progress.alive() {
            Err(ended) => Failure::of(&ended),
            Ok(()) => Failure::of(why).for_lost_rows(),
        };
        self.progress.cut(failure.clone());
        side.broken = Some(failure);
        let frozen = side.frozen.take().map_or(0, |f| f.bytes);
        side.overlay = Overlay::default();
        self.context.flow.release(std::mem::take(&mut side.pending_bytes) + frozen);
    }
}
