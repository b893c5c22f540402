//! Merge engines, delete behaviors, changelog images and aggregation functions: what a table may have and what is refused by name.

use crate::fixture::{assert_error, column, home, int, of, options, string, table, typed, with};
use sluice_api::TableChange;
use sluice_base::{
    ErrorKind::{Invalid, Unsupported},
    Subject,
};
use sluice_row::{AggFunction, Column, TableDescriptor, TypeRoot};

const ENGINE: &str = "table.merge-engine";
const VERSION: &str = "table.merge-engine.versioned.ver-column";
const DELETES: &str = "table.delete.behavior";
const IMAGE: &str = "table.changelog.image";

/// Options of a table.
type Options = &'static [(&'static str, &'static str)];

fn aggregation(columns: Vec<Column>, pairs: &[(&str, &str)]) -> TableDescriptor {
    with(of(columns, &["id"]), &[&[(ENGINE, "aggregation")][..], pairs].concat())
}

fn three(pairs: &[(&str, &str)]) -> TableDescriptor {
    aggregation(vec![column("id", int()), column("name", string()), column("amount", int())], pairs)
}

#[test]
fn engines_that_cannot_delete_ignore_deletes_unless_told_otherwise() {
    let home = home();
    let versioned = [(ENGINE, "Versioned"), (VERSION, "amount")];
    for (i, pairs) in [&[(ENGINE, "first_row")][..], &versioned, &[(ENGINE, "AGGREGATION")]].iter().enumerate() {
        let d = home.create(&format!("t{i}"), &with(table(&["id"]), pairs)).unwrap().descriptor;
        assert_eq!(d.properties[DELETES], "ignore");
    }
    let d = home.create("plain", &table(&["id"])).unwrap().descriptor;
    assert!(!d.properties.contains_key(DELETES));
    let d =
        home.create("told", &with(table(&["id"]), &[(ENGINE, "first_row"), (DELETES, "disable")])).unwrap().descriptor;
    assert_eq!(d.properties[DELETES], "disable");
}

#[test]
fn what_goes_together_is_accepted() {
    let home = home();
    for (i, pairs) in [
        &[(DELETES, "ignore")][..],
        &[(DELETES, "disable"), (IMAGE, "wal")],
        &[(ENGINE, "first_row"), (IMAGE, "WAL")],
        &[(ENGINE, "versioned"), (VERSION, "amount"), (IMAGE, "WAL"), (DELETES, "DISABLE")],
        &[(ENGINE, "aggregation"), (DELETES, "allow")],
        &[(ENGINE, "aggregation"), (DELETES, "retract"), ("fields.amount.agg", "sum")],
    ]
    .iter()
    .enumerate()
    {
        home.create(&format!("t{i}"), &with(table(&["id"]), pairs)).unwrap();
    }
    for (i, root) in [TypeRoot::BigInt, TypeRoot::Timestamp { precision: 9 }, TypeRoot::TimestampLtz { precision: 0 }]
        .into_iter()
        .enumerate()
    {
        let d = of(vec![column("id", int()), column("v", typed(root))], &["id"]);
        home.create(&format!("v{i}"), &with(d, &[(ENGINE, "versioned"), (VERSION, "v")])).unwrap();
    }
}

#[test]
fn what_does_not_go_together_is_named() {
    let home = home();
    let cases: &[(Options, &[&str])] = &[
        (&[(ENGINE, "versioned")], &["'versioned' needs option 'table.merge-engine.versioned.ver-column'"]),
        (&[(ENGINE, "versioned"), (VERSION, "nope")], &["'nope'", "does not have"]),
        (&[(ENGINE, "versioned"), (VERSION, "name")], &["'name'", "INT, BIGINT, TIMESTAMP, TIMESTAMP_LTZ", "STRING"]),
        (&[(VERSION, "amount")], &[VERSION, "only supported with", "'versioned'"]),
        (&[(ENGINE, "first_row"), (VERSION, "amount")], &[VERSION, "'amount'"]),
        (&[(ENGINE, "first_row"), (DELETES, "allow")], &[DELETES, "'allow'", "'first_row'", "ignore or disable"]),
        (&[(ENGINE, "versioned"), (VERSION, "amount"), (DELETES, "ALLOW")], &[DELETES, "'versioned'"]),
        (&[(DELETES, "retract")], &[DELETES, "only supported with", "'aggregation'"]),
        (&[(ENGINE, "aggregation"), (IMAGE, "WAL")], &[IMAGE, "'WAL'", "'aggregation'"]),
    ];
    for (pairs, parts) in cases {
        let e = home.create("t", &with(table(&["id"]), pairs)).unwrap_err();
        assert_error(&e, Invalid, Subject::Option, parts);
    }
    let e = home.create("t", &with(table(&[]), &[(VERSION, "amount")])).unwrap_err();
    assert_error(&e, Invalid, Subject::Option, &[VERSION, "only supported in primary key tables"]);
}

#[test]
fn functions_named_by_options_become_those_of_the_columns() {
    let home = home();
    let columns = vec![
        column("id", int()),
        column("amount", int()),
        column("a.b", string()),
        column("plain", typed(TypeRoot::Array(Box::new(int())))),
    ];
    let given =
        [("fields.amount.agg", " SUM "), ("fields.a.b.agg", "string_agg"), ("fields.a.b.string_agg.delimiter", " ")];
    let d = home.create("t", &aggregation(columns, &given)).unwrap().descriptor;
    let functions: Vec<_> = d.schema.columns.iter().map(|c| c.agg_function.clone()).collect();
    assert_eq!(
        functions,
        [
            None,
            Some(AggFunction { kind: "SUM".to_owned(), parameters: options(&[]) }),
            Some(AggFunction { kind: "string_agg".to_owned(), parameters: options(&[("delimiter", " ")]) }),
            None,
        ]
    );
    assert_eq!(d.custom_properties, options(&given), "what was said is kept");
    let home = home.reopen();
    home.alter("t", &[TableChange::AddColumn { column: column("more", int()) }]).unwrap();
}

#[test]
fn functions_that_do_not_fit_are_named() {
    let home = home();
    let cases: &[(Options, &str)] = &[
        (&[("fields.amount.agg", "avg")], "Unknown aggregation function for column 'amount': 'avg'"),
        (&[("fields.amount.agg", "")], "Unknown aggregation function for column 'amount': ''"),
        (&[("fields.name.agg", "sum")], "Data type for sum column must be part of TINYINT"),
        (&[("fields.id.agg", "sum")], "column 'id' is part of the primary key"),
        (&[("fields.nope.agg", "sum")], "option 'fields.nope.agg' fits no column"),
        (&[("fields.name.agg", "listagg"), ("fields.name.listagg.delimiter", "")], "must be a non-empty string"),
        (
            &[("fields.name.agg", "listagg"), ("fields.name.listagg.sep", ";")],
            "'sep' of column 'name' is not supported for aggregation function",
        ),
        (
            &[("fields.name.agg", "listagg"), ("fields.name.string_agg.delimiter", ";")],
            "option 'fields.name.string_agg.delimiter' fits no column",
        ),
    ];
    for (pairs, part) in cases {
        assert_error(&home.create("t", &three(pairs)).unwrap_err(), Invalid, Subject::Option, &[part]);
    }
    let e = home.create("t", &with(table(&["id"]), &[("fields.amount.agg", "sum")])).unwrap_err();
    assert_error(&e, Invalid, Subject::Option, &["'fields.amount.agg'", "only supported for aggregation merge engine"]);
}

#[test]
fn functions_and_engines_cannot_be_altered() {
    let home = home();
    home.create("t", &three(&[("fields.amount.agg", "sum")])).unwrap();
    for key in ["fields.amount.agg", "fields.name.agg", ENGINE, DELETES, IMAGE, VERSION] {
        for change in [
            TableChange::Set { key: key.to_owned(), value: "max".to_owned() },
            TableChange::Reset { key: key.to_owned() },
        ] {
            let e = home.alter("t", &[change]).unwrap_err();
            assert_error(&e, Unsupported, Subject::Option, &[key, "not supported to alter yet"]);
        }
    }
    let mut added = column("peak", int());
    added.agg_function = Some(AggFunction { kind: "max".to_owned(), parameters: options(&[]) });
    let info = home.alter("t", &[TableChange::AddColumn { column: added.clone() }]).unwrap();
    assert_eq!(info.descriptor.schema.columns[3].agg_function, added.agg_function);
    added.name = "worse".to_owned();
    added.data_type = string();
    added.agg_function = Some(AggFunction { kind: "sum".to_owned(), parameters: options(&[]) });
    let e = home.alter("t", &[TableChange::AddColumn { column: added }]).unwrap_err();
    assert_error(&e, Invalid, Subject::Option, &["Data type for sum column", "'worse'"]);
}

#[test]
fn sequence_groups_that_make_no_sense_are_named() {
    let home = home();
    let columns = || {
        let mut must = column("must", int());
        must.data_type.nullable = false;
        vec![column("id", int()), column("v", int()), column("a", string()), column("b", string()), must]
    };
    let keyed = |pairs: &[(&str, &str)]| with(of(columns(), &["id"]), pairs);
    let cases: &[(Options, &[&str])] = &[
        (&[("fields.nope.sequence-group", "a")], &["'fields.nope.sequence-group' = 'a'", "does not have"]),
        (&[("fields.a.sequence-group", "b")], &["'fields.a.sequence-group' = 'b'", "a version must be", "STRING"]),
        (&[("fields.v.sequence-group", "a,")], &["names ''", "does not have"]),
        (&[("fields.v.sequence-group", "a, a")], &["'a' more than once"]),
        (&[("fields.v.sequence-group", "v")], &["'v' more than once"]),
        (&[("fields.v.sequence-group", "id")], &["'id' is part of the primary key"]),
        (&[("fields.id.sequence-group", "a")], &["'id' is part of the primary key"]),
        (&[("fields.v.sequence-group", "must")], &["'must' is NOT NULL", DELETES, "ignore or disable"]),
        (&[("fields.v.sequence-group", "a"), ("fields.must.sequence-group", "b, a")], &["'a' is in more than one"]),
        (&[("fields.v.sequence-group", "a"), (ENGINE, "first_row")], &["does not go with 'table.merge-engine'"]),
        (&[("fields.v.sequence-group", "a"), (ENGINE, "aggregation")], &["fields.v.sequence-group"]),
    ];
    for (pairs, parts) in cases {
        let e = home.create("t", &keyed(pairs)).unwrap_err();
        assert_error(&e, Invalid, Subject::Option, parts);
    }
    let e = home.create("t", &with(of(columns(), &[]), &[("fields.v.sequence-group", "a")])).unwrap_err();
    assert_error(&e, Invalid, Subject::Option, &["only supported for tables with a primary key"]);
    let fine = [("fields.must.sequence-group", "a"), ("fields.v.sequence-group", " b ")];
    home.create("t", &keyed(&fine)).unwrap();
    home.create("u", &keyed(&[("fields.v.sequence-group", "must"), (DELETES, "ignore")])).unwrap();
    for change in [
        TableChange::Set { key: "fields.v.sequence-group".to_owned(), value: "b, a".to_owned() },
        TableChange::Reset { key: "fields.v.sequence-group".to_owned() },
    ] {
        let e = home.alter("t", &[change]).unwrap_err();
        assert_error(&e, Unsupported, Subject::Option, &["'fields.v.sequence-group'", "not supported to alter"]);
    }
}
