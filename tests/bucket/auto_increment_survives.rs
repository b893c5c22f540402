//! No number is given twice, however the store ends; and what is put back keeps its number.

use crate::auto_increment::{inserting, keys, numbered, numbers, put};
use crate::fixture::{assert_error, home, row};
use sluice_api::{Lookup, WriteOptions};
use sluice_base::{ErrorKind, Subject};
use sluice_row::ChangeKind;
use std::path::PathBuf;

fn file(home: &crate::fixture::Home) -> PathBuf {
    let id = home.table("t").id.0;
    home.dir.path().join("data").join(id.to_string()).join("row-numbers")
}

#[test]
fn a_closed_store_goes_on_and_a_killed_one_behind_all_that_it_may_have_given() {
    let mut home = home();
    let mut descriptor = numbered(1);
    descriptor.properties.insert("table.auto-increment.cache-size".to_owned(), "100".to_owned());
    home.create("t", &descriptor);
    put(&home.table("t"), &[(1, "a"), (2, "b")], &[]);
    home = home.reopen();
    put(&home.table("t"), &[(3, "c"), (1, "again")], &[]);
    assert_eq!(home.table("t").current()[&3], row(3, "c", 3));
    let killed = home.killed();
    put(&killed.table("t"), &[(4, "d")], &[]);
    assert_eq!(killed.table("t").current()[&4], row(4, "d", 103));
    let twice = killed.killed();
    assert_eq!(numbers(&inserting(&twice.table("t")).lookup(&keys(1..6)).unwrap()), [1, 2, 3, 103, 203]);
}

#[test]
fn replayed_rows_keep_their_numbers() {
    let home = home();
    home.create("t", &numbered(1));
    let lookup = inserting(&home.table("t"));
    let given = numbers(&lookup.lookup(&keys(0..500)).unwrap());
    let again = home.killed();
    assert_eq!(numbers(&inserting(&again.table("t")).lookup(&keys(0..500)).unwrap()), given);
}

#[test]
fn a_lost_or_damaged_file_is_an_error_not_a_new_count() {
    let mut home = home();
    home.create("t", &numbered(1));
    put(&home.table("t"), &[(1, "a")], &[]);
    for damage in [None, Some("SLUICE-ROWS 2 1\n")] {
        let file = file(&home);
        match damage {
            None => std::fs::remove_file(&file).unwrap(),
            Some(text) => std::fs::write(&file, text).unwrap(),
        }
        // What is in memory counts until the store is opened anew.
        home = home.killed();
        let e = inserting(&home.table("t")).lookup(&keys(1..9)).unwrap_err();
        assert_error(&e, ErrorKind::Corrupt, Subject::File, &["row-numbers", "backup"]);
        assert_eq!(numbers(&inserting(&home.table("t")).lookup(&keys(1..2)).unwrap()), [1], "what is there is found");
    }
}

#[test]
fn numbers_end_with_their_type() {
    let mut home = home();
    home.create("t", &numbered(1));
    std::fs::write(file(&home), format!("SLUICE-ROWS 1 {}\n", i32::MAX - 1)).unwrap();
    home = home.killed();
    let lookup = inserting(&home.table("t"));
    assert_eq!(numbers(&lookup.lookup(&keys(1..3)).unwrap()), [i32::MAX - 1, i32::MAX]);
    let e = lookup.lookup(&keys(1..4)).unwrap_err();
    assert_error(&e, ErrorKind::Unsupported, Subject::Column, &["'amount'", "2147483647", "BIGINT"]);
    assert_eq!(numbers(&lookup.lookup(&keys(1..3)).unwrap()), [i32::MAX - 1, i32::MAX]);
}

#[test]
fn rows_that_are_taken_back_have_their_own_numbers_again() {
    let home = home();
    let table = home.create("t", &numbered(1));
    put(&table, &[(1, "a"), (2, "b"), (3, "c")], &[]);
    let (before, baseline) = (table.current(), table.end(0));
    put(&table, &[(1, ""), (4, "d"), (2, "B")], &[ChangeKind::Delete, ChangeKind::Insert, ChangeKind::Insert]);
    put(&table, &[(1, "new")], &[]);
    let options = WriteOptions { target_columns: vec!["id".to_owned(), "name".to_owned()], ..WriteOptions::default() };
    for _ in 0..2 {
        let mut writer = table.store.writer(&table.path, &options).unwrap();
        writer.undo(&table.bucket(0), baseline).unwrap();
        writer.flush(crate::fixture::WAIT).unwrap();
        let now = table.current();
        // The key that came anew has a number of its own: it is another row with the same key.
        assert_eq!((now.len(), &now[&2], &now[&3]), (3, &before[&2], &before[&3]));
        assert_eq!(now[&1].1.as_deref(), Some("a"));
    }
    put(&table, &[(2, "")], &[ChangeKind::Delete]);
    let mut writer = table.store.writer(&table.path, &options).unwrap();
    writer.undo(&table.bucket(0), table.end(0) - 1).unwrap();
    writer.flush(crate::fixture::WAIT).unwrap();
    assert_eq!(table.current()[&2], row(2, "b", 2));
}
