use crate::fixture::{self, batch, home, row};
use sluice_row::ChangeKind::{Delete, Insert, UpdateAfter, UpdateBefore};

#[test]
fn the_changelog_has_old_and_new_rows() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    table.put(&[row(1, "a", 1), row(2, "b", 2)]);
    table.put(&[row(1, "A", 10)]);
    table.delete(&[2]);
    table.put(&[(2, None, None)]);
    let want = [
        (Insert, 0, row(1, "a", 1)),
        (Insert, 1, row(2, "b", 2)),
        (UpdateBefore, 2, row(1, "a", 1)),
        (UpdateAfter, 3, row(1, "A", 10)),
        (Delete, 4, row(2, "b", 2)),
        (Insert, 5, (2, None, None)),
    ];
    assert_eq!(table.log(), want);
}

#[test]
fn an_equal_row_still_counts_as_an_update() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    table.put(&[row(1, "a", 1)]);
    table.put(&[row(1, "a", 1)]);
    assert_eq!(
        table.changes(),
        [(Insert, row(1, "a", 1)), (UpdateBefore, row(1, "a", 1)), (UpdateAfter, row(1, "a", 1))]
    );
}

/// Rows that are on their way to the disk count as there.
#[test]
fn rows_not_yet_durable_are_seen_by_the_next_write() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    let mut writer = table.writer();
    for i in 0..500 {
        writer.write(&batch(&[row(i % 3, "x", i)]), &[]).unwrap();
    }
    writer.flush(fixture::WAIT).unwrap();
    let changes = table.changes();
    assert_eq!(changes.len(), 3 + 497 * 2);
    for pair in changes[3..].chunks(2) {
        assert_eq!((pair[0].0, pair[1].0), (UpdateBefore, UpdateAfter));
        assert_eq!(pair[0].1.2.unwrap() + 3, pair[1].1.2.unwrap());
    }
}
