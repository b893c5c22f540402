//! How all parts of a server learn that it stops.

use tokio::sync::watch;

/// Tells that the server stops.
#[derive(Debug, Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    pub(crate) fn new() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    pub(crate) fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for it.
    pub(crate) async fn wait(&mut self) {
        // A sender that is gone is a server that is gone.
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }
}
