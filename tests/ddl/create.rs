//! CREATE and DROP TABLE.

use crate::fixture::{
    assert_error, bucketed, column, contents, home, int, of, options, path, string, table, typed, with,
};
use sluice_api::Connection;
use sluice_base::ErrorKind::{AlreadyExists, Invalid, NotFound, Unsupported};
use sluice_base::Subject;
use sluice_row::{AggFunction, DataType, RowField, TableDescriptor, TablePath, TypeRoot};
use std::collections::BTreeMap;

fn field(name: &str, data_type: DataType) -> RowField {
    RowField { name: name.to_owned(), data_type, description: None, field_id: 77 }
}

fn buckets(count: i32) -> TableDescriptor {
    TableDescriptor { bucket_count: Some(count), ..table(&[]) }
}

#[test]
fn defaults_of_a_key_table() {
    let home = home();
    let info = home.create("t", &table(&["id"])).unwrap();
    let d = &info.descriptor;
    assert_eq!((info.table_id, info.schema_id, d.bucket_count), (0, 1, Some(1)));
    assert_eq!(d.bucket_key, ["id"]);
    assert!(!d.schema.columns[0].data_type.nullable && d.schema.columns[1].data_type.nullable);
    assert_eq!(
        d.properties,
        options(&[
            ("table.datalake.format", "paimon"),
            ("table.kv.format-version", "2"),
            ("table.replication.factor", "1")
        ])
    );
    assert!(info.created_ms > 1_600_000_000_000 && info.created_ms == info.modified_ms);
}

#[test]
fn defaults_of_a_log_table() {
    let home = home();
    let info = home.create("t", &table(&[])).unwrap();
    assert_eq!(info.descriptor.bucket_count, Some(1));
    assert!(info.descriptor.bucket_key.is_empty() && info.descriptor.schema.columns[0].data_type.nullable);
    assert_eq!(
        info.descriptor.properties,
        options(&[("table.datalake.format", "paimon"), ("table.replication.factor", "1")])
    );
}

#[test]
fn what_was_said_is_kept() {
    let home = home();
    let mut d =
        with(bucketed(table(&["name", "id"]), &["id"]), &[("table.log.ttl", "3 d"), ("client.writer.acks", "1")]);
    d.comment = Some("a 'comment'".to_owned());
    d.schema.columns[2].comment = Some("how much".to_owned());
    d.custom_properties =
        options(&[("schema.2.expr", "`a` + 1"), ("any.key", " spaces kept "), ("table.log.format", "arrow")]);
    let got = home.create("t", &d).unwrap().descriptor;
    assert_eq!(got.comment.as_deref(), Some("a 'comment'"));
    assert_eq!(got.schema.columns[2].comment.as_deref(), Some("how much"));
    assert_eq!(got.schema.primary_key, ["name", "id"]);
    assert_eq!(got.bucket_key, ["id"]);
    assert_eq!(got.properties["table.log.ttl"], "3 d");
    assert_eq!(got.properties["table.log.format"], "arrow");
    assert_eq!(
        got.custom_properties,
        options(&[("schema.2.expr", "`a` + 1"), ("any.key", " spaces kept "), ("client.writer.acks", "1")])
    );
}

#[test]
fn ids_are_given_depth_first_whatever_the_caller_sent() {
    let home = home();
    let nested = typed(TypeRoot::Row(vec![field("a", int()), field("b", int())]));
    let mut d = of(vec![column("i", int()), column("r", nested), column("s", string())], &[]);
    d.schema.columns[0].id = Some(40);
    d.schema.highest_field_id = 40;
    let schema = home.create("t", &d).unwrap().descriptor.schema;
    assert_eq!(schema.columns.iter().map(|c| c.id).collect::<Vec<_>>(), [Some(0), Some(1), Some(4)]);
    assert_eq!(schema.highest_field_id, 4);
    let TypeRoot::Row(fields) = &schema.columns[1].data_type.root else { panic!("not a row") };
    assert_eq!(fields.iter().map(|f| f.field_id).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn key_columns_may_be_the_last_and_in_another_order() {
    let home = home();
    let columns = vec![column("amount", int()), column("note", string()), column("k2", string()), column("k1", int())];
    let d = home.create("k_last", &of(columns, &["k1", "k2"])).unwrap().descriptor;
    assert_eq!((d.schema.primary_key_indexes(), d.bucket_key), (vec![3, 2], vec!["k1".to_owned(), "k2".to_owned()]));
    assert_eq!(d.schema.columns.iter().map(|c| c.data_type.nullable).collect::<Vec<_>>(), [true, true, false, false]);
}

#[test]
fn names_keep_their_case() {
    let home = home();
    let columns = ["sensorTemp", "SENSORTEMP", "Größe", "order", "a.b", " "].map(|n| column(n, int()));
    let d = home.create("Dev_Log", &of(columns.to_vec(), &[])).unwrap().descriptor;
    assert_eq!(
        d.schema.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        ["sensorTemp", "SENSORTEMP", "Größe", "order", "a.b", " "]
    );
    assert_eq!(home.store.list_tables("fluss").unwrap(), ["Dev_Log"]);
    assert!(home.store.table(&path("dev_log")).is_err());
}

#[test]
fn map_keys_become_not_null() {
    let home = home();
    let map = |v| typed(TypeRoot::Map(Box::new(string()), Box::new(v)));
    let d = home
        .create("t", &of(vec![column("m", typed(TypeRoot::Array(Box::new(map(map(int()))))))], &[]))
        .unwrap()
        .descriptor;
    assert_eq!(d.schema.columns[0].data_type.to_string(), "ARRAY<MAP<STRING NOT NULL, MAP<STRING NOT NULL, INT>>>");
}

#[test]
fn bucket_counts() {
    let home = home();
    home.create("most", &buckets(4096)).unwrap();
    home.create("least", &buckets(1)).unwrap();
    for (count, subject, parts) in [
        (0, Subject::Option, ["'bucket.num' = 0", "at least 1"]),
        (-1, Subject::Option, ["-1", "at least 1"]),
        (4097, Subject::Bucket, ["4097", "maximum of 4096 ('max.bucket.num')"]),
    ] {
        assert_error(&home.create("t", &buckets(count)).unwrap_err(), Invalid, subject, &parts);
    }
}

/// A refused CREATE: the descriptor, the subject, parts of the sentence.
fn refused_columns() -> Vec<(TableDescriptor, &'static [&'static str])> {
    let mut with_function = table(&["id"]);
    with_function.schema.columns[2].agg_function =
        Some(AggFunction { kind: "sum".to_owned(), parameters: BTreeMap::new() });
    let one = |name: &str, data_type: DataType| of(vec![column("id", int()), column(name, data_type)], &[]);
    let deep = (0..70).fold(int(), |t, _| typed(TypeRoot::Array(Box::new(t))));
    vec![
        (of(vec![], &[]), &["at least one column"]),
        (
            one("__offset", int()),
            &[
                "'__offset'",
                "reserved system columns",
                "__timestamp",
                "__bucket",
                "_change_type",
                "_log_offset",
                "_commit_timestamp",
            ],
        ),
        (of(["_log_offset", "__bucket"].map(|n| column(n, int())).to_vec(), &[]), &["'_log_offset', '__bucket'"]),
        (one("id", string()), &["'id' already exists"]),
        (one("", int()), &["name is empty"]),
        (table(&["nope"]), &["primary key", "'nope'"]),
        (table(&["id", "id"]), &["primary key", "'id' twice"]),
        (
            of(vec![column("a", typed(TypeRoot::Array(Box::new(int()))))], &["a"]),
            &["Primary key column 'a' has unsupported data type ARRAY<INT>"],
        ),
        (bucketed(table(&["id"]), &["name"]), &["subset of the primary key", "'name'", "(id)"]),
        (bucketed(table(&[]), &["nope"]), &["bucket key", "'nope'"]),
        (bucketed(table(&[]), &["id", "id"]), &["bucket key", "'id' twice"]),
        (
            bucketed(one("r", typed(TypeRoot::Row(vec![field("x", int())]))), &["r"]),
            &["Bucket key column 'r' has unsupported data type ROW"],
        ),
        (with_function, &["'amount'", "'sum'", "only supported for aggregation merge engine"]),
        (one("d", typed(TypeRoot::Decimal { precision: 39, scale: 0 })), &["'d'", "DECIMAL(39, 0)"]),
        (one("d", typed(TypeRoot::Decimal { precision: 3, scale: 4 })), &["'d'", "DECIMAL(3, 4)"]),
        (one("ts", typed(TypeRoot::Timestamp { precision: 10 })), &["'ts'", "10"]),
        (one("c", typed(TypeRoot::Char(0))), &["'c'", "length of 0"]),
        (one("b", typed(TypeRoot::Binary(u32::MAX))), &["'b'", "4294967295"]),
        (one("r", typed(TypeRoot::Row(vec![]))), &["'r'", "at least one field"]),
        (
            one("r", typed(TypeRoot::Row(vec![field("x", int()), field("x", int())]))),
            &["'r'", "field 'x' occurs twice"],
        ),
        (one("deep", deep), &["'deep'", "nested more than 64 deep"]),
    ]
}

#[test]
fn refused_columns_and_keys_are_named_and_leave_nothing() {
    let home = home();
    let before = contents(&home.store);
    for (descriptor, parts) in refused_columns() {
        let e = home.create("t", &descriptor).unwrap_err();
        assert_error(&e, Invalid, Subject::Column, parts);
        assert_error(&e, Invalid, Subject::Column, &["cannot create table fluss.t: "]);
    }
    assert_eq!(contents(&home.store), before);
    assert_eq!(home.create("t", &table(&[])).unwrap().table_id, 0);
}

#[test]
fn wrong_options_are_named() {
    let home = home();
    let cases: &[(&str, &str, &[&str])] = &[
        ("table.x", "1", &["'table.x' is not a recognized Fluss table property"]),
        ("table.log.tll", "1d", &["'table.log.tll'", "did you mean 'table.log.ttl'?"]),
        ("table.datalake.oracle.k", "v", &["not a recognized Fluss table property"]),
        ("table.datalake.paimon.", "v", &["not a recognized Fluss table property"]),
        ("table.log.ttl", "soon", &["'table.log.ttl'", "'soon'", "duration"]),
        ("table.log.ttl", "-1ms", &["'table.log.ttl'", "duration"]),
        ("table.log.arrow.compression.type", "GZIP", &["GZIP", "NONE, LZ4_FRAME, ZSTD"]),
        ("table.log.arrow.compression.zstd.level", "0", &["must be greater than 0"]),
        ("table.log.arrow.compression.zstd.level", "23", &["more than 22"]),
        ("table.log.tiered.local-segments", "0", &["must be greater than 0"]),
        ("table.log.tiered.local-segments", "two", &["whole number"]),
        ("table.log.local-ttl", "8d", &["'table.log.local-ttl'", "longer than 'table.log.ttl'"]),
        ("table.log.format", "PARQUET", &["ARROW, INDEXED, COMPACTED"]),
        ("table.kv.format-version", "3", &["more than 2"]),
        ("table.replication.factor", "0", &["must be greater than 0"]),
        ("table.replication.factor", "2", &["'2'", "one server"]),
        ("table.merge-engine", "last_row", &["first_row, versioned, aggregation"]),
        ("table.delete.behavior", "sometimes", &["allow, ignore, disable"]),
        ("table.datalake.enabled", "yes", &["neither true nor false"]),
        ("table.datalake.freshness", "3 parsecs", &["duration"]),
        ("table.auto-increment.cache-size", "0", &["must be greater than 0"]),
        ("table.auto-partition.enabled", "true", &["needs a partitioned table"]),
        ("table.auto-partition.time-unit", "WEEK", &["HOUR, DAY, MONTH, QUARTER, YEAR"]),
        ("table.auto-partition.num-precreate", "-1", &["must be greater than -1"]),
        ("fields.amount.agg", "sum", &["'fields.amount.agg'", "only supported for aggregation merge engine"]),
        ("table.statistics.columns", "id", &["only supported in log tables"]),
    ];
    for (key, value, parts) in cases {
        let e = home.create("t", &with(table(&["id"]), &[(key, value)])).unwrap_err();
        assert_error(&e, Invalid, Subject::Option, parts);
    }
    for key in ["table.merge-engine", "table.delete.behavior", "table.kv.standby-replica.enabled"] {
        let value = if key.ends_with("engine") { "first_row" } else { "allow" };
        let value = if key.ends_with("enabled") { "true" } else { value };
        let e = home.create("t", &with(table(&[]), &[(key, value)])).unwrap_err();
        assert_error(&e, Invalid, Subject::Option, &[key, "only supported in primary key tables"]);
    }
    assert!(home.store.list_tables("fluss").unwrap().is_empty());
}

#[test]
fn what_needs_later_work_says_so() {
    let home = home();
    for (key, value) in [
        ("table.datalake.historical-partition.enabled", "true"),
        ("table.datalake.format", "iceberg"),
        ("table.log.format", "INDEXED"),
        ("table.kv.format", "INDEXED"),
    ] {
        let e = home.create("t", &with(table(&["id"]), &[(key, value)])).unwrap_err();
        assert_error(&e, Unsupported, Subject::Option, &[key, value, "not supported yet"]);
    }
}

#[test]
fn right_options_are_accepted() {
    let home = home();
    let all = [
        ("table.log.ttl", "0ms"),
        ("table.log.local-ttl", "1h"),
        ("table.log.tiered.local-segments", "1"),
        ("table.log.format", "Arrow"),
        ("table.log.arrow.compression.type", "lz4_frame"),
        ("table.log.arrow.compression.zstd.level", "22"),
        ("table.kv.format", "compacted"),
        ("table.kv.format-version", "1"),
        ("table.kv.standby-replica.enabled", "TRUE"),
        ("table.delete.behavior", "ALLOW"),
        ("table.changelog.image", "full"),
        ("table.datalake.enabled", "false"),
        ("table.datalake.format", "paimon"),
        ("table.datalake.freshness", "30s"),
        ("table.datalake.auto-compaction", "true"),
        ("table.datalake.auto-expire-snapshot", "true"),
        ("table.datalake.paimon.warehouse", "/w"),
        ("table.auto-partition.enabled", "false"),
        ("table.auto-partition.num-retention", "-1"),
        ("table.auto-increment.cache-size", "5000000000"),
        ("table.replication.factor", "1"),
    ];
    let d = home.create("t", &with(table(&["id"]), &all)).unwrap().descriptor;
    assert_eq!(d.properties, options(&all));
}

#[test]
fn names_and_places() {
    let home = home();
    let create =
        |database: &str, name: &str| home.store.create_table(&TablePath::new(database, name), &table(&[]), false);
    assert_error(&create("fluss", "a.b").unwrap_err(), Invalid, Subject::Table, &["table name 'a.b' is invalid"]);
    assert_error(&create("fluss", "__t").unwrap_err(), Invalid, Subject::Table, &["reserved"]);
    assert_error(&create("no/pe", "t").unwrap_err(), Invalid, Subject::Database, &["database name 'no/pe' is invalid"]);
    assert_error(&create("nope", "t").unwrap_err(), NotFound, Subject::Database, &["Database nope does not exist."]);
    create("fluss", "t").unwrap();
    assert_error(&create("fluss", "t").unwrap_err(), AlreadyExists, Subject::Table, &["Table fluss.t already exists."]);
    let other = of(vec![column("other", int())], &[]);
    home.store.create_table(&path("t"), &other, true).unwrap();
    assert_eq!(home.store.table(&path("t")).unwrap().descriptor.schema.columns.len(), 3);
    assert_error(
        &home.store.table(&path("u")).unwrap_err(),
        NotFound,
        Subject::Table,
        &["Table fluss.u does not exist."],
    );
    let nowhere = TablePath::new("nope", "t");
    assert_error(&home.store.table(&nowhere).unwrap_err(), NotFound, Subject::Database, &["nope"]);
    assert_error(&home.store.list_tables("nope").unwrap_err(), NotFound, Subject::Database, &["nope"]);
}

#[test]
fn drop_and_create_gives_a_new_id() {
    let home = home();
    let first = home.create("t", &table(&["id"])).unwrap();
    home.store.drop_table(&path("t"), false).unwrap();
    assert_error(&home.store.drop_table(&path("t"), false).unwrap_err(), NotFound, Subject::Table, &["fluss.t"]);
    home.store.drop_table(&path("t"), true).unwrap();
    home.store.drop_table(&TablePath::new("nope", "t"), true).unwrap();
    let home = home.reopen();
    let second = home.create("t", &table(&["id"])).unwrap();
    assert!(second.table_id > first.table_id);
    let data: Vec<_> =
        std::fs::read_dir(home.dir.path().join("data")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(data, [second.table_id.to_string().as_str()], "the dropped table's data is gone");
}

#[test]
fn columns_with_statistics_are_checked() {
    let home = home();
    let descriptor =
        || of(vec![column("id", int()), column("b", typed(TypeRoot::Bytes)), column("name", string())], &[]);
    for (value, part) in [
        ("id,missing", "names column 'missing'"),
        ("b", "names column 'b' of type BYTES"),
        ("id,,name", "names column ''"),
    ] {
        let e = home.create("t", &with(descriptor(), &[("table.statistics.columns", value)])).unwrap_err();
        assert_error(&e, Invalid, Subject::Option, &["'table.statistics.columns'", part]);
    }
    for (i, value) in ["*", "", "name", " name , id "].iter().enumerate() {
        home.create(&format!("t{i}"), &with(descriptor(), &[("table.statistics.columns", value)])).unwrap();
    }
    assert_eq!(home.alter("t0", &[crate::fixture::set("table.statistics.columns", "id")]).unwrap().schema_id, 1);
    home.alter("t0", &[crate::fixture::reset("table.statistics.columns")]).unwrap();
}
