//! Closing a store: what is on its way becomes durable, threads end, files are given up, and the directory last.
//!
//! A thread of its own does it, so that a disk that does not answer holds nobody up for ever. Invariant: the directory is given up only when
//! nothing of this store can write to it any more.

use crate::context::Context;
use crate::directory::Directory;
use crate::failure::Failure;
use crate::table::Table;
use crate::worker::Workers;
use sluice_base::{Error, ErrorKind, Result, Subject};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Whoever closes waits on while something gets done within this time. RocksDB looks every five seconds whether a full disk has space.
const STEP_MAX: Duration = Duration::from_secs(8);

/// All that has to end.
pub(crate) struct Closing {
    pub(crate) context: Arc<Context>,
    pub(crate) tables: Vec<Arc<Table>>,
    pub(crate) workers: Arc<Workers>,
    pub(crate) directory: Option<Directory>,
}

impl Closing {
    /// Closes. When the disk does not answer, closing goes on after this has returned.
    ///
    /// # Errors
    /// The first failure to write something out; the log has it all the same, the next opening replays it. `Busy` about `Disk` when the
    /// disk does not answer.
    pub(crate) fn run(self) -> Result<()> {
        let steps = Arc::new(AtomicU64::new(0));
        let context = self.context.clone();
        let (tell, told) = channel();
        let work = Arc::new(Mutex::new(Some((self, steps.clone()))));
        let take = |work: &Mutex<Option<(Self, Arc<AtomicU64>)>>| {
            let taken = work.lock().unwrap_or_else(PoisonError::into_inner).take();
            taken.map_or(Ok(()), |(closing, steps)| closing.close(&steps))
        };
        let theirs = work.clone();
        let spawned = std::thread::Builder::new().name("sluice-close".to_owned()).spawn(move || {
            // Nobody may be waiting any more.
            let _ = tell.send(take(&theirs));
        });
        if spawned.is_err() {
            return take(&work);
        }
        let done = || steps.load(Ordering::Relaxed) + context.commits.finished();
        let mut before = done();
        loop {
            match told.recv_timeout(STEP_MAX) {
                Ok(closed) => return closed,
                Err(RecvTimeoutError::Disconnected) => return Err(Error::internal("closing the store panicked")),
                Err(RecvTimeoutError::Timeout) if done() > before => before = done(),
                Err(RecvTimeoutError::Timeout) => return Err(does_not_answer(&context)),
            }
        }
    }

    fn close(self, steps: &AtomicU64) -> Result<()> {
        let Self { context, tables, workers, directory } = self;
        let step = || _ = steps.fetch_add(1, Ordering::Relaxed);
        context.commits.drain();
        context.commits.stop();
        workers.join();
        step();
        let mut first = Ok(());
        let why = Failure::new(ErrorKind::Closed, Subject::Store, "the store is closed; open it again");
        for table in tables {
            let mut saved = Ok(());
            for bucket in table.buckets() {
                // What one bucket's disk refuses it refuses the next one too.
                if saved.is_ok() {
                    saved = bucket.save();
                }
                step();
            }
            first = first.and(saved);
            table.end(&why, &step);
            table.end_numbers();
        }
        context.commits.forget();
        drop(directory);
        first
    }
}

fn does_not_answer(context: &Context) -> Error {
    let store = context.data_dir.parent().unwrap_or(&context.data_dir).display();
    let message = format!(
        "the disk of the store in {store} does not answer; the store is closed and keeps its directory locked until the disk does, \
         acknowledged rows are safe"
    );
    Error::new(ErrorKind::Busy, Subject::Disk, message)
}
