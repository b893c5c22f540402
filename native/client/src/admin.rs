//! Databases, tables and partitions, in the protocol's own requests.

use crate::cluster::{Cluster, To, wire_path};
use crate::refusal::Refusal;
use crate::table::info;
use sluice_api::{DatabaseInfo, PartitionInfo, TableChange};
use sluice_base::{Error, ErrorKind, Result, Subject};
use sluice_row::{DatabaseDescriptor, TableDescriptor, TablePath};
use sluice_wire::message::{
    AddColumn, AlterConfig, AlterTableRequest, AlterTableResponse, CreateDatabaseRequest, CreateDatabaseResponse,
    CreatePartitionRequest, CreatePartitionResponse, CreateTableRequest, CreateTableResponse, DropDatabaseRequest,
    DropDatabaseResponse, DropPartitionRequest, DropPartitionResponse, DropTableRequest, DropTableResponse,
    GetDatabaseInfoRequest, GetDatabaseInfoResponse, KeyValue, ListDatabasesRequest, ListDatabasesResponse,
    ListPartitionInfosRequest, ListPartitionInfosResponse, ListTablesRequest, ListTablesResponse, MetadataRequest,
    MetadataResponse, PartitionSpec, TableExistsRequest, TableExistsResponse,
};
use sluice_wire::{ApiKey, Body, ErrorCode, json};
use std::collections::{BTreeMap, HashMap};

const SET: i32 = 0;
const DELETE: i32 = 1;
const LAST: i32 = 0;

fn ask<A: Body>(cluster: &Cluster, key: ApiKey, body: &impl Body) -> Result<A> {
    Ok(cluster.block_on(cluster.ask(To::Any, key, body))?)
}

/// Makes a change; one that may be made twice (`again`) is, when nobody can tell whether it was made.
fn change<A: Body>(cluster: &Cluster, key: ApiKey, body: &impl Body, again: bool) -> Result<A> {
    let done = cluster.block_on(async {
        match again {
            true => cluster.ask(To::Coordinator, key, body).await,
            false => cluster.change(key, body).await,
        }
    });
    done.map_err(named)
}

/// What the code of a refused change says no more of than its sentence.
fn named(refusal: Refusal) -> Error {
    match refusal.code {
        ErrorCode::Unknown => Error::invalid(Subject::Table, refusal.error.message()),
        _ => refusal.error,
    }
}

pub(crate) fn create_database(
    cluster: &Cluster,
    name: &str,
    descriptor: &DatabaseDescriptor,
    ignore_if_exists: bool,
) -> Result<()> {
    let database_json = Some(json::of_database(descriptor)?);
    let request = CreateDatabaseRequest { database_name: name.to_owned(), ignore_if_exists, database_json };
    change::<CreateDatabaseResponse>(cluster, ApiKey::CreateDatabase, &request, ignore_if_exists).map(drop)
}

pub(crate) fn drop_database(cluster: &Cluster, name: &str, ignore_if_missing: bool, cascade: bool) -> Result<()> {
    let request =
        DropDatabaseRequest { database_name: name.to_owned(), ignore_if_not_exists: ignore_if_missing, cascade };
    change::<DropDatabaseResponse>(cluster, ApiKey::DropDatabase, &request, ignore_if_missing).map(drop)
}

pub(crate) fn list_databases(cluster: &Cluster) -> Result<Vec<String>> {
    let request = ListDatabasesRequest { include_summary: None };
    let mut names = ask::<ListDatabasesResponse>(cluster, ApiKey::ListDatabases, &request)?.database_name;
    names.sort_unstable();
    Ok(names)
}

pub(crate) fn database(cluster: &Cluster, name: &str) -> Result<DatabaseInfo> {
    let request = GetDatabaseInfoRequest { database_name: name.to_owned() };
    let told: GetDatabaseInfoResponse = ask(cluster, ApiKey::GetDatabaseInfo, &request)?;
    let descriptor = json::database(Some(&told.database_json))?;
    Ok(DatabaseInfo { descriptor, created_ms: told.created_time, modified_ms: told.modified_time })
}

pub(crate) fn create_table(
    cluster: &Cluster,
    path: &TablePath,
    descriptor: &TableDescriptor,
    ignore_if_exists: bool,
) -> Result<()> {
    // Not every server numbers columns by itself.
    let mut whole = descriptor.clone();
    whole.schema.assign_ids();
    // Nor does every server look for what options say of columns, or take custom options among a table's own.
    whole.sort_options();
    whole.declare_columns()?;
    let table_json = json::of_table(&whole)?;
    let request = CreateTableRequest { table_path: wire_path(path), table_json, ignore_if_exists };
    change::<CreateTableResponse>(cluster, ApiKey::CreateTable, &request, ignore_if_exists).map(drop)
}

pub(crate) fn drop_table(cluster: &Cluster, path: &TablePath, ignore_if_missing: bool) -> Result<()> {
    let request = DropTableRequest { table_path: wire_path(path), ignore_if_not_exists: ignore_if_missing };
    change::<DropTableResponse>(cluster, ApiKey::DropTable, &request, ignore_if_missing).map(drop)
}

pub(crate) fn list_tables(cluster: &Cluster, database: &str) -> Result<Vec<String>> {
    let request = ListTablesRequest { database_name: database.to_owned() };
    let mut names = ask::<ListTablesResponse>(cluster, ApiKey::ListTables, &request)?.table_name;
    names.sort_unstable();
    Ok(names)
}

fn table_exists(cluster: &Cluster, path: &TablePath) -> Result<bool> {
    let request = TableExistsRequest { table_path: wire_path(path) };
    Ok(ask::<TableExistsResponse>(cluster, ApiKey::TableExists, &request)?.exists)
}

/// The path of a table of which only the id is known: one that was seen, else every table is looked at.
///
/// # Errors
/// `NotFound` about `Table`; what asking gives.
pub(crate) fn path_of(cluster: &Cluster, id: sluice_base::TableId) -> Result<TablePath> {
    if let Some(path) = cluster.path_of(id) {
        return Ok(path);
    }
    for database in list_databases(cluster)? {
        for table in list_tables(cluster, &database)? {
            let path = TablePath::new(database.clone(), table);
            // One that is dropped meanwhile is not the one.
            if info(cluster, &path).is_ok_and(|found| found.table_id == id.0) {
                return Ok(path);
            }
        }
    }
    Err(Error::not_found(Subject::Table, format!("there is no table with id {}", id.0)))
}

pub(crate) fn alter_table(
    cluster: &Cluster,
    path: &TablePath,
    changes: &[TableChange],
    ignore_if_missing: bool,
) -> Result<()> {
    let (mut config_changes, mut add_columns) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            TableChange::Set { key, value } => config_changes.push(AlterConfig {
                config_key: key.clone(),
                config_value: Some(value.clone()),
                op_type: SET,
            }),
            TableChange::Reset { key } => {
                config_changes.push(AlterConfig { config_key: key.clone(), config_value: None, op_type: DELETE });
            }
            TableChange::AddColumn { column } => add_columns.push(AddColumn {
                column_name: column.name.clone(),
                data_type_json: json::of_data_type(&column.data_type)?,
                comment: column.comment.clone(),
                column_position_type: LAST,
            }),
        }
    }
    // Options can be set twice, columns be added once.
    let again = add_columns.is_empty();
    let request = AlterTableRequest {
        table_path: wire_path(path),
        ignore_if_not_exists: ignore_if_missing,
        config_changes,
        add_columns,
        ..AlterTableRequest::default()
    };
    change::<AlterTableResponse>(cluster, ApiKey::AlterTable, &request, again).map(drop)
}

fn spec_of(spec: &BTreeMap<String, String>) -> PartitionSpec {
    let pair = |(key, value): (&String, &String)| KeyValue { key: key.clone(), value: value.clone() };
    PartitionSpec { partition_key_values: spec.iter().map(pair).collect() }
}

pub(crate) fn create_partition(
    cluster: &Cluster,
    path: &TablePath,
    spec: &BTreeMap<String, String>,
    ignore_if_exists: bool,
) -> Result<()> {
    let request = CreatePartitionRequest {
        table_path: wire_path(path),
        partition_spec: spec_of(spec),
        ignore_if_not_exists: ignore_if_exists,
    };
    change::<CreatePartitionResponse>(cluster, ApiKey::CreatePartition, &request, ignore_if_exists).map(drop)
}

pub(crate) fn drop_partition(
    cluster: &Cluster,
    path: &TablePath,
    spec: &BTreeMap<String, String>,
    ignore_if_missing: bool,
) -> Result<()> {
    let request = DropPartitionRequest {
        table_path: wire_path(path),
        partition_spec: spec_of(spec),
        ignore_if_not_exists: ignore_if_missing,
    };
    change::<DropPartitionResponse>(cluster, ApiKey::DropPartition, &request, ignore_if_missing).map(drop)
}

pub(crate) fn list_partitions(
    cluster: &Cluster,
    path: &TablePath,
    spec: &BTreeMap<String, String>,
) -> Result<Vec<PartitionInfo>> {
    let table = info(cluster, path)?;
    let request = ListPartitionInfosRequest {
        table_path: wire_path(path),
        partial_partition_spec: (!spec.is_empty()).then(|| spec_of(spec)),
    };
    let told: ListPartitionInfosResponse = ask(cluster, ApiKey::ListPartitionInfos, &request)?;
    let ids: Vec<i64> = told.partitions_info.iter().map(|p| p.partition_id).collect();
    let buckets = bucket_counts(cluster, ids)?;
    let keys = &table.descriptor.partition_key;
    let partition = |told: sluice_wire::message::PartitionInfo| {
        let mut values: HashMap<String, String> =
            told.partition_spec.partition_key_values.into_iter().map(|pair| (pair.key, pair.value)).collect();
        Some(PartitionInfo {
            partition_id: told.partition_id,
            bucket_count: *buckets.get(&told.partition_id)?,
            values: keys.iter().map(|key| values.remove(key)).collect::<Option<_>>()?,
            created_ms: 0,
        })
    };
    let mut partitions: Vec<PartitionInfo> = told.partitions_info.into_iter().filter_map(partition).collect();
    partitions.sort_by_key(PartitionInfo::name);
    Ok(partitions)
}

/// Numbers of buckets by partition; one that was dropped meanwhile is left out.
fn bucket_counts(cluster: &Cluster, ids: Vec<i64>) -> Result<HashMap<i64, i32>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let counts = |told: MetadataResponse| {
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        told.partition_metadata.into_iter().map(|p| (p.partition_id, count(p.bucket_metadata.len()))).collect()
    };
    let metadata = |ids: Vec<i64>| {
        let request = MetadataRequest { partitions_id: ids, ..MetadataRequest::default() };
        cluster.block_on(cluster.ask::<MetadataResponse>(To::Any, ApiKey::GetMetadata, &request))
    };
    match metadata(ids.clone()) {
        Ok(told) => return Ok(counts(told)),
        // One is gone, and the whole question is refused: each is asked for alone.
        Err(refusal) if refusal.code == ErrorCode::PartitionNotExists => {}
        Err(refusal) => return Err(refusal.into()),
    }
    let mut found = HashMap::new();
    for id in ids {
        match metadata(vec![id]) {
            Ok(told) => found.extend(counts(told)),
            Err(refusal) if refusal.code == ErrorCode::PartitionNotExists => {}
            Err(refusal) => return Err(refusal.into()),
        }
    }
    Ok(found)
}

/// The table's description, with an error that says whether it is the table or its database that is not there.
pub(crate) fn table(cluster: &Cluster, path: &TablePath) -> Result<sluice_api::TableInfo> {
    match info(cluster, path) {
        Err(e) if e.kind() == ErrorKind::Invalid && !table_exists(cluster, path).unwrap_or(true) => {
            Err(Error::not_found(Subject::Table, format!("Table '{path}' does not exist.")))
        }
        done => done,
    }
}
