//! Written rows gathered in memory before RocksDB gets them: its ordered insert costs half as much a row in batches of many thousands as in
//! those that commits come in, and a key that changes again meanwhile is inserted once.
//!
//! Invariant: a row leaves here only when RocksDB has it, so whoever looks here first and then there misses nothing.

use crate::Mark;
use crate::gathered::Gathered;
use crate::iter::Changes;
use crate::overlay::Layer;
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// The gathered rows of one bucket, with the mark that goes with them.
#[derive(Debug)]
pub(crate) struct Staging {
    hasher: DefaultHashBuilder,
    rows: RwLock<Staged>,
    of_all: Arc<Gathered>,
    write_buffer_bytes: u64,
}

#[derive(Debug, Default)]
struct Staged {
    layer: Layer,
    /// `None` when nothing is to be handed over. A commit that changes no row has a mark all the same.
    mark: Option<Mark>,
}

/// The rows to be handed over; nobody adds any meanwhile.
pub(crate) struct Full<'a> {
    rows: RwLockReadGuard<'a, Staged>,
    mark: Mark,
}

impl Staging {
    pub(crate) fn new(of_all: &Arc<Gathered>, write_buffer_bytes: u64) -> Self {
        of_all.join();
        Self {
            hasher: DefaultHashBuilder::default(),
            rows: RwLock::default(),
            of_all: of_all.clone(),
            write_buffer_bytes,
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Staged> {
        // A writer that panics may leave a part of a commit, which its mark does not cover; the bucket ends then.
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes gathered.
    pub(crate) fn bytes(&self) -> u64 {
        self.read().layer.bytes() as u64
    }

    /// Whether nothing is gathered.
    pub(crate) fn is_empty(&self) -> bool {
        self.read().layer.is_empty()
    }

    /// Whether so many bytes more may be gathered here.
    pub(crate) fn takes(&self, more: u64) -> bool {
        self.bytes() + more <= self.of_all.share(self.write_buffer_bytes)
    }

    /// Adds changes, later ones over earlier ones, and the mark that covers them.
    pub(crate) fn add<'a>(&self, changes: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>, mark: Mark) {
        let mut staged = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        let before = staged.layer.bytes();
        for (key, value) in changes {
            staged.layer.put(self.hasher.hash_one(key), key, value);
        }
        staged.mark = Some(mark);
        self.of_all.add(staged.layer.bytes() - before);
    }

    /// Asks for one key; false when nothing is known of it here. `Some(None)` goes to `each` as no row.
    pub(crate) fn get(&self, key: &[u8], each: impl FnOnce(Option<&[u8]>)) -> bool {
        let staged = self.read();
        if staged.layer.is_empty() {
            return false;
        }
        let found = staged.layer.get(self.hasher.hash_one(key), key);
        found.map(each).is_some()
    }

    /// What there is to hand over, if anything.
    pub(crate) fn full(&self) -> Option<Full<'_>> {
        let rows = self.read();
        rows.mark.map(|mark| Full { rows, mark })
    }

    /// Forgets what was handed over: RocksDB has it. The caller lets nobody add meanwhile.
    pub(crate) fn clear(&self) {
        let mut staged = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        self.of_all.sub(staged.layer.bytes());
        staged.layer.clear();
        staged.mark = None;
    }

    /// The changes by key, to be laid over a walk.
    pub(crate) fn changes(&self) -> Arc<Changes> {
        let staged = self.read();
        Arc::new(staged.layer.iter().map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))).collect())
    }
}

impl Full<'_> {
    /// The changes in key order.
    pub(crate) fn in_key_order(&self) -> Vec<(&[u8], Option<&[u8]>)> {
        self.rows.layer.in_key_order()
    }

    /// The mark that covers them.
    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.of_all.sub(self.read().layer.bytes());
        self.of_all.leave();
    }
}
