//! The second act: we compact the tables, then Paimon's Java does; we read them, and bring another round on top.

use crate::canonical;
use crate::warehouse::TIMESTAMP_MS;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use serde_json::{Value, json};
use sluice_base::OsFs;
use sluice_lake::{
    KeyedWriter, LakeBucket, LakePartition, LakeScan, LakeSplit, LakeTable, LocalStorage, OFFSET, Round, ScanOptions,
};
use sluice_row::{ChangeKind, TablePath};
use sluice_testkit::ManualClock;
use std::path::Path;
use std::sync::Arc;

/// Rows deleted in each bucket.
const DELETED: usize = 3;

/// Merges what there is to merge in every table, as eagerly as it can be asked for; the rows stay as `expected.json` says.
pub fn compact_all(root: &Path) {
    let expected: Value = serde_json::from_slice(&std::fs::read(root.join("expected.json")).unwrap()).unwrap();
    let storage = Arc::new(LocalStorage::new(Arc::new(OsFs), root));
    let eager = [
        ("num-sorted-run.compaction-trigger", "2"),
        ("num-levels", "6"),
        ("compaction.max-size-amplification-percent", "0"),
        ("compaction.min.file-num", "2"),
        // So that a level has several files.
        ("target-file-size", "1 kb"),
    ];
    let (mut merged, mut most_files) = (0, 0);
    for wanted in expected.as_array().unwrap() {
        let path = TablePath::new("judged", wanted["name"].as_str().unwrap());
        let clock = Arc::new(ManualClock::new(TIMESTAMP_MS));
        let table = LakeTable::open(Arc::clone(&storage) as _, clock, &path).unwrap().unwrap();
        let set = eager.iter().map(|(key, value)| ((*key).to_owned(), Some((*value).to_owned()))).collect();
        let table = table.set_options(&set).unwrap();
        while table.compact("compactor", &|| false).unwrap().is_some() {
            merged += 1;
        }
        let table = table.set_options(&eager.iter().map(|(key, _)| ((*key).to_owned(), None)).collect()).unwrap();
        let snapshot = table.newest().unwrap().unwrap();
        let scan = LakeScan::new(&table, &snapshot).unwrap();
        if !table.schema().schema.primary_key.is_empty() {
            most_files = scan.splits().iter().map(LakeSplit::files).max().unwrap_or(0).max(most_files);
        }
        let found = scan.splits().iter().flat_map(|split| read(&scan, split)).flat_map(|batch| rows(&batch));
        assert_eq!(sorted(found), sorted(list(&wanted["rows"])), "{path}");
    }
    assert!(merged > 10, "only {merged} compactions");
    assert!(most_files > 2, "{most_files} files are the most in a bucket");
}

/// Reads every table of the warehouse, deletes some rows of the primary-key tables, and says so in `expected.json`.
pub fn read_and_go_on(root: &Path) {
    let file = root.join("expected.json");
    let mut expected: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let storage = Arc::new(LocalStorage::new(Arc::new(OsFs), root));
    for wanted in expected.as_array_mut().unwrap() {
        let path = TablePath::new("judged", wanted["name"].as_str().unwrap());
        let clock = Arc::new(ManualClock::new(TIMESTAMP_MS));
        let table = LakeTable::open(Arc::clone(&storage) as _, clock, &path).unwrap().unwrap();
        let snapshot = table.newest().unwrap().unwrap();
        let scan = LakeScan::new(&table, &snapshot).unwrap();
        let batches: Vec<(LakeSplit, RecordBatch)> =
            scan.splits().iter().flat_map(|split| read(&scan, split).into_iter().map(|b| (split.clone(), b))).collect();
        assert_eq!(sorted(batches.iter().flat_map(|(_, batch)| rows(batch))), sorted(list(&wanted["rows"])), "{path}");
        if !table.schema().schema.primary_key.is_empty() {
            delete_some(&table, &scan, wanted);
        }
    }
    std::fs::write(&file, serde_json::to_vec(&expected).unwrap()).unwrap();
}

fn read(scan: &LakeScan, split: &LakeSplit) -> Vec<RecordBatch> {
    let options = ScanOptions { projection: None, predicate: None, batch_rows_max: 100 };
    let mut rows = scan.read(split, &options).unwrap();
    std::iter::from_fn(|| rows.next_batch().unwrap()).collect()
}

fn rows(batch: &RecordBatch) -> Vec<Value> {
    (0..batch.num_rows()).map(|row| Value::Array(canonical::row(batch, row))).collect()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().unwrap().clone()
}

fn sorted(rows: impl IntoIterator<Item = Value>) -> Vec<String> {
    let mut rows: Vec<String> = rows.into_iter().map(|row| row.to_string()).collect();
    rows.sort();
    rows
}

/// A round that deletes the first rows of each bucket.
fn delete_some(table: &LakeTable, scan: &LakeScan, wanted: &mut Value) {
    let offset_column = table.schema().schema.index_of(OFFSET);
    let own = offset_column.unwrap_or(table.schema().schema.columns.len());
    let tiered = table.tiered().unwrap();
    let mut round = Round::new(table, "after the compaction");
    for split in scan.splits() {
        let Some(batch) = read(scan, split).into_iter().next() else { continue };
        let gone = batch.slice(0, DELETED.min(batch.num_rows()));
        let partition = scan.partition_values(split).unwrap();
        let partition =
            partition.first().map(|p| LakePartition { name: p.as_string::<i32>().value(0).to_owned(), id: 1 });
        let bucket = LakeBucket { partition, bucket: split.bucket() };
        let start = tiered.offsets.end(&bucket).expect("the bucket was tiered");
        let mut writer = KeyedWriter::new(table, split.bucket());
        let columns = gone.project(&(0..own).collect::<Vec<_>>()).unwrap();
        writer.write(&columns, &vec![ChangeKind::Delete; gone.num_rows()], start, TIMESTAMP_MS).unwrap();
        let end = start + gone.num_rows() as i64;
        round.add(bucket, Some(start), start..end, writer.finish().unwrap());
        for (i, row) in rows(&gone).into_iter().enumerate() {
            wanted["rows"].as_array_mut().unwrap().retain(|r| *r != row);
            let mut change = list(&row);
            if let Some(at) = offset_column {
                change[at] = json!((start + i as i64).to_string());
            }
            change.insert(0, json!("-D"));
            wanted["changes"].as_array_mut().unwrap().push(Value::Array(change));
        }
    }
    round.commit().unwrap();
}
