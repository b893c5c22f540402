//! From a batch's columns to compacted rows.

use super::null_bytes;
use crate::DataType;
use crate::cells::{Cells, Values, bounds, shortest_be};
use crate::layout::put_nested;
use crate::time::{to_millis, to_millis_and_nanos};
use crate::varint::{put_u32, put_u64};
use arrow_array::ArrayRef;
use sluice_base::Result;

/// Encodes rows of fixed types.
#[derive(Debug)]
pub struct RowEncoder {
    types: Vec<DataType>,
}

impl RowEncoder {
    /// An encoder for rows of these types.
    #[must_use]
    pub fn new(types: &[DataType]) -> Self {
        Self { types: types.to_vec() }
    }

    /// Looks at the arrays of one batch, once, so that each row then needs no type test.
    ///
    /// # Errors
    /// `Internal` when the arrays are not of the encoder's types.
    pub fn bind<'a>(&self, columns: &'a [ArrayRef]) -> Result<BoundRows<'a>> {
        Ok(BoundRows { columns: Cells::bind_all(&self.types, columns)? })
    }
}

/// One batch, ready to be encoded row by row.
#[derive(Debug)]
pub struct BoundRows<'a> {
    columns: Vec<Cells<'a>>,
}

impl BoundRows<'_> {
    /// Appends the compacted bytes of row number `row`.
    ///
    /// # Panics
    /// When the batch has no such row.
    #[inline]
    pub fn encode(&self, row: usize, out: &mut Vec<u8>) {
        put_row(&self.columns, row, out);
    }
}

/// Appends one row.
fn put_row(columns: &[Cells<'_>], row: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + null_bytes(columns.len()), 0);
    for (i, cells) in columns.iter().enumerate() {
        if cells.is_null(row) {
            out[start + i / 8] |= 1 << (i % 8);
        } else {
            put_value(&cells.values, row, out);
        }
    }
}

/// Appends one value that is not NULL.
pub(crate) fn put_value(values: &Values<'_>, row: usize, out: &mut Vec<u8>) {
    match values {
        Values::Bool(v) => out.push(u8::from(v.value(row))),
        Values::I8(v) => out.push(v[row] as u8),
        Values::I16(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Values::I32(v) => put_u32(out, v[row] as u32),
        Values::I64(v) => put_u64(out, v[row] as u64),
        Values::F32(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Values::F64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Values::Time32(v, unit) => put_u32(out, to_millis(i64::from(v[row]), *unit) as u32),
        Values::Time64(v, unit) => put_u32(out, to_millis(v[row], *unit) as u32),
        Values::Millis(v, unit) => put_u64(out, to_millis(v[row], *unit) as u64),
        Values::Fine(v, nanoseconds) => {
            let (millis, nanos) = to_millis_and_nanos(v[row], *nanoseconds);
            put_u64(out, millis as u64);
            put_u32(out, nanos);
        }
        Values::SmallDecimal(v) => put_u64(out, v[row] as u64),
        Values::WideDecimal(v) => {
            let (bytes, length) = shortest_be(v[row]);
            put_bytes(out, &bytes[..length]);
        }
        Values::Bytes(offsets, bytes) => put_bytes(out, &bytes[bounds(offsets, row)]),
        Values::Fixed(width, bytes) => put_bytes(out, &bytes[row * width..(row + 1) * width]),
        Values::List(..) | Values::Map(..) | Values::Row(_) => {
            // The length stands in front and is known only afterwards; turning the bytes round spares a second buffer.
            let start = out.len();
            put_nested(values, row, put_row, out);
            let length = out.len() - start;
            put_u32(out, length as u32);
            out[start..].rotate_left(length);
        }
    }
}

#[inline]
fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}
