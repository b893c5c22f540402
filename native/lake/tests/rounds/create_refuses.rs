//! Tables that are there already, and options that a lake table cannot have.

use crate::fixture::{clock, create, create_on, descriptor, path, round};
use sluice_base::{ErrorKind, OsFs};
use sluice_lake::{LakeTable, LocalStorage, SystemColumns, define};
use sluice_row::{Column, DataType, TypeRoot};
use std::sync::Arc;

#[test]
fn an_equal_empty_table_is_taken_over_and_any_other_refused() {
    let dir = tempfile::tempdir().unwrap();
    let first = create(dir.path(), false);
    let again = create(dir.path(), false);
    assert_eq!(first.schema(), again.schema());
    let e = create_on(Arc::new(OsFs), dir.path(), true).unwrap_err();
    assert!(e.kind() == ErrorKind::AlreadyExists && e.message().contains("columns"), "{e}");
    let clean = define(&descriptor(false), SystemColumns::LeftOut, 0).unwrap();
    let storage = Arc::new(LocalStorage::new(Arc::new(OsFs), dir.path()));
    let e = LakeTable::create(storage, clock(), &path(), clean).unwrap_err();
    assert!(e.message().contains("__offset"), "{e}");
    round(&first, "u", 0, None, 0..1).unwrap();
    let e = create_on(Arc::new(OsFs), dir.path(), false).unwrap_err();
    assert!(e.kind() == ErrorKind::AlreadyExists && e.message().contains("not empty"), "{e}");
}

#[test]
fn options_and_columns_that_would_read_wrong_are_refused_by_name() {
    for (key, value) in [
        ("paimon.bucket", "3"),
        ("paimon.bucket-key", "k"),
        ("paimon.partition.legacy-name", "true"),
        ("paimon.file.format", "orc"),
        ("paimon.deletion-vectors.enabled", "true"),
        ("paimon.merge-engine", "aggregation"),
        ("paimon.sequence.field", "v"),
    ] {
        let mut table = descriptor(true);
        table.custom_properties.insert(key.to_owned(), value.to_owned());
        let e = define(&table, SystemColumns::Added, 0).unwrap_err();
        assert!(e.message().contains(key), "{e}");
    }
    let column = |name: &str, root| Column {
        name: name.to_owned(),
        data_type: DataType::new(root),
        comment: None,
        id: None,
        agg_function: None,
    };
    let nested = TypeRoot::Array(Box::new(DataType::new(TypeRoot::Timestamp { precision: 9 })));
    for bad in [column("_KEY_k", TypeRoot::Int), column("rowkind", TypeRoot::Int), column("deep", nested)] {
        let mut table = descriptor(true);
        let name = bad.name.clone();
        table.schema.columns.push(bad);
        let e = define(&table, SystemColumns::Added, 0).unwrap_err();
        assert!(e.message().contains(&name), "{e}");
    }
    for root in [TypeRoot::Float, TypeRoot::TimestampLtz { precision: 3 }, TypeRoot::Time { precision: 0 }] {
        let mut table = descriptor(false);
        table.schema.columns.push(column("p", root));
        table.partition_key = vec!["p".to_owned()];
        let e = define(&table, SystemColumns::Added, 0).unwrap_err();
        assert!(e.kind() == ErrorKind::Unsupported && e.message().contains("'p'"), "{e}");
    }
}
