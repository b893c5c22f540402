use crate::fixture::{self, finish, home, read, row};
use sluice_api::{Connection, ScanOptions, ScanStart};

#[test]
fn no_batch_is_larger_than_asked_and_each_says_where_to_go_on() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(false));
    table.put(&(0..25).map(|i| row(i, "x", i)).collect::<Vec<_>>());
    let options = ScanOptions { projection: None, batch_rows_max: 10, filter: None };
    let scanner = home.store.scanner(&table.path, &options).unwrap();
    scanner.subscribe(table.split(0, ScanStart::Log { offset: 3 }, Some(25))).unwrap();
    let batches = finish(scanner.as_ref()).unwrap();
    assert_eq!(batches.iter().map(|b| b.rows.num_rows()).collect::<Vec<_>>(), [10, 10, 2]);
    let next: Vec<_> = batches.iter().map(|b| b.next.clone()).collect();
    assert_eq!(next, [13, 23, 25].map(|offset| ScanStart::Log { offset }));
    // Whoever goes on at any of these reads the rest exactly.
    for (i, start) in next.into_iter().enumerate() {
        let rest = read(&table.batches(0, None, start, Some(25)));
        assert_eq!(rest, read(&batches[i + 1..]));
    }
    let none = ScanOptions { projection: None, batch_rows_max: 0, filter: None };
    assert!(home.store.scanner(&table.path, &none).is_err());
}
