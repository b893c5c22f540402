//! Rows in Flink's and Paimon's common binary layout, back to columns.

use crate::DataType;
use crate::columns::ColumnBuilder;
use crate::layout::read_row;
use arrow_array::ArrayRef;
use sluice_base::Result;

/// The values of one row as columns of one row each.
///
/// # Errors
/// `Corrupt` when the bytes do not hold together or a value is not of its type.
pub fn columns_of_binary_row(types: &[DataType], row: &[u8]) -> Result<Vec<ArrayRef>> {
    let mut columns: Vec<ColumnBuilder> = types.iter().map(|t| ColumnBuilder::new(t, 1)).collect();
    read_row(row, &mut columns)?;
    columns.iter_mut().map(ColumnBuilder::finish).collect()
}
