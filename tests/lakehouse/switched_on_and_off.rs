use crate::fixture::{Home, assert_error, copy_tree, home, path};
use crate::house::{House, descriptor, rows};
use sluice_api::{Connection, ScanStart, TableChange};
use sluice_base::{ErrorKind, Subject};

fn set(enabled: &str) -> Vec<TableChange> {
    vec![TableChange::Set { key: "table.datalake.enabled".to_owned(), value: enabled.to_owned() }]
}

#[test]
fn without_a_lake_the_option_is_refused_and_says_what_is_missing() {
    let home = home();
    let e = home.store.create_table(&path("t"), &descriptor(false, 1, &[]), false).unwrap_err();
    assert_error(
        &e,
        ErrorKind::Invalid,
        Subject::Option,
        &["fluss.t", "table.datalake.enabled", "datalake.paimon.warehouse"],
    );
    assert!(home.store.list_tables("fluss").unwrap().is_empty());
    home.store.create_table(&path("t"), &descriptor(false, 1, &[("table.datalake.enabled", "false")]), false).unwrap();
    let e = home.store.alter_table(&path("t"), &set("true"), false).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Option, &["datalake.paimon.warehouse"]);
    let e = home.store.lake_snapshot(&path("t")).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Option, &["has no lake", "table.datalake.enabled"]);
}

#[test]
fn a_store_opened_without_its_lake_says_so_instead_of_leaving_rows_out() {
    let house = House::new(&[]);
    house.home.create("t", &descriptor(false, 1, &[])).put(&rows(0..3));
    house.tier("t");
    house.home.store.close().unwrap();
    let dir = tempfile::tempdir().unwrap();
    copy_tree(house.home.dir.path(), dir.path()).unwrap();
    let home = Home::at(dir, std::sync::Arc::new(sluice_base::OsFs), &[]);
    let table = home.table("t");
    let parts = ["table fluss.t", "datalake.paimon.warehouse"];
    let refused = [
        home.store.table_stats(&path("t")).unwrap_err(),
        home.store.acquire_snapshots(&[table.bucket(0)], "l", 1000).unwrap_err(),
        home.store.tier(&path("t"), crate::fixture::WAIT).unwrap_err(),
        table.scanner(None).subscribe(table.split(0, ScanStart::Limit { rows: 9 }, None)).unwrap_err(),
    ];
    for e in refused {
        assert_error(&e, ErrorKind::Invalid, Subject::Option, &parts);
    }
    table.put(&rows(3..5));
    assert_eq!(table.log().len(), 5, "the log itself is read and written");
}

#[test]
fn create_table_makes_the_lake_table_at_once() {
    let house = House::new(&[]);
    let mut described = descriptor(true, 3, &[("paimon.snapshot.num-retained.min", "7")]);
    described.schema.columns[1].comment = Some("who".to_owned());
    house.home.create("t", &described);
    let lake = house.lake_table("t").unwrap();
    let schema = &lake.schema().schema;
    let columns: Vec<String> = schema.columns.iter().map(|c| format!("{} {}", c.name, c.data_type)).collect();
    assert_eq!(
        columns,
        ["id INT NOT NULL", "name STRING", "amount INT", "__offset BIGINT", "__timestamp TIMESTAMP_LTZ(3)"]
    );
    assert_eq!(
        (schema.primary_key.as_slice(), schema.columns[1].comment.as_deref()),
        (&["id".to_owned()][..], Some("who"))
    );
    for (key, value) in [
        ("bucket", "3"),
        ("bucket-key", "id"),
        ("changelog-producer", "input"),
        ("snapshot.num-retained.min", "7"),
        ("fluss.table.datalake.freshness", "1h"),
    ] {
        assert_eq!(lake.schema().option(key), Some(value), "{key}");
    }
    assert!(lake.newest().unwrap().is_none());
    house.home.create("clean", &descriptor(false, 1, &[("table.datalake.system-columns", "false")]));
    assert_eq!(house.lake_table("clean").unwrap().schema().schema.columns.len(), 3);
}

#[test]
fn options_of_the_lake_table_follow_those_of_the_table() {
    let house = House::new(&[]);
    house.home.create("t", &descriptor(true, 1, &[]));
    let alter = |changes: &[TableChange]| house.home.store.alter_table(&path("t"), changes, false);
    let change = |key: &str, value: &str| TableChange::Set { key: key.to_owned(), value: value.to_owned() };
    alter(&[change("paimon.num-sorted-run.stop-trigger", "9"), change("table.log.ttl", "3d")]).unwrap();
    let option = |key: &str| house.lake_table("t").unwrap().schema().option(key).map(str::to_owned);
    assert_eq!(option("num-sorted-run.stop-trigger").as_deref(), Some("9"));
    assert_eq!(option("fluss.table.log.ttl").as_deref(), Some("3d"));
    alter(&[TableChange::Reset { key: "paimon.num-sorted-run.stop-trigger".to_owned() }]).unwrap();
    assert_eq!(option("num-sorted-run.stop-trigger"), None);
    for (key, value, kind, part) in [
        ("paimon.changelog-producer", "lookup", ErrorKind::Unsupported, "cannot be changed"),
        ("paimon.bucket", "7", ErrorKind::Invalid, "follows from the table itself"),
        ("paimon.path", "/elsewhere", ErrorKind::Invalid, "follows from the table itself"),
        ("paimon.merge-engine", "first-row", ErrorKind::Unsupported, "only 'deduplicate'"),
    ] {
        assert_error(
            &alter(&[change(key, value)]).unwrap_err(),
            kind,
            Subject::Option,
            &["cannot alter table fluss.t", key, part],
        );
    }
    assert!(!house.home.store.table(&path("t")).unwrap().descriptor.custom_properties.contains_key("paimon.bucket"));
    house.home.table("t").put(&rows(0..3));
    house.tier("t");
    // The same while the lake is off, and on again.
    alter(&set("false")).unwrap();
    alter(&[change("paimon.snapshot.num-retained.min", "4")]).unwrap();
    alter(&set("true")).unwrap();
    assert_eq!(option("snapshot.num-retained.min").as_deref(), Some("4"));
    house.tier("t");
    assert_eq!(house.in_lake("t").len(), 3);
}

#[test]
fn a_partition_column_that_readers_spell_differently_is_refused_a_lake() {
    let house = House::new(&[]);
    let mut cut = descriptor(false, 1, &[]);
    cut.schema.columns[1].data_type = sluice_row::DataType::new(sluice_row::TypeRoot::Double);
    cut.partition_key = vec!["name".to_owned()];
    let refused = |e: &sluice_base::Error| {
        let parts = ["fluss.t", "partition column 'name' of type DOUBLE cannot partition a lake table"];
        assert_error(e, ErrorKind::Unsupported, Subject::Column, &parts);
    };
    refused(&house.home.store.create_table(&path("t"), &cut, false).unwrap_err());
    cut.properties.clear();
    house.home.store.create_table(&path("t"), &cut, false).unwrap();
    refused(&house.home.store.alter_table(&path("t"), &set("true"), false).unwrap_err());
    assert!(house.lake_table("t").is_none());
}

#[test]
fn a_lake_table_with_rows_or_other_columns_is_refused() {
    let house = House::new(&[]);
    let table = house.home.create("t", &descriptor(false, 1, &[]));
    table.put(&rows(0..3));
    house.tier("t");
    house.home.store.drop_table(&path("t"), false).unwrap();
    assert_eq!(house.in_lake("t").len(), 3, "DROP TABLE leaves the lake table alone");
    let e = house.home.store.create_table(&path("t"), &descriptor(false, 1, &[]), false).unwrap_err();
    assert_error(&e, ErrorKind::AlreadyExists, Subject::Table, &["cannot create table fluss.t", "is not empty"]);

    house.home.create("u", &descriptor(false, 1, &[]));
    house.home.store.drop_table(&path("u"), false).unwrap();
    let e = house.home.store.create_table(&path("u"), &descriptor(true, 1, &[]), false).unwrap_err();
    assert_error(&e, ErrorKind::AlreadyExists, Subject::Table, &["its columns", "are not those of the new table"]);
    // One that fits and has no rows is taken over.
    let table = house.home.create("u", &descriptor(false, 1, &[]));
    table.put(&rows(0..2));
    house.tier("u");
    assert_eq!(house.in_lake("u").len(), 2);
}

#[test]
fn a_table_made_before_gets_its_lake_and_all_its_rows_later() {
    for keyed in [false, true] {
        let house = House::new(&[]);
        let table = house.home.create("t", &descriptor(keyed, 2, &[("table.datalake.enabled", "false")]));
        table.put(&rows(0..20));
        assert!(house.lake_table("t").is_none());
        house.home.store.alter_table(&path("t"), &set("true"), false).unwrap();
        table.put(&rows(20..30));
        house.tier("t");
        let found: Vec<_> = house.in_lake("t").into_iter().map(|(row, _)| row).collect();
        assert_eq!(found, rows(0..30), "keyed {keyed}");
    }
}

#[test]
fn switched_off_and_on_the_same_lake_table_goes_on() {
    let house = House::new(&[]);
    let table = house.home.create("t", &descriptor(false, 1, &[]));
    table.put(&rows(0..3));
    let first = house.tier("t").snapshot;
    house.home.store.alter_table(&path("t"), &set("false"), false).unwrap();
    table.put(&rows(3..6));
    let e = house.home.store.tier(&path("t"), crate::fixture::WAIT).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Option, &["has no lake"]);
    house.home.store.alter_table(&path("t"), &set("true"), false).unwrap();
    let house = house.reopen();
    assert_eq!(house.home.store.lake_snapshot(&path("t")).unwrap().snapshot, first);
    house.tier("t");
    assert_eq!(house.in_lake("t").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), rows(0..6));
}

#[test]
fn a_lake_table_that_somebody_dropped_is_missed_and_made_anew() {
    let house = House::new(&[]);
    let table = house.home.create("t", &descriptor(false, 1, &[]));
    table.put(&rows(0..3));
    house.tier("t");
    std::fs::remove_dir_all(house.warehouse().join("fluss.db/t")).unwrap();
    let e = house.home.store.tier(&path("t"), crate::fixture::WAIT).unwrap_err();
    assert_error(&e, ErrorKind::NotFound, Subject::Table, &["lake table fluss.t is gone"]);
    for enabled in ["false", "true"] {
        house.home.store.alter_table(&path("t"), &set(enabled), false).unwrap();
    }
    house.tier("t");
    assert_eq!(house.in_lake("t").len(), 3);
    assert_eq!(house.home.store.lake_snapshot(&path("t")).unwrap().error, None);
}
