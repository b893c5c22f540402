use crate::fixture::{Store, binary, table};
use crate::tables_are_shown::tables;
use serde_json::Value;

fn both(tables: &[(&str, sluice_row::TableDescriptor)], check: impl Fn(&Store)) {
    check(&Store::new(tables));
    check(&Store::new(tables).served());
}

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn a_log_comes_back_as_it_went_in() {
    both(&tables(), |store| {
        let lines = "{\"at\":\"2025-11-30 10:15:30.25\",\"what\":\"a \\\"b\\\"\",\"n\":9007199254740993}\n\n{\"what\":null,\"n\":-1}\n";
        assert_eq!(store.feed(&["append", "events"], lines).done(), "2 rows written\n");
        let csv = "n,what\r\n3,\"x, \"\"y\"\"\r\nz\"\r\n4,\r\n,\"\"\r\n";
        assert_eq!(store.feed(&["append", "events", "--format", "csv", "--json"], csv).done(), "{\"written\":3}\n");
        let out = store.run(&["scan", "events", "--json"]).done();
        let expected = [
            r#"{"at":"2025-11-30 10:15:30.25","what":"a \"b\"","n":9007199254740993}"#,
            r#"{"at":null,"what":null,"n":-1}"#,
            r#"{"at":null,"what":"x, \"y\"\nz","n":3}"#,
            r#"{"at":null,"what":null,"n":4}"#,
            r#"{"at":null,"what":"","n":null}"#,
        ];
        assert_eq!(out.lines().collect::<Vec<_>>(), expected);
        // What comes out goes in.
        assert_eq!(store.feed(&["append", "events"], &out).done(), "5 rows written\n");
        assert_eq!(store.run(&["scan", "events", "--json", "--from", "5"]).done(), out);
        let text = store.run(&["scan", "events", "--limit", "3", "--columns", "n,what"]).done();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "               n  what");
        assert_eq!(lines[2], "9007199254740993  a \"b\"");
        assert_eq!(lines[4], "               3  x, \"y\"\\nz");
        assert_eq!(lines[5], "3 rows");
        let offsets = rows(&store.run(&["scan", "events", "--json", "--offsets", "--from=9", "--columns=n"]).done());
        assert_eq!(
            (&offsets[0]["$offset"], &offsets[0]["$bucket"], &offsets[0]["n"]),
            (&9.into(), &0.into(), &Value::Null)
        );
        assert!(offsets[0]["$written"].as_str().unwrap().starts_with("20"));
        assert_eq!(store.run(&["scan", "events", "--from", "10"]).done().lines().last(), Some("0 rows"));
    });
}

#[test]
fn every_type_goes_through_a_table() {
    let columns = [
        ("k", "INTEGER"),
        ("bool", "BOOLEAN"),
        ("tiny", "TINYINT"),
        ("small", "SMALLINT"),
        ("big", "BIGINT"),
        ("float", "FLOAT"),
        ("double", "DOUBLE"),
        ("char", r#"{"type":"CHAR","length":3}"#),
        ("dec", r#"{"type":"DECIMAL","precision":38,"scale":10}"#),
        ("date", "DATE"),
        ("time", r#"{"type":"TIME_WITHOUT_TIME_ZONE","precision":3}"#),
        ("ts", r#"{"type":"TIMESTAMP_WITHOUT_TIME_ZONE","precision":9}"#),
        ("ltz", r#"{"type":"TIMESTAMP_WITH_LOCAL_TIME_ZONE","precision":3}"#),
        ("bin", r#"{"type":"BINARY","length":2}"#),
        ("bytes", "BYTES"),
        ("list", r#"{"type":"ARRAY","element_type":{"type":"INTEGER"}}"#),
        ("map", r#"{"type":"MAP","key_type":{"type":"STRING","nullable":false},"value_type":{"type":"INTEGER"}}"#),
        (
            "row",
            r#"{"type":"ROW","fields":[{"name":"x","field_type":{"type":"INTEGER"},"field_id":-1},{"name":"y","field_type":{"type":"STRING"},"field_id":-1}]}"#,
        ),
    ];
    let tables = [("log", table(&columns, &[], &[], &[])), ("keyed", table(&columns, &["k"], &[], &[]))];
    let full = r#"{"k":1,"bool":true,"tiny":-128,"small":32767,"big":-9223372036854775808,"float":0.1,"double":-1e-300,"char":"abc","dec":"12345678901234567890.0123456789","date":"2024-02-29","time":"23:59:59.999","ts":"1969-12-31 23:59:59.123456789","ltz":"2025-11-30 10:15:30.25Z","bin":"00ff","bytes":"0a","list":[1,null,3],"map":{"a":1,"b":null},"row":{"x":1,"y":"z"}}"#;
    let empty = r#"{"k":2,"bool":null,"tiny":null,"small":null,"big":null,"float":null,"double":null,"char":null,"dec":null,"date":null,"time":null,"ts":null,"ltz":null,"bin":null,"bytes":null,"list":null,"map":null,"row":null}"#;
    let lines = format!("{full}\n{empty}\n");
    both(&tables, |store| {
        for table in ["log", "keyed"] {
            store.feed(&["append", table], &lines).done();
            assert_eq!(store.run(&["scan", table, "--json"]).done(), lines, "{table}");
        }
        assert_eq!(store.run(&["lookup", "keyed", "1", "--json"]).done(), format!("{full}\n"));
    });
}

#[test]
fn keys_are_replaced_changed_and_found() {
    both(&tables(), |store| {
        store
            .feed(&["append", "orders"], "{\"id\":1,\"price\":1.5}\n{\"id\":2,\"price\":\"2\",\"note\":\"n\"}\n")
            .done();
        store.feed(&["append", "orders"], "{\"id\":1,\"price\":7}\n").done();
        let now = store.run(&["scan", "orders", "--json"]).done();
        assert_eq!(now, "{\"id\":1,\"price\":\"7.00\",\"note\":null}\n{\"id\":2,\"price\":\"2.00\",\"note\":\"n\"}\n");
        let changes = rows(&store.run(&["scan", "orders", "--json", "--from", "earliest"]).done());
        let told: Vec<_> =
            changes.iter().map(|c| (c["$change"].as_str().unwrap(), c["price"].as_str().unwrap())).collect();
        assert_eq!(told, [("+I", "1.50"), ("+I", "2.00"), ("-U", "1.50"), ("+U", "7.00")]);
        assert_eq!(
            store.run(&["scan", "orders", "--limit", "1", "--json", "--columns", "id"]).done().lines().count(),
            1
        );
        let text = store.run(&["lookup", "orders", "2", "--columns", "note,id"]).done();
        assert_eq!(text.lines().last(), Some("n      2"));
        let missing = store.run(&["lookup", "orders", "-5"]).refused();
        assert!(missing.contains("fluss.orders has no row with id = -5"), "{missing}");

        store
            .feed(
                &["append", "pairs"],
                "{\"a\":1,\"b\":1,\"v\":\"x\"}\n{\"a\":1,\"b\":2,\"v\":\"y\"}\n{\"a\":2,\"b\":1,\"v\":\"z\"}\n",
            )
            .done();
        assert_eq!(
            store.run(&["lookup", "pairs", "1", "--json", "--columns", "v"]).done(),
            "{\"v\":\"x\"}\n{\"v\":\"y\"}\n"
        );
        assert_eq!(store.run(&["lookup", "pairs", "2", "1", "--json"]).done(), "{\"a\":2,\"b\":1,\"v\":\"z\"}\n");
    });
}

#[test]
fn partitions_are_made_and_chosen() {
    both(&tables(), |store| {
        let lines = "{\"day\":\"mon\",\"id\":1,\"v\":\"a\"}\n{\"day\":\"tue\",\"id\":1,\"v\":\"b\"}\n";
        store.feed(&["append", "days"], lines).done();
        assert_eq!(
            store.run(&["scan", "days", "--partition", "tue", "--json"]).done(),
            "{\"day\":\"tue\",\"id\":1,\"v\":\"b\"}\n"
        );
        assert_eq!(store.run(&["scan", "days", "--json"]).done().lines().count(), 2);
        assert_eq!(store.run(&["lookup", "days", "mon", "1", "--json", "--columns=v"]).done(), "{\"v\":\"a\"}\n");
        let text = store.run(&["describe", "days"]).done();
        assert!(text.contains("partitioned by day") && text.contains("\ntue "), "{text}");
        assert!(store.run(&["scan", "days", "--partition", "wed"]).refused().contains("no partition 'wed'"));
        assert!(store.run(&["scan", "days", "--bucket", "1"]).refused().contains("no bucket 1; the last one is 0"));
    });
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let store = Store::new(&tables());
    let lines: String = (0..50_000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    assert_eq!(store.feed(&["append", "events"], &lines).done(), "50000 rows written\n");
    let dir = store.dir();
    let mut child = binary(&store.words(&["scan", "events", "--json"], &dir)).spawn().unwrap();
    drop(child.stdout.take());
    drop(child.stdin.take());
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    let all = store.run(&["scan", "events", "--json", "--columns", "n"]).done();
    let numbers: Vec<i64> = rows(&all).iter().map(|r| r["n"].as_i64().unwrap()).collect();
    assert!(numbers.iter().copied().eq(0..50_000));
}
