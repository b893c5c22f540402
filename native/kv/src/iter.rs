//! A consistent walk over all rows in key order.

use crate::{error, mark::MARK_KEY, tuning};
use rocksdb::{DB, DBRawIteratorWithThreadMode};
use sluice_base::Result;
use std::{path::PathBuf, sync::Arc};

/// Lends the rows one after the other. Sees the rows as they were when it was made; keeps the directory open.
pub struct KvIter {
    // Dropped before `db`, whose memory it uses.
    rows: DBRawIteratorWithThreadMode<'static, DB>,
    started: bool,
    dir: PathBuf,
    _db: Arc<DB>,
}

impl KvIter {
    pub(crate) fn new(db: &Arc<DB>, dir: PathBuf, from_key: Option<&[u8]>) -> Self {
        let rows = db.raw_iterator_opt(tuning::scan_options());
        // SAFETY: the iterator borrows the database behind `db`. That database lives on the heap and `_db` keeps it there;
        // fields drop in order, so the iterator goes first. Nothing hands the 'static lifetime out.
        let mut rows = unsafe {
            std::mem::transmute::<DBRawIteratorWithThreadMode<'_, DB>, DBRawIteratorWithThreadMode<'static, DB>>(rows)
        };
        match from_key {
            Some(key) => rows.seek(key),
            None => rows.seek_to_first(),
        }
        if rows.key() == Some(MARK_KEY) {
            rows.next();
        }
        Self { rows, started: false, dir, _db: db.clone() }
    }

    /// The next row as (key, value), or `None` behind the last.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn next_row(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.started && self.rows.valid() {
            self.rows.next();
        }
        self.started = true;
        if !self.rows.valid() {
            self.rows.status().map_err(|e| error::convert(e, "scan", &self.dir))?;
            return Ok(None);
        }
        Ok(self.rows.item())
    }
}

impl std::fmt::Debug for KvIter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KvIter").field("dir", &self.dir).finish_non_exhaustive()
    }
}
