//! CREATE, ALTER and DROP DATABASE.

use crate::fixture::{assert_error, home, no_properties, options, table};
use sluice_api::Connection;
use sluice_base::ErrorKind::{AlreadyExists, Conflict, Invalid, NotFound, Unsupported};
use sluice_base::Subject;
use sluice_row::{DatabaseDescriptor, TablePath};
use std::collections::BTreeMap;

#[test]
fn a_new_store_has_the_built_in_one() {
    let home = home();
    assert_eq!(home.store.list_databases().unwrap(), ["fluss"]);
    for cascade in [false, true] {
        let e = home.store.drop_database("fluss", true, cascade).unwrap_err();
        assert_error(&e, Unsupported, Subject::Database, &["Cannot drop the default database"]);
    }
}

#[test]
fn create_alter_list() {
    let home = home();
    let d = DatabaseDescriptor {
        version: 1,
        comment: Some("c".to_owned()),
        custom_properties: options(&[("a", "1"), ("b", "2")]),
    };
    for name in ["zeta", "Alpha"] {
        home.store.create_database(name, &d, false).unwrap();
    }
    assert_eq!(home.store.list_databases().unwrap(), ["Alpha", "fluss", "zeta"]);
    let e = home.store.create_database("zeta", &no_properties(), false).unwrap_err();
    assert_error(&e, AlreadyExists, Subject::Database, &["Database zeta already exists."]);
    home.store.create_database("zeta", &no_properties(), true).unwrap();
    assert_eq!(home.store.database("zeta").unwrap().descriptor, d);
    let e = home.store.create_database("__x", &no_properties(), true).unwrap_err();
    assert_error(&e, Invalid, Subject::Database, &["'__x' is invalid"]);

    let changes = BTreeMap::from([("a".to_owned(), None), ("c".to_owned(), Some("3".to_owned()))]);
    home.store.alter_database("zeta", &changes).unwrap();
    let home = home.reopen();
    let info = home.store.database("zeta").unwrap();
    assert_eq!(
        (info.descriptor.custom_properties, info.descriptor.comment),
        (options(&[("b", "2"), ("c", "3")]), d.comment)
    );
    assert_error(&home.store.alter_database("nope", &changes).unwrap_err(), NotFound, Subject::Database, &["nope"]);
    assert_error(
        &home.store.database("nope").unwrap_err(),
        NotFound,
        Subject::Database,
        &["Database nope does not exist."],
    );
}

#[test]
fn drop() {
    let home = home();
    home.store.create_database("d", &no_properties(), false).unwrap();
    home.store.drop_database("d", false, false).unwrap();
    assert_error(&home.store.drop_database("d", false, false).unwrap_err(), NotFound, Subject::Database, &["d"]);
    home.store.drop_database("d", true, false).unwrap();

    home.store.create_database("d", &no_properties(), false).unwrap();
    for name in ["a", "b"] {
        home.store.create_table(&TablePath::new("d", name), &table(&["id"]), false).unwrap();
    }
    let e = home.store.drop_database("d", false, false).unwrap_err();
    assert_error(&e, Conflict, Subject::Database, &["Database d is not empty", "2 tables"]);
    home.store.drop_database("d", false, true).unwrap();
    assert_eq!(home.store.list_databases().unwrap(), ["fluss"]);
    let home = home.reopen();
    home.store.create_database("d", &no_properties(), false).unwrap();
    assert!(home.store.list_tables("d").unwrap().is_empty());
}
