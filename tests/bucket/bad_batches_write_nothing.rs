use crate::fixture::{self, assert_error, batch, columns, home, ints, row, strings};
use sluice_api::{Connection, WriteOptions};
use sluice_base::{ErrorKind, Subject};
use sluice_row::{ChangeKind, TypeRoot};

#[test]
fn null_in_a_not_null_column_is_refused_by_name() {
    let home = home();
    let mut columns_ = vec![fixture::column("id", TypeRoot::Int), fixture::column("name", TypeRoot::String)];
    columns_[1].data_type.nullable = false;
    for (table, key) in [("log", &[][..]), ("keyed", &["id"][..])] {
        let table = home.create(table, &fixture::of(columns_.clone(), key));
        let bad = columns(vec![("id", ints(&[Some(1), Some(2)])), ("name", strings(&[Some("a"), None]))]);
        let mut writer = table.writer();
        let e = writer.write(&bad, &[]).unwrap_err();
        assert_error(&e, ErrorKind::Invalid, Subject::Row, &["row 1", "'name'", "NOT NULL"]);
        writer.flush(fixture::WAIT).unwrap();
        assert_eq!(table.end(0), 0, "nothing of the batch is written");
        let good = columns(vec![("id", ints(&[Some(1)])), ("name", strings(&[Some("a")]))]);
        writer.write(&good, &[]).unwrap();
        writer.flush(fixture::WAIT).unwrap();
        assert_eq!(table.end(0), 1, "the writer goes on");
    }
}

#[test]
fn null_in_the_key_is_refused_by_name() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    let bad = columns(vec![("id", ints(&[None])), ("name", strings(&[None])), ("amount", ints(&[None]))]);
    for kinds in [&[][..], &[ChangeKind::Delete]] {
        let e = table.writer().write(&bad, kinds).unwrap_err();
        assert_error(&e, ErrorKind::Invalid, Subject::Row, &["row 0", "'id'", "primary key"]);
    }
    assert_eq!(table.end(0), 0);
}

#[test]
fn a_log_table_takes_inserts_only() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(false));
    let e = table.writer().write(&batch(&[row(1, "a", 1)]), &[ChangeKind::Delete]).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Row, &["fluss.t", "no primary key"]);
}

#[test]
fn wrong_columns_are_refused() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    let few = columns(vec![("id", ints(&[Some(1)]))]);
    assert_error(
        &table.writer().write(&few, &[]).unwrap_err(),
        ErrorKind::Invalid,
        Subject::Column,
        &["1 columns", "3"],
    );
    let other = columns(vec![("id", ints(&[Some(1)])), ("name", ints(&[Some(1)])), ("amount", ints(&[Some(1)]))]);
    assert_error(
        &table.writer().write(&other, &[]).unwrap_err(),
        ErrorKind::Invalid,
        Subject::Column,
        &["'name'", "Utf8", "Int32"],
    );
    let open = |names: &[&str]| {
        let target_columns = names.iter().map(|n| (*n).to_owned()).collect();
        home.store.writer(&table.path, &WriteOptions { target_columns, ..WriteOptions::default() }).err().unwrap()
    };
    assert_error(&open(&["name", "amount"]), ErrorKind::Invalid, Subject::Column, &["primary key", "'id' is missing"]);
    assert_error(&open(&["id", "nope"]), ErrorKind::Invalid, Subject::Column, &["'nope'"]);
    assert_error(&open(&["id", "id"]), ErrorKind::Invalid, Subject::Column, &["twice"]);
}

#[test]
fn all_columns_in_another_order_are_taken() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    let target_columns = ["amount", "id", "name"].map(str::to_owned).to_vec();
    let mut writer =
        home.store.writer(&table.path, &WriteOptions { target_columns, ..WriteOptions::default() }).unwrap();
    let given = columns(vec![("amount", ints(&[Some(7)])), ("id", ints(&[Some(1)])), ("name", strings(&[Some("a")]))]);
    writer.write(&given, &[]).unwrap();
    writer.flush(fixture::WAIT).unwrap();
    assert_eq!(table.get(&[Some(1)]), [Some(row(1, "a", 7))]);
}
