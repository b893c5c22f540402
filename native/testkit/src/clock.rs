//! A clock that stands still until a test moves it.

use sluice_base::Clock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// A clock set by hand. `instant` moves with it.
#[derive(Debug)]
pub struct ManualClock {
    now_ms: AtomicI64,
    start_ms: i64,
    start: Instant,
}

impl ManualClock {
    /// A clock that shows `now_ms`.
    #[must_use]
    pub fn new(now_ms: i64) -> Self {
        Self { now_ms: AtomicI64::new(now_ms), start_ms: now_ms, start: Instant::now() }
    }

    /// Sets it, also backwards (the monotonic instant then stays).
    pub fn set(&self, now_ms: i64) {
        self.now_ms.store(now_ms, Ordering::SeqCst);
    }

    /// Moves it forward.
    pub fn advance(&self, by_ms: i64) {
        self.now_ms.fetch_add(by_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    fn instant(&self) -> Instant {
        let passed = self.now_ms().saturating_sub(self.start_ms);
        self.start + Duration::from_millis(u64::try_from(passed).unwrap_or(0))
    }
}
