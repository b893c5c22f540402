//! Compaction over many rounds of large and small buckets: the rows stay what they are at every snapshot, and files do not pile up.

use crate::fixture::{bucket, clock, descriptor, path, round, rows, scratch};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Int32Array, RecordBatch, StringArray};
use sluice_base::OsFs;
use sluice_lake::{
    AppendWriter, CommitKind, KeyedWriter, LakeScan, LakeTable, LocalStorage, Round, ScanOptions, Snapshot,
    SystemColumns, define,
};
use sluice_row::{ChangeKind, Column, DataType, TypeRoot, arrow_schema};
use sluice_testkit::Gen;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Key, text, log offset.
type Found = (i32, String, i64);

fn create(root: &Path, keyed: bool, options: &[(&str, &str)]) -> LakeTable {
    let mut schema = define(&descriptor(keyed), SystemColumns::Added, 0).unwrap();
    schema.options.extend(options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
    LakeTable::create(Arc::new(LocalStorage::new(Arc::new(OsFs), root)), clock(), &path(), schema).unwrap()
}

/// Compacts until nothing is due; the number of snapshots that it took.
fn compact(table: &LakeTable) -> usize {
    let mut snapshots = 0;
    while let Some(snapshot) = table.compact("u", &|| false).unwrap() {
        assert_eq!(snapshot.commit_kind, CommitKind::Compact);
        snapshots += 1;
    }
    snapshots
}

/// The rows of a snapshot as they come, bucket by bucket.
fn read(table: &LakeTable, snapshot: &Snapshot) -> Vec<Found> {
    let scan = LakeScan::new(table, snapshot).unwrap();
    let stored: i64 = scan.splits().iter().map(sluice_lake::LakeSplit::stored_rows).sum();
    assert_eq!(stored, snapshot.total_record_count, "snapshot {}", snapshot.id);
    let options = ScanOptions { projection: Some(vec![0, 1, 2]), predicate: None, batch_rows_max: 100 };
    let mut found = Vec::new();
    for split in scan.splits() {
        let mut rows = scan.read(split, &options).unwrap();
        while let Some(batch) = rows.next_batch().unwrap() {
            let keys = batch.column(0).as_primitive::<Int32Type>().values().to_vec();
            let texts = batch.column(1).as_string::<i32>().iter().map(|t| t.unwrap().to_owned());
            let offsets = batch.column(2).as_primitive::<Int64Type>().values().to_vec();
            found.extend(keys.into_iter().zip(texts).zip(offsets).map(|((k, t), o)| (k, t, o)));
        }
    }
    found
}

fn newest(table: &LakeTable) -> Snapshot {
    table.newest().unwrap().unwrap()
}

fn file_counts(table: &LakeTable) -> Vec<usize> {
    let scan = LakeScan::new(table, &newest(table)).unwrap();
    scan.splits().iter().map(sluice_lake::LakeSplit::files).collect()
}

/// Names of data files in a bucket's directory.
fn data_files(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for bucket in 0..4 {
        let Ok(entries) = std::fs::read_dir(root.join(format!("db.db/t/bucket-{bucket}"))) else { continue };
        let names = entries.map(|e| format!("{bucket}/{}", e.unwrap().file_name().into_string().unwrap()));
        found.extend(names.filter(|name| name.contains("/data-")));
    }
    found
}

/// A bucket with the rows that it must have, by key.
#[derive(Default, Clone)]
struct Model {
    rows: BTreeMap<i32, (String, i64)>,
    end: i64,
}

impl Model {
    /// Random changes of keys below `keys` in a round of their own.
    fn change(&mut self, table: &LakeTable, at: i32, random: &mut Gen, (changes, keys): (usize, usize)) {
        let (mut ids, mut texts, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..changes {
            let (id, offset) = (random.below(keys) as i32, self.end + i as i64);
            let text = format!("{offset} {}", "x".repeat(random.below(30)));
            let kind = match random.below(4) {
                0 => ChangeKind::Delete,
                1 => ChangeKind::UpdateAfter,
                _ => ChangeKind::Insert,
            };
            match kind {
                ChangeKind::Delete => self.rows.remove(&id),
                _ => self.rows.insert(id, (text.clone(), offset)),
            };
            ids.push(id);
            texts.push(text);
            kinds.push(kind);
        }
        let columns: Vec<arrow_array::ArrayRef> =
            vec![Arc::new(Int32Array::from(ids)), Arc::new(StringArray::from(texts))];
        let batch = RecordBatch::try_new(arrow_schema(&descriptor(true).schema), columns).unwrap();
        let mut writer = KeyedWriter::new(table, at);
        writer.write(&batch, &kinds, self.end, 5).unwrap();
        let mut round = Round::new(table, "u");
        let end = self.end + changes as i64;
        round.add(bucket(at), (self.end > 0).then_some(self.end), self.end..end, writer.finish().unwrap());
        round.commit().unwrap();
        self.end = end;
    }
}

fn wanted(models: &[Model]) -> Vec<Found> {
    let rows = models.iter().flat_map(|model| &model.rows);
    rows.map(|(key, (text, offset))| (*key, text.clone(), *offset)).collect()
}

#[test]
fn rows_equal_a_model_at_every_snapshot() {
    for seed in 0..4 {
        let dir = scratch();
        let options =
            [("target-file-size", "6 kb"), ("snapshot.time-retained", "0 s"), ("snapshot.num-retained.min", "2")];
        let table = create(dir.path(), true, &options);
        let mut random = Gen::new(seed);
        let mut models = [Model::default(), Model::default()];
        let mut history: BTreeMap<i64, Vec<Found>> = BTreeMap::new();
        let (mut compactions, mut most_files) = (0, 0);
        // Much to begin with, so that not every compaction takes all.
        models[0].change(&table, 0, &mut random, (1500, 2000));
        for step in 0..60 {
            let at = random.below(2);
            let changes = 1 + random.below(40);
            models[at].change(&table, at as i32, &mut random, (changes, 300));
            history.insert(newest(&table).id, wanted(&models));
            if random.below(3) == 0 {
                let before = table.tiered().unwrap().offsets;
                compactions += compact(&table);
                assert_eq!(table.tiered().unwrap().offsets, before, "step {step}");
                most_files = most_files.max(file_counts(&table).into_iter().max().unwrap());
                history.insert(newest(&table).id, wanted(&models));
            }
            assert_eq!(read(&table, &newest(&table)), wanted(&models), "seed {seed}, step {step}");
        }
        assert!(compactions >= 8, "only {compactions}");
        assert!(most_files > 8, "{most_files} files are the most in a bucket: no level has several");
        assert!(most_files < 60, "{most_files} files in one bucket");
        for (id, rows) in &history {
            let snapshot = table.snapshot(*id).unwrap().unwrap();
            assert_eq!(read(&table, &snapshot), *rows, "seed {seed}, back in snapshot {id}");
        }
        // The files of old snapshots go, and those of the last two stay.
        let files = data_files(dir.path()).len();
        while table.expire_snapshots().unwrap() > 0 {}
        let last = newest(&table).id;
        assert_eq!(table.snapshot(last - 2).unwrap(), None);
        for id in last - 1..=last {
            let snapshot = table.snapshot(id).unwrap().unwrap();
            assert!(history.get(&id).is_none_or(|rows| read(&table, &snapshot) == *rows), "snapshot {id}");
        }
        let left = data_files(dir.path()).len();
        let used: usize = file_counts(&table).iter().sum();
        assert!(left < files && left <= 2 * used + 5, "{left} of {files} files are left, {used} are used");
        // Rounds and compactions go on over what was compacted and expired.
        models[1].change(&table, 1, &mut random, (50, 300));
        assert_eq!(read(&table, &newest(&table)), wanted(&models), "seed {seed}");
    }
}

#[test]
fn rows_that_are_deleted_leave_nothing() {
    let dir = scratch();
    let table = create(dir.path(), true, &[]);
    for start in [0, 10, 20, 30] {
        round(&table, "u", 0, (start > 0).then_some(start), start..start + 10).unwrap();
    }
    let mut writer = KeyedWriter::new(&table, 0);
    writer.write(&rows(true, 0..40), &[ChangeKind::Delete; 40], 40, 5).unwrap();
    let mut last = Round::new(&table, "u");
    last.add(bucket(0), Some(40), 40..80, writer.finish().unwrap());
    last.commit().unwrap();
    assert_eq!(compact(&table), 1);
    let snapshot = newest(&table);
    assert_eq!((snapshot.total_record_count, snapshot.delta_record_count), (0, -80));
    assert_eq!(read(&table, &snapshot), []);
    assert!(file_counts(&table).is_empty());
    assert_eq!(compact(&table), 0);
    assert_eq!(table.tiered().unwrap().offsets.end(&bucket(0)), Some(80));
}

/// Rounds of one bucket of a log table, each of `each` rows.
fn log_rounds(table: &LakeTable, rounds: i64, each: i64) {
    for n in 0..rounds {
        round(table, "u", 0, (n > 0).then_some(n * each), n * each..(n + 1) * each).unwrap();
    }
}

#[test]
fn a_logs_rows_stay_in_their_order() {
    let dir = scratch();
    let table = create(dir.path(), false, &[("target-file-size", "8 kb")]);
    let mut snapshots = 0;
    let mut end = 0;
    let mut random = Gen::new(3);
    for n in 0..120 {
        let size = if n == 40 { 4000 } else { 1 + random.below(30) as i64 };
        round(&table, "u", 0, (end > 0).then_some(end), end..end + size).unwrap();
        end += size;
        snapshots += compact(&table);
        let found: Vec<i64> = read(&table, &newest(&table)).into_iter().map(|(_, _, offset)| offset).collect();
        assert_eq!(found, (0..end).collect::<Vec<_>>(), "round {n}");
    }
    assert!(snapshots > 10, "{snapshots}");
    let files = file_counts(&table)[0];
    assert!((3..25).contains(&files), "{files} files are left of 120");
    let once = table.snapshot(1).unwrap().unwrap();
    assert_eq!(read(&table, &once).len() as i64, once.total_record_count);
}

#[test]
fn columns_added_since_are_null() {
    for keyed in [true, false] {
        let dir = scratch();
        let table = create(dir.path(), keyed, &[]);
        log_rounds(&table, 3, 10);
        let column = Column {
            name: "later".to_owned(),
            data_type: DataType::new(TypeRoot::Int),
            comment: None,
            id: None,
            agg_function: None,
        };
        let table = table.add_columns(&[column]).unwrap();
        for start in [30, 40] {
            let old = rows(keyed, start..start + 10);
            let mut columns = old.columns().to_vec();
            columns.push(Arc::new(Int32Array::from_iter_values(start..start + 10)));
            let batch = RecordBatch::try_from_iter(["k", "v", "later"].into_iter().zip(columns)).unwrap();
            let (start, end) = (i64::from(start), i64::from(start) + 10);
            let files = if keyed {
                let mut writer = KeyedWriter::new(&table, 0);
                writer.write(&batch, &[ChangeKind::Insert; 10], start, 5).unwrap();
                writer.finish().unwrap()
            } else {
                let mut writer = AppendWriter::new(&table, 0);
                writer.write(&batch, start, 5).unwrap();
                writer.finish().unwrap()
            };
            let mut round = Round::new(&table, "u");
            round.add(bucket(0), Some(start), start..end, files);
            round.commit().unwrap();
        }
        assert_eq!(compact(&table), 1);
        assert_eq!(file_counts(&table), [1]);
        let scan = LakeScan::new(&table, &newest(&table)).unwrap();
        let options = ScanOptions { projection: Some(vec![0, 2]), predicate: None, batch_rows_max: 100 };
        let mut found = scan.read(&scan.splits()[0], &options).unwrap();
        let batch = found.next_batch().unwrap().unwrap();
        let later: Vec<Option<i32>> = batch.column(1).as_primitive::<Int32Type>().iter().collect();
        assert_eq!(later, (0..50).map(|i| (i >= 30).then_some(i)).collect::<Vec<_>>(), "keyed {keyed}");
    }
}

/// What was never compacted has more files than may be open at once.
#[test]
fn hundreds_of_files_are_merged_some_at_a_time() {
    let dir = scratch();
    let table = create(dir.path(), true, &[]);
    log_rounds(&table, 150, 3);
    assert_eq!(compact(&table), 3);
    assert_eq!(file_counts(&table), [1]);
    let found: Vec<i64> = read(&table, &newest(&table)).into_iter().map(|(_, _, offset)| offset).collect();
    assert_eq!(found, (0..450).collect::<Vec<_>>());
}

#[test]
fn deletes_that_paimon_ignores_are_left_to_it() {
    let dir = scratch();
    let table = create(dir.path(), true, &[("ignore-delete", "true")]);
    log_rounds(&table, 6, 10);
    assert_eq!(compact(&table), 0);
}
