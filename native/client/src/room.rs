//! Bytes of rows that wait for a server's word, over all writers of a cluster, and the wait for room.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Bounds what writers keep in memory.
#[derive(Debug)]
pub(crate) struct Room {
    used: Mutex<usize>,
    freed: Condvar,
    bytes_max: usize,
}

impl Room {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { used: Mutex::new(0), freed: Condvar::new(), bytes_max }
    }

    /// Takes bytes once there is room; a batch larger than all of it waits for none to be used. Whether there was room in time.
    pub(crate) fn take(&self, bytes: usize, wait: Duration) -> bool {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |used: &mut usize| *used > 0 && used.saturating_add(bytes) > self.bytes_max;
        let waited = self.freed.wait_timeout_while(used, wait, full);
        let (mut used, over) = waited.unwrap_or_else(PoisonError::into_inner);
        if over.timed_out() && full(&mut used) {
            return false;
        }
        *used += bytes;
        true
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_sub(bytes);
        drop(used);
        self.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_full_waits_and_what_is_large_goes_alone() {
        let room = Room::new(10);
        assert!(room.take(50, Duration::ZERO));
        assert!(!room.take(1, Duration::from_millis(1)));
        room.give_back(50);
        assert!(room.take(10, Duration::ZERO));
        std::thread::scope(|s| {
            let waiting = s.spawn(|| room.take(5, Duration::from_secs(60)));
            room.give_back(10);
            assert!(waiting.join().unwrap());
        });
    }
}
