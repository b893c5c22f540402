//! Reading a checkpoint.

use crate::{KvIter, Mark, error, mark::MARK_KEY, tuning};
use rocksdb::{DB, LogLevel, Options};
use sluice_base::{Error, Result, Subject};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A checkpoint, open for reading. Several readers may open one at the same time.
pub struct KvSnapshot {
    db: Arc<DB>,
    dir: PathBuf,
    mark: Mark,
}

/// Opens the checkpoint in `dir`.
///
/// # Errors
/// `NotFound` about `Snapshot` when the directory is not there; `Corrupt`, `Io`.
pub fn open_snapshot(dir: &Path) -> Result<KvSnapshot> {
    if !dir.is_dir() {
        return Err(Error::not_found(Subject::Snapshot, format!("snapshot {} does not exist", dir.display())));
    }
    let mut options = Options::default();
    options.set_log_level(LogLevel::Fatal);
    let db = DB::open_for_read_only(&options, dir, false).map_err(|e| error::convert(e, "open", dir))?;
    let stored = db.get_pinned(MARK_KEY).map_err(|e| error::convert(e, "read", dir))?;
    let mark = stored.map_or(Ok(Mark::default()), |v| Mark::from_bytes(&v, dir))?;
    Ok(KvSnapshot { db: Arc::new(db), dir: dir.to_owned(), mark })
}

impl KvSnapshot {
    /// The log offset the snapshot ends before, and its number of rows.
    #[must_use]
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// All rows but the first `skip`, in key order: the same order each time.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn scan(&self, skip: u64) -> Result<KvIter> {
        let mut rows = KvIter::new(&self.db, self.dir.clone(), tuning::scan_options());
        rows.seek(None);
        for _ in 0..skip {
            if rows.next_row()?.is_none() {
                break;
            }
        }
        Ok(rows)
    }
}

impl std::fmt::Debug for KvSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KvSnapshot").field("dir", &self.dir).field("mark", &self.mark).finish_non_exhaustive()
    }
}
