use crate::fixture::{self, Home, assert_error, read, row};
use sluice_api::{Connection, ScanStart};
use sluice_base::{ErrorKind, OsFs, Subject};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn home() -> Home {
    Home::with(Arc::new(OsFs), &[("snapshot.check-interval", "20ms")])
}

fn snapshot(snapshot: u64) -> ScanStart {
    ScanStart::Snapshot { snapshot, skip_rows: 0 }
}

#[test]
fn a_leased_snapshot_can_be_read_after_a_restart_and_goes_when_released() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    table.put(&[row(1, "a", 1), row(2, "b", 2)]);
    let (id, offset) = home.store.acquire_snapshots(&[table.bucket(0)], "job", 60_000).unwrap()[0];
    assert_eq!(offset, 2);
    // Nothing new: the same one serves another reader.
    assert_eq!(home.store.acquire_snapshots(&[table.bucket(0)], "other", 60_000).unwrap(), [(id, offset)]);
    home.store.release_snapshots(&[], "other").unwrap();
    table.put(&[row(3, "c", 3)]);
    let (newer, _) = home.store.acquire_snapshots(&[table.bucket(0)], "third", 60_000).unwrap()[0];
    assert!(newer > id);
    let home = home.reopen();
    let table = home.table("t");
    assert_eq!(read(&table.batches(0, None, snapshot(id), Some(2))).len(), 2);
    home.store.release_snapshots(&[table.bucket(0)], "job").unwrap();
    let e = table.scanner(None).subscribe(table.split(0, snapshot(id), None)).unwrap_err();
    assert_error(&e, ErrorKind::NotFound, Subject::Snapshot, &[&format!("snapshot {id}")]);
    assert_eq!(read(&table.batches(0, None, snapshot(newer), Some(3))).len(), 3);
    home.store.release_snapshots(&[], "nobody").unwrap();
}

#[test]
fn a_lease_ends_by_itself_unless_renewed() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    table.put(&[row(1, "a", 1)]);
    let (old, _) = home.store.acquire_snapshots(&[table.bucket(0)], "job", 1_000).unwrap()[0];
    table.put(&[row(2, "b", 2)]);
    home.store.acquire_snapshots(&[table.bucket(0)], "newer", 1_000_000).unwrap();
    let there = || table.scanner(None).subscribe(table.split(0, snapshot(old), None)).is_ok();
    home.clock.advance(900);
    assert_eq!(home.store.acquire_snapshots(&[], "job", 1_000).unwrap(), []);
    home.clock.advance(900);
    std::thread::sleep(Duration::from_millis(200));
    assert!(there(), "renewed");
    home.clock.advance(200);
    let deadline = Instant::now() + fixture::WAIT;
    while there() {
        assert!(Instant::now() < deadline, "the lease never ended");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_log_table_has_no_snapshots() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(false));
    let e = home.store.acquire_snapshots(&[table.bucket(0)], "job", 1_000).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Snapshot, &["log table"]);
    let e = home.store.acquire_snapshots(&[table.bucket(7)], "job", 1_000).unwrap_err();
    assert_error(&e, ErrorKind::NotFound, Subject::Bucket, &["bucket 7"]);
}
