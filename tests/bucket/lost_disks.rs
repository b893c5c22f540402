//! The disk of a store is lost, and it comes back from its remote place.

use crate::auto_increment::{numbered, put};
use crate::fixture::{self, Home, Row, assert_error, row};
use crate::remote_segments::{descriptor, files, fill, settings};
use sluice_api::{Connection, OffsetSpec};
use sluice_base::{ErrorKind, Fs, OsFs, Subject};
use sluice_row::ChangeKind;
use sluice_store::{LocalStore, Settings};
use sluice_testkit::{Fault, FaultFs, ManualClock};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const ROWS: i32 = 40;

fn given(place: &Path) -> Vec<(&'static str, String)> {
    let mut given = settings(place);
    given.extend([("remote.log.roll-interval", "10s".to_owned()), ("kv.snapshot.interval", "1h".to_owned())]);
    given
}

fn home_in(dir: tempfile::TempDir, fs: Arc<dyn Fs>, place: &Path) -> Home {
    let given = given(place);
    let home = Home::at(dir, fs, &given.iter().map(|(k, v)| (*k, v.as_str())).collect::<Vec<_>>());
    home.clock.advance(1_000_000);
    home
}

fn home(place: &Path) -> Home {
    home_in(tempfile::tempdir().unwrap(), Arc::new(OsFs), place)
}

/// Everything is copied, also what is in segments that are not full.
fn copy_all(home: &Home) {
    home.store.copy_segments().unwrap();
    home.clock.advance(11_000);
    home.store.copy_segments().unwrap();
}

fn rows(home: &Home, table: &str) -> Vec<Row> {
    home.table(table).current().into_values().collect()
}

fn log(home: &Home, table: &str) -> Vec<(ChangeKind, Row)> {
    home.table(table).log().into_iter().map(|(kind, _, row)| (kind, row)).collect()
}

#[test]
fn tables_logs_and_rows_come_back_as_of_the_last_copies() {
    let place = tempfile::tempdir().unwrap();
    let before = home(place.path());
    for (name, keyed) in [("log", false), ("keyed", true), ("empty", true)] {
        before.create(name, &descriptor(keyed, &[]));
    }
    fill(&before, &before.table("log"), 0..ROWS);
    fill(&before, &before.table("keyed"), 0..ROWS);
    before.table("keyed").delete(&[3, 5]);
    before.table("keyed").put(&[row(7, "changed", 70)]);
    copy_all(&before);
    let (log_rows, changes, keyed_rows) = (log(&before, "log"), log(&before, "keyed"), rows(&before, "keyed"));
    // What comes after the last copies is lost with the disk.
    fill(&before, &before.table("log"), 100..103);

    let after = home(place.path());
    assert!(after.store.is_restored() && !before.store.is_restored());
    assert_eq!(after.store.list_tables("fluss").unwrap(), ["empty", "keyed", "log"]);
    assert_eq!(log(&after, "log"), log_rows);
    assert_eq!(log(&after, "keyed"), changes);
    assert_eq!(rows(&after, "keyed"), keyed_rows);
    assert!(rows(&after, "empty").is_empty());
    // Whoever has it now goes on; the one before, should it live, learns that it is not its place any more.
    let e = before.store.copy_segments().unwrap_err();
    assert_error(&e, ErrorKind::Conflict, Subject::Store, &["taken over", &place.path().display().to_string()]);
    fill(&after, &after.table("log"), 200..200 + ROWS);
    fill(&after, &after.table("keyed"), 200..200 + ROWS);
    after.table("keyed").put(&[row(7, "again", 71)]);
    copy_all(&after);
    let (log_rows, changes, keyed_rows) = (log(&after, "log"), log(&after, "keyed"), rows(&after, "keyed"));
    let third = home(place.path());
    assert_eq!(log(&third, "log"), log_rows);
    assert_eq!(log(&third, "keyed"), changes);
    assert_eq!(rows(&third, "keyed"), keyed_rows);
    // And an orderly end is no loss.
    let third = third.reopen();
    assert_eq!(rows(&third, "keyed"), keyed_rows);
    third.store.copy_segments().unwrap();
}

/// The store before is alive after all, and had begun to copy when its place was taken over: what it copies then is nobody's.
#[test]
fn what_the_store_before_still_copies_does_not_count() {
    let place = tempfile::tempdir().unwrap();
    let before = home(place.path());
    for (name, keyed) in [("log", false), ("keyed", true)] {
        let table = before.create(name, &descriptor(keyed, &[]));
        fill(&before, &table, 0..ROWS);
    }
    copy_all(&before);
    let mine = std::fs::read(place.path().join("STORE")).unwrap();
    let after = home(place.path());
    // Both go on, in different ways, and both copy: the one before believes for a moment that the place is still its own.
    for (home, first) in [(&before, 1000), (&after, 2000)] {
        for name in ["log", "keyed"] {
            fill(home, &home.table(name), first..first + ROWS / if first == 2000 { 2 } else { 1 });
        }
    }
    copy_all(&after);
    let theirs = std::fs::read(place.path().join("STORE")).unwrap();
    std::fs::write(place.path().join("STORE"), mine).unwrap();
    copy_all(&before);
    std::fs::write(place.path().join("STORE"), theirs).unwrap();
    after.store.copy_segments().unwrap();
    let third = home(place.path());
    for name in ["log", "keyed"] {
        assert_eq!(log(&third, name), log(&after, name), "{name}");
    }
    assert_eq!(rows(&third, "keyed"), rows(&after, "keyed"));
}

/// The changelog has lost its beginning; the rows come from the copied snapshot, and later changes from the log.
#[test]
fn rows_of_an_expired_changelog_come_back() {
    let place = tempfile::tempdir().unwrap();
    let before = home(place.path());
    let table = before.create("t", &descriptor(true, &[("table.log.ttl", "1h")]));
    fill(&before, &table, 0..ROWS);
    copy_all(&before);
    before.clock.advance(2 * 3_600_000);
    table.put(&[row(1, "young", 1)]);
    copy_all(&before);
    let deadline = std::time::Instant::now() + fixture::WAIT;
    while table.offset(0, OffsetSpec::Earliest) == 0 {
        assert!(std::time::Instant::now() < deadline, "nothing expires");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let expected = rows(&before, "t");
    assert_eq!(expected.len(), ROWS as usize);
    let after = home(place.path());
    assert!(after.table("t").offset(0, OffsetSpec::Earliest) > 0);
    assert_eq!(rows(&after, "t"), expected);
}

/// A copy that was cut off does not count, nor does what lies before a gap.
#[test]
fn only_whole_copies_in_a_row_count() {
    let place = tempfile::tempdir().unwrap();
    let before = home(place.path());
    let table = before.create("t", &descriptor(false, &[]));
    fill(&before, &table, 0..ROWS);
    copy_all(&before);
    drop(before);
    let copies = files(place.path(), "log");
    let base = |path: &Path| path.file_stem().unwrap().to_str().unwrap()[..20].parse::<i64>().unwrap();
    let (gap, last) = (&copies[2], copies.last().unwrap());
    std::fs::remove_file(gap).unwrap();
    std::fs::OpenOptions::new().write(true).open(last).unwrap().set_len(100).unwrap();
    let after = home(place.path());
    let table = after.table("t");
    assert_eq!(table.offset(0, OffsetSpec::Earliest), base(&copies[3]));
    assert_eq!(table.end(0), base(last));
    let ids: Vec<i64> = table.log_from(0, base(&copies[3])).iter().map(|(.., row)| i64::from(row.0)).collect();
    assert_eq!(ids, (base(&copies[3])..base(last)).collect::<Vec<_>>());
}

/// Numbers that were given are not given again.
#[test]
fn the_numbers_of_a_table_go_on() {
    let place = tempfile::tempdir().unwrap();
    let before = home(place.path());
    let table = before.create("t", &numbered(1));
    put(&table, &[(1, "a"), (2, "b"), (3, "c")], &[]);
    copy_all(&before);
    let after = home(place.path());
    put(&after.table("t"), &[(100, "d")], &[]);
    let numbers: BTreeSet<_> = rows(&after, "t").into_iter().map(|row| row.2.unwrap()).collect();
    assert_eq!(numbers.len(), 4, "{numbers:?}");
}

/// Every call fails once, or the process dies there, while the store comes back: the next opening brings it back all the same.
#[test]
fn coming_back_may_be_cut_off_anywhere() {
    let place = tempfile::tempdir().unwrap();
    let before = home(place.path());
    for (name, keyed) in [("log", false), ("keyed", true)] {
        let table = before.create(name, &descriptor(keyed, &[]));
        fill(&before, &table, 0..12);
    }
    copy_all(&before);
    let expected = (log(&before, "log"), rows(&before, "keyed"));
    before.store.close().unwrap();
    for fault in [Fault::Error, Fault::Halt] {
        for n in 1.. {
            let there = tempfile::tempdir().unwrap();
            fixture::copy_tree(place.path(), there.path()).unwrap();
            let dir = tempfile::tempdir().unwrap();
            let fs = Arc::new(FaultFs::new());
            let options = given(there.path()).into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
            fs.fail_call(n, fault);
            let clock = Arc::new(ManualClock::new(9_000_000));
            let opened = LocalStore::open(dir.path(), fs.clone(), clock, Settings::from_options(&options).unwrap());
            let fired = fs.fired();
            drop(opened);
            fs.restart();
            let after = home_in(dir, fs, there.path());
            assert_eq!((log(&after, "log"), rows(&after, "keyed")), expected, "{fault:?} at call {n}");
            after.store.copy_segments().unwrap();
            if !fired {
                assert!(n > 60, "only {n} calls were tried");
                break;
            }
        }
    }
}
