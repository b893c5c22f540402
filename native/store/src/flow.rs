//! The bound of bytes on their way to the disk.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counts bytes that are appended but not yet committed, over all buckets of a store.
#[derive(Debug)]
pub(crate) struct Flow {
    used: Mutex<u64>,
    freed: Condvar,
    bytes_max: u64,
}

impl Flow {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { used: Mutex::new(0), freed: Condvar::new(), bytes_max }
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until some of the bound is free. A single batch may exceed it, else it could never be written.
    pub(crate) fn wait_for_room(&self, wait: Duration) -> bool {
        let deadline = Instant::now() + wait;
        let mut used = self.lock();
        while *used >= self.bytes_max {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            used = self.freed.wait_timeout(used, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    pub(crate) fn add(&self, bytes: u64) {
        *self.lock() += bytes;
    }

    pub(crate) fn release(&self, bytes: u64) {
        let mut used = self.lock();
        *used = used.saturating_sub(bytes);
        self.freed.notify_all();
    }

    pub(crate) fn used(&self) -> u64 {
        *self.lock()
    }

    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_wait_at_the_bound_and_go_on_below_it() {
        let flow = std::sync::Arc::new(Flow::new(10));
        assert!(flow.wait_for_room(Duration::ZERO));
        flow.add(25);
        assert!(!flow.wait_for_room(Duration::from_millis(1)));
        let waiter = std::thread::spawn({
            let flow = flow.clone();
            move || flow.wait_for_room(Duration::from_secs(60))
        });
        flow.release(20);
        assert!(waiter.join().unwrap());
        assert_eq!(flow.used(), 5);
    }
}
