//! Rows as manifests hold them: a big-endian count of columns, then Paimon's binary row.

use arrow_array::ArrayRef;
use sluice_base::{Error, Result};
use sluice_row::{DataType, KeyEncoder, KeyFormat, columns_of_binary_row};

/// The row without columns.
pub(crate) const EMPTY_ROW: [u8; 12] = [0; 12];

/// Encodes rows of fixed types.
#[derive(Debug)]
pub(crate) struct StoredRows {
    encoder: KeyEncoder,
    columns: usize,
}

impl StoredRows {
    /// # Errors
    /// `Invalid` for ARRAY, MAP and ROW.
    pub(crate) fn new(types: &[DataType]) -> Result<Self> {
        Ok(Self { encoder: KeyEncoder::new(KeyFormat::Paimon, types)?, columns: types.len() })
    }

    /// Row number `row` of `columns`.
    ///
    /// # Errors
    /// `Internal` when the columns are of other types.
    pub(crate) fn encode(&self, columns: &[ArrayRef], row: usize) -> Result<Vec<u8>> {
        let mut out = count(self.columns);
        if columns.is_empty() {
            out.extend_from_slice(&[0; 8]);
            return Ok(out);
        }
        self.encoder.bind(columns)?.encode(row, &mut out)?;
        Ok(out)
    }
}

/// The values of a stored row as columns of one row each.
///
/// # Errors
/// `Corrupt` when it is no row of these types.
pub(crate) fn decode(types: &[DataType], stored: &[u8]) -> Result<Vec<ArrayRef>> {
    let (arity, row) = stored.split_first_chunk::<4>().unwrap_or((&[0xff; 4], &[]));
    if usize::try_from(u32::from_be_bytes(*arity)).ok() != Some(types.len()) {
        return Err(Error::corrupt(format!("a manifest has a row that is none of {} columns", types.len())));
    }
    columns_of_binary_row(types, row)
}

fn count(columns: usize) -> Vec<u8> {
    u32::try_from(columns).unwrap_or(u32::MAX).to_be_bytes().to_vec()
}

/// A row that is NULL in every column, whatever their types: readers of bounds look no further than the null bits.
pub(crate) fn nulls(columns: usize) -> Vec<u8> {
    let mut out = count(columns);
    let bits = (columns + 8).div_ceil(64) * 8;
    let start = out.len();
    out.resize(start + bits + 8 * columns, 0);
    for column in 0..columns {
        let bit = 8 + column;
        out[start + bit / 8] |= 1 << (bit % 8);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, StringArray};
    use sluice_row::TypeRoot;
    use std::sync::Arc;

    #[test]
    fn a_count_of_columns_stands_before_the_row() {
        let rows = StoredRows::new(&[DataType::new(TypeRoot::Int), DataType::new(TypeRoot::String)]).unwrap();
        let columns: [ArrayRef; 2] =
            [Arc::new(Int32Array::from(vec![7])), Arc::new(StringArray::from(vec![Some("abc")]))];
        let bytes = rows.encode(&columns, 0).unwrap();
        assert_eq!(bytes, [&[0, 0, 0, 2][..], &[0; 8], &[7, 0, 0, 0, 0, 0, 0, 0], b"abc\0\0\0\0\x83"].concat());
        assert_eq!(StoredRows::new(&[]).unwrap().encode(&[], 0).unwrap(), EMPTY_ROW);
        assert_eq!(nulls(0), EMPTY_ROW);
        assert_eq!(nulls(2), [&[0, 0, 0, 2][..], &[0, 3, 0, 0, 0, 0, 0, 0], &[0; 16]].concat());
    }
}
