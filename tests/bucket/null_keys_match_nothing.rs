use crate::fixture::{self, assert_error, columns, home, ints, row, strings};
use sluice_api::{Connection, LookupOptions};
use sluice_base::{ErrorKind, Subject};

#[test]
fn a_null_key_finds_nothing_and_disturbs_no_other() {
    let home = home();
    for buckets in [1, 4] {
        let name = format!("t{buckets}");
        let table = home.create(&name, &fixture::buckets(fixture::descriptor(true), buckets, &[]));
        table.put(&[row(0, "zero", 0), row(1, "one", 1)]);
        let found = table.get(&[None, Some(1), None, Some(0), None]);
        assert_eq!(found, [None, Some(row(1, "one", 1)), None, Some(row(0, "zero", 0)), None]);
        assert_eq!(table.get(&[]), []);
    }
}

#[test]
fn wrong_key_columns_are_refused_by_name() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    let log = home.create("log", &fixture::descriptor(false));
    let open = |path, names: &[&str]| {
        let key_columns = names.iter().map(|n| (*n).to_owned()).collect();
        home.store.lookup(path, &LookupOptions { key_columns, projection: None })
    };
    assert_error(
        &open(&table.path, &["name"]).err().unwrap(),
        ErrorKind::Invalid,
        Subject::Column,
        &["(id)", "(name)"],
    );
    assert_error(&open(&table.path, &["id", "id"]).err().unwrap(), ErrorKind::Invalid, Subject::Column, &["twice"]);
    assert_error(&open(&table.path, &["no"]).err().unwrap(), ErrorKind::Invalid, Subject::Column, &["'no'"]);
    assert_error(
        &open(&log.path, &["id"]).err().unwrap(),
        ErrorKind::Invalid,
        Subject::Table,
        &["fluss.log", "no primary key"],
    );
    let lookup = open(&table.path, &["id"]).unwrap();
    let e = lookup.lookup(&columns(vec![("id", strings(&[Some("1")]))])).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Column, &["id Int32"]);
    assert_eq!(lookup.lookup(&columns(vec![("other_name", ints(&[Some(1)]))])).unwrap().ends, [0]);
}
