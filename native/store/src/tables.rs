//! All tables of a store that is open.

use crate::TableMeta;
use crate::context::Context;
use crate::table::Table;
use sluice_base::{Error, Result, Subject, TableId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

/// The tables by id.
#[derive(Debug)]
pub(crate) struct Tables {
    context: Arc<Context>,
    by_id: RwLock<BTreeMap<TableId, Arc<Table>>>,
}

impl Tables {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, by_id: RwLock::default() }
    }

    // Each change is one insert or remove of a whole entry, so the map is whole after any panic.
    fn read<R>(&self, f: impl FnOnce(&BTreeMap<TableId, Arc<Table>>) -> R) -> R {
        f(&self.by_id.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<R>(&self, f: impl FnOnce(&mut BTreeMap<TableId, Arc<Table>>) -> R) -> R {
        f(&mut self.by_id.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// All tables now.
    pub(crate) fn all(&self) -> Vec<Arc<Table>> {
        self.read(|tables| tables.values().cloned().collect())
    }

    /// One table.
    ///
    /// # Errors
    /// `NotFound` about `Table`.
    pub(crate) fn get(&self, id: TableId) -> Result<Arc<Table>> {
        let found = self.read(|tables| tables.get(&id).cloned());
        found.ok_or_else(|| Error::not_found(Subject::Table, format!("there is no table with id {}", id.0)))
    }

    /// Adds a table; creates its directories when they are missing.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn add(&self, meta: Arc<TableMeta>) -> Result<()> {
        let table = Table::new(meta, &self.context);
        if !self.context.read_only {
            let (buckets, is_new) = (table.buckets(), !self.context.fs.exists(&table.dir()));
            if buckets.is_empty() {
                self.context.fs.create_dir_all(&table.dir())?;
            }
            buckets.iter().try_for_each(|bucket| self.context.fs.create_dir_all(&bucket.dir))?;
            if is_new {
                table.begin_numbers()?;
            }
        }
        self.write(|tables| tables.insert(table.id, Arc::new(table)));
        Ok(())
    }

    /// Refuses what needs a disk that can be written.
    ///
    /// # Errors
    /// `Busy` about `Disk` when the store is open for reading only.
    pub(crate) fn writable(&self) -> Result<()> {
        self.context.writable()
    }

    /// Creates the directories of the partitions that a description has and the open table does not; [`Tables::update`] opens them.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`; [`Tables::forget_new`] then removes what was created.
    pub(crate) fn prepare(&self, meta: &TableMeta) -> Result<()> {
        let table = self.get(meta.id)?;
        for info in meta.partitions.values().filter(|p| table.partition(&p.name()).map(|p| p.id) != Some(Some(p.id())))
        {
            let dir = table.partition_dir(Some(info.id()));
            for bucket in 0..info.bucket_count {
                self.context.fs.create_dir_all(&dir.join(bucket.to_string()))?;
            }
        }
        Ok(())
    }

    /// Removes what [`Tables::prepare`] created for a description that does not come true. What stays is removed when the store opens next.
    pub(crate) fn forget_new(&self, meta: &TableMeta) {
        let Ok(table) = self.get(meta.id) else { return };
        for info in meta.partitions.values().filter(|p| table.partition(&p.name()).map(|p| p.id) != Some(Some(p.id())))
        {
            let _ = self.context.fs.remove_dir_all(&table.partition_dir(Some(info.id())));
        }
    }

    /// Gives a table's new schema, options and partitions to its buckets, writers and readers. The data of partitions that it no longer has
    /// goes; files that cannot be removed now are removed when the store opens next.
    pub(crate) fn update(&self, meta: Arc<TableMeta>) {
        let Ok(table) = self.get(meta.id) else { return };
        for partition in table.update(meta) {
            let dir = table.end_partition(&partition);
            let _ = self.context.fs.remove_dir_all(&dir);
        }
    }

    /// Ends a table: its writers and readers get `NotFound`. Returns the directory of its data, which is to go then.
    pub(crate) fn end(&self, id: TableId) -> Option<PathBuf> {
        let table = self.write(|tables| tables.remove(&id))?;
        table.end_dropped();
        Some(table.dir())
    }

    /// Forgets all tables; they have been ended.
    pub(crate) fn clear(&self) {
        self.write(BTreeMap::clear);
    }
}
