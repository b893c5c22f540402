//! Rows get a number where they are new, and keep it; a lookup may insert what it does not find.

use crate::fixture::{self, Table, WAIT, assert_error, batch, columns, home, ints, row, strings};
use arrow_array::{ArrayRef, Int32Array};
use sluice_api::{Connection, InsertingLookup, Lookup, LookupOptions, LookupRows, WriteOptions};
use sluice_base::{ErrorKind, Subject};
use sluice_row::{ChangeKind, TableDescriptor};
use std::collections::BTreeSet;
use std::sync::Arc;

/// `id INT, name STRING, amount INT` with `amount` numbered.
pub fn numbered(buckets: i32) -> TableDescriptor {
    let mut table = fixture::buckets(fixture::descriptor(true), buckets, &["id"]);
    table.custom_properties.insert("auto-increment.fields".to_owned(), "amount".to_owned());
    table
}

/// Writes the columns that are not numbered.
pub fn put(table: &Table<'_>, rows: &[(i32, &str)], kinds: &[ChangeKind]) {
    let options = WriteOptions { target_columns: names(&["id", "name"]), ..WriteOptions::default() };
    let mut writer = table.store.writer(&table.path, &options).unwrap();
    let ids: Vec<Option<i32>> = rows.iter().map(|r| Some(r.0)).collect();
    let texts: Vec<Option<&str>> = rows.iter().map(|r| Some(r.1)).collect();
    writer.write(&columns(vec![("id", ints(&ids)), ("name", strings(&texts))]), kinds).unwrap();
    writer.flush(WAIT).unwrap();
}

pub fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

pub fn inserting(table: &Table<'_>) -> InsertingLookup {
    let options = LookupOptions { key_columns: names(&["id"]), projection: None };
    InsertingLookup::open(table.store, &table.path, &options).unwrap()
}

pub fn keys(ids: impl Iterator<Item = i32>) -> arrow_array::RecordBatch {
    columns(vec![("id", Arc::new(Int32Array::from_iter_values(ids)) as ArrayRef)])
}

/// The numbers that keys found, one each.
pub fn numbers(found: &LookupRows) -> Vec<i32> {
    assert!(found.ends.iter().copied().eq(1..=u32::try_from(found.ends.len()).unwrap()), "one row a key");
    fixture::rows_of(&found.rows).into_iter().map(|r| r.2.unwrap()).collect()
}

#[test]
fn a_new_key_gets_a_number_and_keeps_it() {
    let home = home();
    let table = home.create("t", &numbered(1));
    put(&table, &[(5, "five"), (3, "three"), (5, "cinq")], &[]);
    put(&table, &[(3, "drei"), (9, "nine")], &[]);
    let due = [row(3, "drei", 2), row(5, "cinq", 1), row(9, "nine", 3)];
    assert_eq!(table.current().into_values().collect::<Vec<_>>(), due);
    let update = |id, before, after, number| {
        [(ChangeKind::UpdateBefore, row(id, before, number)), (ChangeKind::UpdateAfter, row(id, after, number))]
    };
    let mut log = vec![(ChangeKind::Insert, row(5, "five", 1)), (ChangeKind::Insert, row(3, "three", 2))];
    log.extend(update(5, "five", "cinq", 1));
    log.extend(update(3, "three", "drei", 2));
    log.push((ChangeKind::Insert, row(9, "nine", 3)));
    assert_eq!(table.changes(), log);
}

#[test]
fn a_deleted_key_is_gone_whole_and_comes_back_with_another_number() {
    let home = home();
    let table = home.create("t", &numbered(1));
    put(&table, &[(1, "a"), (2, "b")], &[]);
    put(&table, &[(1, ""), (1, "c"), (2, "")], &[ChangeKind::Delete, ChangeKind::Insert, ChangeKind::Delete]);
    assert_eq!(table.current().into_values().collect::<Vec<_>>(), [row(1, "c", 3)]);
    assert!(table.changes().contains(&(ChangeKind::Delete, row(2, "b", 2))));
}

#[test]
fn buckets_share_one_count() {
    let home = home();
    let table = home.create("t", &numbered(4));
    std::thread::scope(|s| {
        for thread in 0..4 {
            let table = &table;
            s.spawn(move || {
                for start in 0..10 {
                    let rows: Vec<(i32, &str)> = (0..50).map(|i| (thread * 1000 + start * 50 + i, "x")).collect();
                    put(table, &rows, &[]);
                }
            });
        }
    });
    let given: BTreeSet<i32> = table.current().into_values().map(|r| r.2.unwrap()).collect();
    assert!(given.iter().copied().eq(1..=2000), "{} numbers, {:?} to {:?}", given.len(), given.first(), given.last());
}

#[test]
fn nobody_writes_a_number() {
    let home = home();
    let table = home.create("t", &numbered(1));
    for columns in [&[][..], &["id", "amount"], &["id", "name", "amount"]] {
        let options = WriteOptions { target_columns: names(columns), ..WriteOptions::default() };
        let refused = table.store.writer(&table.path, &options).and_then(|mut writer| {
            writer.write(&batch(&[row(1, "a", 7)]), &[])?;
            writer.flush(WAIT)
        });
        let parts = ["'amount'", "explicitly specifying values for an auto increment column is not allowed"];
        assert_error(&refused.unwrap_err(), ErrorKind::Invalid, Subject::Column, &parts);
    }
    assert!(table.current().is_empty());
}

#[test]
fn a_lookup_inserts_what_it_does_not_find() {
    let home = home();
    let table = home.create("t", &numbered(3));
    put(&table, &[(7, "seven")], &[]);
    let lookup = inserting(&table);
    let ids = ints(&[Some(1), None, Some(7), Some(1), Some(2)]);
    let found = lookup.lookup(&columns(vec![("id", ids)])).unwrap();
    assert_eq!(found.ends, [1, 1, 2, 3, 4]);
    let rows = fixture::rows_of(&found.rows);
    assert_eq!(rows[1], row(7, "seven", 1));
    assert!(rows[0] == rows[2] && rows[0].1.is_none() && rows[3].1.is_none(), "{rows:?}");
    let mut given: Vec<i32> = [&rows[0], &rows[3]].iter().map(|r| r.2.unwrap()).collect();
    given.sort_unstable();
    assert_eq!(given, [2, 3]);
    assert_eq!(numbers(&lookup.lookup(&keys([1, 2].into_iter())).unwrap()), [rows[0].2.unwrap(), rows[3].2.unwrap()]);
    let inserts = table.changes().into_iter().filter(|(kind, _)| *kind == ChangeKind::Insert).count();
    assert_eq!((inserts, table.changes().len()), (3, 3), "found rows are not written again");
}

#[test]
fn all_who_ask_for_a_key_get_the_same_number() {
    let home = home();
    let table = home.create("t", &numbered(3));
    let answers: Vec<Vec<i32>> = std::thread::scope(|s| {
        let ask = |thread: i32| {
            let table = &table;
            move || {
                // Half of them share a lookup's connection only.
                let lookup = inserting(table);
                let each = |start: i32| {
                    let asked = (0..40).map(|i| (start * 40 + i * 13 + thread * 7) % 400);
                    (asked.clone().collect::<Vec<_>>(), numbers(&lookup.lookup(&keys(asked)).unwrap()))
                };
                let mut known = vec![0; 400];
                for (ids, numbers) in (0..30).map(each) {
                    for (id, number) in ids.into_iter().zip(numbers) {
                        let id = usize::try_from(id).unwrap();
                        assert!(known[id] == 0 || known[id] == number, "{id} had {}, has {number}", known[id]);
                        known[id] = number;
                    }
                }
                known
            }
        };
        let threads: Vec<_> = (0..4).map(|t| s.spawn(ask(t))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let current = table.current();
    for answer in answers {
        for (id, number) in (0..).zip(answer) {
            assert!(number == 0 || current[&id].2 == Some(number), "{id}: {number}, {:?}", current[&id]);
        }
    }
    let given: BTreeSet<i32> = current.values().map(|r| r.2.unwrap()).collect();
    assert_eq!(given.len(), current.len(), "no number twice");
    assert_eq!(table.changes().len(), current.len(), "one insert a key, and nothing else");
}

#[test]
fn where_a_lookup_cannot_insert_it_says_why() {
    let home = home();
    let open = |name: &str, table: &TableDescriptor, key: &[&str]| {
        let table = home.create(name, table);
        let options = LookupOptions { key_columns: names(key), projection: None };
        InsertingLookup::open(table.store, &table.path, &options).map(drop).unwrap_err()
    };
    let mut strict = fixture::descriptor(true);
    strict.schema.columns[1].data_type = strict.schema.columns[1].data_type.clone().not_null();
    assert_error(&open("strict", &strict, &["id"]), ErrorKind::Invalid, Subject::Column, &["'name' is NOT NULL"]);
    let mut wide = fixture::buckets(fixture::descriptor(true), 1, &["id"]);
    wide.schema.primary_key = names(&["id", "name"]);
    assert_error(&open("wide", &wide, &["id"]), ErrorKind::Invalid, Subject::Column, &["(id, name)", "not by (id)"]);
    let mut first = fixture::descriptor(true);
    first.properties.insert("table.merge-engine".to_owned(), "first_row".to_owned());
    let options = LookupOptions { key_columns: names(&["id"]), projection: None };
    let table = home.create("first", &first);
    let refused =
        InsertingLookup::open(table.store, &table.path, &options).and_then(|l| l.lookup(&keys(0..1)).map(drop));
    assert_error(&refused.unwrap_err(), ErrorKind::Invalid, Subject::Column, &["first_row", "partial updates"]);
}

#[test]
fn a_lookup_inserts_into_partitions_that_are_there() {
    let home = home();
    let mut descriptor = numbered(2);
    descriptor.schema.primary_key = names(&["id", "name"]);
    descriptor.partition_key = names(&["name"]);
    let table = home.create("t", &descriptor);
    let spec = |name: &str| fixture::options(&[("name", name)]);
    home.store.create_partition(&table.path, &spec("a"), false).unwrap();
    home.store.create_partition(&table.path, &spec("b"), false).unwrap();
    let options = LookupOptions { key_columns: names(&["id", "name"]), projection: None };
    let lookup = InsertingLookup::open(&home.store, &table.path, &options).unwrap();
    let keys = || {
        let ids = ints(&[Some(1), Some(1), Some(1), Some(2)]);
        columns(vec![("id", ids), ("name", strings(&[Some("a"), Some("zz"), Some("b"), Some("a")]))])
    };
    let found = lookup.lookup(&keys()).unwrap();
    assert_eq!(found.ends, [1, 1, 2, 3]);
    let given: BTreeSet<i32> = fixture::rows_of(&found.rows).into_iter().map(|r| r.2.unwrap()).collect();
    assert!(given.iter().copied().eq(1..=3), "{given:?}");
    assert_eq!(fixture::rows_of(&lookup.lookup(&keys()).unwrap().rows), fixture::rows_of(&found.rows));
}
