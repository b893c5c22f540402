//! Group commit: takes the buckets that have new rows, makes them durable, applies them, moves the watermarks.
//!
//! While one bucket syncs, its writers go on appending: all that came meanwhile is the next group. Nothing waits on
//! purpose, so a lone row is on its way to the disk at once. A bucket is committed by one thread at a time.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time after which a failed commit (disk full) is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Where a bucket stands in the queue; guarded by the queue's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stage {
    #[default]
    Idle,
    Queued,
    Running,
    /// Rows came while it ran.
    RunningAgain,
    /// The last try failed.
    Stuck,
}

/// How a commit went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Committed {
    /// All rows that were appended before it began are visible, or the bucket has ended.
    Done,
    /// A step that had failed before is done; rows that were appended since then wait for the next one.
    Again,
    /// Try again in a while.
    Retry,
}

/// What the queue commits: a bucket.
pub(crate) trait Committable: std::fmt::Debug + Send + Sync {
    /// Makes all rows appended so far durable and visible.
    fn commit(&self) -> Committed;
    /// Ends it after a panic of its commit.
    fn poison(&self, panic: &(dyn std::any::Any + Send));
    /// Where it stands in the queue.
    fn stage(&self) -> Stage;
    /// Changed by the queue only.
    fn set_stage(&self, stage: Stage);
}

#[derive(Debug, Default)]
struct State {
    dirty: VecDeque<Arc<dyn Committable>>,
    stuck: Vec<Arc<dyn Committable>>,
    retry_at: Option<Instant>,
    running: usize,
    stopping: bool,
}

/// Buckets that have rows to commit.
#[derive(Debug, Default)]
pub(crate) struct CommitQueue {
    state: Mutex<State>,
    finished: AtomicU64,
    ready: Condvar,
    idle: Condvar,
}

impl CommitQueue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bucket has new rows.
    pub(crate) fn push(&self, bucket: &Arc<impl Committable + 'static>) {
        let mut state = self.lock();
        match bucket.stage() {
            // The store closes: writers of rows that come this late are told so.
            Stage::Idle if state.stopping => {}
            Stage::Idle => {
                bucket.set_stage(Stage::Queued);
                state.dirty.push_back(bucket.clone());
                self.ready.notify_one();
            }
            Stage::Running => bucket.set_stage(Stage::RunningAgain),
            Stage::Queued | Stage::RunningAgain | Stage::Stuck => {}
        }
    }

    /// Waits for a bucket to commit; `None` once the queue stops and nothing is left to do.
    fn next(&self) -> Option<Arc<dyn Committable>> {
        let mut state = self.lock();
        loop {
            if state.retry_at.is_some_and(|at| at <= Instant::now()) {
                requeue_stuck(&mut state);
            }
            if let Some(bucket) = state.dirty.pop_front() {
                bucket.set_stage(Stage::Running);
                state.running += 1;
                return Some(bucket);
            }
            if state.stopping && state.running == 0 {
                return None;
            }
            let wait =
                state.retry_at.map_or(Duration::from_secs(3600), |at| at.saturating_duration_since(Instant::now()));
            state = self.ready.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How many commits have come to an end, well or not.
    pub(crate) fn finished(&self) -> u64 {
        self.finished.load(Ordering::Relaxed)
    }

    fn finish(&self, bucket: Arc<dyn Committable>, outcome: Committed) {
        self.finished.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        state.running -= 1;
        match (outcome, bucket.stage()) {
            (Committed::Retry, _) => {
                bucket.set_stage(Stage::Stuck);
                state.stuck.push(bucket);
                state.retry_at.get_or_insert_with(|| Instant::now() + RETRY_AFTER);
            }
            (Committed::Again, _) | (Committed::Done, Stage::RunningAgain) => {
                bucket.set_stage(Stage::Queued);
                state.dirty.push_back(bucket);
            }
            (Committed::Done, _) => bucket.set_stage(Stage::Idle),
        }
        self.ready.notify_one();
        if state.running == 0 && state.dirty.is_empty() {
            self.idle.notify_all();
            if state.stopping {
                self.ready.notify_all();
            }
        }
    }

    /// Commits one bucket if one is there within the wait; false when the queue has stopped.
    pub(crate) fn run_one(&self) -> bool {
        let Some(bucket) = self.next() else { return false };
        let outcome = catch_unwind(AssertUnwindSafe(|| bucket.commit())).unwrap_or_else(|panic| {
            bucket.poison(&*panic);
            Committed::Done
        });
        self.finish(bucket, outcome);
        true
    }

    /// Waits until nothing is queued or running (stuck buckets aside).
    pub(crate) fn drain(&self) {
        let mut state = self.lock();
        while state.running > 0 || !state.dirty.is_empty() {
            state = self.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets the threads end once the queue is empty.
    pub(crate) fn stop(&self) {
        self.lock().stopping = true;
        self.ready.notify_all();
    }

    /// Lets go of what could not be committed, once the threads have ended: a bucket here would keep itself and its files open, for
    /// buckets own the queue.
    pub(crate) fn forget(&self) {
        let (dirty, stuck) = {
            let mut state = self.lock();
            (std::mem::take(&mut state.dirty), std::mem::take(&mut state.stuck))
        };
        // Outside the lock: the last owner of a bucket closes its files.
        drop((dirty, stuck));
    }
}

fn requeue_stuck(state: &mut State) {
    state.retry_at = None;
    for bucket in std::mem::take(&mut state.stuck) {
        bucket.set_stage(Stage::Queued);
        state.dirty.push_back(bucket);
    }
}
