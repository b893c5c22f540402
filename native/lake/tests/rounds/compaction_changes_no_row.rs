//! Our own compaction: fewer files, the same rows; whoever else commits meanwhile, and wherever it is cut off.

use crate::fixture::{
    bucket, clock, create_on, descriptor, foreign_snapshot, offsets, offsets_of, open, open_on, path, round, scratch,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Int32Array, RecordBatch, StringArray};
use sluice_base::{Fs, OsFs};
use sluice_lake::{CommitKind, KeyedWriter, LakeScan, LakeTable, LocalStorage, Round, ScanOptions, Snapshot};
use sluice_row::{ChangeKind, arrow_schema};
use sluice_testkit::{Crash, Fault, FaultFs, Gen};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Text and offset by key.
type Model = BTreeMap<i32, (String, i64)>;

fn set(table: &LakeTable, options: &[(&str, &str)]) -> LakeTable {
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), Some((*v).to_owned()))).collect();
    table.set_options(&options).unwrap()
}

fn compact(table: &LakeTable) -> Option<Snapshot> {
    table.compact("compactor", &|| false).unwrap()
}

fn data_files(root: &Path) -> BTreeSet<String> {
    let all = std::fs::read_dir(root.join("db.db/t/bucket-0")).unwrap();
    all.map(|e| e.unwrap().file_name().into_string().unwrap()).filter(|name| name.starts_with("data-")).collect()
}

/// Files that a snapshot reads.
fn read_files(table: &LakeTable, snapshot: &Snapshot) -> i64 {
    let scan = LakeScan::new(table, snapshot).unwrap();
    scan.splits().iter().map(sluice_lake::LakeSplit::files).sum::<usize>() as i64
}

/// A round of changes of few keys: `None` takes a row away. The text tells the offset.
fn changes(table: &LakeTable, start: i64, changes: &[(i32, bool)]) -> i64 {
    let keys = Int32Array::from_iter_values(changes.iter().map(|c| c.0));
    let texts = StringArray::from_iter_values((0..).zip(changes).map(|(i, _)| (start + i).to_string()));
    let batch =
        RecordBatch::try_new(arrow_schema(&descriptor(true).schema), vec![Arc::new(keys), Arc::new(texts)]).unwrap();
    let kinds: Vec<_> =
        changes.iter().map(|c| if c.1 { ChangeKind::UpdateAfter } else { ChangeKind::Delete }).collect();
    let mut writer = KeyedWriter::new(table, 0);
    writer.write(&batch, &kinds, start, 5).unwrap();
    let end = start + changes.len() as i64;
    let mut round = Round::new(table, "u");
    round.add(bucket(0), (start > 0).then_some(start), start..end, writer.finish().unwrap());
    round.commit().unwrap();
    end
}

/// Key, text and offset of every row of a snapshot.
fn rows(table: &LakeTable, snapshot: &Snapshot) -> Model {
    let scan = LakeScan::new(table, snapshot).unwrap();
    let options = ScanOptions { projection: None, predicate: None, batch_rows_max: 1000 };
    let mut found = BTreeMap::new();
    for split in scan.splits() {
        let mut rows = scan.read(split, &options).unwrap();
        while let Some(batch) = rows.next_batch().unwrap() {
            let (keys, texts) = (batch.column(0).as_primitive::<Int32Type>(), batch.column(1).as_string::<i32>());
            let offsets = batch.column(2).as_primitive::<Int64Type>();
            for row in 0..batch.num_rows() {
                let before = found.insert(keys.value(row), (texts.value(row).to_owned(), offsets.value(row)));
                assert_eq!(before, None, "key {} is there twice", keys.value(row));
            }
        }
    }
    found
}

/// Rounds and compactions in any order, against a map; old snapshots still read as they did.
#[test]
fn rows_by_key_equal_a_model() {
    for seed in 0..6 {
        let dir = scratch();
        let mut random = Gen::new(seed);
        let table = create_on(Arc::new(OsFs), dir.path(), true).unwrap();
        // Files of some hundred bytes, so that levels come to hold several.
        let target = ("target-file-size", if seed % 2 == 0 { "1kb" } else { "128mb" });
        // Without merges of everything, so that changes which take rows away lie above those rows for long.
        let amplification = if seed % 3 == 0 { "200" } else { "1000000" };
        let table = set(&table, &[target, ("compaction.max-size-amplification-percent", amplification)]);
        let mut model: Model = BTreeMap::new();
        let (mut end, mut compactions) = (0, 0);
        let mut history: Vec<(Snapshot, Model)> = Vec::new();
        for number in 0..40 {
            // Many rows at first, so that what comes later is not merged with them each time.
            let keys = if random.one_in(4) { 400 } else { 20 };
            let batch: Vec<(i32, bool)> = match number {
                0 => (0..6000).map(|key| (key, true)).collect(),
                _ => (0..=random.below(keys)).map(|_| (random.below(keys) as i32, !random.one_in(3))).collect(),
            };
            for (i, (key, there)) in batch.iter().enumerate() {
                let offset = end + i as i64;
                match there {
                    true => drop(model.insert(*key, (offset.to_string(), offset))),
                    false => drop(model.remove(key)),
                }
            }
            end = changes(&table, end, &batch);
            if random.one_in(2) {
                compactions += i32::from(compact(&table).is_some());
            }
            let newest = table.newest().unwrap().unwrap();
            assert_eq!(rows(&table, &newest), model, "seed {seed}, snapshot {}", newest.id);
            history.push((newest, model.clone()));
        }
        assert!(compactions > 4, "seed {seed}: only {compactions} compactions");
        for (snapshot, then) in &history {
            assert_eq!(rows(&table, snapshot), *then, "seed {seed}, snapshot {}", snapshot.id);
        }
        assert_eq!(table.tiered().unwrap().offsets.end(&bucket(0)), Some(end));
        // Everything merged down holds no change that takes a row away.
        while compact(&set(
            &table,
            &[
                ("num-sorted-run.compaction-trigger", "2"),
                ("num-levels", "6"),
                ("compaction.max-size-amplification-percent", "0"),
            ],
        ))
        .is_some()
        {}
        let newest = table.newest().unwrap().unwrap();
        assert_eq!(newest.commit_kind, CommitKind::Compact);
        assert_eq!(rows(&table, &newest), model);
        let stored: i64 =
            LakeScan::new(&table, &newest).unwrap().splits().iter().map(sluice_lake::LakeSplit::stored_rows).sum();
        assert_eq!((stored, newest.total_record_count), (model.len() as i64, model.len() as i64));
    }
}

#[test]
fn small_neighbours_of_an_append_table_become_one_file() {
    let dir = scratch();
    let table = create_on(Arc::new(OsFs), dir.path(), false).unwrap();
    for n in 0..4 {
        round(&table, "u", 0, (n > 0).then_some(n * 10), n * 10..n * 10 + 10).unwrap();
    }
    assert!(compact(&table).is_none(), "four files are few");
    for n in 4..7 {
        round(&table, "u", 0, Some(n * 10), n * 10..n * 10 + 10).unwrap();
    }
    let before = table.newest().unwrap().unwrap();
    let done = compact(&table).unwrap();
    assert_eq!(
        (done.commit_kind, done.id, done.total_record_count, done.delta_record_count),
        (CommitKind::Compact, 8, 70, 0)
    );
    assert_eq!((read_files(&table, &before), read_files(&table, &done)), (7, 1));
    assert!(compact(&table).is_none());
    // In the order of the log, and further rounds come behind.
    round(&table, "u", 0, Some(70), 70..75).unwrap();
    let newest = table.newest().unwrap().unwrap();
    let scan = LakeScan::new(&table, &newest).unwrap();
    let options = ScanOptions { projection: Some(vec![2]), predicate: None, batch_rows_max: 1000 };
    let mut rows = scan.read(&scan.splits()[0], &options).unwrap();
    let mut found = Vec::new();
    while let Some(batch) = rows.next_batch().unwrap() {
        found.extend(batch.column(0).as_primitive::<Int64Type>().values().to_vec());
    }
    assert_eq!(found, (0..75).collect::<Vec<_>>());
    assert_eq!(offsets_of(&table, &before, None), (0..70).collect::<Vec<_>>());
    assert_eq!(table.tiered().unwrap().offsets.end(&bucket(0)), Some(75));
}

/// Rounds and compactions of others that come in between, and one who is told to stop.
#[test]
fn others_may_come_first() {
    for keyed in [false, true] {
        let dir = scratch();
        let table = create_on(Arc::new(OsFs), dir.path(), keyed).unwrap();
        for n in 0..6 {
            round(&table, "u", 0, (n > 0).then_some(n * 10), n * 10..n * 10 + 10).unwrap();
        }
        let files = data_files(dir.path());
        assert!(table.compact("compactor", &|| true).unwrap().is_none());
        assert_eq!(data_files(dir.path()), files, "what was begun is taken away");
        // A round is published while files are merged: both are there afterwards.
        let once = std::sync::Once::new();
        let meanwhile = || {
            once.call_once(|| drop(round(&open(dir.path()), "u", 0, Some(60), 60..65).unwrap()));
            false
        };
        let done = table.compact("compactor", &meanwhile).unwrap().unwrap();
        assert_eq!((done.id, read_files(&table, &done)), (8, 2));
        assert_eq!(offsets(&table), (0..65).collect::<Vec<_>>());
        // Somebody else compacts the same files first: ours is given up, and its files go.
        for n in 0..6 {
            round(&table, "u", 0, Some(65 + n * 10), 65 + n * 10..75 + n * 10).unwrap();
        }
        let once = std::sync::Once::new();
        let theirs = || {
            once.call_once(|| drop(compact(&open(dir.path())).unwrap()));
            false
        };
        let refused = table.compact("compactor", &theirs).unwrap();
        assert!(refused.is_none(), "{refused:?}");
        assert_eq!(offsets(&table), (0..125).collect::<Vec<_>>());
        // A snapshot of somebody else's that changes nothing is no hindrance.
        foreign_snapshot(dir.path());
        for n in 0..6 {
            round(&table, "u", 0, Some(125 + n * 10), 125 + n * 10..135 + n * 10).unwrap();
        }
        compact(&table).unwrap();
        assert_eq!(offsets(&table), (0..185).collect::<Vec<_>>());
    }
}

#[test]
fn an_error_or_the_death_of_the_process_anywhere_changes_no_row() {
    for (fault, keyed) in [(Fault::Error, true), (Fault::Halt, false), (Fault::Halt, true)] {
        for n in 1.. {
            let dir = scratch();
            let (root, images) = (dir.path().join("lake"), dir.path().join("images"));
            std::fs::create_dir(&root).unwrap();
            let fs = FaultFs::new();
            let table = create_on(Arc::new(fs.clone()), &root, keyed).unwrap();
            let few = [("num-sorted-run.compaction-trigger", "2"), ("compaction.min.file-num", "2")];
            let table = set(&table, &few);
            for n in 0..2 {
                round(&table, "u", 0, (n > 0).then_some(n * 10), n * 10..n * 10 + 10).unwrap();
            }
            fs.fail_call(n, fault);
            let outcome = table.compact("compactor", &|| false);
            let what = format!("{fault:?} in call {n}, keyed {keyed}: {outcome:?}");
            if !fs.fired() {
                assert!(outcome.unwrap().is_some() && n > 15, "{what}");
                break;
            }
            for (i, crash) in [Crash::LoseUnsynced, Crash::Torn(n)].into_iter().enumerate() {
                let image = images.join(i.to_string());
                fs.crash_into(&root, &image, crash).unwrap();
                goes_on(Arc::new(OsFs), &image, &format!("{what}, then {crash:?}"));
            }
            fs.restart();
            goes_on(Arc::new(fs), &root, &what);
        }
    }
}

fn goes_on(fs: Arc<dyn Fs>, root: &Path, what: &str) {
    let table = open_on(fs, root);
    assert_eq!(offsets(&table), (0..20).collect::<Vec<_>>(), "{what}");
    round(&table, "again", 0, Some(20), 20..23).unwrap();
    compact(&table);
    assert_eq!(offsets(&table), (0..23).collect::<Vec<_>>(), "{what}");
    let newest = table.newest().unwrap().unwrap();
    assert!(read_files(&table, &newest) <= 2, "{what}");
}

/// What was replaced goes with the snapshots that had it.
#[test]
fn expiry_takes_the_old_files_away() {
    let dir = scratch();
    let table = create_on(Arc::new(OsFs), dir.path(), true).unwrap();
    let table = set(&table, &[("snapshot.time-retained", "0 s"), ("snapshot.num-retained.min", "1")]);
    for n in 0..6 {
        round(&table, "u", 0, (n > 0).then_some(n * 10), n * 10..n * 10 + 10).unwrap();
    }
    compact(&table).unwrap();
    round(&table, "u", 0, Some(60), 60..65).unwrap();
    table.expire_snapshots().unwrap();
    assert_eq!(data_files(dir.path()).len(), 2, "the merged one and that of the last round");
    assert_eq!(offsets(&table), (0..65).collect::<Vec<_>>());
    assert_eq!(table.tiered().unwrap().offsets.end(&bucket(0)), Some(65));
}

#[test]
fn a_bad_option_is_named_and_other_changelogs_are_left_alone() {
    let dir = scratch();
    let table = create_on(Arc::new(OsFs), dir.path(), true).unwrap();
    for n in 0..6 {
        round(&table, "u", 0, (n > 0).then_some(n * 10), n * 10..n * 10 + 10).unwrap();
    }
    let bad = set(&table, &[("num-sorted-run.compaction-trigger", "few")]);
    let e = bad.compact("compactor", &|| false).unwrap_err();
    assert!(e.message().contains("'paimon.num-sorted-run.compaction-trigger' = 'few'"), "{e}");
    let storage = Arc::new(LocalStorage::new(Arc::new(OsFs) as Arc<dyn Fs>, dir.path()));
    drop(LakeTable::open(storage, clock(), &path()).unwrap());
    let theirs = set(&bad, &[("num-sorted-run.compaction-trigger", "5"), ("changelog-producer", "full-compaction")]);
    assert!(theirs.compact("compactor", &|| false).unwrap().is_none(), "its changelog is made by Paimon's compaction");
}
