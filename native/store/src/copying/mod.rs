//! Copying closed segments and rows by key to remote storage, by a thread from time to time, and giving up local files that have copies.

mod rows;

use crate::bucket::Bucket;
use crate::context::Context;
use crate::remote::{Remote, stub_path};
use crate::tables::Tables;
use sluice_base::{Error, Result};
use sluice_log::{ClosedSegment, Log};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long closing waits for a copy that is under way; it ends at its next part, or when the remote storage answers.
const STOP_MAX: Duration = Duration::from_secs(5);

/// The thread of one store.
#[derive(Debug, Default)]
pub(crate) struct Copier {
    stopped: AtomicBool,
    /// Held by a round: one at a time.
    rounds: Mutex<()>,
    /// Whether the thread runs.
    running: (Mutex<bool>, Condvar),
}

impl Copier {
    /// Starts the thread of a store that has a remote place.
    ///
    /// # Errors
    /// `Io` when the system gives no thread.
    pub(crate) fn start(self: &Arc<Self>, context: &Arc<Context>, tables: Arc<Tables>) -> Result<()> {
        let Some(remote) = context.remote.clone().filter(|_| !context.read_only) else { return Ok(()) };
        let (copier, context) = (Arc::clone(self), Arc::clone(context));
        *self.running.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        let spawned = std::thread::Builder::new().name("sluice-remote".to_owned()).spawn(move || {
            while !copier.pause(context.settings.remote_interval) {
                // The buckets tell what failed.
                let _ = copier.round(&context, &remote, &tables);
            }
            *copier.running.0.lock().unwrap_or_else(PoisonError::into_inner) = false;
            copier.running.1.notify_all();
        });
        if let Err(e) = spawned {
            *self.running.0.lock().unwrap_or_else(PoisonError::into_inner) = false;
            return Err(Error::io("start thread sluice-remote", e));
        }
        Ok(())
    }

    /// Ends the thread. A remote storage that does not answer is not waited for: what it gets counts only once the store says so.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.running.1.notify_all();
        let running = self.running.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.running.1.wait_timeout_while(running, STOP_MAX, |running| *running));
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// True = stop.
    fn pause(&self, time: Duration) -> bool {
        let running = self.running.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.running.1.wait_timeout_while(running, time, |_| !self.is_stopped()));
        self.is_stopped()
    }

    /// Looks at every bucket. A failure shows in the bucket's status; the next round tries again.
    ///
    /// # Errors
    /// The first failure.
    pub(crate) fn round(&self, context: &Context, remote: &Remote, tables: &Tables) -> Result<()> {
        let _one = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        let mut first = Ok(());
        let ours = remote.still_ours();
        for bucket in tables.all().iter().flat_map(|t| t.buckets()) {
            if self.is_stopped() {
                break;
            }
            if bucket.progress.has_ended() {
                continue;
            }
            let look = || match &ours {
                Ok(()) => bucket.copy_segments(remote, context.settings.remote_segments_max, &|| self.is_stopped()),
                Err(e) => Err(Error::new(e.kind(), e.subject(), e.message())),
            };
            match std::panic::catch_unwind(std::panic::AssertUnwindSafe(look)) {
                Ok(outcome) => {
                    let why = outcome.as_ref().err().map(ToString::to_string);
                    *bucket.not_copied.lock().unwrap_or_else(PoisonError::into_inner) = why;
                    first = first.and(outcome);
                }
                Err(panic) => bucket.poison(&*panic),
            }
        }
        first
    }
}

impl Bucket {
    /// Copies closed segments, at most `most` of them, and the rows by key if it is time; then gives up local files that have a copy and need
    /// not stay.
    ///
    /// # Errors
    /// What log, disk and remote storage say; everything is as it was then, or further.
    pub(crate) fn copy_segments(&self, remote: &Remote, most: usize, stopped: &dyn Fn() -> bool) -> Result<()> {
        remote.keep_up(self.id.table)?;
        let log = self.log()?;
        self.close_in_time(&log)?;
        self.copy_log(remote, &log, most, stopped)?;
        self.copy_rows(remote, &log, stopped)?;
        self.give_up_local_files(remote, &log)
    }

    /// Closes the segment that takes appends once it has had rows for `remote.log.roll-interval`: what is not closed is lost with the disk.
    fn close_in_time(&self, log: &Log) -> Result<()> {
        let closed = log.closed_segments().last().map_or_else(|| log.start_offset(), |last| last.end);
        let now = self.context.clock.now_ms();
        let interval = i64::try_from(self.context.settings.remote_roll_interval.as_millis()).unwrap_or(i64::MAX);
        let mut slot = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let since = match slot.open {
            _ if log.end_offset() <= closed => None,
            Some((base, since)) if base == closed => Some(since),
            _ => Some(now),
        };
        slot.open = since.map(|since| (closed, since));
        match since.filter(|since| since.saturating_add(interval) <= now) {
            Some(_) => log.close_active(),
            None => Ok(()),
        }
    }

    /// Copies closed segments, at most `most`; false when some are left.
    fn copy_log(&self, remote: &Remote, log: &Log, most: usize, stopped: &dyn Fn() -> bool) -> Result<bool> {
        let mut copied = 0;
        for segment in log.closed_segments() {
            if remote.stub(&segment.path)?.is_some() {
                self.log_copied.store(segment.end, Ordering::Release);
                continue;
            }
            if copied == most || stopped() || !self.copy_segment(remote, log, &segment, stopped)? {
                return Ok(false);
            }
            self.log_copied.store(segment.end, Ordering::Release);
            copied += 1;
        }
        Ok(true)
    }

    /// False: it was not copied, for the bucket ends or retention took it.
    fn copy_segment(
        &self,
        remote: &Remote,
        log: &Log,
        segment: &ClosedSegment,
        stopped: &dyn Fn() -> bool,
    ) -> Result<bool> {
        remote.keep_up(self.id.table)?;
        let Some(stub) = remote.copy(segment, stopped)? else { return Ok(false) };
        // Neither retention nor the end of the table may come between the look and the stub.
        let _held = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        if stopped() {
            // Another process may have the store by now, and copies of its own under the same names.
            return Ok(false);
        }
        if self.progress.has_ended() || log.start_offset() > segment.base {
            remote.remove(&stub.name)?;
            return Ok(false);
        }
        remote.disk.replace(&stub_path(&segment.path), &stub.to_bytes())?;
        Ok(true)
    }

    /// The newest `table.log.tiered.local-segments` stay, unless they are older than `table.log.local-ttl`.
    fn give_up_local_files(&self, remote: &Remote, log: &Log) -> Result<()> {
        let kept = self.meta.get().log.local;
        let now = self.context.clock.now_ms();
        let segments = log.closed_segments();
        for (i, segment) in segments.iter().enumerate() {
            if !remote.disk.exists(&segment.path) || remote.stub(&segment.path)?.is_none() {
                continue;
            }
            // With the one that takes appends.
            let newer = segments.len() - i;
            let old = |ttl: i64| {
                Ok::<_, Error>(log.last_timestamp_of(segment.base)?.is_none_or(|t| t.saturating_add(ttl) < now))
            };
            if newer < kept.segments && !kept.ttl_ms.map_or(Ok(false), old)? {
                continue;
            }
            let _held = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
            if self.progress.has_ended() || log.start_offset() > segment.base {
                break;
            }
            remote.disk.remove(&segment.path)?;
            log.let_go(segment.base);
        }
        Ok(())
    }
}
