use crate::fixture::{self, Home, batch, home, row};
use sluice_api::Connection;
use sluice_base::OsFs;
use std::sync::Arc;

fn check(home: &Home, rows: i32) {
    let table = home.table("t");
    assert_eq!(table.current(), (1..rows).map(|i| (i, row(i, "x", i * 2))).collect());
    assert_eq!(home.store.table_stats(&table.path).unwrap().row_count, Some(i64::from(rows - 1)));
    assert_eq!(
        table.get(&[Some(0), Some(1), Some(rows - 1)]),
        [None, Some(row(1, "x", 2)), Some(row(rows - 1, "x", (rows - 1) * 2))]
    );
}

#[test]
fn a_killed_store_has_every_acknowledged_row() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    table.put(&(0..1000).map(|i| row(i, "x", i)).collect::<Vec<_>>());
    table.put(&(0..1000).map(|i| row(i, "x", i * 2)).collect::<Vec<_>>());
    table.delete(&[0]);
    check(&home, 1000);
    let log = table.log();
    let killed = home.killed();
    check(&killed, 1000);
    assert_eq!(killed.table("t").log(), log);
    // What is written after recovery goes on from there.
    killed.table("t").put(&[row(0, "back", 0)]);
    assert_eq!(killed.table("t").log().len(), log.len() + 1);
    let closed = killed.reopen();
    assert_eq!(closed.table("t").get(&[Some(0)]), [Some(row(0, "back", 0))]);
}

#[test]
fn rows_written_out_are_not_replayed_twice() {
    let home = Home::with(Arc::new(OsFs), &[("kv.write-buffer-size", "64kb"), ("kv.replay-size-max", "1mb")]);
    let table = home.create("t", &fixture::descriptor(true));
    let mut writer = table.writer();
    for round in 1..=2 {
        for chunk in (0..20_000).collect::<Vec<i32>>().chunks(500) {
            writer.write(&batch(&chunk.iter().map(|i| row(*i, "x", i * round)).collect::<Vec<_>>()), &[]).unwrap();
        }
    }
    writer.flush(fixture::WAIT).unwrap();
    table.delete(&[0]);
    let killed = home.killed();
    check(&killed, 20_000);
    check(&home.reopen(), 20_000);
}

#[test]
fn a_log_table_goes_on_at_its_end() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(false));
    table.put(&[row(1, "a", 1), row(2, "b", 2)]);
    let killed = home.killed();
    let table = killed.table("t");
    assert_eq!(table.end(0), 2);
    table.put(&[row(3, "c", 3)]);
    assert_eq!(table.log().iter().map(|r| (r.1, r.2.0)).collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 3)]);
}
