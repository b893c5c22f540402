use crate::fixture::{self, finish, home, read, row};
use sluice_api::ScanStart;

#[test]
fn a_stop_ends_by_what_was_consumed_also_in_empty_batches() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    table.put(&[row(1, "a", 1), row(2, "b", 2)]);
    table.delete(&[7]);
    table.delete(&[8]);
    assert_eq!(table.end(0), 4);
    for (start, stop, rows) in [
        (0, 4, 2),
        (0, 3, 2),
        (0, 2, 2),
        (0, 1, 1),
        (1, 2, 1),
        (2, 4, 0),
        (3, 4, 0),
        (4, 4, 0),
        (0, 0, 0),
        (3, 1, 0),
        (0, -5, 0),
    ] {
        let batches = table.batches(0, None, ScanStart::Log { offset: start }, Some(stop));
        assert_eq!(read(&batches).len(), rows, "{start}..{stop}");
        assert!(batches.iter().rev().skip(1).all(|b| !b.finished));
    }
}

#[test]
fn an_empty_bucket_ends_at_once() {
    let home = home();
    for (name, keyed) in [("log", false), ("keyed", true)] {
        let table = home.create(name, &fixture::descriptor(keyed));
        assert_eq!(read(&table.batches(0, None, ScanStart::Log { offset: 0 }, Some(0))), []);
        assert_eq!(read(&table.batches(0, None, ScanStart::Limit { rows: 5 }, None)), []);
    }
}

#[test]
fn a_stop_behind_the_end_waits_for_the_rows() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(false));
    table.put(&[row(1, "a", 1)]);
    let scanner = table.scanner(None);
    scanner.subscribe(table.split(0, ScanStart::Log { offset: 0 }, Some(3))).unwrap();
    let rows = std::thread::scope(|s| {
        let reader = s.spawn(|| read(&finish(scanner.as_ref()).unwrap()));
        table.put(&[row(2, "b", 2), row(3, "c", 3), row(4, "d", 4)]);
        reader.join().unwrap()
    });
    assert_eq!(rows.iter().map(|r| r.2.0).collect::<Vec<_>>(), [1, 2, 3]);
}
