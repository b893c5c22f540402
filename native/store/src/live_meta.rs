//! A table's newest description, shared by all of its buckets, writers and readers.

use crate::TableMeta;
use std::sync::{Arc, PoisonError, RwLock};

/// The newest [`TableMeta`]; ALTER TABLE replaces it whole.
#[derive(Debug)]
pub(crate) struct LiveMeta(RwLock<Arc<TableMeta>>);

impl LiveMeta {
    pub(crate) fn new(meta: Arc<TableMeta>) -> Self {
        Self(RwLock::new(meta))
    }

    pub(crate) fn get(&self) -> Arc<TableMeta> {
        // A replacement is one pointer: a panic elsewhere cannot leave it half done.
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, meta: Arc<TableMeta>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = meta;
    }
}
