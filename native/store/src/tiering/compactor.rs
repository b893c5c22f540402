//! Which lake tables are to be compacted: each is asked for behind its rounds, and one at a time is worked on.

use sluice_base::TableId;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The name under which compactions are committed.
pub(super) const USER: &str = "sluice-compaction";

/// Tables that wait.
#[derive(Debug, Default)]
pub(super) struct Compactor {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    tables: VecDeque<TableId>,
    stopped: bool,
    /// Whether the thread runs.
    running: bool,
}

impl Compactor {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Every critical section is a few assignments, so the queue is whole also after a panic.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a table; once is enough for all that has come until its turn.
    pub(super) fn ask(&self, table: TableId) {
        let mut queue = self.lock();
        if !queue.tables.contains(&table) {
            queue.tables.push_back(table);
            self.changed.notify_all();
        }
    }

    /// The thread begins.
    pub(super) fn begin(&self) {
        self.lock().running = true;
    }

    /// The next table, once there is one; `None` when it is over.
    pub(super) fn next(&self) -> Option<TableId> {
        let idle = |queue: &mut Queue| queue.tables.is_empty() && !queue.stopped;
        let mut queue = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        if queue.stopped { None } else { queue.tables.pop_front() }
    }

    /// The thread has ended.
    pub(super) fn end(&self) {
        self.lock().running = false;
        self.changed.notify_all();
    }

    /// Ends the thread and waits for it, but not for ever.
    pub(super) fn stop(&self, wait: Duration) {
        let mut queue = self.lock();
        queue.stopped = true;
        self.changed.notify_all();
        drop(self.changed.wait_timeout_while(queue, wait, |queue| queue.running));
    }
}
