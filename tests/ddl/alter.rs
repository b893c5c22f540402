//! ALTER TABLE.

use crate::fixture::{add, assert_error, home, int, options, path, reset, set, string, table, typed, with};
use sluice_api::{Connection, TableChange};
use sluice_base::ErrorKind::{Invalid, NotFound, Unsupported};
use sluice_base::Subject;
use sluice_row::{RowField, TypeRoot};

#[test]
fn options_are_set_and_reset() {
    let home = home();
    let before = home.create("t", &with(table(&["id"]), &[("scan.startup.mode", "full")])).unwrap();
    let changes = [
        set("table.log.ttl", "1h"),
        set("client.writer.acks", "0"),
        set("scan.startup.mode", "latest"),
        set("table.datalake.freshness", "1 min"),
    ];
    let info = home.alter("t", &changes).unwrap();
    assert_eq!(info.descriptor.properties["table.log.ttl"], "1h");
    assert_eq!(
        info.descriptor.custom_properties,
        options(&[("client.writer.acks", "0"), ("scan.startup.mode", "latest")])
    );
    assert_eq!((info.schema_id, info.table_id, info.created_ms), (1, before.table_id, before.created_ms));
    let changes = [
        reset("table.log.ttl"),
        reset("client.writer.acks"),
        reset("scan.startup.mode"),
        reset("table.datalake.freshness"),
        reset("never.set"),
    ];
    let info = home.alter("t", &changes).unwrap();
    assert_eq!(info.descriptor.properties, before.descriptor.properties);
    assert!(info.descriptor.custom_properties.is_empty());
}

#[test]
fn refusals_name_the_option_and_change_nothing() {
    let home = home();
    home.create("t", &table(&[])).unwrap();
    let before = serde_json::to_string(&home.store.table(&path("t")).unwrap()).unwrap();
    let cases = [
        (set("table.x", "1"), Invalid, "'table.x' is not a recognized Fluss table property"),
        (reset("table.x"), Invalid, "'table.x' is not a recognized Fluss table property"),
        (set("table.log.format", "ARROW"), Unsupported, "'table.log.format' is not supported to alter yet"),
        (reset("table.replication.factor"), Unsupported, "'table.replication.factor' is not supported to alter yet"),
        (set("table.merge-engine", "first_row"), Unsupported, "not supported to alter yet"),
        (set("table.datalake.paimon.warehouse", "/w"), Unsupported, "not supported to alter yet"),
        (set("bucket.num", "3"), Unsupported, "'bucket.num' is not supported to alter yet"),
        (set("bucket.key", "id"), Unsupported, "'bucket.key' is not supported to alter yet"),
        (reset("bootstrap.servers"), Unsupported, "'bootstrap.servers' is not supported to alter yet"),
        (set("auto-increment.fields", "id"), Unsupported, "'auto-increment.fields' is not supported to alter yet"),
        (set("table.datalake.enabled", "true"), Invalid, "'datalake.paimon.warehouse'"),
        (set("table.datalake.system-columns", "false"), Unsupported, "not supported to alter yet"),
        (set("table.statistics.columns", "id, x"), Invalid, "names column 'x', which the table does not have"),
        (set("table.auto-partition.enabled", "true"), Invalid, "needs a partitioned table"),
        (set("table.kv.standby-replica.enabled", "true"), Invalid, "only supported in primary key tables"),
        (set("table.log.ttl", "x"), Invalid, "'table.log.ttl'"),
        (set("table.log.local-ttl", "30d"), Invalid, "longer than 'table.log.ttl'"),
    ];
    for (change, kind, part) in cases {
        let changes = [set("a", "1"), set("table.log.ttl", "2d"), change];
        let e = home.alter("t", &changes).unwrap_err();
        assert_error(&e, kind, Subject::Option, &[part, "cannot alter table fluss.t: "]);
        assert_eq!(serde_json::to_string(&home.store.table(&path("t")).unwrap()).unwrap(), before);
    }
}

#[test]
fn a_column_is_added_last_with_the_next_id_and_the_old_schema_stays() {
    let home = home();
    let first = home.create("t", &table(&["id"])).unwrap();
    let nested =
        typed(TypeRoot::Row(vec![RowField { name: "x".to_owned(), data_type: int(), description: None, field_id: 0 }]));
    let info = home.alter("t", &[add("r", nested), add("note", string())]).unwrap();
    let names: Vec<_> = info.descriptor.schema.columns.iter().map(|c| (c.name.as_str(), c.id.unwrap())).collect();
    assert_eq!(names, [("id", 0), ("name", 1), ("amount", 2), ("r", 3), ("note", 5)]);
    assert_eq!((info.schema_id, info.descriptor.schema.highest_field_id), (2, 5));
    assert_eq!(home.alter("t", &[add("more", int())]).unwrap().schema_id, 3);
    let home = home.reopen();
    let catalog = std::fs::read_to_string(home.dir.path().join("catalog")).unwrap();
    let stored: serde_json::Value = serde_json::from_str(catalog.split_once('\n').unwrap().1).unwrap();
    let schemas = &stored["databases"][0]["tables"][0]["schemas"];
    assert_eq!(schemas["1"], serde_json::to_value(&first.descriptor.schema).unwrap());
    assert_eq!(schemas["2"], serde_json::to_value(&info.descriptor.schema).unwrap());
    assert_eq!(schemas.as_object().unwrap().len(), 3);
}

#[test]
fn refused_columns() {
    let home = home();
    home.create("t", &table(&[])).unwrap();
    for (change, parts) in [
        (add("id", int()), &["'id' already exists"][..]),
        (add("__timestamp", int()), &["'__timestamp'", "reserved system columns"]),
        (add("n", int().not_null()), &["'n' must be nullable"]),
        (add("", int()), &["name is empty"]),
        (add("d", typed(TypeRoot::Decimal { precision: 0, scale: 0 })), &["'d'"]),
    ] {
        let e = home.alter("t", &[add("fine", int()), change]).unwrap_err();
        assert_error(&e, Invalid, Subject::Column, parts);
    }
    let e = home.alter("t", &[add("c", int()), set("a", "b")]).unwrap_err();
    assert_error(&e, Invalid, Subject::Table, &["only be applied to one of"]);
    let info = home.store.table(&path("t")).unwrap();
    assert_eq!((info.schema_id, info.descriptor.schema.columns.len()), (1, 3));
}

#[test]
fn missing_tables_and_empty_changes() {
    let home = home();
    let changes: &[TableChange] = &[set("a", "b")];
    let e = home.store.alter_table(&path("t"), changes, false).unwrap_err();
    assert_error(&e, NotFound, Subject::Table, &["fluss.t"]);
    home.store.alter_table(&path("t"), changes, true).unwrap();
    let before = home.create("t", &table(&[])).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(3));
    assert_eq!(home.alter("t", &[]).unwrap().modified_ms, before.modified_ms);
    assert_eq!(home.alter("t", &[reset("a")]).unwrap().modified_ms, before.modified_ms);
    assert!(home.alter("t", changes).unwrap().modified_ms > before.modified_ms);
}

#[test]
fn racing_alters_all_arrive() {
    let home = home();
    home.create("t", &table(&[])).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &home.store;
            scope.spawn(move || {
                for i in 0..5 {
                    store.alter_table(&path("t"), &[add(&format!("c{thread}_{i}"), int())], false).unwrap();
                }
            });
        }
    });
    let info = home.store.table(&path("t")).unwrap();
    assert_eq!((info.schema_id, info.descriptor.schema.columns.len()), (21, 23));
    let mut ids: Vec<_> = info.descriptor.schema.columns.iter().map(|c| c.id.unwrap()).collect();
    ids.dedup();
    assert_eq!(ids, (0..23).collect::<Vec<_>>());
}
