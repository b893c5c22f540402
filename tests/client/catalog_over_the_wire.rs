use crate::fixture::{assert_error, column, descriptor, home, is_plain, options, path};
use sluice_api::{Connection, OffsetSpec, TableChange};
use sluice_base::{ErrorKind, Subject};
use sluice_row::{DatabaseDescriptor, TablePath, TypeRoot, ViewColumn, ViewDescriptor};
use std::collections::BTreeMap;

/// An option that all servers let one change.
const SEGMENTS: &str = "table.log.tiered.local-segments";

#[test]
fn databases_and_tables() {
    let home = home();
    let store = &home.store;
    let described = DatabaseDescriptor { comment: Some("c".to_owned()), ..DatabaseDescriptor::default() };
    store.create_database("shop", &described, false).unwrap();
    let e = store.create_database("shop", &described, false).unwrap_err();
    assert_error(&e, ErrorKind::AlreadyExists, Subject::Database, &["shop"]);
    store.create_database("shop", &described, true).unwrap();
    assert_eq!(store.list_databases().unwrap(), ["fluss", "shop"]);
    assert_eq!(store.database("shop").unwrap().descriptor.comment.as_deref(), Some("c"));
    let there = TablePath::new("shop", "t");
    store.create_table(&there, &descriptor(true), false).unwrap();
    let e = store.create_table(&there, &descriptor(true), false).unwrap_err();
    assert_error(&e, ErrorKind::AlreadyExists, Subject::Table, &["shop.t"]);
    let info = store.table(&there).unwrap();
    assert_eq!((info.bucket_count(), info.has_primary_key(), info.schema_id), (1, true, 1));
    assert_eq!(info.descriptor.schema.columns.len(), 3);
    assert_eq!(store.list_tables("shop").unwrap(), ["t"]);
    let e = store.drop_database("shop", false, false).unwrap_err();
    assert_error(&e, ErrorKind::Conflict, Subject::Database, &["shop"]);
    store.drop_table(&there, false).unwrap();
    assert_error(&store.table(&there).unwrap_err(), ErrorKind::NotFound, Subject::Table, &["shop.t"]);
    assert_error(&store.drop_table(&there, false).unwrap_err(), ErrorKind::NotFound, Subject::Table, &["shop.t"]);
    store.drop_table(&there, true).unwrap();
    store.drop_database("shop", false, true).unwrap();
    assert_error(&store.list_tables("shop").unwrap_err(), ErrorKind::NotFound, Subject::Database, &["shop"]);
}

#[test]
fn columns_and_options_are_changed() {
    let home = home();
    let store = &home.store;
    home.create("t", &descriptor(false)).put(&[crate::fixture::row(1, "a", 1)]);
    let added = TableChange::AddColumn { column: column("note", TypeRoot::String) };
    store.alter_table(&path("t"), &[added], false).unwrap();
    let set = TableChange::Set { key: SEGMENTS.to_owned(), value: "3".to_owned() };
    store.alter_table(&path("t"), &[set], false).unwrap();
    let info = store.table(&path("t")).unwrap();
    assert_eq!((info.schema_id, info.descriptor.schema.columns.len()), (2, 4));
    assert_eq!(info.descriptor.properties.get(SEGMENTS).map(String::as_str), Some("3"));
    let wrong = TableChange::Set { key: SEGMENTS.to_owned(), value: "few".to_owned() };
    let e = store.alter_table(&path("t"), &[wrong], false).unwrap_err();
    assert!(e.kind() == ErrorKind::Invalid && e.message().contains("few"), "{e}");
    // Rows of the older schema have NULL in the new column.
    let table = home.table("t");
    let found = table.batches(0, Some(&[3, 0]), sluice_api::ScanStart::Log { offset: 0 }, Some(1));
    assert_eq!(found[0].rows.num_rows(), 1);
    assert_eq!(found[0].rows.column(0).null_count(), 1);
    assert_eq!(table.offset(0, OffsetSpec::Latest), 1);
}

#[test]
fn what_only_our_server_knows() {
    let home = home();
    let store = &home.store;
    let view = ViewDescriptor {
        version: 1,
        columns: vec![ViewColumn { name: "a".to_owned(), data_type: "INT".to_owned(), comment: None }],
        comment: None,
        original_query: "SELECT 1".to_owned(),
        expanded_query: "SELECT 1 AS a".to_owned(),
        properties: BTreeMap::new(),
    };
    let created = store.create_view(&path("v"), &view, false);
    if is_plain() {
        assert_error(&created.unwrap_err(), ErrorKind::Unsupported, Subject::Store, &["'create view'"]);
        assert_eq!(store.list_views("fluss").unwrap(), [] as [&str; 0]);
        assert_error(&store.view(&path("v")).unwrap_err(), ErrorKind::NotFound, Subject::Table, &["fluss.v"]);
        return;
    }
    created.unwrap();
    let e = store.create_view(&path("v"), &view, false).unwrap_err();
    assert_error(&e, ErrorKind::AlreadyExists, Subject::Table, &["fluss.v"]);
    assert_eq!(store.list_views("fluss").unwrap(), ["v"]);
    assert_eq!(store.view(&path("v")).unwrap().descriptor, view);
    store.rename_view(&path("v"), "w", false).unwrap();
    store.drop_view(&path("w"), false).unwrap();
    store.alter_database("fluss", &BTreeMap::from([("k".to_owned(), Some("v".to_owned()))])).unwrap();
    assert_eq!(store.database("fluss").unwrap().descriptor.custom_properties, options(&[("k", "v")]));
    assert_eq!(store.lake_options().unwrap(), None);
}
