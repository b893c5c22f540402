//! Columns that a table's files have beside the user's: log offset and commit time at the end of every row, and in front of the rows
//! of a primary-key table their key, sequence number and kind of change.

use crate::table_schema::TableSchema;
use sluice_row::{Column, DataType, TypeRoot};

/// The log offset of a row.
pub const OFFSET: &str = "__offset";
/// When a row was committed to the log.
pub const TIMESTAMP: &str = "__timestamp";

const KEY_PREFIX: &str = "_KEY_";
const KEY_ID_BASE: i32 = i32::MAX / 2;
pub(crate) const SEQUENCE_NUMBER: &str = "_SEQUENCE_NUMBER";
const SEQUENCE_NUMBER_ID: i32 = i32::MAX - 1;
pub(crate) const VALUE_KIND: &str = "_VALUE_KIND";
const VALUE_KIND_ID: i32 = i32::MAX - 2;
/// Names that no column of a lake table may have.
const RESERVED: &[&str] = &[SEQUENCE_NUMBER, VALUE_KIND, "_LEVEL", "rowkind", "_ROW_ID", OFFSET, TIMESTAMP];

/// One column of a data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredColumn {
    pub(crate) name: String,
    pub(crate) data_type: DataType,
    pub(crate) id: i32,
}

impl StoredColumn {
    fn of(column: &Column) -> Self {
        Self { name: column.name.clone(), data_type: column.data_type.clone(), id: column.id.unwrap_or(-1) }
    }
}

/// Whether Paimon or we need this name.
pub(crate) fn is_reserved(name: &str) -> bool {
    name.starts_with(KEY_PREFIX) || RESERVED.contains(&name)
}

/// The two columns that tiering adds at the end.
pub(crate) fn tiering_columns() -> [Column; 2] {
    let column = |name: &str, root| Column {
        name: name.to_owned(),
        data_type: DataType::new(root),
        comment: None,
        id: None,
        agg_function: None,
    };
    [column(OFFSET, TypeRoot::BigInt), column(TIMESTAMP, TypeRoot::TimestampLtz { precision: 3 })]
}

/// Columns of a file of an append table.
pub(crate) fn append_columns(schema: &TableSchema) -> Vec<StoredColumn> {
    schema.schema.columns.iter().map(StoredColumn::of).collect()
}

/// Columns of a file of a primary-key table: key, sequence number, kind, then all columns.
pub(crate) fn keyed_columns(schema: &TableSchema) -> Vec<StoredColumn> {
    let key = |index: usize| {
        let column = StoredColumn::of(&schema.schema.columns[index]);
        StoredColumn { name: format!("{KEY_PREFIX}{}", column.name), id: KEY_ID_BASE + column.id, ..column }
    };
    let number =
        |name: &str, id, root| StoredColumn { name: name.to_owned(), data_type: DataType::new(root).not_null(), id };
    let mut columns: Vec<StoredColumn> = schema.key_indexes().into_iter().map(key).collect();
    columns.push(number(SEQUENCE_NUMBER, SEQUENCE_NUMBER_ID, TypeRoot::BigInt));
    columns.push(number(VALUE_KIND, VALUE_KIND_ID, TypeRoot::TinyInt));
    columns.extend(append_columns(schema));
    columns
}
