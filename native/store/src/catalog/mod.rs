//! The durable list of databases, tables, their partitions, and views.
//!
//! Readers share one immutable [`State`]; a change is made on a copy, written to disk, and only then shown. Changes go one at a
//! time under the [`Change`]'s lock, which is taken before any lock of the engine.

mod file;
mod partitions;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod views;

pub(crate) use partitions::{no_partition, partition_exists, shown};
pub(crate) use state::{Ids, State};
pub use table::{LakeOptions, LogOptions, TableMeta};

use sluice_base::{Clock, Error, ErrorKind, Fs, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// The catalog of one store.
#[derive(Debug)]
pub(crate) struct Catalog {
    fs: Arc<dyn Fs>,
    clock: Arc<dyn Clock>,
    path: PathBuf,
    state: RwLock<Arc<State>>,
    /// Held for the length of a change; the lowest ids that no attempt has used yet.
    next_ids: Mutex<Ids>,
}

impl Catalog {
    /// Reads the catalog at `path`, or writes a new one when the file is missing and `may_create` says that this is no loss.
    ///
    /// # Errors
    /// `Corrupt` naming the file, also when it is missing and may not be; `Unsupported` for a newer format; `Io`, `Busy`.
    pub(crate) fn open(fs: Arc<dyn Fs>, clock: Arc<dyn Clock>, path: PathBuf, may_create: bool) -> Result<Self> {
        let state = match fs.read(&path) {
            Ok(bytes) => file::decode(&path, &bytes)?,
            Err(e) if e.kind() == ErrorKind::NotFound && may_create => {
                let state = State::new(clock.now_ms());
                fs.replace(&path, &file::encode(&state)?)?;
                state
            }
            Err(e) if e.kind() == ErrorKind::NotFound => return Err(missing(&path)),
            Err(e) => return Err(e),
        };
        let next_ids = Mutex::new(state.next);
        Ok(Self { fs, clock, path, state: RwLock::new(Arc::new(state)), next_ids })
    }

    /// Everything as it is now.
    pub(crate) fn state(&self) -> Arc<State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins a change; waits for a running one.
    pub(crate) fn change(&self) -> Change<'_> {
        // A panic inside a change leaves nothing half-done: the shared state is replaced whole or not at all.
        let ids = self.next_ids.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = State::clone(&self.state());
        state.next = state.next.max(*ids);
        Change { catalog: self, ids, now_ms: self.clock.now_ms(), state }
    }
}

fn missing(path: &Path) -> Error {
    Error::corrupt(format!(
        "catalog file {} is missing, but the store has tables' data; put the file back from a backup",
        path.display()
    ))
}

/// One change under way: `state` is a copy to work on.
pub(crate) struct Change<'a> {
    catalog: &'a Catalog,
    ids: MutexGuard<'a, Ids>,
    /// The time that the change carries.
    pub(crate) now_ms: i64,
    /// What will be, once committed.
    pub(crate) state: State,
}

impl Change<'_> {
    /// Makes the change durable, then visible. The next change waits until this one is dropped.
    ///
    /// # Errors
    /// `Io`, `Busy` (disk full): what readers see is as before, and so is the file unless the disk refuses even that.
    pub(crate) fn commit(&mut self) -> Result<()> {
        let bytes = file::encode(&self.state)?;
        if let Err(e) = self.catalog.fs.replace(&self.catalog.path, &bytes) {
            self.put_back();
            return Err(e.context("the change was not made durable and is undone"));
        }
        *self.catalog.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(self.state.clone());
        Ok(())
    }

    /// A replacement may fail after the rename, when only its durability is in doubt; the file must not say more than the memory.
    fn put_back(&self) {
        if let Ok(old) = file::encode(&self.catalog.state()) {
            // Should this fail too, the next change that succeeds sets the file right.
            let _ = self.catalog.fs.replace(&self.catalog.path, &old);
        }
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        // An id is spent even when its creation fails: the attempt may have left a directory of that name behind.
        *self.ids = self.state.next;
    }
}
