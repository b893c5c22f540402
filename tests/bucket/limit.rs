use crate::fixture::{self, home, int_column, read, row, rows_of};
use sluice_api::ScanStart;

#[test]
fn a_log_gives_its_newest_rows() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(false));
    for i in 0..5 {
        table.put(&[row(i, "x", 0), row(i + 100, "x", 0)]);
    }
    let ids = |rows| {
        read(&table.batches(0, None, ScanStart::Limit { rows }, None)).into_iter().map(|r| r.2.0).collect::<Vec<_>>()
    };
    assert_eq!(ids(3), [103, 4, 104]);
    assert_eq!(ids(0), Vec::<i32>::new());
    assert_eq!(ids(99).len(), 10);
    let some = table.batches(0, Some(&[2, 0]), ScanStart::Limit { rows: 2 }, None);
    let found: Vec<_> = some.iter().flat_map(|b| int_column(&b.rows, 1)).collect();
    assert_eq!(found, [Some(4), Some(104)], "of some columns");
}

#[test]
fn a_keyed_table_gives_the_first_in_key_order() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    table.put(&(0..3000).map(|i| row(i, "x", 0)).collect::<Vec<_>>());
    let all =
        table.batches(0, None, ScanStart::Current, None).iter().flat_map(|b| rows_of(&b.rows)).collect::<Vec<_>>();
    assert_eq!(all.len(), 3000);
    for rows in [0, 1, 999, 1000, 1001, 2048, 5000] {
        let batches = table.batches(0, None, ScanStart::Limit { rows }, None);
        let found: Vec<_> = batches.iter().flat_map(|b| rows_of(&b.rows)).collect();
        assert_eq!(found, all[..usize::try_from(rows).unwrap().min(3000)]);
        assert!(batches.iter().all(|b| b.base_offset == -1 && b.timestamp_ms == -1));
    }
}
