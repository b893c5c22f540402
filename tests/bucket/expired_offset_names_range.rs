use crate::fixture::{self, Home, assert_error, row};
use sluice_api::{OffsetSpec, ScanStart};
use sluice_base::{ErrorKind, OsFs, Subject};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn expiring(keyed: bool) -> (Home, sluice_row::TableDescriptor) {
    let settings =
        [("log.segment.file-size", "1kb"), ("log.index.interval-size", "64"), ("log.retention.check-interval", "20ms")];
    let mut descriptor = fixture::descriptor(keyed);
    descriptor
        .properties
        .extend(fixture::options(&[("table.log.ttl", "1h"), ("table.log.arrow.compression.type", "none")]));
    (Home::with(Arc::new(OsFs), &settings), descriptor)
}

fn wait_for_expiry(table: &fixture::Table<'_>) -> i64 {
    let deadline = Instant::now() + fixture::WAIT;
    loop {
        let start = table.offset(0, OffsetSpec::Earliest);
        if start > 0 {
            return start;
        }
        assert!(Instant::now() < deadline, "retention never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_reader_of_expired_rows_is_told_the_valid_range() {
    for keyed in [false, true] {
        let (home, descriptor) = expiring(keyed);
        let table = home.create("t", &descriptor);
        for i in 0..50 {
            table.put(&[row(i, "some text to fill the segment", i)]);
        }
        let slow = table.scanner(None);
        slow.subscribe(table.split(0, ScanStart::Log { offset: 1 }, None)).unwrap();
        home.clock.advance(2 * 3_600_000);
        table.put(&[row(100, "young", 1)]);
        let start = wait_for_expiry(&table);
        let end = table.end(0);
        let range = format!("{start} to {end}");
        let e = table.scanner(None).subscribe(table.split(0, ScanStart::Log { offset: 0 }, None)).unwrap_err();
        assert_error(&e, ErrorKind::Invalid, Subject::Offset, &["offset 0", &range]);
        let e = table.scanner(None).subscribe(table.split(0, ScanStart::Log { offset: end + 1 }, None)).unwrap_err();
        assert_error(&e, ErrorKind::Invalid, Subject::Offset, &[&format!("offset {}", end + 1), &range]);
        // Overtaken while reading: the first poll says so, nothing waits in silence.
        let e = slow.poll(Duration::from_secs(5)).unwrap_err();
        assert_error(&e, ErrorKind::Invalid, Subject::Offset, &["offset 1", &start.to_string()]);
        // The symbolic start adapts, and a keyed table keeps its rows.
        assert!(!table.log_from(0, start).is_empty());
        if keyed {
            assert_eq!(table.current().len(), 51);
            let home = home.reopen();
            assert_eq!(home.table("t").current().len(), 51, "replay needs nothing that expired");
        }
    }
}

#[test]
fn rows_within_their_time_stay() {
    let (home, descriptor) = expiring(false);
    let table = home.create("t", &descriptor);
    for i in 0..50 {
        table.put(&[row(i, "some text to fill the segment", i)]);
    }
    home.clock.advance(3_000_000);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(table.offset(0, OffsetSpec::Earliest), 0);
    assert_eq!(table.log().len(), 50);
}
