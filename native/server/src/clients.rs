//! Clients that are connected now, for those who look.

use crate::caller::Caller;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// All open connections, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    next: AtomicU64,
    open: Mutex<BTreeMap<u64, Arc<Caller>>>,
}

/// A connection's place among the clients; given up when dropped.
pub(crate) struct Visit<'a> {
    clients: &'a Clients,
    number: u64,
}

impl Clients {
    pub(crate) fn enter(&self, caller: Arc<Caller>) -> Visit<'_> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // A map of whole entries, whatever panicked.
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(number, caller);
        Visit { clients: self, number }
    }

    /// The first so many, and how many there are.
    pub(crate) fn first(&self, most: usize) -> (Vec<Arc<Caller>>, usize) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        (open.values().take(most).cloned().collect(), open.len())
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.clients.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}
