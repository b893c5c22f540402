use crate::fixture::{WAIT, assert_error, batch, columns, descriptor, home, is_plain, options, path, row};
use arrow_array::{Int32Array, RecordBatch};
use sluice_api::{Connection, WriteOptions};
use sluice_base::{ErrorKind, Subject};
use sluice_row::ChangeKind;
use std::sync::Arc;

fn sales(rows: &[(i32, i32)]) -> RecordBatch {
    let ids: Int32Array = rows.iter().map(|r| Some(r.0)).collect();
    let amounts: Int32Array = rows.iter().map(|r| Some(r.1)).collect();
    columns(vec![("id", Arc::new(ids)), ("amount", Arc::new(amounts))])
}

#[test]
fn totals_follow_corrections() {
    let home = home();
    let mut totals = descriptor(true);
    totals.properties = options(&[
        ("table.merge-engine", "aggregation"),
        ("table.delete.behavior", "retract"),
        ("fields.amount.agg", "sum"),
    ]);
    let table = home.create("t", &totals);
    let targets =
        WriteOptions { target_columns: vec!["id".to_owned(), "amount".to_owned()], ..WriteOptions::default() };
    let mut writer = home.store.writer(&path("t"), &targets).unwrap();
    let rows = sales(&[(1, 100), (1, 100), (1, 40), (2, 5), (1, 15), (7, 3)]);
    let kinds = [
        ChangeKind::Insert,
        ChangeKind::UpdateBefore,
        ChangeKind::UpdateAfter,
        ChangeKind::Insert,
        ChangeKind::Delete,
        ChangeKind::Delete,
    ];
    let written = writer.write(&rows, &kinds);
    if is_plain() {
        assert_error(&written.unwrap_err(), ErrorKind::Unsupported, Subject::Store, &["taking rows back", "retract"]);
        return;
    }
    written.unwrap();
    writer.flush(WAIT).unwrap();
    let total = |id: i32, amount: i32| Some((id, None, Some(amount)));
    assert_eq!(table.get(&[Some(1), Some(2), Some(7)]), [total(1, 25), total(2, 5), None], "a row unknown is no row");
    // All columns are written here, and 'name' has a function that cannot go back.
    let mut whole = home.store.writer(&path("t"), &WriteOptions::default()).unwrap();
    whole.write(&batch(&[row(1, "a", 1)]), &[ChangeKind::Delete]).unwrap();
    let e = whole.flush(WAIT).unwrap_err();
    assert!(e.message().contains("'name'") && e.message().contains("only sum and product"), "{e}");
}
