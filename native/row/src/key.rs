//! Keys: the bytes under which a primary-key row is kept and from which its bucket follows (protocol, keys).

use crate::DataType;
use crate::cells::Cells;
use crate::columns::ColumnBuilder;
use crate::compacted::{put_value, read_values};
use crate::layout::{WideNulls, put_row_with, read_row};
use arrow_array::ArrayRef;
use sluice_base::{Error, Result, Subject};

/// How a table writes its keys; fixed when the table is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyFormat {
    /// The values of a compacted row without its null bits. The key of the first columns is then a prefix of the whole key.
    Compacted,
    /// Paimon's BinaryRow.
    Paimon,
}

/// Encodes keys of fixed types.
#[derive(Debug)]
pub struct KeyEncoder {
    format: KeyFormat,
    types: Vec<DataType>,
}

impl KeyEncoder {
    /// An encoder for keys of these types, in key order.
    ///
    /// # Errors
    /// `Invalid` for ARRAY, MAP and ROW.
    pub fn new(format: KeyFormat, types: &[DataType]) -> Result<Self> {
        if let Some(nested) = types.iter().find(|t| t.is_nested()) {
            return Err(Error::invalid(Subject::Column, format!("a column of type {nested} cannot be part of a key")));
        }
        Ok(Self { format, types: types.to_vec() })
    }

    /// Looks at the key columns of one batch, in key order.
    ///
    /// # Errors
    /// `Internal` when the arrays are not of the encoder's types.
    pub fn bind<'a>(&self, columns: &'a [ArrayRef]) -> Result<BoundKeys<'a>> {
        Ok(BoundKeys { format: self.format, columns: Cells::bind_all(&self.types, columns)? })
    }
}

/// The key columns of one batch.
#[derive(Debug)]
pub struct BoundKeys<'a> {
    format: KeyFormat,
    columns: Vec<Cells<'a>>,
}

impl BoundKeys<'_> {
    /// Appends the key of row number `row`.
    ///
    /// # Errors
    /// `Invalid` for a NULL in a compacted key; a Paimon key may hold NULL. Nothing is appended then.
    ///
    /// # Panics
    /// When the batch has no such row.
    #[inline]
    pub fn encode(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match self.format {
            KeyFormat::Paimon => put_row_with(&self.columns, row, WideNulls::Reserved, out),
            KeyFormat::Compacted => {
                if let Some(column) = self.columns.iter().position(|c| c.is_null(row)) {
                    let message = format!("column {} of the key is NULL in row {row}; a key needs a value", column + 1);
                    return Err(Error::invalid(Subject::Column, message));
                }
                self.columns.iter().for_each(|c| put_value(&c.values, row, out));
            }
        }
        Ok(())
    }

    /// Whether a column of the key is NULL in row number `row`.
    #[must_use]
    pub fn has_null(&self, row: usize) -> bool {
        self.columns.iter().any(|c| c.is_null(row))
    }
}

/// The columns of some keys, in key order. Bytes that are not exactly what [`BoundKeys::encode`] writes may be read too: who must know
/// encodes the columns again.
///
/// # Errors
/// `Corrupt` when the bytes do not hold together or a value is not of its type.
pub fn columns_of_keys(format: KeyFormat, types: &[DataType], keys: &[&[u8]]) -> Result<Vec<ArrayRef>> {
    let mut columns: Vec<ColumnBuilder> = types.iter().map(|t| ColumnBuilder::new(t, keys.len())).collect();
    keys.iter().try_for_each(|key| match format {
        KeyFormat::Compacted => read_values(key, &mut columns),
        KeyFormat::Paimon => read_row(key, &mut columns),
    })?;
    columns.iter_mut().map(ColumnBuilder::finish).collect()
}

#[cfg(test)]
mod tests;
