//! All databases, tables and views at one moment, and the changes that make the next moment out of it. Knows no disk.

use super::table::TableMeta;
use crate::ddl::{self, Alteration, Limits};
use crate::names::{check_database, check_path};
use sluice_api::{DatabaseInfo, TableChange, TableInfo, ViewInfo};
use sluice_base::{Error, ErrorKind, Result, SchemaId, Subject, TableId};
use sluice_row::{DatabaseDescriptor, TableDescriptor, TablePath};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The database that every store has.
pub(crate) const BUILT_IN_DATABASE: &str = "fluss";

/// One database.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub(crate) info: DatabaseInfo,
    pub(crate) tables: BTreeMap<String, Arc<TableMeta>>,
    pub(crate) views: BTreeMap<String, Arc<ViewInfo>>,
}

impl Database {
    /// Refuses a name that a table or view has.
    ///
    /// # Errors
    /// `AlreadyExists` about `Table`.
    pub(super) fn require_free(&self, path: &TablePath) -> Result<()> {
        let what = match () {
            () if self.tables.contains_key(&path.table) => "Table",
            () if self.views.contains_key(&path.table) => "View",
            () => return Ok(()),
        };
        Err(Error::new(ErrorKind::AlreadyExists, Subject::Table, format!("{what} {path} already exists.")))
    }
}

/// Ids that are free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ids {
    pub(crate) table: i64,
    pub(crate) partition: i64,
}

impl Ids {
    pub(crate) fn max(self, other: Self) -> Self {
        Self { table: self.table.max(other.table), partition: self.partition.max(other.partition) }
    }
}

/// Everything that the catalog's file holds. Cloning copies the maps, not the tables.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// The next ids; none is ever used twice.
    pub(crate) next: Ids,
    pub(crate) databases: BTreeMap<String, Database>,
}

impl State {
    /// A new store's: only the built-in database.
    pub(crate) fn new(now_ms: i64) -> Self {
        let mut state = Self { next: Ids::default(), databases: BTreeMap::new() };
        state.put_database(
            BUILT_IN_DATABASE,
            &DatabaseDescriptor { version: 1, ..DatabaseDescriptor::default() },
            now_ms,
        );
        state
    }

    fn put_database(&mut self, name: &str, descriptor: &DatabaseDescriptor, now_ms: i64) {
        let info = DatabaseInfo { descriptor: descriptor.clone(), created_ms: now_ms, modified_ms: now_ms };
        self.databases.insert(name.to_owned(), Database { info, tables: BTreeMap::new(), views: BTreeMap::new() });
    }

    /// One database.
    ///
    /// # Errors
    /// `NotFound` about `Database`.
    pub(crate) fn database(&self, name: &str) -> Result<&Database> {
        self.databases.get(name).ok_or_else(|| no_database(name))
    }

    pub(super) fn database_mut(&mut self, name: &str) -> Result<&mut Database> {
        self.databases.get_mut(name).ok_or_else(|| no_database(name))
    }

    /// One table.
    ///
    /// # Errors
    /// `NotFound` about `Database` or `Table`.
    pub(crate) fn table(&self, path: &TablePath) -> Result<&Arc<TableMeta>> {
        self.database(&path.database)?.tables.get(&path.table).ok_or_else(|| no_table(path))
    }

    /// All tables, in order of database and name.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<TableMeta>> {
        self.databases.values().flat_map(|d| d.tables.values())
    }

    /// Adds a database. False when it was there and that is fine.
    ///
    /// # Errors
    /// `Invalid` for the name, `AlreadyExists`; both about `Database`.
    pub(crate) fn create_database(
        &mut self,
        name: &str,
        descriptor: &DatabaseDescriptor,
        ignore_if_exists: bool,
        now_ms: i64,
    ) -> Result<bool> {
        check_database(name)?;
        if self.databases.contains_key(name) {
            let exists =
                || Error::new(ErrorKind::AlreadyExists, Subject::Database, format!("Database {name} already exists."));
            return if ignore_if_exists { Ok(false) } else { Err(exists()) };
        }
        self.put_database(name, descriptor, now_ms);
        Ok(true)
    }

    /// Sets and removes properties of a database. False when nothing differs.
    ///
    /// # Errors
    /// `NotFound` about `Database`.
    pub(crate) fn alter_database(
        &mut self,
        name: &str,
        changes: &BTreeMap<String, Option<String>>,
        now_ms: i64,
    ) -> Result<bool> {
        let info = &mut self.database_mut(name)?.info;
        let before = info.descriptor.custom_properties.clone();
        for (key, value) in changes {
            match value {
                Some(value) => info.descriptor.custom_properties.insert(key.clone(), value.clone()),
                None => info.descriptor.custom_properties.remove(key),
            };
        }
        let differs = before != info.descriptor.custom_properties;
        if differs {
            info.modified_ms = now_ms;
        }
        Ok(differs)
    }

    /// Removes a database and returns its tables; `None` when it was missing and that is fine.
    ///
    /// # Errors
    /// `NotFound`, `Conflict` (it has tables or views and `cascade` is off), `Unsupported` (the built-in one); all about `Database`.
    pub(crate) fn drop_database(
        &mut self,
        name: &str,
        ignore_if_missing: bool,
        cascade: bool,
    ) -> Result<Option<Vec<TableId>>> {
        if name == BUILT_IN_DATABASE {
            return Err(Error::unsupported(
                Subject::Database,
                format!("Cannot drop the default database '{name}'; drop its tables instead."),
            ));
        }
        let Some(database) = self.databases.get(name) else {
            return if ignore_if_missing { Ok(None) } else { Err(no_database(name)) };
        };
        let tables: Vec<TableId> = database.tables.values().map(|t| t.id).collect();
        let held = tables.len() + database.views.len();
        if held > 0 && !cascade {
            let message = format!(
                "Database {name} is not empty: it has {held} tables and views; drop them first or use CASCADE."
            );
            return Err(Error::new(ErrorKind::Conflict, Subject::Database, message));
        }
        self.databases.remove(name);
        Ok(Some(tables))
    }

    /// Adds a table by the rules of CREATE; `None` when it was there and that is fine.
    ///
    /// # Errors
    /// As `sluice_api::Connection::create_table`.
    pub(crate) fn create_table(
        &mut self,
        path: &TablePath,
        descriptor: &TableDescriptor,
        limits: Limits,
        ignore_if_exists: bool,
        now_ms: i64,
    ) -> Result<Option<Arc<TableMeta>>> {
        check_path(path)?;
        let id = self.next.table;
        let database = self.database_mut(&path.database)?;
        if database.tables.contains_key(&path.table) && ignore_if_exists {
            return Ok(None);
        }
        database.require_free(path)?;
        let descriptor = ddl::create(descriptor.clone(), limits)
            .map_err(|e| e.context(format_args!("cannot create table {path}")))?;
        let schemas = BTreeMap::from([(SchemaId(1), descriptor.schema.clone())]);
        let info = TableInfo {
            path: path.clone(),
            table_id: id,
            schema_id: 1,
            descriptor,
            created_ms: now_ms,
            modified_ms: now_ms,
        };
        let meta = Arc::new(TableMeta::new(info, schemas)?);
        database.tables.insert(path.table.clone(), meta.clone());
        self.next.table += 1;
        let followed = self.follow_clock(&meta, limits, now_ms, &|_| true)?;
        Ok(Some(followed.unwrap_or(meta)))
    }

    /// Removes a table and returns its id; `None` when it was missing and that is fine.
    ///
    /// # Errors
    /// `NotFound` about `Table` or `Database`.
    pub(crate) fn drop_table(&mut self, path: &TablePath, ignore_if_missing: bool) -> Result<Option<TableId>> {
        match self.table(path) {
            Err(_) if ignore_if_missing => Ok(None),
            Err(e) => Err(e),
            Ok(meta) => {
                let id = meta.id;
                self.database_mut(&path.database)?.tables.remove(&path.table);
                Ok(Some(id))
            }
        }
    }

    /// Applies the changes of one ALTER; `None` when nothing differs, or the table was missing and that is fine.
    ///
    /// # Errors
    /// As `sluice_api::Connection::alter_table`.
    pub(crate) fn alter_table(
        &mut self,
        path: &TablePath,
        changes: &[TableChange],
        limits: Limits,
        ignore_if_missing: bool,
        now_ms: i64,
    ) -> Result<Option<Arc<TableMeta>>> {
        let meta = match self.table(path) {
            Err(_) if ignore_if_missing => return Ok(None),
            other => other?.clone(),
        };
        let altered = ddl::alter(&meta.info.descriptor, changes, limits)
            .map_err(|e| e.context(format_args!("cannot alter table {path}")))?;
        let mut info = meta.info.clone();
        let mut schemas = meta.schemas.clone();
        info.modified_ms = now_ms;
        match altered {
            Alteration::Nothing => return Ok(None),
            Alteration::Options(descriptor) => info.descriptor = descriptor,
            Alteration::Schema(descriptor) => {
                info.schema_id = info.schema_id.checked_add(1).ok_or_else(|| {
                    Error::new(
                        ErrorKind::Conflict,
                        Subject::Table,
                        format!("table {path} has used up all {} schema versions", i16::MAX),
                    )
                })?;
                schemas.insert(SchemaId(info.schema_id), descriptor.schema.clone());
                info.descriptor = descriptor;
            }
        }
        let meta = Arc::new(TableMeta::new(info, schemas)?.with_partitions(meta.partitions.clone()));
        self.database_mut(&path.database)?.tables.insert(path.table.clone(), meta.clone());
        // Those of a table with a lake go when the clock is looked at next, which asks how far the lake is.
        let followed = self.follow_clock(&meta, limits, now_ms, &|_| meta.lake.is_none())?;
        Ok(Some(followed.unwrap_or(meta)))
    }
}

fn no_database(name: &str) -> Error {
    Error::not_found(Subject::Database, format!("Database {name} does not exist."))
}

fn no_table(path: &TablePath) -> Error {
    Error::not_found(Subject::Table, format!("Table {path} does not exist."))
}
