//! Stores in temporary directories, and short ways to say a table.

use sluice_api::{Connection, TableChange, TableInfo};
use sluice_base::{Error, ErrorKind, Fs, Result, Subject, SystemClock};
use sluice_row::{
    Column, DataType, DatabaseDescriptor, Schema, TableDescriptor, TablePath, TypeRoot, ViewColumn, ViewDescriptor,
};
use sluice_store::{LocalStore, Settings};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

/// A store over the machine's disk, not shared with the rest of this process.
pub fn open(dir: &Path) -> Result<LocalStore> {
    open_with(dir, Arc::new(sluice_base::OsFs), &[])
}

pub fn open_with(dir: &Path, fs: Arc<dyn Fs>, settings: &[(&str, &str)]) -> Result<LocalStore> {
    LocalStore::open(dir, fs, Arc::new(SystemClock), Settings::from_options(&options(settings))?)
}

/// A store in a directory that goes with it.
pub struct Home {
    pub store: LocalStore,
    pub dir: tempfile::TempDir,
}

pub fn home() -> Home {
    let dir = tempfile::tempdir().unwrap();
    Home { store: open(dir.path()).unwrap(), dir }
}

impl Home {
    /// Closes the store and opens it again.
    pub fn reopen(self) -> Self {
        self.store.close().unwrap();
        Self { store: open(self.dir.path()).unwrap(), dir: self.dir }
    }

    pub fn create(&self, table: &str, descriptor: &TableDescriptor) -> Result<TableInfo> {
        let path = path(table);
        self.store.create_table(&path, descriptor, false)?;
        self.store.table(&path)
    }

    pub fn alter(&self, table: &str, changes: &[TableChange]) -> Result<TableInfo> {
        self.store.alter_table(&path(table), changes, false)?;
        self.store.table(&path(table))
    }
}

pub fn path(table: &str) -> TablePath {
    TablePath::new("fluss", table)
}

pub fn typed(root: TypeRoot) -> DataType {
    DataType::new(root)
}

pub fn int() -> DataType {
    typed(TypeRoot::Int)
}

pub fn string() -> DataType {
    typed(TypeRoot::String)
}

pub fn column(name: &str, data_type: DataType) -> Column {
    Column { name: name.to_owned(), data_type, comment: None, id: None, agg_function: None }
}

/// Columns `id INT, name STRING, amount INT`, with or without a key.
pub fn table(primary_key: &[&str]) -> TableDescriptor {
    of(vec![column("id", int()), column("name", string()), column("amount", int())], primary_key)
}

pub fn of(columns: Vec<Column>, primary_key: &[&str]) -> TableDescriptor {
    TableDescriptor {
        version: 1,
        schema: Schema::new(columns, primary_key.iter().map(|s| (*s).to_owned()).collect()),
        comment: None,
        partition_key: Vec::new(),
        bucket_key: Vec::new(),
        bucket_count: None,
        properties: BTreeMap::new(),
        custom_properties: BTreeMap::new(),
    }
}

pub fn with(mut descriptor: TableDescriptor, properties: &[(&str, &str)]) -> TableDescriptor {
    descriptor.properties.extend(options(properties));
    descriptor
}

pub fn bucketed(mut descriptor: TableDescriptor, key: &[&str]) -> TableDescriptor {
    descriptor.bucket_key = key.iter().map(|s| (*s).to_owned()).collect();
    descriptor
}

pub fn set(key: &str, value: &str) -> TableChange {
    TableChange::Set { key: key.to_owned(), value: value.to_owned() }
}

pub fn reset(key: &str) -> TableChange {
    TableChange::Reset { key: key.to_owned() }
}

pub fn add(name: &str, data_type: DataType) -> TableChange {
    TableChange::AddColumn { column: column(name, data_type) }
}

/// Asserts what an error is, is about, and says; one sentence on one line.
pub fn assert_error(e: &Error, kind: ErrorKind, subject: Subject, parts: &[&str]) {
    assert_eq!((e.kind(), e.subject()), (kind, subject), "{e}");
    for part in parts {
        assert!(e.message().contains(part), "'{e}' lacks '{part}'");
    }
    assert!(!e.message().contains('\n'), "{e}");
}

/// Everything that a catalog shows, as text to compare.
pub fn contents(store: &LocalStore) -> String {
    let mut out = String::new();
    for database in store.list_databases().unwrap() {
        out += &format!("{database} {}\n", serde_json::to_string(&store.database(&database).unwrap()).unwrap());
        for table in store.list_tables(&database).unwrap() {
            let info = store.table(&TablePath::new(database.as_str(), table)).unwrap();
            out += &format!("  {}\n", serde_json::to_string(&info).unwrap());
            if !info.descriptor.partition_key.is_empty() {
                for p in store.list_partitions(&info.path, &BTreeMap::new()).unwrap() {
                    out += &format!("    {} {} {}\n", p.name(), p.partition_id, p.bucket_count);
                }
            }
        }
        for view in store.list_views(&database).unwrap() {
            let info = store.view(&TablePath::new(database.as_str(), view)).unwrap();
            out += &format!("  {}\n", serde_json::to_string(&info).unwrap());
        }
    }
    out
}

/// A view of one column over a query.
pub fn view(query: &str) -> ViewDescriptor {
    ViewDescriptor {
        version: 1,
        columns: vec![ViewColumn { name: "a".to_owned(), data_type: "VARCHAR(3) NOT NULL".to_owned(), comment: None }],
        comment: None,
        original_query: query.to_owned(),
        expanded_query: query.to_owned(),
        properties: BTreeMap::new(),
    }
}

pub fn no_properties() -> DatabaseDescriptor {
    DatabaseDescriptor { version: 1, ..DatabaseDescriptor::default() }
}
