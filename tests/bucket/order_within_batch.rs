use crate::fixture::{self, batch, home, row};
use sluice_row::ChangeKind::{Delete, Insert, UpdateAfter, UpdateBefore};

#[test]
fn each_row_sees_those_before_it() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    table.put(&[row(1, "old", 0)]);
    let rows = [
        row(1, "a", 1),
        row(2, "b", 2),
        row(1, "c", 3),
        (1, None, None),
        (2, None, None),
        row(1, "d", 4),
        (3, None, None),
        row(2, "stale", 0),
    ];
    let kinds = [UpdateAfter, Insert, UpdateAfter, Delete, Delete, Insert, Delete, UpdateBefore];
    let mut writer = table.writer();
    writer.write(&batch(&rows), &kinds).unwrap();
    writer.flush(fixture::WAIT).unwrap();
    let want = [
        (UpdateBefore, row(1, "old", 0)),
        (UpdateAfter, row(1, "a", 1)),
        (Insert, row(2, "b", 2)),
        (UpdateBefore, row(1, "a", 1)),
        (UpdateAfter, row(1, "c", 3)),
        (Delete, row(1, "c", 3)),
        (Delete, row(2, "b", 2)),
        (Insert, row(1, "d", 4)),
    ];
    assert_eq!(table.changes()[1..], want);
    assert_eq!(table.get(&[Some(1), Some(2), Some(3)]), [Some(row(1, "d", 4)), None, None]);
    assert_eq!(table.current().len(), 1);
}
