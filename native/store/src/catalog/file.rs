//! The catalog's file: one line of magic, version, length and CRC-32C, then JSON. Replaced whole, never changed in place.

use super::partitions::Partitions;
use super::state::{Database, Ids, State};
use super::table::TableMeta;
use serde::{Deserialize, Serialize};
use sluice_api::{DatabaseInfo, PartitionInfo, TableInfo, ViewInfo};
use sluice_base::{Error, Result, SchemaId, Subject};
use sluice_row::Schema;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const MAGIC: &str = "SLUICE-CATALOG";
/// Version 2 knows views, version 3 partitions.
const VERSION: u32 = 3;
const OLDEST_VERSION: u32 = 1;
const FIRST_LINE_BYTES_MAX: usize = 100;

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
    let mut out = format!("{MAGIC} {VERSION} {} {:08x}\n", body.len(), crc32c::crc32c(&body)).into_bytes();
    out.extend_from_slice(&body);
    Ok(out)
}

/// Reads what [`encode`] wrote.
///
/// # Errors
/// `Corrupt` naming the file; `Unsupported` about `Store` when a newer version wrote it.
pub(super) fn decode(path: &Path, bytes: &[u8]) -> Result<State> {
    let corrupt = |why: &str| {
        Error::corrupt(format!(
            "catalog file {} is damaged: {why}; put the file back from a backup, the tables' data beside it is untouched",
            path.display()
        ))
    };
    let line_end = bytes.iter().take(FIRST_LINE_BYTES_MAX).position(|b| *b == b'\n');
    let (line, body) = line_end
        .and_then(|at| Some((bytes.get(..at)?, bytes.get(at + 1..)?)))
        .ok_or_else(|| corrupt("its first line is missing"))?;
    let words: Vec<&str> =
        std::str::from_utf8(line).map_err(|_| corrupt("its first line is not text"))?.split(' ').collect();
    let [MAGIC, version, length, crc] = words[..] else {
        return Err(corrupt("its first line is not that of a catalog"));
    };
    let version: u32 = version.parse().map_err(|_| corrupt("its version is not a number"))?;
    if version > VERSION {
        return Err(newer(path, version));
    }
    if version < OLDEST_VERSION {
        return Err(corrupt("its version is none that ever was"));
    }
    if length.parse() != Ok(body.len()) {
        return Err(corrupt(&format!("it holds {} bytes after the first line, which promises {length}", body.len())));
    }
    if u32::from_str_radix(crc, 16) != Ok(crc32c::crc32c(body)) {
        return Err(corrupt("its checksum does not match"));
    }
    let root: Root = serde_json::from_slice(body).map_err(|e| corrupt("its content cannot be read").with_source(e))?;
    state_of(root).map_err(|e| e.context(format_args!("catalog file {}", path.display())))
}

fn newer(path: &Path, version: u32) -> Error {
    Error::unsupported(
        Subject::Store,
        format!(
            "catalog file {} has format {version}, this Sluice reads formats up to {VERSION}; open the store with the newer Sluice that wrote it",
            path.display()
        ),
    )
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
