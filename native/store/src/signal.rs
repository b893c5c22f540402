//! How a commit wakes the scanners that wait for a bucket, without polling.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// One scanner's bell. Each ring has a number, so that none is missed between a look and the wait.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct State {
    rings: u64,
    woken: bool,
}

impl Signal {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Plain assignments only: whole also after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// New rows (or an end) may be there.
    pub(crate) fn ring(&self) {
        self.lock().rings += 1;
        self.rung.notify_all();
    }

    /// The running or next wait shall return at once.
    pub(crate) fn wake(&self) {
        self.lock().woken = true;
        self.rung.notify_all();
    }

    /// The number of the last ring; take it before looking for rows.
    pub(crate) fn rings(&self) -> u64 {
        self.lock().rings
    }

    /// Takes a pending wake.
    pub(crate) fn take_wake(&self) -> bool {
        std::mem::take(&mut self.lock().woken)
    }

    /// Waits for a ring behind number `seen`. False when the deadline passed or [`Signal::wake`] was called.
    pub(crate) fn wait(&self, seen: u64, deadline: Instant) -> bool {
        let mut state = self.lock();
        loop {
            if std::mem::take(&mut state.woken) {
                return false;
            }
            if state.rings != seen {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.rung.wait_timeout(state, left.min(Duration::from_secs(3600)));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Bell for Signal {
    fn ring(&self) {
        Self::ring(self);
    }
}

/// Somebody to be woken when readers of a bucket may see more. Must not block.
pub trait Bell: Send + Sync {
    /// New rows (or an end) may be there.
    fn ring(&self);
}

/// The bells to ring when a bucket's high watermark moves.
#[derive(Debug, Default)]
pub(crate) struct Bells(Mutex<Vec<Weak<dyn Bell>>>);

impl Bells {
    /// Adds a bell, once; it goes when its owner drops it.
    pub(crate) fn add<B: Bell + 'static>(&self, bell: &Arc<B>) {
        let mut bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bells.retain(|b| b.strong_count() > 0 && !std::ptr::addr_eq(b.as_ptr(), Arc::as_ptr(bell)));
        let bell: Weak<B> = Arc::downgrade(bell);
        bells.push(bell);
    }

    pub(crate) fn ring(&self) {
        let bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for signal in bells.iter().filter_map(Weak::upgrade) {
            signal.ring();
        }
    }
}
