use crate::fixture::{self, home, row};
use sluice_api::Connection;
use sluice_row::ChangeKind::{Delete, Insert};

#[test]
fn it_changes_nothing_takes_one_offset_and_the_writer_goes_on() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    table.delete(&[1, 2]);
    assert_eq!(table.end(0), 1, "an empty batch takes one offset");
    assert_eq!(table.log(), []);
    table.put(&[row(1, "a", 1)]);
    assert_eq!(table.get(&[Some(1)]), [Some(row(1, "a", 1))]);
    assert_eq!(table.log(), [(Insert, 1, row(1, "a", 1))]);
    table.delete(&[1, 1, 7]);
    assert_eq!(table.changes(), [(Insert, row(1, "a", 1)), (Delete, row(1, "a", 1))]);
    assert_eq!(home.store.table_stats(&table.path).unwrap().row_count, Some(0));
    // The sequence goes on after a restart too.
    let home = home.reopen();
    let table = home.table("t");
    assert_eq!(table.end(0), 3);
    table.delete(&[9]);
    assert_eq!(table.end(0), 4);
}
