//! A store's lake: the warehouse, and which of its tables belongs to which of ours.
//!
//! A lake table names the table that it was made for in its options, so that neither a table made anew under the same name nor another store
//! adds to its rows. The lake alone says how far it has come; nothing about that is kept in the store.

mod condition;
mod partitions;
mod plan;
mod rows;

pub(crate) use plan::LakePlan;
pub(crate) use rows::LakeRows;

use crate::TableMeta;
use crate::lake_settings::{self, LakeSettings};
use sluice_base::{Clock, Error, ErrorKind, Fs, Result, Subject};
use sluice_lake::{LakeTable, OFFSET, Storage, SystemColumns, TableSchema, define};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The option of a lake table that names its owner.
const OWNER: &str = "sluice.table";
/// Options that files are written and merged by: they stay as they were when the lake table was made.
const FIXED: &[&str] = &[
    "bucket",
    "bucket-key",
    "bucket-function.type",
    "changelog-producer",
    "file.format",
    "merge-engine",
    "rowkind.field",
    "type",
];

/// The warehouse of one store.
#[derive(Debug)]
pub(crate) struct Lake {
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
}

impl Lake {
    /// The lake that the settings name, `None` when they name none. Nothing is read or written yet.
    ///
    /// # Errors
    /// `Invalid` about `Option` for settings that name no place.
    pub(crate) fn new(settings: &LakeSettings, fs: &Arc<dyn Fs>, clock: &Arc<dyn Clock>) -> Result<Option<Self>> {
        Ok(settings.storage(fs)?.map(|storage| Self { storage, clock: clock.clone() }))
    }

    /// Makes the lake table of a table, or takes up again the one that it had, or takes over an empty one that fits.
    ///
    /// # Errors
    /// `AlreadyExists` about `Table` for a lake table that does not fit or has rows of somebody else; `Invalid` or `Unsupported` about
    /// `Column`, `Option` or `Table` for what a lake table cannot be; `Io`, `Busy` about `Disk`.
    pub(crate) fn attach(&self, meta: &TableMeta) -> Result<()> {
        let mut schema = self.defined(meta)?;
        let owner = owner(meta);
        schema.options.insert(OWNER.to_owned(), owner.clone());
        let found = LakeTable::open(self.storage.clone(), self.clock.clone(), &meta.path)?;
        if let Some(ours) = found.filter(|table| table.schema().option(OWNER) == Some(&owner)) {
            // What came while the lake was switched off.
            let ours = ours.add_columns(&meta.schema().columns)?;
            check_columns(meta, ours.schema())?;
            let mut options = schema.options;
            let kept = ours.schema().options.iter().filter(|(key, _)| !options.contains_key(*key));
            let kept: Vec<_> = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
            options.extend(kept);
            ours.set_options(&changes(&ours.schema().options, &options)?)?;
            return Ok(());
        }
        let table = LakeTable::create(self.storage.clone(), self.clock.clone(), &meta.path, schema)?;
        if table.schema().option(OWNER) != Some(&owner) {
            table.set_options(&BTreeMap::from([(OWNER.to_owned(), Some(owner))]))?;
        }
        Ok(())
    }

    /// Opens the lake table of a table.
    ///
    /// # Errors
    /// `NotFound` about `Table` when it is gone; `Conflict` about `Table` when it is another table's or has other columns; `Unsupported` for
    /// what cannot be read or written here; `Corrupt`, `Io`.
    pub(crate) fn open(&self, meta: &TableMeta) -> Result<LakeTable> {
        let found = LakeTable::open(self.storage.clone(), self.clock.clone(), &meta.path)?;
        let Some(table) = found else {
            let message = format!(
                "lake table {} is gone; to make it anew, set 'table.datalake.enabled' of the table to false and then to true",
                meta.path
            );
            return Err(Error::not_found(Subject::Table, message));
        };
        if table.schema().option(OWNER) != Some(owner(meta).as_str()) {
            let message = format!(
                "lake table {} was made for another table of this name; drop or rename it, then set 'table.datalake.enabled' of the table to \
                 false and to true",
                meta.path
            );
            return Err(Error::new(ErrorKind::Conflict, Subject::Table, message));
        }
        check_columns(meta, table.schema())?;
        Ok(table)
    }

    /// Changes the lake table of a table as ALTER TABLE changes the table, before the store itself has the change.
    ///
    /// # Errors
    /// `Unsupported` about `Option` for one that no lake table can change; those of [`Lake::open`] and of [`LakeTable::add_columns`].
    pub(crate) fn alter(&self, before: &TableMeta, after: &TableMeta) -> Result<()> {
        let table = self.open(before)?;
        let added = after.schema().columns.get(before.schema().columns.len()..).unwrap_or_default();
        let changes = changes(&self.defined(before)?.options, &self.defined(after)?.options)?;
        if !added.is_empty() {
            table.add_columns(added)?;
        }
        if !changes.is_empty() {
            table.set_options(&changes)?;
        }
        Ok(())
    }

    /// What the lake table of a table looks like at first.
    fn defined(&self, meta: &TableMeta) -> Result<TableSchema> {
        let system_columns = if meta.lake_system_columns() { SystemColumns::Added } else { SystemColumns::LeftOut };
        define(&meta.info.descriptor, system_columns, self.clock.now_ms())
    }
}

/// What has to be set and removed to come from some options of a lake table to others.
///
/// # Errors
/// `Unsupported` about `Option` for one that the files there are written by.
fn changes(from: &BTreeMap<String, String>, to: &BTreeMap<String, String>) -> Result<BTreeMap<String, Option<String>>> {
    let differing = from.keys().chain(to.keys()).filter(|key| from.get(*key) != to.get(*key));
    let changes: BTreeMap<_, _> = differing.map(|key| (key.clone(), to.get(key).cloned())).collect();
    match FIXED.iter().find(|key| changes.contains_key(**key)) {
        None => Ok(changes),
        Some(key) => {
            let message = format!("option 'paimon.{key}' cannot be changed once the lake table is there");
            Err(Error::unsupported(Subject::Option, message))
        }
    }
}

/// The refusal of a lake table in a store without a lake.
pub(crate) fn no_lake() -> Error {
    let message = format!(
        "option 'table.datalake.enabled' = 'true': this store has no lake; give it one with the setting '{}'",
        lake_settings::WAREHOUSE
    );
    Error::invalid(Subject::Option, message)
}

/// A table's name among all tables of all stores that ever had its path: ids are never used twice in a store.
fn owner(meta: &TableMeta) -> String {
    format!("{}-{}", meta.id.0, meta.info.created_ms)
}

/// Rows go into the lake by position, so the lake's first columns must be the table's.
fn check_columns(meta: &TableMeta, lake: &TableSchema) -> Result<()> {
    let theirs = lake.schema.columns.iter().map(Some).chain(std::iter::repeat(None));
    for (ours, theirs) in meta.schema().columns.iter().zip(theirs) {
        if !theirs.is_some_and(|c| c.name == ours.name && c.data_type.root == ours.data_type.root) {
            let theirs = theirs.map_or("missing".to_owned(), |c| format!("'{}' {}", c.name, c.data_type));
            let message = format!(
                "lake table {}: column '{}' {} of the table is {theirs} in the lake; somebody has altered the lake table, which only the \
                 table itself may",
                meta.path, ours.name, ours.data_type
            );
            return Err(Error::new(ErrorKind::Conflict, Subject::Table, message));
        }
    }
    if meta.lake_system_columns() != lake.schema.index_of(OFFSET).is_some() {
        let message = format!("lake table {}: somebody has added or dropped its column {OFFSET}", meta.path);
        return Err(Error::new(ErrorKind::Conflict, Subject::Table, message));
    }
    Ok(())
}
