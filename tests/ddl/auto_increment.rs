//! The column that the store numbers: what CREATE TABLE takes and refuses (case I14 of what users know from Fluss).

use crate::fixture::{self, assert_error, column, home, int, of, options, string, table, typed};
use sluice_api::{Connection, TableChange};
use sluice_base::ErrorKind::{Invalid, Unsupported};
use sluice_base::Subject;
use sluice_row::{TableDescriptor, TypeRoot};

const FIELDS: &str = "auto-increment.fields";

/// A table, its options, and what the refusal says.
type Case<'a> = (TableDescriptor, &'a [(&'a str, &'a str)], &'a str);

fn with(mut table: TableDescriptor, pairs: &[(&str, &str)]) -> TableDescriptor {
    table.custom_properties = options(pairs);
    table
}

#[test]
fn the_option_becomes_part_of_the_schema() {
    let mut home = home();
    home.create("t", &with(table(&["id"]), &[(FIELDS, " amount "), ("x", "y")])).unwrap();
    let mut said = table(&["id"]);
    said.schema.auto_increment = vec!["amount".to_owned()];
    home.create("said", &said).unwrap();
    for _ in 0..2 {
        for name in ["t", "said"] {
            let descriptor = home.store.table(&fixture::path(name)).unwrap().descriptor;
            assert_eq!(descriptor.schema.auto_increment, ["amount"]);
            assert!(!descriptor.custom_properties.contains_key(FIELDS));
        }
        home = home.reopen();
    }
    let set = |value: Option<&str>| match value {
        Some(value) => TableChange::Set { key: FIELDS.to_owned(), value: value.to_owned() },
        None => TableChange::Reset { key: FIELDS.to_owned() },
    };
    for change in [set(Some("name")), set(None)] {
        let e = home.alter("t", &[change]).unwrap_err();
        assert_error(&e, Unsupported, Subject::Option, &[FIELDS, "not supported to alter yet"]);
    }
    home.create("none", &with(table(&["id"]), &[(FIELDS, "")])).unwrap();
    assert!(home.store.table(&fixture::path("none")).unwrap().descriptor.schema.auto_increment.is_empty());
}

#[test]
fn what_cannot_be_numbered_is_refused_by_name() {
    let home = home();
    let long = of(vec![column("id", int()), column("n", typed(TypeRoot::SmallInt)), column("s", string())], &["id"]);
    let cases: &[Case] = &[
        (table(&["id"]), &[(FIELDS, "amount,name")], "one auto-increment column only"),
        (table(&["id"]), &[(FIELDS, "nothing")], "no such column"),
        (table(&[]), &[(FIELDS, "amount")], "log table"),
        (table(&["id", "amount"]), &[(FIELDS, "amount")], "primary key"),
        (long.clone(), &[(FIELDS, "n")], "INT or BIGINT, but it is SMALLINT"),
        (long, &[(FIELDS, "s")], "INT or BIGINT, but it is STRING"),
        (table(&["id"]), &[(FIELDS, "amount"), ("table.merge-engine", "first_row")], "whole rows only"),
        (
            table(&["id"]),
            &[
                (FIELDS, "amount"),
                ("table.merge-engine", "versioned"),
                ("table.merge-engine.versioned.ver-column", "amount"),
            ],
            "whole rows only",
        ),
        (
            table(&["id"]),
            &[(FIELDS, "amount"), ("table.merge-engine", "aggregation"), ("fields.amount.agg", "sum")],
            "aggregation function",
        ),
    ];
    for (descriptor, pairs, part) in cases {
        let e = home.create("t", &with(descriptor.clone(), pairs)).unwrap_err();
        assert_error(&e, Invalid, Subject::Option, &[FIELDS, pairs[0].1, part]);
    }
    let mut other = table(&["id"]);
    other.schema.auto_increment = vec!["name".to_owned()];
    let e = home.create("t", &with(other, &[(FIELDS, "amount")])).unwrap_err();
    assert_error(&e, Invalid, Subject::Option, &["'amount'", "'name'"]);
    assert!(home.store.list_tables("fluss").unwrap().is_empty());
}
