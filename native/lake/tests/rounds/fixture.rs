//! A small lake table and rows for it.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Int32Array, RecordBatch, StringArray};
use sluice_base::{Clock, Fs, OsFs, Result};
use sluice_lake::{
    AppendWriter, CommitKind, KeyedWriter, LakeBucket, LakeScan, LakeTable, LocalStorage, Predicate, Round,
    ScanOptions, Snapshot, SystemColumns, define,
};
use sluice_row::{ChangeKind, Column, DataType, Schema, TableDescriptor, TablePath, TypeRoot, arrow_schema};
use sluice_testkit::ManualClock;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub fn path() -> TablePath {
    TablePath::new("db", "t")
}

pub fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::new(1_700_000_000_000))
}

pub const fn bucket(bucket: i32) -> LakeBucket {
    LakeBucket { partition: None, bucket }
}

/// `k INT, v STRING` in 4 buckets, with `k` as primary key if asked.
pub fn descriptor(keyed: bool) -> TableDescriptor {
    let column = |name: &str, root, nullable| Column {
        name: name.to_owned(),
        data_type: DataType { root, nullable },
        comment: None,
        id: None,
        agg_function: None,
    };
    let columns = vec![column("k", TypeRoot::Int, !keyed), column("v", TypeRoot::String, true)];
    let key = if keyed { vec!["k".to_owned()] } else { Vec::new() };
    TableDescriptor {
        version: 1,
        schema: Schema::new(columns, key),
        comment: None,
        partition_key: Vec::new(),
        bucket_key: vec!["k".to_owned()],
        bucket_count: Some(4),
        properties: BTreeMap::new(),
        custom_properties: BTreeMap::new(),
    }
}

pub fn create(root: &Path, keyed: bool) -> LakeTable {
    create_on(Arc::new(OsFs), root, keyed).unwrap()
}

pub fn create_on(fs: Arc<dyn Fs>, root: &Path, keyed: bool) -> Result<LakeTable> {
    let schema = define(&descriptor(keyed), SystemColumns::Added, 0)?;
    LakeTable::create(Arc::new(LocalStorage::new(fs, root)), clock(), &path(), schema)
}

pub fn open(root: &Path) -> LakeTable {
    open_on(Arc::new(OsFs), root)
}

pub fn open_on(fs: Arc<dyn Fs>, root: &Path) -> LakeTable {
    LakeTable::open(Arc::new(LocalStorage::new(fs, root)), clock(), &path()).unwrap().expect("the table was created")
}

/// Rows whose key and text are the numbers of the range.
pub fn rows(keyed: bool, range: std::ops::Range<i32>) -> RecordBatch {
    let keys = Int32Array::from_iter_values(range.clone());
    let texts = StringArray::from_iter_values(range.map(|i| i.to_string()));
    RecordBatch::try_new(arrow_schema(&descriptor(keyed).schema), vec![Arc::new(keys), Arc::new(texts)]).unwrap()
}

/// A round that brings the rows of one range of offsets, whose keys are the offsets.
pub fn round(
    table: &LakeTable,
    user: &str,
    at: i32,
    start: Option<i64>,
    range: std::ops::Range<i64>,
) -> Result<Snapshot> {
    let keyed = !table.schema().schema.primary_key.is_empty();
    let batch = rows(keyed, range.start as i32..range.end as i32);
    let files = if keyed {
        let mut writer = KeyedWriter::new(table, at);
        writer.write(&batch, &vec![ChangeKind::Insert; batch.num_rows()], range.start, 5)?;
        writer.finish()?
    } else {
        let mut writer = AppendWriter::new(table, at);
        writer.write(&batch, range.start, 5)?;
        writer.finish()?
    };
    let mut round = Round::new(table, user);
    round.add(bucket(at), start, range, files);
    round.commit()
}

/// Offsets of all rows of the newest snapshot that a reader with this filter finds, sorted.
pub fn offsets_where(table: &LakeTable, predicate: Option<Predicate>) -> Vec<i64> {
    table.newest().unwrap().map_or_else(Vec::new, |newest| offsets_of(table, &newest, predicate))
}

/// The same of any snapshot.
pub fn offsets_of(table: &LakeTable, snapshot: &Snapshot, predicate: Option<Predicate>) -> Vec<i64> {
    let scan = LakeScan::new(table, snapshot).unwrap();
    let options = ScanOptions { projection: Some(vec![2, 0]), predicate, batch_rows_max: 1000 };
    let mut found = Vec::new();
    for split in scan.splits() {
        let mut rows = scan.read(split, &options).unwrap();
        while let Some(batch) = rows.next_batch().unwrap() {
            let offsets = batch.column(0).as_primitive::<Int64Type>();
            let keys = batch.column(1).as_primitive::<Int32Type>();
            for row in 0..batch.num_rows() {
                assert_eq!(offsets.value(row), i64::from(keys.value(row)));
                found.push(offsets.value(row));
            }
        }
    }
    found.sort_unstable();
    found
}

pub fn offsets(table: &LakeTable) -> Vec<i64> {
    offsets_where(table, None)
}

/// A directory for many small rounds: in memory where the machine has such a place, for what is synced here need not outlive anything.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub fn snapshot_file(root: &Path, id: i64) -> std::path::PathBuf {
    root.join(format!("db.db/t/snapshot/snapshot-{id}"))
}

/// A snapshot as Paimon's own commits are: the same files, none of our properties.
pub fn foreign_snapshot(root: &Path) -> i64 {
    let mut snapshot = open(root).newest().unwrap().unwrap();
    snapshot.id += 1;
    snapshot.commit_user = "somebody".to_owned();
    snapshot.commit_kind = CommitKind::Compact;
    snapshot.properties = None;
    let manifests = root.join("db.db/t/manifest");
    // All that was there is in the base now, so the delta is that of nothing.
    let (base, delta) = (snapshot.base_manifest_list.clone(), snapshot.delta_manifest_list.clone());
    assert!(manifests.join(&base).exists() && manifests.join(&delta).exists());
    std::fs::write(snapshot_file(root, snapshot.id), serde_json::to_vec(&snapshot).unwrap()).unwrap();
    snapshot.id
}
