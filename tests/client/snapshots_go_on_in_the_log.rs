use crate::fixture::{Row, WAIT, buckets, descriptor, home, row, rows_of};
use sluice_api::{Connection, ScanOptions, ScanSplit, ScanStart, Scanner};
use sluice_row::ChangeKind;

/// Rows and kinds of a scan until `enough` rows have come, and where a reader would go on after each batch.
fn take(scanner: &dyn Scanner, enough: usize) -> (Vec<(Option<ChangeKind>, Row)>, ScanStart) {
    let (mut rows, mut next) = (Vec::new(), ScanStart::Current);
    while rows.len() < enough {
        let batch = scanner.poll(WAIT).unwrap().expect("rows come");
        let kinds = batch.kinds.clone();
        let kind = |i: usize| kinds.as_ref().map(|k| k[i]);
        rows.extend(rows_of(&batch.rows).into_iter().enumerate().map(|(i, r)| (kind(i), r)));
        next = batch.next;
    }
    (rows, next)
}

#[test]
fn a_reader_goes_on_where_it_was() {
    let home = home();
    let table = home.create("t", &buckets(descriptor(true), 1, &["id"]));
    let all: Vec<Row> = (0..100).map(|i| row(i, "x", i)).collect();
    table.put(&all);
    table.delete(&[5]);
    let (snapshot, offset) = home.store.acquire_snapshots(&[table.bucket(0)], "job", 600_000).unwrap()[0];
    assert_eq!(offset, 101);
    table.put(&[row(1, "later", 0)]);
    let open = || {
        let options = ScanOptions { projection: None, batch_rows_max: 10, filter: None };
        home.store.scanner(&table.path, &options).unwrap()
    };
    let split = |start| ScanSplit { id: 7, bucket: table.bucket(0), start, stop: None };
    let scanner = open();
    scanner.subscribe(split(ScanStart::Snapshot { snapshot, skip_rows: 0 })).unwrap();
    let (first, next) = take(scanner.as_ref(), 30);
    assert_eq!(next, ScanStart::Snapshot { snapshot, skip_rows: 30 });
    drop(scanner);
    // Another reader, restored from there.
    let scanner = open();
    scanner.subscribe(split(next)).unwrap();
    let (rest, next) = take(scanner.as_ref(), 71);
    assert_eq!(next, ScanStart::Log { offset: 103 });
    let mut rows: Vec<Row> = first.into_iter().chain(rest[..69].to_vec()).map(|(_, r)| r).collect();
    rows.sort();
    let expected: Vec<Row> = all.into_iter().filter(|r| r.0 != 5).collect();
    assert_eq!(rows, expected);
    let changes =
        [(Some(ChangeKind::UpdateBefore), row(1, "x", 1)), (Some(ChangeKind::UpdateAfter), row(1, "later", 0))];
    assert_eq!(rest[69..], changes);
    home.store.release_snapshots(&[], "job").unwrap();
}
