//! Whether a connection was closed, for all that was made from it.

use sluice_base::{Error, ErrorKind, Result, Subject};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by a connection and its handles.
#[derive(Debug, Clone, Default)]
pub(crate) struct Closing(Arc<AtomicBool>);

impl Closing {
    pub(crate) fn close(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// # Errors
    /// `Closed`.
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(Error::new(ErrorKind::Closed, Subject::Store, "the connection was closed; open it again")),
        }
    }
}
