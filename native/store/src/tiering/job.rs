//! One table's rounds in this process: that they go one at a time, when the next is due, and how the last went.

use sluice_base::Error;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Pauses after failures: doubled from the first to the last.
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_DOUBLINGS_MAX: u32 = 6;

#[derive(Debug)]
struct State {
    busy: bool,
    due: Instant,
    failures: u32,
    error: Option<String>,
    last_round_ms: Option<i64>,
    /// The bucket that the next round begins with.
    first: usize,
}

/// The rounds of one table.
#[derive(Debug)]
pub(super) struct Job {
    state: Mutex<State>,
    free: Condvar,
}

impl Default for Job {
    fn default() -> Self {
        let state = State { busy: false, due: Instant::now(), failures: 0, error: None, last_round_ms: None, first: 0 };
        Self { state: Mutex::new(state), free: Condvar::new() }
    }
}

/// The right to run a round, given back when dropped.
#[derive(Debug)]
pub(super) struct Turn<'j>(&'j Job);

impl Turn<'_> {
    pub(super) const fn job(&self) -> &Job {
        self.0
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().busy = false;
        self.0.free.notify_one();
    }
}

impl Job {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every critical section is a few assignments, so the state is whole also after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the running round; `None` when it takes longer than `wait`.
    pub(super) fn turn(&self, wait: Duration) -> Option<Turn<'_>> {
        let (mut state, _) =
            self.free.wait_timeout_while(self.lock(), wait, |s| s.busy).unwrap_or_else(PoisonError::into_inner);
        if state.busy {
            return None;
        }
        state.busy = true;
        Some(Turn(self))
    }

    pub(super) fn due(&self) -> Instant {
        self.lock().due
    }

    pub(super) fn set_due(&self, due: Instant) {
        self.lock().due = due;
    }

    /// The bucket with which the next round begins.
    pub(super) fn first(&self) -> usize {
        self.lock().first
    }

    /// Lets the next round begin with another bucket, so that a long one does not keep the others waiting for ever.
    pub(super) fn begin_with(&self, first: usize) {
        self.lock().first = first;
    }

    /// A round went well; `at_ms` if it brought something.
    pub(super) fn succeeded(&self, at_ms: Option<i64>) {
        let mut state = self.lock();
        (state.failures, state.error) = (0, None);
        state.last_round_ms = at_ms.or(state.last_round_ms);
    }

    /// A round failed; the next is due after a pause.
    pub(super) fn failed(&self, error: &Error) {
        let mut state = self.lock();
        state.due = Instant::now() + RETRY_MIN * (1 << state.failures.min(RETRY_DOUBLINGS_MAX));
        state.failures = state.failures.saturating_add(1);
        state.error = Some(error.to_string());
    }

    /// What goes on behind rounds failed: that is told, and the next round is due when it was.
    pub(super) fn note(&self, error: &Error) {
        self.lock().error = Some(error.to_string());
    }

    /// When the last round was, and why the last try failed if it did.
    pub(super) fn status(&self) -> (Option<i64>, Option<String>) {
        let state = self.lock();
        (state.last_round_ms, state.error.clone())
    }
}
