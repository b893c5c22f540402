//! Calls by name with JSON arguments (`docs/jni.md`): what the doors of the engine and our own server's requests have in common.

use crate::{AccessRule, Connection, OffsetSpec, RuleFilter, ScanSplit, ScanStart, TableChange, TierWork};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sluice_base::{Error, Offset, PartitionId, Result, Subject, TableBucket, TableId};
use sluice_row::{DatabaseDescriptor, Predicate, TableDescriptor, TablePath, ViewDescriptor};
use std::collections::BTreeMap;
use std::time::Duration;

/// Reads the arguments of the call `what`.
///
/// # Errors
/// `Invalid`, saying where the text is wrong.
pub fn parse<T: DeserializeOwned>(what: &str, json: &str) -> Result<T> {
    serde_json::from_str(json)
        .map_err(|e| Error::invalid(Subject::None, format!("arguments of {what}: {e}")).with_source(e))
}

/// Arguments of opening a writer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the options")]
pub struct WriterArguments {
    pub path: TablePath,
    #[serde(default)]
    pub target_columns: Vec<String>,
    #[serde(default)]
    pub overwrite: bool,
    #[serde(default = "create_partitions")]
    pub create_partitions: bool,
}

const fn create_partitions() -> bool {
    true
}

/// Arguments of opening a scanner.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the options")]
pub struct ScannerArguments {
    pub path: TablePath,
    #[serde(default)]
    pub projection: Option<Vec<usize>>,
    #[serde(default = "batch_rows_max")]
    pub batch_rows_max: usize,
    #[serde(default)]
    pub filter: Option<Predicate>,
}

const fn batch_rows_max() -> usize {
    4096
}

/// Arguments of opening a lookup.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the options; `insert_missing` asks for an `InsertingLookup`")]
pub struct LookupArguments {
    pub path: TablePath,
    pub key_columns: Vec<String>,
    #[serde(default)]
    pub projection: Option<Vec<usize>>,
    #[serde(default)]
    pub insert_missing: bool,
}

/// A bucket.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    table_id: i64,
    #[serde(default)]
    partition_id: Option<i64>,
    bucket: i32,
}

impl From<Bucket> for TableBucket {
    fn from(b: Bucket) -> Self {
        Self { table: TableId(b.table_id), partition: b.partition_id.map(PartitionId), bucket: b.bucket }
    }
}

impl From<TableBucket> for Bucket {
    fn from(b: TableBucket) -> Self {
        Self { table_id: b.table.0, partition_id: b.partition.map(|p| p.0), bucket: b.bucket }
    }
}

/// Arguments of subscribing.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitArguments {
    id: u32,
    bucket: Bucket,
    start: ScanStart,
    #[serde(default)]
    stop: Option<Offset>,
}

impl From<ScanSplit> for SplitArguments {
    fn from(s: ScanSplit) -> Self {
        Self { id: s.id, bucket: s.bucket.into(), start: s.start, stop: s.stop }
    }
}

impl From<SplitArguments> for ScanSplit {
    fn from(s: SplitArguments) -> Self {
        Self { id: s.id, bucket: s.bucket.into(), start: s.start, stop: s.stop }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateDatabase {
    name: String,
    descriptor: DatabaseDescriptor,
    ignore_if_exists: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AlterDatabase {
    name: String,
    changes: BTreeMap<String, Option<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DropDatabase {
    name: String,
    ignore_if_missing: bool,
    cascade: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateTable {
    path: TablePath,
    descriptor: TableDescriptor,
    ignore_if_exists: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DropTable {
    path: TablePath,
    ignore_if_missing: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Database {
    database: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Path {
    path: TablePath,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Producer {
    path: TablePath,
    producer: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndProducer {
    path: TablePath,
    producer: String,
    part: u32,
    parts: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tier {
    path: TablePath,
    timeout_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TierWrite {
    work: TierWork,
    timeout_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TierCommit {
    path: TablePath,
    parts: Vec<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AlterTable {
    path: TablePath,
    changes: Vec<TableChange>,
    ignore_if_missing: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateView {
    path: TablePath,
    descriptor: ViewDescriptor,
    ignore_if_exists: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AlterView {
    path: TablePath,
    descriptor: ViewDescriptor,
    ignore_if_missing: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RenameView {
    path: TablePath,
    new_name: String,
    ignore_if_missing: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreatePartition {
    path: TablePath,
    spec: BTreeMap<String, String>,
    ignore_if_exists: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DropPartition {
    path: TablePath,
    spec: BTreeMap<String, String>,
    ignore_if_missing: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListPartitions {
    path: TablePath,
    #[serde(default)]
    spec: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    rules: Vec<AccessRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    filter: RuleFilter,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListOffsets {
    buckets: Vec<Bucket>,
    spec: OffsetSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AcquireSnapshots {
    buckets: Vec<Bucket>,
    lease: String,
    lease_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleaseSnapshots {
    buckets: Vec<Bucket>,
    lease: String,
}

fn buckets(list: Vec<Bucket>) -> Vec<TableBucket> {
    list.into_iter().map(TableBucket::from).collect()
}

/// Parses, calls, writes the answer.
fn answer<A: DeserializeOwned, R: Serialize>(
    operation: &str,
    arguments: &str,
    call: impl FnOnce(A) -> Result<R>,
) -> Result<String> {
    let result = call(parse(operation, arguments)?)?;
    serde_json::to_string(&result).map_err(|e| Error::internal(format!("answer of {operation}: {e}")))
}

/// Runs an admin operation: the method of that name of [`Connection`].
///
/// # Errors
/// `Invalid` for an unknown operation or wrong arguments; what the method gives.
pub fn admin(store: &dyn Connection, operation: &str, json: &str) -> Result<String> {
    match operation {
        "create_database" => answer(operation, json, |a: CreateDatabase| {
            store.create_database(&a.name, &a.descriptor, a.ignore_if_exists)
        }),
        "alter_database" => answer(operation, json, |a: AlterDatabase| store.alter_database(&a.name, &a.changes)),
        "drop_database" => {
            answer(operation, json, |a: DropDatabase| store.drop_database(&a.name, a.ignore_if_missing, a.cascade))
        }
        "list_databases" => answer(operation, json, |_: Nothing| store.list_databases()),
        "database" => answer(operation, json, |a: Name| store.database(&a.name)),
        "create_table" => {
            answer(operation, json, |a: CreateTable| store.create_table(&a.path, &a.descriptor, a.ignore_if_exists))
        }
        "drop_table" => answer(operation, json, |a: DropTable| store.drop_table(&a.path, a.ignore_if_missing)),
        "list_tables" => answer(operation, json, |a: Database| store.list_tables(&a.database)),
        "table" => answer(operation, json, |a: Path| store.table(&a.path)),
        "alter_table" => {
            answer(operation, json, |a: AlterTable| store.alter_table(&a.path, &a.changes, a.ignore_if_missing))
        }
        "create_partition" => {
            answer(operation, json, |a: CreatePartition| store.create_partition(&a.path, &a.spec, a.ignore_if_exists))
        }
        "drop_partition" => {
            answer(operation, json, |a: DropPartition| store.drop_partition(&a.path, &a.spec, a.ignore_if_missing))
        }
        "list_partitions" => answer(operation, json, |a: ListPartitions| store.list_partitions(&a.path, &a.spec)),
        "list_offsets" => answer(operation, json, |a: ListOffsets| store.list_offsets(&buckets(a.buckets), a.spec)),
        "table_stats" => answer(operation, json, |a: Path| store.table_stats(&a.path)),
        "producer_offsets" => answer(operation, json, |a: Producer| {
            let offsets = store.producer_offsets(&a.path, &a.producer)?;
            Ok(offsets
                .into_iter()
                .map(|(bucket, offset)| (bucket.partition.map(|p| p.0), bucket.bucket, offset))
                .collect::<Vec<_>>())
        }),
        "end_producer" => {
            answer(operation, json, |a: EndProducer| store.end_producer(&a.path, &a.producer, a.part, a.parts))
        }
        "acquire_snapshots" => answer(operation, json, |a: AcquireSnapshots| {
            store.acquire_snapshots(&buckets(a.buckets), &a.lease, a.lease_ms)
        }),
        "release_snapshots" => {
            answer(operation, json, |a: ReleaseSnapshots| store.release_snapshots(&buckets(a.buckets), &a.lease))
        }
        "add_rules" => answer(operation, json, |a: Rules| store.add_rules(&a.rules)),
        "drop_rules" => answer(operation, json, |a: Filter| store.drop_rules(&a.filter)),
        "list_rules" => answer(operation, json, |a: Filter| store.list_rules(&a.filter)),
        _ => lake(store, operation, json),
    }
}

/// The admin operations about the lake.
fn lake(store: &dyn Connection, operation: &str, json: &str) -> Result<String> {
    match operation {
        "lake_options" => answer(operation, json, |_: Nothing| store.lake_options()),
        "lake_partitions" => answer(operation, json, |a: Path| store.lake_partitions(&a.path)),
        "lake_snapshot" => answer(operation, json, |a: Path| store.lake_snapshot(&a.path)),
        "tier" => answer(operation, json, |a: Tier| store.tier(&a.path, Duration::from_millis(a.timeout_ms))),
        "tier_work" => answer(operation, json, |a: Path| store.tier_work(&a.path)),
        "tier_write" => {
            answer(operation, json, |a: TierWrite| store.tier_write(&a.work, Duration::from_millis(a.timeout_ms)))
        }
        "tier_commit" => answer(operation, json, |a: TierCommit| store.tier_commit(&a.path, &a.parts)),
        _ => view(store, operation, json),
    }
}

/// The admin operations about views.
fn view(store: &dyn Connection, operation: &str, json: &str) -> Result<String> {
    match operation {
        "create_view" => {
            answer(operation, json, |a: CreateView| store.create_view(&a.path, &a.descriptor, a.ignore_if_exists))
        }
        "alter_view" => {
            answer(operation, json, |a: AlterView| store.alter_view(&a.path, &a.descriptor, a.ignore_if_missing))
        }
        "rename_view" => {
            answer(operation, json, |a: RenameView| store.rename_view(&a.path, &a.new_name, a.ignore_if_missing))
        }
        "drop_view" => answer(operation, json, |a: DropTable| store.drop_view(&a.path, a.ignore_if_missing)),
        "list_views" => answer(operation, json, |a: Database| store.list_views(&a.database)),
        "view" => answer(operation, json, |a: Path| store.view(&a.path)),
        _ => Err(Error::invalid(Subject::None, format!("there is no admin operation '{operation}'"))),
    }
}
