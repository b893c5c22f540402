//! Rows in Flink's BinaryRowData layout, byte for byte as Flink's own row serializer writes them.
//!
//! Written a column at a time over blocks of rows small enough for the first-level cache: lengths first, which fixes where each row
//! stands, then each column's slots and pieces. A loop over one column has no type test and no call in it.

use crate::DataType;
use crate::cells::{Cells, Values, bounds, shortest_be};
use crate::layout::{INLINE_MAX, WIDE_DECIMAL_BYTES, null_bits_bytes, put_nested, put_row, reference_slot};
use crate::time::{to_millis, to_millis_and_nanos};
use arrow_array::RecordBatch;
use sluice_base::{Error, Result, Subject};
use std::ops::Range;

/// Rows written at a time: a few dozen kilobytes of output.
const BLOCK_ROWS: usize = 256;

/// Writes batches of fixed types as BinaryRowData.
#[derive(Debug)]
pub struct BinaryRowWriter {
    types: Vec<DataType>,
}

impl BinaryRowWriter {
    /// A writer for rows of these types.
    #[must_use]
    pub fn new(types: &[DataType]) -> Self {
        Self { types: types.to_vec() }
    }

    /// Appends all rows to `out`, each at a multiple of 8 bytes from the start of `out`, and their positions from the start of `out`
    /// to `starts`: one a row, and the end of the last.
    ///
    /// # Errors
    /// `Internal` when the columns are not of the writer's types; `Invalid` when `out` would pass 2 GiB, what one Java array can hold.
    /// What was appended before the error is to be thrown away.
    pub fn write(&self, rows: &RecordBatch, out: &mut Vec<u8>, starts: &mut Vec<u32>) -> Result<()> {
        let cells = Cells::bind_all(&self.types, rows.columns())?;
        let slots = null_bits_bytes(cells.len());
        let mut columns: Vec<Column<'_>> = cells.iter().enumerate().map(|(i, c)| Column::new(i, slots, c)).collect();
        let fixed_bytes = slots + 8 * columns.len();
        out.resize(out.len().next_multiple_of(8), 0);
        starts.reserve(rows.num_rows() + 1);
        let variable_bytes: usize = cells.iter().map(|c| variable_bytes(&c.values, rows.num_rows())).sum();
        out.reserve(rows.num_rows() * fixed_bytes + variable_bytes);
        for first in (0..rows.num_rows()).step_by(BLOCK_ROWS) {
            let range = first..rows.num_rows().min(first + BLOCK_ROWS);
            write_block(&mut columns, range, fixed_bytes, out, starts)?;
        }
        starts.push(position(out.len())?);
        Ok(())
    }
}

/// About as much as a column takes in the variable parts, to make room once; nested values are not counted.
fn variable_bytes(values: &Values<'_>, rows: usize) -> usize {
    match values {
        Values::Bytes(offsets, _) => bounds(&[offsets[0], offsets[rows]], 0).len() + 8 * rows,
        Values::Fixed(width, _) => padded(*width) * rows,
        Values::Fine(..) => 8 * rows,
        Values::WideDecimal(_) => WIDE_DECIMAL_BYTES * rows,
        _ => 0,
    }
}

fn position(bytes: usize) -> Result<u32> {
    let fits = i32::try_from(bytes).ok().and_then(|n| u32::try_from(n).ok());
    fits.ok_or_else(|| Error::invalid(Subject::Row, "rows of one batch pass 2 GiB; read with smaller batches"))
}

fn write_block(
    columns: &mut [Column<'_>],
    range: Range<usize>,
    fixed_bytes: usize,
    out: &mut Vec<u8>,
    starts: &mut Vec<u32>,
) -> Result<()> {
    let mut ends = [fixed_bytes; BLOCK_ROWS];
    let ends = &mut ends[..range.len()];
    for column in columns.iter_mut() {
        column.enter(range.clone());
        column.measure(ends);
    }
    let mut block = Block { out, starts: [0; BLOCK_ROWS], ends: [fixed_bytes as u32; BLOCK_ROWS], rows: range.len() };
    let mut end = block.out.len();
    for (i, length) in ends.iter().enumerate() {
        block.starts[i] = end;
        starts.push(position(end)?);
        end += length;
    }
    position(end)?;
    block.out.resize(end, 0);
    for column in columns {
        column.write(&mut block);
    }
    Ok(())
}

/// The rows of one block in `out`.
///
/// Invariant: row `i < rows` occupies `starts[i]..starts[i + 1]` (the last up to the end of `out`), which `measure` made as long as
/// the fixed part and all pieces that `write` then puts there; `ends[i]` is where the row's next piece begins, from the row's start.
struct Block<'o> {
    out: &'o mut Vec<u8>,
    starts: [usize; BLOCK_ROWS],
    ends: [u32; BLOCK_ROWS],
    rows: usize,
}

impl Block<'_> {
    /// Writes 8 bytes of row `i` at byte `at` of the row.
    #[inline]
    fn put(&mut self, i: usize, at: usize, word: u64) {
        // SAFETY: `at` lies within row `i` by the invariant of `Block`: slots lie in the fixed part, pieces in the room measured for them.
        unsafe { put_word(self.out, self.starts[i] + at, word) }
    }

    /// Writes 8 bytes of every row at byte `at` of the fixed part.
    #[inline]
    fn put_all<T: Copy>(&mut self, at: usize, values: &[T], word: impl Fn(T) -> u64) {
        for (start, value) in self.starts[..self.rows].iter().zip(values) {
            // SAFETY: the fixed part of each row lies in `out` by the invariant of `Block`.
            unsafe { put_word(self.out, start + at, word(*value)) }
        }
    }

    #[inline]
    fn set_null(&mut self, i: usize, bit: usize) {
        self.out[self.starts[i] + bit / 8] |= 1 << (bit % 8);
    }

    /// Writes `bytes[range]` into the slot at `slot` of row `i`, or behind it when it is too long.
    #[inline]
    fn put_bytes(&mut self, i: usize, slot: usize, bytes: &[u8], range: Range<usize>) {
        let length = range.len();
        if length <= INLINE_MAX {
            let value = word_at(bytes, range.start) & !(u64::MAX << (8 * length));
            self.put(i, slot, value | (0x80 | length as u64) << 56);
        } else {
            let at = self.put_piece(i, &bytes[range]);
            self.put(i, slot, reference_slot(at, length));
        }
    }

    /// Copies `bytes` of more than 7 bytes behind row `i`; returns where they begin in the row. The padding is zero already.
    #[inline]
    fn put_piece(&mut self, i: usize, bytes: &[u8]) -> usize {
        let at = self.ends[i] as usize;
        self.ends[i] += padded(bytes.len()) as u32;
        let to = self.starts[i] + at;
        copy(&mut self.out[to..to + bytes.len()], bytes);
        at
    }
}

/// Writes 8 bytes without a check of the position: this is the innermost loop.
///
/// # Safety
/// `at + 8` is at most the length of `out`.
#[inline]
unsafe fn put_word(out: &mut [u8], at: usize, word: u64) {
    debug_assert!(at + 8 <= out.len(), "a row passes its measured end");
    // SAFETY: the caller promises room for 8 bytes; an array of bytes needs no alignment.
    unsafe { out.as_mut_ptr().add(at).cast::<[u8; 8]>().write(word.to_le_bytes()) }
}

/// Copies text of 8 to 64 bytes, the most frequent, as two halves that may overlap: cheaper than a call of `memcpy`.
#[inline]
fn copy(to: &mut [u8], from: &[u8]) {
    match from.len() {
        8..=16 => copy_ends::<8>(to, from),
        17..=32 => copy_ends::<16>(to, from),
        33..=64 => copy_ends::<32>(to, from),
        _ => to.copy_from_slice(from),
    }
}

/// Copies the first and the last `N` bytes.
#[inline]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk::<N>()) {
        *to = *from;
    }
}

/// The 8 bytes at `at`, zeroes where `bytes` has ended.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        Some(word) => u64::from_le_bytes(*word),
        None => last_word(bytes.get(at..).unwrap_or_default()),
    }
}

#[cold]
fn last_word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[inline]
const fn padded(length: usize) -> usize {
    length.next_multiple_of(8)
}

/// One column and where it stands in each row.
struct Column<'a> {
    cells: &'a Cells<'a>,
    slot: usize,
    null_bit: usize,
    /// Rows of the block at hand.
    range: Range<usize>,
    /// Which of them are present; looked at only when the column has NULLs at all.
    valid: [bool; BLOCK_ROWS],
    /// ARRAY, MAP and ROW values of the block, one after the other, and where each ends.
    nested: Vec<u8>,
    nested_ends: Vec<usize>,
}

impl<'a> Column<'a> {
    fn new(index: usize, slots: usize, cells: &'a Cells<'a>) -> Self {
        let (nested, nested_ends) = (Vec::new(), Vec::new());
        let valid = [true; BLOCK_ROWS];
        Self { cells, slot: slots + 8 * index, null_bit: 8 + index, range: 0..0, valid, nested, nested_ends }
    }

    /// Moves on to the next block.
    fn enter(&mut self, range: Range<usize>) {
        if let Some(nulls) = self.cells.nulls {
            let present = nulls.inner().slice(range.start, range.len());
            self.valid.iter_mut().zip(present.iter()).for_each(|(valid, is)| *valid = is);
        }
        self.range = range;
    }

    /// Adds what this column takes in the variable part of each row of the block.
    fn measure(&mut self, lengths: &mut [usize]) {
        let valid = &self.valid;
        let present = lengths.iter_mut().zip(valid);
        let room = |bytes: usize| if bytes > INLINE_MAX { padded(bytes) } else { 0 };
        match &self.cells.values {
            Values::Bytes(offsets, _) => {
                let offsets = &offsets[self.range.start..=self.range.end];
                for ((length, valid), at) in present.zip(offsets.windows(2)) {
                    *length += if *valid { room((at[1] - at[0]) as usize) } else { 0 };
                }
            }
            Values::Fixed(width, _) => {
                present.for_each(|(length, valid)| *length += if *valid { room(*width) } else { 0 })
            }
            Values::Fine(..) => present.for_each(|(length, valid)| *length += if *valid { 8 } else { 0 }),
            Values::WideDecimal(_) => {
                present.for_each(|(length, valid)| *length += if *valid { WIDE_DECIMAL_BYTES } else { 0 });
            }
            Values::List(..) | Values::Map(..) | Values::Row(_) => {
                self.nested.clear();
                self.nested_ends.clear();
                for ((length, valid), row) in present.zip(self.range.clone()) {
                    let start = self.nested.len();
                    if *valid {
                        put_nested(&self.cells.values, row, put_row, &mut self.nested);
                    }
                    self.nested_ends.push(self.nested.len());
                    *length += padded(self.nested.len() - start);
                }
            }
            _ => {}
        }
    }

    /// Writes the column into all rows of the block.
    fn write(&self, block: &mut Block<'_>) {
        let range = self.range.clone();
        match &self.cells.values {
            Values::Bool(v) => self.each(block, |b, i| b.put(i, self.slot, v.value(range.start + i).into())),
            Values::I8(v) => self.numbers(block, &v[range], |v| u64::from(v as u8)),
            Values::I16(v) => self.numbers(block, &v[range], |v| u64::from(v as u16)),
            Values::I32(v) => self.numbers(block, &v[range], |v| u64::from(v as u32)),
            Values::I64(v) => self.numbers(block, &v[range], |v| v as u64),
            Values::F32(v) => self.numbers(block, &v[range], |v| u64::from(v.to_bits())),
            Values::F64(v) => self.numbers(block, &v[range], f64::to_bits),
            Values::Time32(v, unit) => {
                self.numbers(block, &v[range], |v| u64::from(to_millis(i64::from(v), *unit) as u32));
            }
            Values::Time64(v, unit) => self.numbers(block, &v[range], |v| u64::from(to_millis(v, *unit) as u32)),
            Values::Millis(v, arrow_schema::TimeUnit::Millisecond) => self.numbers(block, &v[range], |v| v as u64),
            Values::Millis(v, unit) => self.numbers(block, &v[range], |v| to_millis(v, *unit) as u64),
            Values::SmallDecimal(v) => self.numbers(block, &v[range], |v| v as u64),
            Values::Fine(v, nanoseconds) => self.each(block, |block, i| {
                let (millis, nanos) = to_millis_and_nanos(v[range.start + i], *nanoseconds);
                let at = block.put_piece(i, &millis.to_le_bytes());
                block.put(i, self.slot, reference_slot(at, nanos as usize));
            }),
            Values::WideDecimal(v) => self.each(block, |block, i| {
                let (bytes, length) = shortest_be(v[range.start + i]);
                let at = block.put_piece(i, &bytes);
                block.put(i, self.slot, reference_slot(at, length));
            }),
            Values::Bytes(offsets, bytes) => {
                let offsets = &offsets[range.start..=range.end];
                self.each(block, |block, i| block.put_bytes(i, self.slot, bytes, bounds(offsets, i)));
            }
            Values::Fixed(width, bytes) => self.each(block, |block, i| {
                let at = (range.start + i) * width;
                block.put_bytes(i, self.slot, bytes, at..at + width);
            }),
            Values::List(..) | Values::Map(..) | Values::Row(_) => self.each(block, |block, i| {
                let piece = i.checked_sub(1).map_or(0, |before| self.nested_ends[before])..self.nested_ends[i];
                let at = block.put_piece(i, &self.nested[piece.clone()]);
                block.put(i, self.slot, reference_slot(at, piece.len()));
            }),
        }
    }

    /// Calls `put` for each row of the block that has a value, and marks the others.
    #[inline]
    fn each(&self, block: &mut Block<'_>, mut put: impl FnMut(&mut Block<'_>, usize)) {
        if self.cells.nulls.is_none() {
            (0..block.rows).for_each(|i| put(block, i));
            return;
        }
        for i in 0..block.rows {
            if self.valid[i] {
                put(block, i);
            } else {
                block.set_null(i, self.null_bit);
            }
        }
    }

    /// Writes one number into each row's slot.
    #[inline]
    fn numbers<T: Copy>(&self, block: &mut Block<'_>, values: &[T], word: impl Fn(T) -> u64) {
        if self.cells.nulls.is_none() {
            block.put_all(self.slot, values, word);
        } else {
            self.each(block, |block, i| block.put(i, self.slot, word(values[i])));
        }
    }
}

#[cfg(test)]
mod tests;
