//! The engine's threads: committers, and one that does what is due from time to time.

use crate::context::Context;
use crate::partitioner::Partitioner;
use crate::tables::Tables;
use sluice_base::Result;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// Threads that commit. Mostly they wait for the disk, so more than cores.
const COMMITTERS: usize = 4;

/// What is done from time to time, and when it is due next.
#[derive(Debug)]
struct Due {
    retention: Instant,
    snapshots: Instant,
    flush: Instant,
    partitions: Instant,
}

/// Running threads; stopping joins them.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
    stop: Arc<(Mutex<bool>, Condvar)>,
}

impl Workers {
    /// Starts the threads.
    ///
    /// # Errors
    /// `Io` when the system gives no thread.
    pub(crate) fn start(
        &self,
        context: &Arc<Context>,
        tables: Arc<Tables>,
        partitioner: Arc<OnceLock<Arc<Partitioner>>>,
    ) -> Result<()> {
        for i in 0..COMMITTERS {
            let context = context.clone();
            self.spawn(format!("sluice-commit-{i}"), move || while context.commits.run_one() {})?;
        }
        let (context, stop) = (context.clone(), self.stop.clone());
        self.spawn("sluice-worker".to_owned(), move || {
            let mut due = Due::from(&context, Instant::now());
            while !wait(&stop, due.next()) {
                due.run(&context, &tables, partitioner.get().map(AsRef::as_ref), &|| *lock(&stop.0));
            }
        })
    }

    fn spawn(&self, name: String, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let spawned = std::thread::Builder::new().name(name.clone()).spawn(work);
        let thread = spawned.map_err(|e| sluice_base::Error::io(format_args!("start thread {name}"), e))?;
        lock(&self.threads).push(thread);
        Ok(())
    }

    /// Ends and joins all threads; the commit queue must have been stopped.
    pub(crate) fn join(&self) {
        *lock(&self.stop.0) = true;
        self.stop.1.notify_all();
        let threads = std::mem::take(&mut *lock(&self.threads));
        for thread in threads {
            // A panic in a thread has been turned into a poisoned bucket where it belongs; joining is all that is left.
            let _ = thread.join();
        }
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    // A flag and a list of threads: whole whatever panicked.
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the time or the stop; true = stop.
fn wait(stop: &(Mutex<bool>, Condvar), until: Instant) -> bool {
    let mut stopped = lock(&stop.0);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if *stopped || left.is_zero() {
            return *stopped;
        }
        stopped = stop.1.wait_timeout(stopped, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

impl Due {
    fn from(context: &Context, now: Instant) -> Self {
        let settings = &context.settings;
        Self {
            retention: now + settings.retention_check_interval,
            snapshots: now + settings.snapshot_check_interval,
            flush: now + settings.kv_flush_interval,
            partitions: now + settings.partition_check_interval,
        }
    }

    fn next(&self) -> Instant {
        self.retention.min(self.snapshots).min(self.flush).min(self.partitions)
    }

    /// Does what is due, on every bucket and for partitions. Failures show up where a caller meets them; here the next round tries again.
    fn run(
        &mut self,
        context: &Context,
        tables: &Tables,
        partitioner: Option<&Partitioner>,
        stopped: &dyn Fn() -> bool,
    ) {
        let now = Instant::now();
        let next = Self::from(context, now);
        let due = (self.retention <= now, self.snapshots <= now, self.flush <= now);
        if self.partitions <= now {
            // A panic leaves catalog and tables as they were before the change or after it; the next round goes on from there.
            let follow = || partitioner.map(|p| p.follow_clock(stopped));
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(follow));
            self.partitions = next.partitions;
        }
        if due == (false, false, false) {
            return;
        }
        for bucket in tables.all().iter().flat_map(|t| t.buckets()) {
            // A disk that is full takes a second to say so, for each bucket anew.
            if stopped() {
                return;
            }
            let round = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| visit(&bucket, due)));
            if let Err(panic) = round {
                bucket.poison(&*panic);
            }
        }
        if due.0 {
            self.retention = next.retention;
        }
        if due.1 {
            self.snapshots = next.snapshots;
        }
        if due.2 {
            self.flush = next.flush;
        }
    }
}

fn visit(bucket: &crate::bucket::Bucket, (retention, snapshots, flush): (bool, bool, bool)) {
    if bucket.progress.has_ended() {
        return;
    }
    if flush {
        let _ = bucket.flush_kv();
    }
    if snapshots {
        let _ = bucket.expire_leases();
    }
    if retention {
        let _ = bucket.expire_log();
    }
}
