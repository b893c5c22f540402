//! How far a bucket's rows are durable and visible, and what writers and readers learn when that stops.

use crate::failure::Failure;
use sluice_base::{Error, ErrorKind, Offset, Result, Subject};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Rows handed to a bucket: they are safe once the high watermark reaches `end`, unless the log had to be reopened
/// (a new epoch) before that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) end: Offset,
    pub(crate) epoch: usize,
}

#[derive(Debug, Default)]
struct State {
    /// One entry for each time rows were lost before they were durable: the high watermark then, and why.
    cuts: Vec<(Offset, Failure)>,
    /// Why the last commit failed, while it is tried again.
    stuck: Option<Failure>,
    /// Why the bucket takes and gives nothing any more.
    ended: Option<Failure>,
    /// Who is to be told of rows, without waiting for it.
    told_later: Vec<(Placed, Then)>,
}

/// What to do once it is known what became of rows.
pub(crate) struct Then(pub(crate) Box<dyn FnOnce(Result<()>) + Send>);

impl std::fmt::Debug for Then {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Then")
    }
}

/// The high watermark and its waiters.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    high: AtomicI64,
    has_ended: AtomicBool,
    state: Mutex<State>,
    moved: Condvar,
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every critical section below is a plain assignment, so the state is whole also after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All offsets below it are durable and, in a primary-key table, applied.
    pub(crate) fn high(&self) -> Offset {
        self.high.load(Ordering::Acquire)
    }

    /// Moves the high watermark.
    pub(crate) fn advance(&self, to: Offset) {
        let mut state = self.lock();
        state.stuck = None;
        self.high.store(to, Ordering::Release);
        self.changed(state);
    }

    /// Tells all who wait.
    fn changed(&self, mut state: MutexGuard<'_, State>) {
        self.moved.notify_all();
        if state.told_later.is_empty() {
            return;
        }
        let high = self.high();
        let waiting = std::mem::take(&mut state.told_later);
        let mut known = Vec::with_capacity(waiting.len());
        for (placed, then) in waiting {
            match settled(&state, placed, high) {
                Some(result) => known.push((then, result)),
                None => state.told_later.push((placed, then)),
            }
        }
        drop(state);
        for (then, result) in known {
            (then.0)(result);
        }
    }

    /// Calls `then` once it is known what became of the rows, at once if it is. It must not block: it may run on a thread that commits.
    pub(crate) fn tell(&self, placed: Placed, then: Then) {
        let mut state = self.lock();
        match settled(&state, placed, self.high()) {
            Some(result) => {
                drop(state);
                (then.0)(result);
            }
            None => state.told_later.push((placed, then)),
        }
    }

    pub(crate) fn epoch(&self) -> usize {
        self.lock().cuts.len()
    }

    /// Rows behind the high watermark are lost; their writers learn why.
    pub(crate) fn cut(&self, why: Failure) {
        let mut state = self.lock();
        state.cuts.push((self.high(), why));
        self.changed(state);
    }

    /// The last commit failed and will be tried again.
    pub(crate) fn stick(&self, why: Failure) {
        self.lock().stuck = Some(why);
    }

    pub(crate) fn stuck(&self) -> Option<Failure> {
        self.lock().stuck.clone()
    }

    /// Ends the bucket: everyone waiting and every later caller gets `why`. The first reason stays.
    pub(crate) fn end(&self, why: Failure) {
        let mut state = self.lock();
        state.ended.get_or_insert(why);
        self.has_ended.store(true, Ordering::Release);
        self.changed(state);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Refuses when the bucket has ended.
    pub(crate) fn alive(&self) -> Result<()> {
        if !self.has_ended() {
            return Ok(());
        }
        self.lock().ended.as_ref().map_or(Ok(()), |f| Err(f.error()))
    }

    /// Waits until the rows are safe.
    ///
    /// # Errors
    /// Why they are lost; `Busy` when `deadline` passes first.
    pub(crate) fn wait(&self, placed: Placed, deadline: Instant) -> Result<()> {
        let mut state = self.lock();
        loop {
            if let Some(settled) = settled(&state, placed, self.high()) {
                return settled;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(not_yet(&state));
            }
            let waited = self.moved.wait_timeout(state, left.min(Duration::from_secs(3600)));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What became of the rows, when that is known.
    pub(crate) fn settled(&self, placed: Placed) -> Option<Result<()>> {
        settled(&self.lock(), placed, self.high())
    }
}

fn settled(state: &State, placed: Placed, high: Offset) -> Option<Result<()>> {
    if let Some((cut_at, why)) = state.cuts.get(placed.epoch) {
        return Some(if placed.end <= *cut_at { Ok(()) } else { Err(why.error()) });
    }
    if placed.end <= high {
        return Some(Ok(()));
    }
    state.ended.as_ref().map(|why| Err(why.error()))
}

fn not_yet(state: &State) -> Error {
    let (subject, why) = match &state.stuck {
        Some(f) => (f.subject(), format!(": {}", f.message())),
        None => (Subject::Disk, String::new()),
    };
    Error::new(ErrorKind::Busy, subject, format!("the rows are not durable yet{why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Instant {
        Instant::now()
    }

    #[test]
    fn rows_are_safe_when_the_watermark_passes_them() {
        let p = Progress::default();
        let placed = Placed { end: 5, epoch: p.epoch() };
        assert_eq!(p.wait(placed, now()).unwrap_err().kind(), ErrorKind::Busy);
        p.stick(Failure::new(ErrorKind::Busy, Subject::Disk, "no space"));
        assert!(p.wait(placed, now()).unwrap_err().message().contains("no space"));
        p.advance(5);
        p.wait(placed, now()).unwrap();
    }

    #[test]
    fn a_cut_loses_only_what_lay_behind_the_watermark() {
        let p = Progress::default();
        let (safe, lost) = (Placed { end: 5, epoch: 0 }, Placed { end: 6, epoch: 0 });
        p.advance(5);
        p.cut(Failure::new(ErrorKind::Io, Subject::File, "sync failed"));
        p.advance(9);
        p.wait(safe, now()).unwrap();
        assert_eq!(p.wait(lost, now()).unwrap_err().message(), "sync failed");
        p.wait(Placed { end: 9, epoch: p.epoch() }, now()).unwrap();
    }

    #[test]
    fn whoever_does_not_wait_is_told() {
        use std::sync::mpsc::channel;
        let p = Progress::default();
        let (sender, told) = channel();
        for (i, end) in [5, 6, 9].into_iter().enumerate() {
            let sender = sender.clone();
            p.tell(Placed { end, epoch: 0 }, Then(Box::new(move |r| sender.send((i, r.is_ok())).unwrap())));
        }
        assert!(told.try_recv().is_err());
        p.advance(5);
        assert_eq!(told.try_recv().unwrap(), (0, true));
        p.cut(Failure::new(ErrorKind::Io, Subject::File, "sync failed"));
        assert_eq!([told.try_recv().unwrap(), told.try_recv().unwrap()], [(1, false), (2, false)]);
        p.tell(Placed { end: 7, epoch: 1 }, Then(Box::new(move |r| sender.send((3, r.is_ok())).unwrap())));
        p.end(Failure::new(ErrorKind::Closed, Subject::Store, "closed"));
        assert_eq!(told.try_recv().unwrap(), (3, false));
        assert!(told.recv().is_err(), "nobody is told twice");
    }

    #[test]
    fn the_end_reaches_waiters() {
        let p = std::sync::Arc::new(Progress::default());
        let waiter = std::thread::spawn({
            let p = p.clone();
            move || p.wait(Placed { end: 1, epoch: 0 }, now() + Duration::from_secs(60))
        });
        p.end(Failure::new(ErrorKind::NotFound, Subject::Table, "dropped"));
        p.end(Failure::new(ErrorKind::Closed, Subject::Store, "closed"));
        assert_eq!(waiter.join().unwrap().unwrap_err().message(), "dropped");
        assert!(p.alive().is_err());
    }
}
