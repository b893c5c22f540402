use crate::fixture::{Store, run, table};
use serde_json::Value;
use sluice_row::TableDescriptor;

pub fn tables() -> [(&'static str, TableDescriptor); 4] {
    [
        ("events", table(&[("at", "TIMESTAMP_WITHOUT_TIME_ZONE"), ("what", "STRING"), ("n", "BIGINT")], &[], &[], &[])),
        (
            "orders",
            table(
                &[("id", "INTEGER"), ("price", r#"{"type":"DECIMAL","precision":10,"scale":2}"#), ("note", "STRING")],
                &["id"],
                &[],
                &[],
            ),
        ),
        ("pairs", table(&[("a", "INTEGER"), ("b", "INTEGER"), ("v", "STRING")], &["a", "b"], &[], &["a"])),
        ("days", table(&[("day", "STRING"), ("id", "INTEGER"), ("v", "STRING")], &["day", "id"], &["day"], &[])),
    ]
}

#[test]
fn help_is_there_for_all() {
    let all = run(&["--help"], "").done();
    for command in ["server", "tables", "describe", "scan", "lookup", "append"] {
        assert!(all.contains(&format!("  sluice {command}")), "{all}");
        let one = run(&[command, "--help"], "").done();
        let options: &[&str] = match command {
            "server" => &["--config", "-D"],
            "scan" => &[
                "--limit",
                "--from",
                "--follow",
                "--partition",
                "--bucket",
                "--offsets",
                "--columns",
                "--json",
                "--bootstrap",
                "--store",
                "--user",
            ],
            "append" => &["--format", "--json", "--bootstrap", "--store", "--user", "-D"],
            _ => &["--json", "--bootstrap", "--store", "--user", "-D"],
        };
        for option in options {
            assert!(one.contains(&format!("\n  {option}")), "{command} lacks {option}: {one}");
        }
        assert!(one.starts_with(&format!("sluice {command}")), "{one}");
    }
    assert_eq!(run(&[], "").done(), all);
}

#[test]
fn tables_and_their_columns() {
    let mut store = Store::new(&tables());
    for served in [false, true] {
        if served {
            store = store.served();
        }
        let text = store.run(&["tables"]).done();
        let first: Vec<_> = text.lines().map(|l| l.split_whitespace().next().unwrap()).collect();
        assert_eq!(first[0], "table");
        assert_eq!(first[2..], ["fluss.days", "fluss.events", "fluss.orders", "fluss.pairs"]);
        assert!(text.contains("fluss.orders  primary key"), "{text}");
        let json = store.run(&["tables", "fluss", "--json"]).done();
        let found: Vec<Value> = json.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(
            (&found[1]["table"], &found[1]["kind"], &found[1]["columns"]),
            (&"events".into(), &"log".into(), &3.into())
        );
        assert_eq!(found[0]["partition_key"][0], "day");

        let text = store.run(&["describe", "orders"]).done();
        for part in ["fluss.orders (primary key, id ", "id      INT NOT NULL", "price   DECIMAL(10, 2)", "first offset"]
        {
            assert!(text.contains(part), "{text} lacks {part}");
        }
        let json: Value = serde_json::from_str(&store.run(&["describe", "fluss.orders", "--json"]).done()).unwrap();
        assert_eq!(json["primary_key"][0], "id");
        assert_eq!((&json["buckets"][0]["earliest"], &json["buckets"][0]["latest"]), (&0.into(), &0.into()));
    }
}
