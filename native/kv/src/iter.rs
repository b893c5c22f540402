//! A consistent walk over all rows in key order.

use crate::{error, mark::MARK_KEY};
use rocksdb::{DB, DBRawIteratorWithThreadMode, ReadOptions};
use sluice_base::Result;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::{path::PathBuf, sync::Arc};

/// Changes by key that are not in RocksDB; `None` deletes.
pub(crate) type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Lends the rows one after the other. Sees the rows as they were when it was made; keeps the directory open.
pub struct KvIter {
    // Dropped before `db`, whose memory it uses.
    rows: DBRawIteratorWithThreadMode<'static, DB>,
    /// Whether the row that `rows` stands on was lent.
    lent: bool,
    dir: PathBuf,
    /// What is laid over the rows, and from where on.
    over: Option<(Arc<Changes>, Bound<Vec<u8>>)>,
    _db: Arc<DB>,
}

impl KvIter {
    pub(crate) fn new(db: &Arc<DB>, dir: PathBuf, options: ReadOptions) -> Self {
        let rows = db.raw_iterator_opt(options);
        // SAFETY: the iterator borrows the database behind `db`. That database lives on the heap and `_db` keeps it there;
        // fields drop in order, so the iterator goes first. Nothing hands the 'static lifetime out.
        let rows = unsafe {
            std::mem::transmute::<DBRawIteratorWithThreadMode<'_, DB>, DBRawIteratorWithThreadMode<'static, DB>>(rows)
        };
        Self { rows, lent: false, dir, over: None, _db: db.clone() }
    }

    /// The same rows with changes laid over them.
    pub(crate) fn with_changes(mut self, changes: Option<Arc<Changes>>) -> Self {
        self.over = changes.filter(|changes| !changes.is_empty()).map(|changes| (changes, Bound::Unbounded));
        self
    }

    /// Goes to the first row from a key on, wherever it stands; without a key to the first of all.
    pub(crate) fn seek(&mut self, key: Option<&[u8]>) {
        match key {
            Some(key) => self.rows.seek(key),
            None => self.rows.seek_to_first(),
        }
        if self.rows.key() == Some(MARK_KEY) {
            self.rows.next();
        }
        self.lent = false;
        if let Some((_, from)) = &mut self.over {
            *from = key.map_or(Bound::Unbounded, |key| Bound::Included(key.to_vec()));
        }
    }

    /// Rows whose key starts with `prefix`, in key order, until `each` answers false. One walk takes any number of prefixes, in any order.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn with_prefix(&mut self, prefix: &[u8], mut each: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        self.seek(Some(prefix));
        while let Some((key, value)) = self.next_row()? {
            if !key.starts_with(prefix) || !each(key, value) {
                break;
            }
        }
        Ok(())
    }

    /// The next row as (key, value), or `None` behind the last.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn next_row(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.lent && self.rows.valid() {
            self.rows.next();
        }
        self.lent = false;
        if !self.rows.valid() {
            self.rows.status().map_err(|e| error::convert(e, "scan", &self.dir))?;
        }
        if self.over.is_some() {
            return self.next_merged();
        }
        self.lent = true;
        Ok(self.rows.item())
    }

    /// The lower of the next row and the next change; of two with one key the change.
    fn next_merged(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let Self { rows, lent, over, dir, .. } = self;
        let Some((changes, from)) = over else { return Ok(None) };
        while let Some((key, change)) = changes.range::<Vec<u8>, _>((from.as_ref(), Bound::Unbounded)).next() {
            if rows.key().is_some_and(|row| row < key.as_slice()) {
                break;
            }
            if rows.key() == Some(key) {
                rows.next();
            }
            *from = Bound::Excluded(key.clone());
            if let Some(value) = change {
                return Ok(Some((key, value)));
            }
        }
        if !rows.valid() {
            rows.status().map_err(|e| error::convert(e, "scan", dir))?;
        }
        *lent = true;
        Ok(rows.item())
    }
}

impl std::fmt::Debug for KvIter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KvIter").field("dir", &self.dir).finish_non_exhaustive()
    }
}
