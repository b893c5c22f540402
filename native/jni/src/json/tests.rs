use super::*;
use crate::fake::{self, FakeStore, Seen};
use sluice_api::{ScanSplit, ScanStart};
use sluice_base::{ErrorKind, PartitionId, TableBucket, TableId};
use sluice_row::TypeRoot;
use std::sync::Arc;

fn store() -> FakeStore {
    FakeStore { seen: Arc::new(Seen::default()), table: fake::table(vec![fake::column("a", TypeRoot::Int)]) }
}

#[test]
fn every_operation_reaches_its_method_with_its_arguments() {
    let bucket = r#"{"table_id":5,"partition_id":null,"bucket":2}"#;
    let path = r#""path":{"database":"d","table":"t"}"#;
    let table = r#"{"schema":{"columns":[{"name":"a","data_type":{"type":"INTEGER"}}]}}"#;
    for (operation, arguments, call, answer) in [
        (
            "create_database",
            r#"{"name":"d","descriptor":{"comment":"c"},"ignore_if_exists":true}"#,
            r#"create_database d Some("c") true"#,
            "null",
        ),
        (
            "alter_database",
            r#"{"name":"d","changes":{"k":"v","x":null}}"#,
            r#"alter_database d {"k": Some("v"), "x": None}"#,
            "null",
        ),
        (
            "drop_database",
            r#"{"name":"d","ignore_if_missing":false,"cascade":true}"#,
            "drop_database d false true",
            "null",
        ),
        ("list_databases", "{}", "", r#"["a","b"]"#),
        (
            "create_table",
            &format!(r#"{{{path},"descriptor":{table},"ignore_if_exists":false}}"#),
            "create_table d.t 1 false",
            "null",
        ),
        ("drop_table", &format!(r#"{{{path},"ignore_if_missing":true}}"#), "drop_table d.t true", "null"),
        ("list_tables", r#"{"database":"d"}"#, "", r#"["d.t"]"#),
        (
            "alter_table",
            &format!(r#"{{{path},"changes":[{{"reset":{{"key":"k"}}}}],"ignore_if_missing":true}}"#),
            r#"alter_table d.t [Reset { key: "k" }] true"#,
            "null",
        ),
        (
            "list_offsets",
            &format!(r#"{{"buckets":[{bucket}],"spec":{{"timestamp":9}}}}"#),
            "list_offsets table 5 bucket 2 Timestamp(9)",
            "[7]",
        ),
        (
            "list_offsets",
            &format!(r#"{{"buckets":[{bucket}],"spec":"latest"}}"#),
            "list_offsets table 5 bucket 2 Latest",
            "[7]",
        ),
        ("table_stats", &format!("{{{path}}}"), "", r#"{"row_count":null,"size_bytes":9}"#),
        (
            "acquire_snapshots",
            &format!(r#"{{"buckets":[{bucket}],"lease":"l","lease_ms":8}}"#),
            "acquire_snapshots table 5 bucket 2 l 8",
            "[[3,40]]",
        ),
        ("producer_offsets", &format!(r#"{{{path},"producer":"p"}}"#), "producer_offsets p", "[[null,2,40]]"),
        ("end_producer", &format!(r#"{{{path},"producer":"p","part":1,"parts":2}}"#), "end_producer p 1 2", "null"),
        ("release_snapshots", r#"{"buckets":[],"lease":"l"}"#, "release_snapshots 0 l", "null"),
    ] {
        let store = store();
        assert_eq!(admin(&store, operation, arguments).unwrap(), answer, "{operation}");
        let calls = store.seen.calls.lock().unwrap();
        assert_eq!(calls.first().map_or("", String::as_str), call, "{operation}");
    }
}

#[test]
fn operations_on_the_lake_reach_their_methods() {
    let path = r#""path":{"database":"d","table":"t"}"#;
    let told = r#"{"snapshot":3,"buckets":[[0,40]],"last_round_ms":null,"error":null}"#;
    assert_eq!(admin(&store(), "lake_options", "{}").unwrap(), r#"{"warehouse":"/w"}"#);
    let partitions = r#"[{"partition_id":-5,"values":["y"],"bucket_count":2,"created_ms":0}]"#;
    assert_eq!(admin(&store(), "lake_partitions", &format!("{{{path}}}")).unwrap(), partitions);
    for (operation, arguments, call) in [
        ("lake_snapshot", format!("{{{path}}}"), "lake_snapshot d.t"),
        ("tier", format!(r#"{{{path},"timeout_ms":9}}"#), "tier d.t 9ms"),
        ("tier_commit", format!(r#"{{{path},"parts":[9,10]}}"#), "tier_commit d.t [9, 10]"),
    ] {
        let store = store();
        assert_eq!(admin(&store, operation, &arguments).unwrap(), told, "{operation}");
        assert_eq!(store.seen.calls.lock().unwrap()[0], call);
    }
}

#[test]
fn work_of_tiering_comes_back_as_it_was_given() {
    let work = r#"{"table_id":7,"partition_id":null,"bucket":1,"start":null,"end":40}"#;
    let asked = admin(&store(), "tier_work", r#"{"path":{"database":"d","table":"t"}}"#).unwrap();
    assert_eq!(asked, format!("[{work}]"));
    let store = store();
    let arguments = format!(r#"{{"work":{work},"timeout_ms":9}}"#);
    assert_eq!(admin(&store, "tier_write", &arguments).unwrap(), r#"{"part":9,"end":40,"rows":30}"#);
    let bucket = TableBucket { table: TableId(7), partition: None, bucket: 1 };
    assert_eq!(store.seen.calls.lock().unwrap()[0], format!("tier_write {bucket} None 9ms"));
}

#[test]
fn operations_on_views_reach_their_methods() {
    let path = r#""path":{"database":"d","table":"t"}"#;
    let view =
        r#"{"columns":[{"name":"a","data_type":"INT"}],"original_query":"SELECT 1","expanded_query":"SELECT 1"}"#;
    for (operation, arguments, call, answer) in [
        (
            "create_view",
            &format!(r#"{{{path},"descriptor":{view},"ignore_if_exists":true}}"#),
            "create_view d.t SELECT 1 true",
            "null",
        ),
        (
            "alter_view",
            &format!(r#"{{{path},"descriptor":{view},"ignore_if_missing":false}}"#),
            "alter_view d.t SELECT 1 false",
            "null",
        ),
        (
            "rename_view",
            &format!(r#"{{{path},"new_name":"u","ignore_if_missing":true}}"#),
            "rename_view d.t u true",
            "null",
        ),
        ("drop_view", &format!(r#"{{{path},"ignore_if_missing":true}}"#), "drop_view d.t true", "null"),
        ("list_views", &r#"{"database":"d"}"#.to_owned(), "", r#"["d.v"]"#),
    ] {
        let store = store();
        assert_eq!(admin(&store, operation, arguments).unwrap(), answer, "{operation}");
        let calls = store.seen.calls.lock().unwrap();
        assert_eq!(calls.first().map_or("", String::as_str), call, "{operation}");
    }
}

#[test]
fn operations_on_partitions_reach_their_methods() {
    let path = r#""path":{"database":"d","table":"t"}"#;
    for (operation, arguments, call, answer) in [
        (
            "create_partition",
            &format!(r#"{{{path},"spec":{{"p":"x"}},"ignore_if_exists":true}}"#),
            r#"create_partition d.t {"p": "x"} true"#,
            "null",
        ),
        (
            "drop_partition",
            &format!(r#"{{{path},"spec":{{"p":"x"}},"ignore_if_missing":false}}"#),
            r#"drop_partition d.t {"p": "x"} false"#,
            "null",
        ),
        (
            "list_partitions",
            &format!("{{{path}}}"),
            "list_partitions d.t {}",
            r#"[{"partition_id":5,"values":["x"],"bucket_count":2,"created_ms":9}]"#,
        ),
    ] {
        let store = store();
        assert_eq!(admin(&store, operation, arguments).unwrap(), answer, "{operation}");
        assert_eq!(store.seen.calls.lock().unwrap()[0], call, "{operation}");
    }
}

#[test]
fn a_table_is_told_with_all_that_the_store_knows() {
    let answer = admin(&store(), "table", r#"{"path":{"database":"d","table":"t"}}"#).unwrap();
    let info: sluice_api::TableInfo = serde_json::from_str(&answer).unwrap();
    assert_eq!((info.table_id, info.bucket_count(), info.descriptor.schema.columns.len()), (1, 1, 1));
}

#[test]
fn wrong_requests_are_named() {
    for (operation, arguments, kind, part) in [
        ("create_universe", "{}", ErrorKind::Invalid, "create_universe"),
        ("database", r#"{"name":"x"}"#, ErrorKind::NotFound, "no database x"),
        ("database", r#"{"nam":"x"}"#, ErrorKind::Invalid, "nam"),
        ("database", "{", ErrorKind::Invalid, "arguments of database"),
        ("list_databases", r#"{"x":1}"#, ErrorKind::Invalid, "x"),
    ] {
        let error = admin(&store(), operation, arguments).unwrap_err();
        assert_eq!(error.kind(), kind, "{operation}");
        assert!(error.message().contains(part), "{error}");
    }
}

#[test]
fn splits_start_in_four_ways() {
    for (start, expected) in [
        (r#"{"log":{"offset":5}}"#, ScanStart::Log { offset: 5 }),
        (r#"{"snapshot":{"snapshot":2,"skip_rows":9}}"#, ScanStart::Snapshot { snapshot: 2, skip_rows: 9 }),
        (r#""current""#, ScanStart::Current),
        (r#"{"limit":{"rows":3}}"#, ScanStart::Limit { rows: 3 }),
    ] {
        let json =
            format!(r#"{{"id":1,"bucket":{{"table_id":1,"partition_id":4,"bucket":0}},"start":{start},"stop":null}}"#);
        let split: ScanSplit = parse::<SplitArguments>("subscribe", &json).unwrap().into();
        assert_eq!(split.start, expected);
        assert_eq!(split.bucket.partition, Some(PartitionId(4)));
    }
}
