use crate::fixture::{self, Home, Table, assert_error, options, read, row};
use sluice_api::{Connection, OffsetSpec, ScanStart};
use sluice_base::{ErrorKind, OsFs, Subject};
use sluice_row::TableDescriptor;
use sluice_store::{LocalStore, Settings};
use sluice_testkit::{Fault, FaultFs, ManualClock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROWS: i32 = 60;
/// Where much is tried over and over.
const FEW: i32 = 14;

/// Small segments, and a place for their copies; nothing is copied before somebody asks.
pub fn settings(place: &Path) -> Vec<(&'static str, String)> {
    vec![
        ("log.segment.file-size", "1kb".to_owned()),
        ("log.index.interval-size", "64".to_owned()),
        ("remote.data.dir", place.display().to_string()),
        ("remote.log.task-interval-duration", "1d".to_owned()),
        ("remote.log.task-max-upload-segments", "1000".to_owned()),
        ("log.retention.check-interval", "20ms".to_owned()),
        ("remote.restore", "true".to_owned()),
    ]
}

pub fn home(place: &Path) -> Home {
    let settings = settings(place);
    Home::with(Arc::new(OsFs), &settings.iter().map(|(k, v)| (*k, v.as_str())).collect::<Vec<_>>())
}

pub fn descriptor(keyed: bool, more: &[(&str, &str)]) -> TableDescriptor {
    let mut descriptor = fixture::descriptor(keyed);
    descriptor.properties.extend(options(&[("table.log.arrow.compression.type", "none")]));
    descriptor.properties.extend(options(more));
    descriptor
}

/// Each row at a time of its own, one second behind the one before.
pub fn fill(home: &Home, table: &Table<'_>, ids: std::ops::Range<i32>) {
    for id in ids {
        home.clock.advance(1000);
        table.put(&[row(id, "some text to fill the segment", id)]);
    }
}

pub fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn local_segments(home: &Home) -> usize {
    files(&home.dir.path().join("data"), "log").iter().filter(|p| p.parent().unwrap().ends_with("log")).count()
}

/// All rows, from the beginning, from the middle of a segment, and by time.
fn check(home: &Home, keyed: bool, rows: i32) {
    let table = home.table("t");
    let all: Vec<i32> = table.log().iter().map(|(.., row)| row.0).collect();
    assert_eq!(all, (0..rows).collect::<Vec<_>>());
    for from in [1, 13, rows - 1] {
        let found: Vec<i32> = table.log_from(0, i64::from(from)).iter().map(|(.., row)| row.0).collect();
        assert_eq!(found, (from..rows).collect::<Vec<_>>(), "from {from}");
    }
    let narrow = table.batches(0, Some(&[2]), ScanStart::Log { offset: 5 }, Some(9));
    let amounts: Vec<_> = narrow.iter().flat_map(|b| fixture::int_column(&b.rows, 0)).collect();
    assert_eq!(amounts, [Some(5), Some(6), Some(7), Some(8)]);
    assert_eq!(table.offset(0, OffsetSpec::Timestamp(1_000_000 + 12_000)), 11);
    assert_eq!(table.offset(0, OffsetSpec::Earliest), 0);
    if keyed {
        assert_eq!(table.current().len(), rows as usize);
    }
}

#[test]
fn rows_are_read_from_copies_after_their_files_have_gone() {
    for keyed in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let home = home(place.path());
        let table = home.create("t", &descriptor(keyed, &[]));
        fill(&home, &table, 0..ROWS);
        let before = local_segments(&home);
        assert!(before > 6, "{before} segments");
        home.store.copy_segments().unwrap();
        assert_eq!(local_segments(&home), 2, "the newest and the one that takes appends");
        // Rows by key are copied with all of the log that explains them.
        let copied = if keyed { before } else { before - 1 };
        assert_eq!(files(place.path(), "log").len(), copied);
        assert_eq!(files(home.dir.path(), "remote").len(), copied);
        check(&home, keyed, ROWS);
        // What a kill would leave reads the same, and so does what an orderly end leaves.
        check(&home.killed(), keyed, ROWS);
        let home = home.reopen();
        check(&home, keyed, ROWS);
        // Nothing is copied twice, and what comes after goes the same way.
        home.store.copy_segments().unwrap();
        let table = home.table("t");
        fill(&home, &table, ROWS..2 * ROWS);
        home.store.copy_segments().unwrap();
        assert_eq!(local_segments(&home), 2);
        assert_eq!(table.log().len(), 2 * ROWS as usize);
        assert_eq!(read(&table.batches(0, None, ScanStart::Log { offset: 3 }, Some(4))).len(), 1);
    }
}

#[test]
fn the_tables_options_say_what_stays() {
    let place = tempfile::tempdir().unwrap();
    let home = home(place.path());
    let many = [("table.log.tiered.local-segments", "4"), ("table.log.local-ttl", "1h"), ("table.log.ttl", "1d")];
    let table = home.create("t", &descriptor(false, &many));
    fill(&home, &table, 0..ROWS);
    home.store.copy_segments().unwrap();
    assert_eq!(local_segments(&home), 4);
    home.clock.advance(2 * 3_600_000);
    home.store.copy_segments().unwrap();
    assert_eq!(local_segments(&home), 1, "all are older than an hour but the one that takes appends");
    check(&home, false, ROWS);
}

#[test]
fn what_expires_or_is_dropped_goes_there_too() {
    let place = tempfile::tempdir().unwrap();
    let home = home(place.path());
    let table = home.create("t", &descriptor(false, &[("table.log.ttl", "1h")]));
    home.create("other", &descriptor(true, &[("table.log.ttl", "0ms")]));
    fill(&home, &table, 0..ROWS);
    fill(&home, &home.table("other"), 0..ROWS);
    home.store.copy_segments().unwrap();
    let there = files(place.path(), "log").len();
    home.clock.advance(3_600_000 + 10_000);
    table.put(&[row(100, "young", 1)]);
    let deadline = Instant::now() + fixture::WAIT;
    while files(place.path(), "log").len() == there {
        assert!(Instant::now() < deadline, "nothing expires");
        std::thread::sleep(Duration::from_millis(10));
    }
    let start = table.offset(0, OffsetSpec::Earliest);
    assert!(start > 0);
    assert_eq!(table.log_from(0, start).len(), usize::try_from(i64::from(ROWS) + 1 - start).unwrap());
    assert!(!files(place.path(), "sst").is_empty());
    home.store.drop_table(&fixture::path("other"), false).unwrap();
    assert!(files(place.path(), "sst").is_empty());
    home.store.drop_table(&fixture::path("t"), false).unwrap();
    assert_eq!(files(place.path(), "log"), [] as [PathBuf; 0]);
}

/// What a drop that was cut off leaves goes with the next opening, there too.
#[test]
fn a_drop_that_was_cut_off_is_made_good() {
    let place = tempfile::tempdir().unwrap();
    let home = home(place.path());
    let table = home.create("t", &descriptor(false, &[]));
    fill(&home, &table, 0..ROWS);
    home.store.copy_segments().unwrap();
    let kept = tempfile::tempdir().unwrap();
    fixture::copy_tree(&home.dir.path().join("data"), &kept.path().join("data")).unwrap();
    let there = tempfile::tempdir().unwrap();
    fixture::copy_tree(place.path(), there.path()).unwrap();
    home.store.drop_table(&fixture::path("t"), false).unwrap();
    home.store.close().unwrap();
    fixture::copy_tree(&kept.path().join("data"), &home.dir.path().join("data")).unwrap();
    fixture::copy_tree(there.path(), place.path()).unwrap();
    drop(home.reopen());
    assert_eq!(files(place.path(), "log"), [] as [PathBuf; 0]);
}

#[test]
fn a_place_belongs_to_one_store_for_good() {
    let place = tempfile::tempdir().unwrap();
    let first = home(place.path());
    let table = first.create("t", &descriptor(false, &[]));
    fill(&first, &table, 0..ROWS);
    first.store.copy_segments().unwrap();
    let open = |dir: &Path, place: Option<&Path>| {
        let mut given = settings(place.unwrap_or(Path::new("/")));
        given.retain(|(key, _)| place.is_some() || *key != "remote.data.dir");
        let given = given.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        let clock = Arc::new(ManualClock::new(1_000_000));
        LocalStore::open(dir, Arc::new(OsFs), clock, Settings::from_options(&given).unwrap())
    };
    // A new store takes nothing over by itself, one of which the directory is not empty takes nothing over at all.
    let (new, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut careful = settings(place.path());
    careful.retain(|(key, _)| *key != "remote.restore");
    let careful = careful.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    let clock = Arc::new(ManualClock::new(1_000_000));
    let e = LocalStore::open(new.path(), Arc::new(OsFs), clock, Settings::from_options(&careful).unwrap()).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Option, &["belongs to another store", "'remote.restore' = 'true'"]);
    drop(open(second.path(), None).unwrap());
    let e = open(second.path(), Some(place.path())).unwrap_err();
    let place_name = place.path().display().to_string();
    assert_error(
        &e,
        ErrorKind::Invalid,
        Subject::Option,
        &["'remote.data.dir'", &place_name, "belongs to another store"],
    );
    let elsewhere = tempfile::tempdir().unwrap();
    first.store.close().unwrap();
    let e = open(first.dir.path(), Some(elsewhere.path())).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Option, &["'remote.data.dir'", "lacks", "had before"]);
    let e = open(first.dir.path(), None).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Option, &["'remote.data.dir'", "as before"]);
    let first = first.reopen();
    check(&first, false, ROWS);
    // The advice can be followed where the refusal was met.
    let taken = open(new.path(), Some(place.path())).unwrap();
    assert_eq!(taken.list_tables("fluss").unwrap(), ["t"]);
}

/// A copy that is missing or too short is told by name; all others stay readable.
#[test]
fn damage_there_is_named() {
    let place = tempfile::tempdir().unwrap();
    let home = home(place.path());
    let table = home.create("t", &descriptor(false, &[]));
    fill(&home, &table, 0..ROWS);
    home.store.copy_segments().unwrap();
    let home = home.reopen();
    let table = home.table("t");
    let copies = files(place.path(), "log");
    let (missing, short) = (&copies[0], &copies[1]);
    std::fs::remove_file(missing).unwrap();
    std::fs::OpenOptions::new().write(true).open(short).unwrap().set_len(100).unwrap();
    let first_of = |path: &Path| path.file_stem().unwrap().to_str().unwrap()[..20].parse::<i64>().unwrap();
    for path in [missing, short] {
        let scanner = table.scanner(None);
        scanner.subscribe(table.split(0, ScanStart::Log { offset: first_of(path) }, None)).unwrap();
        let e = fixture::finish(&*scanner).unwrap_err();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(e.kind() == ErrorKind::Corrupt && e.message().contains(name), "{e}");
    }
    let good = first_of(&copies[2]);
    assert_eq!(table.log_from(0, good).len(), usize::try_from(i64::from(ROWS) - good).unwrap());
}

/// Every call of the file system fails once, or the process dies there: no row is lost, and the next round makes it good.
fn each_call(fault: Fault) {
    for n in 1.. {
        let place = tempfile::tempdir().unwrap();
        let fs = Arc::new(FaultFs::new());
        let mut given = settings(place.path());
        given.retain(|(key, _)| *key != "log.retention.check-interval");
        let home = Home::with(fs.clone(), &given.iter().map(|(k, v)| (*k, v.as_str())).collect::<Vec<_>>());
        let table = home.create("t", &descriptor(true, &[]));
        fill(&home, &table, 0..FEW);
        fs.fail_call(n, fault);
        let outcome = home.store.copy_segments();
        if !fs.fired() {
            outcome.unwrap();
            assert!(n > 25, "only {n} calls were tried");
            return;
        }
        fs.restart();
        // Over copies of its own, for both go on.
        let there = tempfile::tempdir().unwrap();
        fixture::copy_tree(place.path(), there.path()).unwrap();
        let torn = tempfile::tempdir().unwrap();
        fixture::copy_tree(place.path(), torn.path()).unwrap();
        let left = tempfile::tempdir().unwrap();
        fixture::copy_tree(home.dir.path(), left.path()).unwrap();
        let given = settings(there.path());
        let after = Home::at(left, Arc::new(OsFs), &given.iter().map(|(k, v)| (*k, v.as_str())).collect::<Vec<_>>());
        after.clock.advance(i64::from(FEW) * 1000);
        for home in [&home, &after] {
            check(home, true, FEW);
            home.store.copy_segments().unwrap();
            assert_eq!(local_segments(home), 2, "call {n}");
            check(home, true, FEW);
        }
        comes_back_in_part(&torn, n);
    }
}

/// If the disk is lost just then, what comes back is what was written up to some moment.
fn comes_back_in_part(place: &tempfile::TempDir, n: u64) {
    let lost = home(place.path());
    if lost.store.list_tables("fluss").unwrap().is_empty() {
        return;
    }
    let table = lost.table("t");
    let ids: Vec<i32> = table.log().iter().map(|(.., row)| row.0).collect();
    assert_eq!(ids, (0..i32::try_from(ids.len()).unwrap()).collect::<Vec<_>>(), "call {n}");
    assert_eq!(table.current().into_keys().collect::<Vec<_>>(), ids, "call {n}");
}

#[test]
fn an_error_anywhere_loses_nothing() {
    each_call(Fault::Error);
}

#[test]
fn the_death_of_the_process_anywhere_loses_nothing() {
    each_call(Fault::Halt);
}
