//! Columns added between rounds: older files read NULL, and writers that do not know them yet leave them NULL.

use crate::fixture::{create, open, round, rows};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::{DataType as ArrowType, Field, Schema};
use sluice_base::ErrorKind;
use sluice_lake::{AppendWriter, KeyedWriter, LakeScan, LakeTable, Round, ScanOptions};
use sluice_row::{ChangeKind, Column, DataType, TypeRoot};
use std::sync::Arc;

fn column(name: &str, root: TypeRoot) -> Column {
    Column { name: name.to_owned(), data_type: DataType::new(root), comment: None, id: None, agg_function: None }
}

/// Key and added column of all rows.
fn found(table: &LakeTable) -> Vec<(String, Option<String>)> {
    let scan = LakeScan::new(table, &table.newest().unwrap().unwrap()).unwrap();
    let options = ScanOptions { projection: Some(vec![1, 2]), predicate: None, batch_rows_max: 7 };
    let mut all = Vec::new();
    for split in scan.splits() {
        let mut rows = scan.read(split, &options).unwrap();
        while let Some(batch) = rows.next_batch().unwrap() {
            let (text, extra) = (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
            let value = |i: usize| extra.is_valid(i).then(|| extra.value(i).to_owned());
            all.extend((0..batch.num_rows()).map(|i| (text.value(i).to_owned(), value(i))));
        }
    }
    all.sort();
    all
}

#[test]
fn rows_of_before_read_null_and_old_writers_go_on() {
    for keyed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let old = create(dir.path(), keyed);
        round(&old, "u", 0, None, 0..2).unwrap();
        let new = old.add_columns(&[column("Extra", TypeRoot::String)]).unwrap();
        assert_eq!(new.add_columns(&[column("Extra", TypeRoot::String)]).unwrap().schema(), new.schema());
        let names: Vec<&str> = new.schema().schema.columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["k", "v", "Extra", "__offset", "__timestamp"]);
        assert_eq!((new.schema().id, new.schema().schema.highest_field_id), (1, 4));
        // A writer of rows of before, and one that holds the table as it was.
        round(&open(dir.path()), "u", 0, Some(2), 2..3).unwrap();
        round(&old, "u", 0, Some(3), 3..4).unwrap();
        let narrow = rows(keyed, 4..5);
        let mut fields: Vec<Field> = narrow.schema().fields().iter().map(|f| f.as_ref().clone()).collect();
        fields.push(Field::new("Extra", ArrowType::Utf8, true));
        let mut columns = narrow.columns().to_vec();
        columns.push(Arc::new(StringArray::from(vec!["new"])));
        let wide = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
        let files = if keyed {
            let mut writer = KeyedWriter::new(&new, 0);
            writer.write(&wide, &[ChangeKind::Insert], 4, 5).unwrap();
            writer.finish().unwrap()
        } else {
            let mut writer = AppendWriter::new(&new, 0);
            writer.write(&wide, 4, 5).unwrap();
            writer.finish().unwrap()
        };
        let mut last = Round::new(&new, "u");
        last.add(crate::fixture::bucket(0), Some(4), 4..5, files);
        assert_eq!(last.commit().unwrap().schema_id, 1);
        let row = |n: i32| (n.to_string(), (n == 4).then(|| "new".to_owned()));
        assert_eq!(found(&new), (0..5).map(row).collect::<Vec<_>>());
        // What is wider than the lake is refused, not cut.
        let mut writer = AppendWriter::new(&old, 0);
        assert!(writer.write(&wide, 5, 5).unwrap_err().message().contains("3 columns"));
    }
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(dir.path(), false);
    let e = table.add_columns(&[column("v", TypeRoot::Int)]).unwrap_err();
    assert!(e.kind() == ErrorKind::Conflict && e.message().contains("'v'"), "{e}");
    assert!(table.add_columns(&[column("_KEY_x", TypeRoot::Int)]).unwrap_err().message().contains("_KEY_x"));
}
