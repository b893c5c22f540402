//! Files of a store are damaged while nobody looks: the store opens, the damaged bucket says which file and where, all else is read.

use crate::Told;
use crate::tables::{Event, Row, Table, batch, descriptor, open};
use sluice_api::{Connection, ScanOptions, ScanSplit, ScanStart};
use sluice_base::{Error, ErrorKind, Offset};
use sluice_store::LocalStore;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

const TABLES: [(&str, bool); 3] = [("log", false), ("other", false), ("rows", true)];
const BUCKETS: i32 = 3;
const ROUNDS: i64 = 40;
const IN_BATCH: i64 = 30;

/// What each bucket held before the damage.
type Held = BTreeMap<(&'static str, i32), Vec<Event>>;

/// A store with its files as they are after closing (`clean`) or as a kill leaves them, and what it holds.
struct Written {
    home: tempfile::TempDir,
    held: Held,
}

fn rows(round: i64) -> Vec<Row> {
    let row = |i: i64| {
        let seq = round * IN_BATCH + i;
        // Texts differ from row to row and have no zeros.
        let text = format!("{seq}-").repeat(20);
        Row { k: i32::try_from(seq * 7 % 400).unwrap(), writer: 0, life: 0, seq, text }
    };
    (0..IN_BATCH).map(row).collect()
}

fn written(clean: bool) -> Written {
    let home = tempfile::tempdir().unwrap();
    let running = tempfile::tempdir().unwrap();
    let store = open(running.path(), &[]).unwrap();
    let mut held = Held::new();
    for (name, keyed) in TABLES {
        let table = Table::create(&store, name, &descriptor(keyed, true, BUCKETS)).unwrap();
        let mut writer = table.writer().unwrap();
        for round in 0..ROUNDS {
            writer.write(&batch(&rows(round)), &[]).unwrap();
            writer.flush(Duration::from_secs(60)).unwrap();
        }
        for bucket in 0..BUCKETS {
            held.insert((name, bucket), table.log_from(bucket, 0).unwrap());
        }
    }
    if clean {
        store.close().unwrap();
    }
    copy_tree(running.path(), home.path());
    Written { home, held }
}

pub fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, target) = (entry.as_ref().unwrap().path(), to.join(entry.as_ref().unwrap().file_name()));
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            std::fs::copy(path, target).unwrap();
        }
    }
}

impl Written {
    /// The directory of a bucket: tables have their ids in the order of their creation.
    fn bucket(&self, table: &str, bucket: i32) -> PathBuf {
        let id = TABLES.iter().position(|(name, _)| *name == table).unwrap();
        self.home.path().join(format!("data/{id}/{bucket}"))
    }

    fn segment(&self, table: &str, bucket: i32) -> PathBuf {
        self.bucket(table, bucket).join("log/00000000000000000000.log")
    }

    /// All but one bucket are as they were, through every way of reading.
    fn check_others(&self, store: &LocalStore, damaged: (&str, i32)) {
        for ((name, bucket), held) in &self.held {
            if (*name, *bucket) == damaged {
                continue;
            }
            let table = Table::of(store, name).unwrap();
            assert_eq!(table.log_from(*bucket, 0).unwrap(), *held, "{name} {bucket}");
            if *name == "rows" {
                let rows = newest(held);
                assert_eq!(table.current(*bucket).unwrap(), rows, "{name} {bucket}");
                let keys: Vec<i32> = rows.keys().copied().collect();
                assert_eq!(table.get(&keys).unwrap(), rows.into_values().map(Some).collect::<Vec<_>>());
            }
        }
    }

    /// Reads the damaged bucket from its beginning to the damage, tells where that was and what was said.
    fn read_until_damage(&self, table: &Table<'_>, bucket: i32) -> (usize, Error) {
        let held = &self.held[&(TABLES.iter().find(|t| t.0 == table.path.table).unwrap().0, bucket)];
        let scanner = table
            .store
            .scanner(&table.path, &ScanOptions { projection: None, batch_rows_max: 7, filter: None })
            .unwrap();
        let start = ScanStart::Log { offset: 0 };
        scanner.subscribe(ScanSplit { id: 0, bucket: table.bucket(bucket), start, stop: None }).unwrap();
        let mut read = Vec::new();
        loop {
            match scanner.poll(Duration::from_secs(5)) {
                Ok(Some(batch)) => read.extend(crate::tables::events(&[batch])),
                Ok(None) => panic!("nothing was said of the damage; {} of {} rows were read", read.len(), held.len()),
                Err(e) => {
                    assert_eq!(read, held[..read.len()], "what comes before the damage is right");
                    return (read.len(), e);
                }
            }
        }
    }
}

/// The rows that a changelog leaves.
fn newest(log: &[Event]) -> BTreeMap<i32, Row> {
    log.iter().map(|e| (e.row.k, e.row.clone())).collect()
}

fn change(path: &Path, how: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    how(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

/// The sentence names the file and a place in it.
fn assert_names(e: &Error, path: &Path) {
    assert_eq!(e.kind(), ErrorKind::Corrupt, "{e}");
    let text = e.message();
    assert!(text.contains(path.to_str().unwrap()) && (text.contains("position") || text.contains("offset")), "{e}");
}

/// Where a log is damaged in the middle: rows before it and rows behind it are read, it takes new ones.
fn check_damaged_log(written: &Written, name: &'static str, bucket: i32) {
    let _told = Told;
    let store = open(written.home.path(), &[]).unwrap();
    let table = Table::of(&store, name).unwrap();
    let held = &written.held[&(name, bucket)];
    let (good, e) = written.read_until_damage(&table, bucket);
    assert_names(&e, &written.segment(name, bucket));
    assert!(good > 0 && good < held.len(), "{good} of {} rows were read", held.len());
    // The batches behind the damage: from the first offset at which reading works again.
    let behind = held[good..].iter().map(|e| e.offset).find(|o| table.log_from(bucket, *o).is_ok());
    let behind: Offset = behind.expect("rows behind the damage are read");
    let lost = held.iter().filter(|e| e.offset < behind).count() - good;
    assert!(lost <= 64, "one batch was damaged, {lost} rows cannot be read");
    assert_eq!(table.log_from(bucket, behind).unwrap(), held[held.partition_point(|e| e.offset < behind)..]);
    written.check_others(&store, (name, bucket));
    let mut writer = table.writer().unwrap();
    writer.write(&batch(&rows(ROUNDS)), &[]).unwrap();
    writer.flush(Duration::from_secs(60)).unwrap();
    let after = table.log_from(bucket, behind).unwrap();
    assert!(after.iter().any(|e| e.row.seq >= ROUNDS * IN_BATCH), "new rows are read behind the old ones");
}

#[test]
fn a_flipped_bit_in_a_log_that_was_closed() {
    let written = written(true);
    change(&written.segment("log", 1), |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
    });
    check_damaged_log(&written, "log", 1);
}

#[test]
fn a_flipped_bit_in_a_log_that_was_not_closed() {
    let written = written(false);
    change(&written.segment("log", 1), |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
    });
    check_damaged_log(&written, "log", 1);
}

/// The rows are in their own files and need the changelog no more.
#[test]
fn a_flipped_bit_in_a_changelog_leaves_the_rows() {
    let written = written(true);
    change(&written.segment("rows", 1), |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
    });
    let store = open(written.home.path(), &[]).unwrap();
    let table = Table::of(&store, "rows").unwrap();
    assert_eq!(table.current(1).unwrap(), newest(&written.held[&("rows", 1)]));
    drop(store);
    check_damaged_log(&written, "rows", 1);
}

/// The rows were in memory only, and the changelog from which they come is damaged.
#[test]
fn a_flipped_bit_in_a_changelog_that_is_needed() {
    let written = written(false);
    change(&written.segment("rows", 1), |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
    });
    let store = open(written.home.path(), &[]).unwrap();
    let table = Table::of(&store, "rows").unwrap();
    let key = written.held[&("rows", 1)][0].row.k;
    for e in [
        table.get(&[key]).unwrap_err(),
        table.current(1).map(|_| ()).unwrap_err(),
        table.row_count().map(|_| ()).unwrap_err(),
    ] {
        assert_names(&e, &written.segment("rows", 1));
    }
    let (good, e) = written.read_until_damage(&table, 1);
    assert_names(&e, &written.segment("rows", 1));
    assert!(good > 0);
    written.check_others(&store, ("rows", 1));
}

/// A file that lost its end although that had been made durable.
#[test]
fn a_log_that_was_cut_short() {
    let _told = Told;
    let written = written(true);
    change(&written.segment("log", 1), |bytes| bytes.truncate(bytes.len() * 6 / 10));
    let store = open(written.home.path(), &[]).unwrap();
    let table = Table::of(&store, "log").unwrap();
    let held = &written.held[&("log", 1)];
    assert_eq!(table.end(1).unwrap(), i64::try_from(held.len()).unwrap(), "offsets are not given twice");
    let (good, e) = written.read_until_damage(&table, 1);
    assert_names(&e, &written.segment("log", 1));
    assert!(good > held.len() / 3 && good < held.len());
    written.check_others(&store, ("log", 1));
    let mut writer = table.writer().unwrap();
    writer.write(&batch(&rows(ROUNDS)), &[]).unwrap();
    writer.flush(Duration::from_secs(60)).unwrap();
    let new = table.log_from(1, i64::try_from(held.len()).unwrap()).unwrap();
    assert!(!new.is_empty() && new.iter().all(|e| e.row.seq >= ROUNDS * IN_BATCH));
}

/// The end of a log that was not closed: what a crash tears looks the same, so it is cut off, and the rest is whole.
#[test]
fn a_torn_end_is_cut_off() {
    let _told = Told;
    let written = written(false);
    for name in ["log", "rows"] {
        change(&written.segment(name, 1), |bytes| bytes.truncate(bytes.len() - 10));
    }
    let store = open(written.home.path(), &[]).unwrap();
    for (name, keyed) in [("log", false), ("rows", true)] {
        let table = Table::of(&store, name).unwrap();
        let held = &written.held[&(name, 1)];
        let read = table.log_from(1, 0).unwrap();
        assert!(held.starts_with(&read) && read.len() < held.len() && held.len() - read.len() <= 64);
        if keyed {
            assert_eq!(table.current(1).unwrap(), newest(&read));
        }
    }
}

/// Files of rows by key are damaged.
#[test]
fn damaged_row_files() {
    let _told = Told;
    for (what, ending) in [("block", ".sst"), ("list of files", "CURRENT")] {
        let written = written(true);
        let dir = written.bucket("rows", 1).join("kv");
        let files = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path());
        let file = files.into_iter().find(|p| p.to_str().unwrap().ends_with(ending)).expect(what);
        change(&file, |bytes| {
            let middle = bytes.len() / 3;
            bytes[middle] ^= 0x10;
        });
        let store = open(written.home.path(), &[]).unwrap();
        let table = Table::of(&store, "rows").unwrap();
        let e = table.current(1).map(|_| ()).unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::Corrupt), "{what}: {:?} {e}", e.kind());
        assert!(e.message().contains(dir.to_str().unwrap()), "{what}: {e}");
        assert_eq!(table.log_from(1, 0).unwrap(), written.held[&("rows", 1)], "{what}: the changelog is whole");
        written.check_others(&store, ("rows", 1));
    }
}
