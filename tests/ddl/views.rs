//! Views: CREATE, ALTER, RENAME and DROP, and what they share with tables.

use crate::fixture::{assert_error, contents, home, no_properties, path, table, view};
use sluice_api::Connection;
use sluice_base::ErrorKind::{AlreadyExists, Conflict, Invalid, NotFound};
use sluice_base::Subject;
use sluice_row::TablePath;

#[test]
fn a_view_comes_back_as_it_was_given_also_after_a_restart() {
    let home = home();
    let mut given = view("SELECT 'ü\n' FROM t");
    given.comment = Some("mine".to_owned());
    given.properties.insert("k".to_owned(), "v".to_owned());
    home.store.create_view(&path("v"), &given, false).unwrap();
    home.store.create_view(&path("a"), &view("SELECT * FROM v"), false).unwrap();
    let before = contents(&home.store);
    let home = home.reopen();
    assert_eq!(contents(&home.store), before);
    assert_eq!(home.store.view(&path("v")).unwrap().descriptor, given);
    assert_eq!(home.store.list_views("fluss").unwrap(), ["a", "v"]);
    assert!(home.store.list_tables("fluss").unwrap().is_empty());
}

#[test]
fn alter_and_rename() {
    let home = home();
    home.store.create_view(&path("v"), &view("SELECT 1"), false).unwrap();
    let before = home.store.view(&path("v")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(3));
    home.store.alter_view(&path("v"), &view("SELECT 1"), false).unwrap();
    assert_eq!(home.store.view(&path("v")).unwrap(), before);
    home.store.alter_view(&path("v"), &view("SELECT 2"), false).unwrap();
    let after = home.store.view(&path("v")).unwrap();
    assert_eq!((after.descriptor.original_query.as_str(), after.created_ms), ("SELECT 2", before.created_ms));
    assert!(after.modified_ms > before.modified_ms);
    home.store.rename_view(&path("v"), "v", false).unwrap();
    home.store.rename_view(&path("v"), "w", false).unwrap();
    let renamed = home.reopen().store.view(&path("w")).unwrap();
    assert_eq!((renamed.path, renamed.descriptor), (path("w"), after.descriptor));
}

#[test]
fn tables_and_views_share_their_names() {
    let home = home();
    home.create("t", &table(&[])).unwrap();
    home.store.create_view(&path("v"), &view("SELECT 1"), false).unwrap();
    for ignore in [false, true] {
        let e = home.store.create_view(&path("t"), &view("SELECT 1"), ignore).unwrap_err();
        assert_error(&e, AlreadyExists, Subject::Table, &["Table fluss.t already exists"]);
        let e = home.store.create_table(&path("v"), &table(&[]), ignore).unwrap_err();
        assert_error(&e, AlreadyExists, Subject::Table, &["View fluss.v already exists"]);
    }
    let e = home.store.create_view(&path("v"), &view("SELECT 2"), false).unwrap_err();
    assert_error(&e, AlreadyExists, Subject::Table, &["View fluss.v"]);
    home.store.create_view(&path("v"), &view("SELECT 2"), true).unwrap();
    assert_eq!(home.store.view(&path("v")).unwrap().descriptor.original_query, "SELECT 1");
    home.store.create_view(&path("w"), &view("SELECT 1"), false).unwrap();
    for taken in ["t", "w"] {
        let e = home.store.rename_view(&path("v"), taken, false).unwrap_err();
        assert_error(&e, AlreadyExists, Subject::Table, &[&format!("fluss.{taken} already exists")]);
    }
    for call in [home.store.drop_table(&path("v"), false), home.store.table(&path("v")).map(drop)] {
        assert_error(&call.unwrap_err(), NotFound, Subject::Table, &["Table fluss.v does not exist"]);
    }
    let e = home.store.drop_view(&path("t"), false).unwrap_err();
    assert_error(&e, NotFound, Subject::Table, &["View fluss.t does not exist"]);
    home.store.drop_view(&path("v"), false).unwrap();
    home.create("v", &table(&[])).unwrap();
}

#[test]
fn a_database_is_not_empty_while_it_has_a_view_and_cascade_takes_it() {
    let home = home();
    home.store.create_database("d", &no_properties(), false).unwrap();
    let v = TablePath::new("d", "v");
    home.store.create_view(&v, &view("SELECT 1"), false).unwrap();
    let e = home.store.drop_database("d", false, false).unwrap_err();
    assert_error(&e, Conflict, Subject::Database, &["d is not empty"]);
    home.store.drop_database("d", false, true).unwrap();
    home.store.create_database("d", &no_properties(), false).unwrap();
    assert!(home.store.list_views("d").unwrap().is_empty());
    assert_error(&home.store.view(&v).unwrap_err(), NotFound, Subject::Table, &["View d.v"]);
}

#[test]
fn refusals_change_nothing() {
    let home = home();
    home.store.create_view(&path("v"), &view("SELECT 1"), false).unwrap();
    let before = contents(&home.store);
    let long = "x".repeat(1 << 20);
    for (name, query, part) in
        [("a b", "SELECT 1", "'a b' is invalid"), ("w", " ", "needs a query"), ("w", &long, "split it")]
    {
        let e = home.store.create_view(&path(name), &view(query), true).unwrap_err();
        assert_error(&e, Invalid, Subject::Table, &[part]);
    }
    assert_error(
        &home.store.rename_view(&path("v"), "__x", false).unwrap_err(),
        Invalid,
        Subject::Table,
        &["reserved"],
    );
    let missing = [
        home.store.alter_view(&path("w"), &view("SELECT 1"), false),
        home.store.rename_view(&path("w"), "x", false),
        home.store.drop_view(&path("w"), false),
    ];
    for call in missing {
        assert_error(&call.unwrap_err(), NotFound, Subject::Table, &["View fluss.w does not exist"]);
    }
    home.store.alter_view(&path("w"), &view("SELECT 1"), true).unwrap();
    home.store.rename_view(&path("w"), "x", true).unwrap();
    home.store.drop_view(&path("w"), true).unwrap();
    let e = home.store.create_view(&TablePath::new("nowhere", "v"), &view("SELECT 1"), true).unwrap_err();
    assert_error(&e, NotFound, Subject::Database, &["nowhere"]);
    assert_error(&home.store.list_views("nowhere").unwrap_err(), NotFound, Subject::Database, &["nowhere"]);
    assert_eq!(contents(&home.store), before);
}
