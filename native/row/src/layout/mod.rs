//! The binary layout that Flink and Paimon share for rows, arrays and maps, and that compacted rows use for arrays and maps.
//!
//! Little-endian. A row is null bits (the first byte is its kind, 0), 8-byte slots, variable part; an array is `i32` count, null
//! bits, slots of the element's width, variable part; a map is `i32` length of the key array, key array, value array. A slot holds
//! a number in its low bytes, up to 7 bytes inline with `0x80 | length` in its highest byte, or `offset << 32 | length` of a piece of the
//! variable part, counted from the start of the row or array. Pieces are padded with zeroes to 8 bytes.

mod read;
mod write;

pub(crate) use read::{read_nested, read_row};
pub(crate) use write::{WideNulls, put_nested, put_row, put_row_with};

/// Longest value that stands in its slot.
pub(crate) const INLINE_MAX: usize = 7;

/// Bytes that a DECIMAL of more than 18 digits takes in the variable part, whatever its length.
pub(crate) const WIDE_DECIMAL_BYTES: usize = 16;

/// Bytes of a row's kind and null bits.
pub(crate) const fn null_bits_bytes(columns: usize) -> usize {
    (columns + 8).div_ceil(64) * 8
}

/// Bytes of an array's count and null bits.
const fn array_header_bytes(elements: usize) -> usize {
    4 + elements.div_ceil(32) * 4
}

/// The slot of a value of at most 7 bytes.
pub(crate) fn inline_slot(bytes: &[u8]) -> u64 {
    let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    value | (0x80 | bytes.len() as u64) << 56
}

/// The slot of a value in the variable part.
pub(crate) const fn reference_slot(offset: usize, length: usize) -> u64 {
    (offset as u64) << 32 | length as u64
}
