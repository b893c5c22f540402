//! The server as a whole process: its threads, and the signals that end it.

use crate::{Config, Server};
use sluice_base::{Error, Result};
use tokio::signal::unix::{SignalKind, signal};

/// Threads that wait for disks.
const BLOCKING_THREADS_MAX: usize = 256;

/// Serves until SIGTERM or SIGINT; `ready` is called once clients are served.
///
/// # Errors
/// Those of [`Server::bind`] and [`Server::run`].
pub fn serve(config: &Config, ready: impl FnOnce(&Server)) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_name("sluice-server")
        .build()
        .map_err(|e| Error::io("start the server's threads", e))?;
    let served = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(|e| Error::io("listen for SIGTERM", e))?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(|e| Error::io("listen for SIGINT", e))?;
        let server = Server::bind(config).await?;
        ready(&server);
        server
            .run(async move {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            })
            .await
    });
    // A write that waits for a full disk must not keep the process from ending.
    runtime.shutdown_background();
    served
}
