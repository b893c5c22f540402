//! Compacted rows: the values of the KV store and, without the null bits, its keys (protocol, row encodings).
//!
//! Null bits (one a column, lowest first, 1 = NULL, padded to a byte), then the values that are present, in column order: numbers of 4 and 8
//! bytes and times as unsigned LEB128 of their bit pattern, smaller numbers and floats little-endian, everything else behind its
//! length as LEB128. Arrays and maps are in the binary layout of `layout`, rows inside them in this one.

mod decode;
mod encode;

pub(crate) use decode::read_values;
pub use decode::{RowDecoder, RowsBuilder};
pub(crate) use encode::put_value;
pub use encode::{BoundRows, RowEncoder};

/// Bytes of a row's null bits.
const fn null_bytes(columns: usize) -> usize {
    columns.div_ceil(8)
}

#[cfg(test)]
mod tests;
