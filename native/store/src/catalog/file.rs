//! The catalog's file: JSON, sealed.

use super::partitions::Partitions;
use super::state::{Database, Ids, State};
use super::table::TableMeta;
use crate::sealed::Sealed;
use serde::{Deserialize, Serialize};
use sluice_api::{DatabaseInfo, PartitionInfo, TableInfo, ViewInfo};
use sluice_base::{Error, Result, SchemaId};
use sluice_row::Schema;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Version 2 knows views, version 3 partitions.
const SEALED: Sealed = Sealed {
    name: "catalog",
    magic: "SLUICE-CATALOG",
    oldest: 1,
    version: 3,
    cure: "put the file back from a backup, the tables' data beside it is untouched",
};

#[derive(Serialize, Deserialize)]
struct Root {
    next_table_id: i64,
    #[serde(default)]
    next_partition_id: i64,
    databases: Vec<DatabaseEntry>,
}

#[derive(Serialize, Deserialize)]
struct DatabaseEntry {
    name: String,
    info: DatabaseInfo,
    tables: Vec<TableEntry>,
    #[serde(default)]
    views: Vec<ViewInfo>,
}

#[derive(Serialize, Deserialize)]
struct TableEntry {
    info: TableInfo,
    schemas: BTreeMap<i16, Schema>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    partitions: Vec<PartitionInfo>,
}

/// The file's bytes.
///
/// # Errors
/// `Internal` when a description has no JSON form, which no known one lacks.
pub(super) fn encode(state: &State) -> Result<Vec<u8>> {
    let table = |meta: &Arc<TableMeta>| TableEntry {
        info: meta.info.clone(),
        schemas: meta.schemas.iter().map(|(id, s)| (id.0, s.clone())).collect(),
        partitions: meta.partitions.values().cloned().collect(),
    };
    let database = |(name, d): (&String, &Database)| DatabaseEntry {
        name: name.clone(),
        info: d.info.clone(),
        tables: d.tables.values().map(table).collect(),
        views: d.views.values().map(|v| ViewInfo::clone(v)).collect(),
    };
    let root = Root {
        next_table_id: state.next.table,
        next_partition_id: state.next.partition,
        databases: state.databases.iter().map(database).collect(),
    };
    let body = serde_json::to_vec(&root).map_err(|e| Error::internal("the catalog has no JSON form").with_source(e))?;
    Ok(SEALED.seal(&body))
}

/// Reads what [`encode`] wrote.
///
/// # Errors
/// `Corrupt` naming the file; `Unsupported` about `Store` when a newer version wrote it.
pub(super) fn decode(path: &Path, bytes: &[u8]) -> Result<State> {
    let body = SEALED.unseal(path, bytes)?;
    let root: Root =
        serde_json::from_slice(body).map_err(|e| SEALED.damaged(path, "its content cannot be read").with_source(e))?;
    state_of(root).map_err(|e| e.context(format_args!("catalog file {}", path.display())))
}

fn state_of(root: Root) -> Result<State> {
    let next = Ids { table: root.next_table_id, partition: root.next_partition_id };
    let mut state = State { next, databases: BTreeMap::new() };
    for entry in root.databases {
        let mut tables = BTreeMap::new();
        for table in entry.tables {
            if table.info.path.database != entry.name || table.info.table_id >= next.table {
                return Err(Error::corrupt(format!(
                    "table {} does not belong into database {}",
                    table.info.path, entry.name
                )));
            }
            let schemas = table.schemas.into_iter().map(|(id, s)| (SchemaId(id), s)).collect();
            let partitions = partitions_of(&table.info, table.partitions, next.partition)?;
            let meta = TableMeta::new(table.info, schemas)?.with_partitions(Arc::new(partitions));
            tables.insert(meta.path.table.clone(), Arc::new(meta));
        }
        let mut database = Database { info: entry.info, tables, views: BTreeMap::new() };
        for view in entry.views {
            if view.path.database != entry.name || database.require_free(&view.path).is_err() {
                return Err(Error::corrupt(format!("view {} does not belong into database {}", view.path, entry.name)));
            }
            database.views.insert(view.path.table.clone(), Arc::new(view));
        }
        state.databases.insert(entry.name, database);
    }
    Ok(state)
}

fn partitions_of(table: &TableInfo, list: Vec<PartitionInfo>, next_id: i64) -> Result<Partitions> {
    let mut partitions = Partitions::new();
    let mut ids = std::collections::BTreeSet::new();
    for partition in list {
        let name = partition.name();
        let fits = partition.values.len() == table.descriptor.partition_key.len()
            && (0..next_id).contains(&partition.partition_id)
            && partition.bucket_count > 0
            && ids.insert(partition.partition_id);
        if !fits || partitions.insert(name.clone(), partition).is_some() {
            return Err(Error::corrupt(format!("partition '{name}' does not belong into table {}", table.path)));
        }
    }
    Ok(partitions)
}
