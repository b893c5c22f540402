//! The threads behind all connections of a process, and the way from a caller's thread to them.

use sluice_base::{Error, Result};
use std::sync::OnceLock;
use tokio::runtime::{Builder, Handle, Runtime};

/// Threads that wait for sockets; work on rows is done by the callers' threads and by blocking ones.
const THREADS: usize = 2;

static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();

/// # Errors
/// `Internal` when the process may have no more threads.
pub(crate) fn handle() -> Result<Handle> {
    let made = || Builder::new_multi_thread().worker_threads(THREADS).thread_name("sluice-client").enable_all().build();
    let runtime = RUNTIME.get_or_init(|| made().ok());
    let none = || Error::internal("cannot start the threads of the network client");
    runtime.as_ref().map(|r| r.handle().clone()).ok_or_else(none)
}
