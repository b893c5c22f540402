//! Writes rows, arrays and maps value by value.

use super::{INLINE_MAX, WIDE_DECIMAL_BYTES, array_header_bytes, inline_slot, null_bits_bytes, reference_slot};
use crate::cells::{Cells, Values, bounds, shortest_be};
use crate::time::{to_millis, to_millis_and_nanos};
use std::ops::Range;

/// Appends one row; decides the form of rows inside arrays, maps and rows.
pub(crate) type PutRow = fn(&[Cells<'_>], usize, &mut Vec<u8>);

/// What a NULL of a type that always stands in the variable part (TIMESTAMP beyond 3 digits, DECIMAL beyond 18) leaves there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WideNulls {
    /// Nothing, as in Flink's row serializer.
    Empty,
    /// Its zeroed room, with its offset in the slot, as in Paimon's keys.
    Reserved,
}

/// A row or array under construction at the end of `out`.
struct Section<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    put_row: PutRow,
    /// Arrays know one NaN only, rows keep its bits.
    one_nan: bool,
}

/// Appends row number `row` of `columns` as Flink writes it.
pub(crate) fn put_row(columns: &[Cells<'_>], row: usize, out: &mut Vec<u8>) {
    put_row_with(columns, row, WideNulls::Empty, out);
}

/// Appends row number `row` of `columns`.
pub(crate) fn put_row_with(columns: &[Cells<'_>], row: usize, wide_nulls: WideNulls, out: &mut Vec<u8>) {
    let slots = null_bits_bytes(columns.len());
    let mut section = Section::open(out, slots + 8 * columns.len(), put_row, false);
    for (i, cells) in columns.iter().enumerate() {
        let at = slots + 8 * i;
        if !cells.is_null(row) {
            section.put(at, &cells.values, row);
            continue;
        }
        section.set_bit(8 + i);
        match cells.values {
            Values::Fine(..) if wide_nulls == WideNulls::Reserved => section.put_piece(at, &[0; 8], 0),
            Values::WideDecimal(_) if wide_nulls == WideNulls::Reserved => {
                section.put_piece(at, &[0; WIDE_DECIMAL_BYTES], 0);
            }
            _ => {}
        }
    }
}

/// Appends value number `row` of an ARRAY, MAP or ROW column; nothing for other columns.
pub(crate) fn put_nested(values: &Values<'_>, row: usize, put_row: PutRow, out: &mut Vec<u8>) {
    match values {
        Values::List(offsets, element) => put_array(element, bounds(offsets, row), put_row, out),
        Values::Map(offsets, keys, values) => {
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            put_array(keys, bounds(offsets, row), put_row, out);
            let key_bytes = (out.len() - at - 4) as u32;
            out[at..at + 4].copy_from_slice(&key_bytes.to_le_bytes());
            put_array(values, bounds(offsets, row), put_row, out);
        }
        Values::Row(fields) => put_row(fields, row, out),
        _ => {}
    }
}

fn put_array(element: &Cells<'_>, range: Range<usize>, put_row: PutRow, out: &mut Vec<u8>) {
    let header = array_header_bytes(range.len());
    let width = element_width(&element.values);
    let mut section = Section::open(out, (header + range.len() * width).next_multiple_of(8), put_row, true);
    section.set(0, (range.len() as u32).to_le_bytes());
    for (k, i) in range.enumerate() {
        if element.is_null(i) {
            section.set_bit(32 + k);
        } else {
            section.put(header + k * width, &element.values, i);
        }
    }
}

const fn element_width(values: &Values<'_>) -> usize {
    match values {
        Values::Bool(_) | Values::I8(_) => 1,
        Values::I16(_) => 2,
        Values::I32(_) | Values::F32(_) | Values::Time32(..) | Values::Time64(..) => 4,
        _ => 8,
    }
}

impl<'o> Section<'o> {
    /// A zeroed fixed part of `bytes` bytes.
    fn open(out: &'o mut Vec<u8>, bytes: usize, put_row: PutRow, one_nan: bool) -> Self {
        let start = out.len();
        out.resize(start + bytes, 0);
        Self { out, start, put_row, one_nan }
    }

    fn set_bit(&mut self, bit: usize) {
        self.out[self.start + bit / 8] |= 1 << (bit % 8);
    }

    fn set<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        let at = self.start + at;
        self.out[at..at + N].copy_from_slice(&bytes);
    }

    /// Writes value number `i` into the slot at `at`.
    fn put(&mut self, at: usize, values: &Values<'_>, i: usize) {
        match values {
            Values::Bool(v) => self.set(at, [u8::from(v.value(i))]),
            Values::I8(v) => self.set(at, v[i].to_le_bytes()),
            Values::I16(v) => self.set(at, v[i].to_le_bytes()),
            Values::I32(v) => self.set(at, v[i].to_le_bytes()),
            Values::I64(v) => self.set(at, v[i].to_le_bytes()),
            Values::F32(v) if self.one_nan && v[i].is_nan() => self.set(at, f32::NAN.to_le_bytes()),
            Values::F32(v) => self.set(at, v[i].to_le_bytes()),
            Values::F64(v) if self.one_nan && v[i].is_nan() => self.set(at, f64::NAN.to_le_bytes()),
            Values::F64(v) => self.set(at, v[i].to_le_bytes()),
            Values::Time32(v, unit) => self.set(at, (to_millis(i64::from(v[i]), *unit) as i32).to_le_bytes()),
            Values::Time64(v, unit) => self.set(at, (to_millis(v[i], *unit) as i32).to_le_bytes()),
            Values::Millis(v, unit) => self.set(at, to_millis(v[i], *unit).to_le_bytes()),
            Values::SmallDecimal(v) => self.set(at, (v[i] as i64).to_le_bytes()),
            Values::Fine(v, nanoseconds) => {
                let (millis, nanos) = to_millis_and_nanos(v[i], *nanoseconds);
                self.put_piece(at, &millis.to_le_bytes(), nanos as usize);
            }
            Values::WideDecimal(v) => {
                let (bytes, length) = shortest_be(v[i]);
                self.put_piece(at, &bytes, length);
            }
            Values::Bytes(offsets, bytes) => self.put_bytes(at, &bytes[bounds(offsets, i)]),
            Values::Fixed(width, bytes) => self.put_bytes(at, &bytes[i * width..(i + 1) * width]),
            Values::List(..) | Values::Map(..) | Values::Row(_) => {
                let piece = self.out.len();
                put_nested(values, i, self.put_row, self.out);
                self.close_piece(at, piece, self.out.len() - piece);
            }
        }
    }

    fn put_bytes(&mut self, at: usize, bytes: &[u8]) {
        if bytes.len() <= INLINE_MAX {
            self.set(at, inline_slot(bytes).to_le_bytes());
        } else {
            self.put_piece(at, bytes, bytes.len());
        }
    }

    /// Appends `bytes` to the variable part; `low` goes into the low half of the slot.
    fn put_piece(&mut self, at: usize, bytes: &[u8], low: usize) {
        let piece = self.out.len();
        self.out.extend_from_slice(bytes);
        self.close_piece(at, piece, low);
    }

    /// Points the slot at the piece that began at `piece` of `out`, and pads it.
    fn close_piece(&mut self, at: usize, piece: usize, low: usize) {
        let padded = (self.out.len() - piece).next_multiple_of(8);
        self.out.resize(piece + padded, 0);
        self.set(at, reference_slot(piece - self.start, low).to_le_bytes());
    }
}
