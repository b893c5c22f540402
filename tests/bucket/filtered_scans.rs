//! A filter makes a scan of a log table skip what cannot match; every row that matches comes, and the reader's position moves on.

use crate::fixture::{self, Home, Table, batch, column, columns, home, ints, row, strings};
use sluice_api::{Connection, ScanBatch, ScanOptions, ScanStart, Scanner, TableChange};
use sluice_base::{ErrorKind, Subject};
use sluice_row::{Comparison, Literal, Predicate, TypeRoot};

/// A log table whose batches do not share their statistics.
fn table<'a>(home: &'a Home, name: &str, keyed: bool) -> Table<'a> {
    let mut descriptor = fixture::descriptor(keyed);
    descriptor.properties.insert("table.log.arrow.compression.type".to_owned(), "NONE".to_owned());
    home.create(name, &descriptor)
}

fn put(table: &Table<'_>, ids: std::ops::Range<i32>) {
    for id in ids {
        table.put(&[row(id, &"x".repeat(70_000), id * 10)]);
    }
}

fn compare(name: &str, op: Comparison, value: i64) -> Predicate {
    Predicate::Compare { column: name.to_owned(), op, value: Literal::Integer(value) }
}

fn scanner(table: &Table<'_>, filter: Predicate) -> Box<dyn Scanner> {
    let options = ScanOptions { projection: None, batch_rows_max: 1000, filter: Some(filter) };
    table.store.scanner(&table.path, &options).unwrap()
}

fn scan(table: &Table<'_>, filter: Predicate) -> Vec<ScanBatch> {
    let scanner = scanner(table, filter);
    scanner.subscribe(table.split(0, ScanStart::Log { offset: 0 }, Some(table.end(0)))).unwrap();
    fixture::finish(scanner.as_ref()).unwrap()
}

/// Ids of the rows that came.
fn ids(batches: &[ScanBatch]) -> Vec<i32> {
    batches.iter().flat_map(|b| fixture::int_column(&b.rows, 0)).map(Option::unwrap).collect()
}

#[test]
fn only_batches_that_may_match_come_with_their_offsets() {
    let home = home();
    let table = table(&home, "t", false);
    put(&table, 0..20);
    let found = scan(&table, compare("amount", Comparison::GreaterOrEqual, 175));
    assert_eq!(ids(&found), [18, 19]);
    assert_eq!(found[0].base_offset, 18);
    assert_eq!(ids(&scan(&table, compare("id", Comparison::Equal, 7))), [7]);
    let none = scan(&table, Predicate::IsNull("name".to_owned()));
    assert_eq!((ids(&none), &none.last().unwrap().next), (vec![], &ScanStart::Log { offset: 20 }));
    assert_eq!(ids(&scan(&table, Predicate::Unknown)).len(), 20);
    let e = table
        .store
        .scanner(
            &table.path,
            &ScanOptions { projection: None, batch_rows_max: 1, filter: Some(Predicate::IsNull("z".to_owned())) },
        )
        .err()
        .unwrap();
    fixture::assert_error(&e, ErrorKind::Invalid, Subject::Column, &["'z'"]);
}

#[test]
fn a_column_that_is_not_read_may_decide_and_an_end_in_the_middle_is_kept() {
    let home = home();
    let table = table(&home, "t", false);
    put(&table, 0..6);
    let mut writer = table.writer();
    writer.write(&batch(&[row(6, "a", 60), row(7, "b", 70), row(8, "c", 80)]), &[]).unwrap();
    writer.flush(fixture::WAIT).unwrap();
    for stop in 0..=table.end(0) {
        let filter = Some(compare("amount", Comparison::GreaterOrEqual, 70));
        let options = ScanOptions { projection: Some(vec![0]), batch_rows_max: 1, filter };
        let scanner = table.store.scanner(&table.path, &options).unwrap();
        scanner.subscribe(table.split(0, ScanStart::Log { offset: 0 }, Some(stop))).unwrap();
        let found = fixture::finish(scanner.as_ref()).unwrap();
        let expected: Vec<i32> = (6..9).filter(|id| i64::from(*id) < stop).collect();
        assert_eq!(ids(&found), expected, "up to {stop}");
        assert_eq!(found.last().unwrap().next, ScanStart::Log { offset: stop });
        assert!(found.iter().all(|b| b.rows.num_columns() == 1));
    }
}

#[test]
fn a_reader_without_an_end_learns_how_far_it_has_come() {
    let home = home();
    let table = table(&home, "t", false);
    put(&table, 0..5);
    let scanner = scanner(&table, compare("id", Comparison::Greater, 6));
    scanner.subscribe(table.split(0, ScanStart::Log { offset: 0 }, None)).unwrap();
    let moved = scanner.poll(fixture::WAIT).unwrap().unwrap();
    assert_eq!((moved.rows.num_rows(), moved.finished, moved.next), (0, false, ScanStart::Log { offset: 5 }));
    assert!(scanner.poll(std::time::Duration::from_millis(20)).unwrap().is_none());
    put(&table, 5..9);
    let mut seen = Vec::new();
    while seen.len() < 2 {
        seen.extend(ids(&[scanner.poll(fixture::WAIT).unwrap().unwrap()]));
    }
    assert_eq!(seen, [7, 8]);
}

#[test]
fn what_a_kill_loses_is_made_again() {
    let home = home();
    let table = table(&home, "t", false);
    put(&table, 0..10);
    let wanted = || compare("id", Comparison::Equal, 3);
    let after = home.killed();
    let again = after.table("t");
    let first = ids(&scan(&again, wanted()));
    assert!(first.contains(&3), "{first:?}");
    assert_eq!(ids(&scan(&again, wanted())), [3]);
    let after = after.reopen();
    assert_eq!(ids(&scan(&after.table("t"), wanted())), [3]);
}

#[test]
fn rows_from_before_a_column_was_added_are_null_there() {
    let home = home();
    let table = table(&home, "t", false);
    put(&table, 0..3);
    let change = TableChange::AddColumn { column: column("extra", TypeRoot::Int) };
    home.store.alter_table(&table.path, &[change], false).unwrap();
    let text = "x".repeat(70_000);
    for (id, extra) in [(3, Some(40)), (4, None)] {
        let wide = columns(vec![
            ("id", ints(&[Some(id)])),
            ("name", strings(&[Some(&text)])),
            ("amount", ints(&[None])),
            ("extra", ints(&[extra])),
        ]);
        let mut writer = table.writer();
        writer.write(&wide, &[]).unwrap();
        writer.flush(fixture::WAIT).unwrap();
    }
    for home in [&home, &home.killed()] {
        let table = home.table("t");
        for _ in 0..2 {
            let is_null = Predicate::IsNull("extra".to_owned());
            let found = ids(&scan(&table, is_null.clone()));
            assert!([0, 1, 2, 4].iter().all(|id| found.contains(id)), "{found:?}");
            assert!(ids(&scan(&table, Predicate::Not(Box::new(is_null)))).contains(&3));
        }
        assert_eq!(ids(&scan(&table, Predicate::IsNull("extra".to_owned()))), [0, 1, 2, 4]);
        assert_eq!(ids(&scan(&table, compare("extra", Comparison::Equal, 40))), [3]);
        assert_eq!(ids(&scan(&table, compare("extra", Comparison::NotEqual, 40))), [0_i32; 0]);
    }
}

#[test]
fn the_option_says_which_columns_are_described() {
    let home = home();
    let table = table(&home, "t", false);
    let alter = |value: &str| {
        let set = TableChange::Set { key: "table.statistics.columns".to_owned(), value: value.to_owned() };
        home.store.alter_table(&table.path, &[set], false).unwrap();
    };
    let nothing = |name: &str| ids(&scan(&table, compare(name, Comparison::Less, 0)));
    put(&table, 0..1);
    alter("amount");
    put(&table, 1..2);
    alter("");
    put(&table, 2..3);
    assert_eq!(nothing("id"), [1, 2]);
    assert_eq!(nothing("amount"), [2]);
    assert_eq!(nothing("amount"), [2]);
}

#[test]
fn rows_by_key_and_limits_are_not_filtered() {
    let home = home();
    let keyed = table(&home, "k", true);
    put(&keyed, 0..3);
    assert_eq!(ids(&scan(&keyed, compare("id", Comparison::Less, 0))).len(), 3);
    let log = table(&home, "l", false);
    put(&log, 0..3);
    let limited = scanner(&log, compare("id", Comparison::Less, 0));
    limited.subscribe(log.split(0, ScanStart::Limit { rows: 2 }, None)).unwrap();
    assert_eq!(ids(&fixture::finish(limited.as_ref()).unwrap()), [1, 2]);
}

#[test]
fn small_batches_share_their_statistics_and_nothing_is_lost() {
    let home = home();
    let table = table(&home, "t", false);
    let mut writer = table.writer();
    for id in 0..3_000 {
        writer.write(&batch(&[row(id, &"x".repeat(100), id)]), &[]).unwrap();
    }
    writer.flush(fixture::WAIT).unwrap();
    for wanted in [0, 1_499, 2_999] {
        let found = ids(&scan(&table, compare("id", Comparison::Equal, wanted)));
        assert!(found.contains(&i32::try_from(wanted).unwrap()) && found.len() < 1_500, "{} rows", found.len());
    }
}
