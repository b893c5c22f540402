use crate::fixture::{Store, run};
use crate::tables_are_shown::tables;
use std::net::TcpListener;

#[test]
fn names_that_are_not_there() {
    let mut store = Store::new(&tables());
    for served in [false, true] {
        if served {
            store = store.served();
        }
        for (words, part) in [
            (&["scan", "ordres"][..], "there is no table 'fluss.ordres'; near it is fluss.orders"),
            (&["describe", "shop.orders"], "there is no table 'shop.orders'; of that name there is fluss.orders"),
            (&["scan", "zzz"], "there is no table 'fluss.zzz'; sluice tables lists"),
            (&["append", "evnts"], "fluss.events"),
            (&["tables", "flus"], "there is no database 'flus'; near it is fluss"),
            (
                &["scan", "orders", "--columns", "id,prize"],
                "table fluss.orders has no column 'prize'; near it is price",
            ),
            (&["scan", "orders", "--columns", "id,id"], "twice"),
            (&["scan", "orders", "--from", "sometimes"], "--from is 'sometimes'"),
            (&["scan", "orders", "--from", "-1"], "--from is '-1'"),
            (&["scan", "events", "--from", "latest"], "add --follow"),
            (&["scan", "orders", "--offsets"], "--offsets goes with --from"),
            (&["lookup", "events", "1"], "has no primary key"),
            (&["lookup", "orders", "1", "2"], "looked up by values for id; 2 were given"),
            (&["lookup", "pairs", "1", "2", "3"], "values for a, b, or for a; 3 were given"),
            (&["lookup", "orders", "one"], "column 'id': \"one\" is not INT; write it like 42"),
            (&["append", "orders", "--format", "xml"], "--format is 'xml', not json or csv"),
        ] {
            let said = store.run(words).refused();
            assert!(said.contains(part), "{words:?}: {said} lacks {part}");
        }
    }
}

#[test]
fn lines_and_columns_of_bad_rows() {
    let store = Store::new(&tables()).served();
    for (format, input, part) in [
        (
            "json",
            "{\"id\":1}\n{\"id\":\"x\"}\n",
            "line 2, column 'id': \"x\" is not INT; write it like 42; nothing is written",
        ),
        ("json", "{\"id\":1}\n{\"price\":1}\n", "line 2, column 'id': INT NOT NULL needs a value"),
        ("json", "{\"id\":1,\"price\":1.005}\n", "line 1, column 'price': 1.005 is not DECIMAL(10, 2)"),
        ("json", "{\"id\":1,\"prize\":1}\n", "line 1: table fluss.orders has no column 'prize'; near it is price"),
        ("json", "{\"id\":1}\n{\"id\":2\n", "line 2: this is no JSON: EOF while parsing an object at byte 7"),
        ("json", "[1]\n", "line 1: a row is a JSON object"),
        ("csv", "id,price\n1,2\n2,abc\n", "line 3, column 'price': \"abc\" is not DECIMAL(10, 2)"),
        ("csv", "id,price\n1,2\n2\n", "line 3: 1 fields, but the first line names 2 columns"),
        ("csv", "id,nope\n", "line 1: table fluss.orders has no column 'nope'"),
        ("csv", "id,note\n1,a\"b\n", "line 2: field 2: a quote inside"),
        ("csv", "id,note\n1,\"ab\n", "line 2: a quote that opens a field is never closed"),
        ("csv", "", "CSV begins with a line of column names"),
    ] {
        let said = store.feed(&["append", "orders", "--format", format], input).refused();
        assert!(said.contains(part), "{input}: {said} lacks {part}");
    }
    assert_eq!(store.run(&["scan", "orders"]).done().lines().last(), Some("0 rows"));
    let mut input: String = (0..5000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    input += "{\"n\":\"x\"}\n";
    let said = store.feed(&["append", "events"], &input).refused();
    assert!(said.contains("line 5001, column 'n'") && said.contains("4096 rows up to line 4096 are written"), "{said}");
    assert!(store.run(&["scan", "events"]).done().ends_with("\n4096 rows\n"));
}

#[test]
fn places_that_cannot_be_reached() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let said = run(&["tables", "--bootstrap", &free], "").refused();
    assert!(said.contains(&format!("no server answers at {free}")) && said.contains("--store DIR"), "{said}");
    let root = tempfile::tempdir().unwrap();
    let empty = root.path().to_str().unwrap();
    let said = run(&["tables", "--store", empty], "").refused();
    assert!(said.contains(&format!("there is no store in '{empty}'")), "{said}");
    assert!(std::fs::read_dir(root.path()).unwrap().next().is_none(), "it made one");
    let said = run(&["tables", "--store", empty, "--bootstrap", &free], "").refused();
    assert!(said.contains("--store and --bootstrap do not go together"), "{said}");
    let store = Store::new(&tables()).served();
    let dir = store.dir();
    let said = run(&["tables", "--store", dir.to_str().unwrap()], "").refused();
    assert!(said.contains("process"), "{said}");
    let said = store.run(&["tables", "--user", "alice"]).refused();
    assert!(said.contains("SLUICE_PASSWORD"), "{said}");
}
