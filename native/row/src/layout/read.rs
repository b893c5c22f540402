//! Reads rows, arrays and maps into columns. The bytes may be anything: whatever does not hold together is `Corrupt`.

use super::{INLINE_MAX, WIDE_DECIMAL_BYTES, array_header_bytes, null_bits_bytes};
use crate::columns::{ColumnBuilder, Store};
use sluice_base::{Error, Result};

/// Appends one row to columns; decides the form of rows inside arrays, maps and rows.
pub(crate) type ReadRow = fn(&[u8], &mut [ColumnBuilder]) -> Result<()>;

/// A row or array being read.
struct Section<'a> {
    bytes: &'a [u8],
    /// What the pieces of the variable part may still take together. Honest writers never let pieces overlap; without this
    /// limit a few bytes could name the same piece again and again and grow into gigabytes.
    budget: usize,
    read_row: ReadRow,
}

/// Appends one row in Flink's form.
///
/// # Errors
/// `Corrupt`; the columns are then of unequal length and must be thrown away.
pub(crate) fn read_row(bytes: &[u8], columns: &mut [ColumnBuilder]) -> Result<()> {
    let slots = null_bits_bytes(columns.len());
    let mut section = Section::open(bytes, slots + 8 * columns.len(), "ROW", read_row)?;
    for (i, column) in columns.iter_mut().enumerate() {
        if section.bit(8 + i) {
            column.push_null();
        } else {
            section.read(slots + 8 * i, column)?;
        }
    }
    Ok(())
}

/// Appends one value to an ARRAY, MAP or ROW column.
///
/// # Errors
/// `Corrupt`; the column must then be thrown away.
pub(crate) fn read_nested(bytes: &[u8], column: &mut ColumnBuilder, read_row: ReadRow) -> Result<()> {
    match &mut column.store {
        Store::List(offsets, element) => {
            read_array(bytes, element, read_row)?;
            offsets.push(element.offset()?);
        }
        Store::Map(offsets, keys, values) => {
            let (length, arrays) = bytes.split_first_chunk::<4>().ok_or_else(|| damaged("MAP", "is cut off"))?;
            let length = u32::from_le_bytes(*length) as usize;
            let (key_array, value_array) =
                arrays.split_at_checked(length).ok_or_else(|| damaged("MAP", "is shorter than its keys"))?;
            let key_count = read_array(key_array, keys, read_row)?;
            let value_count = read_array(value_array, values, read_row)?;
            if key_count != value_count {
                return Err(damaged("MAP", format_args!("has {key_count} keys and {value_count} values")));
            }
            offsets.push(keys.offset()?);
        }
        Store::Row(fields) => read_row(bytes, fields)?,
        _ => return Err(Error::internal("a flat column was read as ARRAY, MAP or ROW")),
    }
    column.push_valid();
    Ok(())
}

/// Appends all elements and returns their number.
fn read_array(bytes: &[u8], element: &mut ColumnBuilder, read_row: ReadRow) -> Result<usize> {
    let count = bytes.first_chunk::<4>().ok_or_else(|| damaged("ARRAY", "is cut off"))?;
    let count = usize::try_from(i32::from_le_bytes(*count)).map_err(|_| damaged("ARRAY", "has a negative length"))?;
    let header = array_header_bytes(count);
    let width = element_width(&element.store);
    let mut section = Section::open(bytes, header + count * width, "ARRAY", read_row)?;
    for i in 0..count {
        if section.bit(32 + i) {
            element.push_null();
        } else {
            section.read(header + i * width, element)?;
        }
    }
    Ok(count)
}

const fn element_width(store: &Store) -> usize {
    match store {
        Store::Bool(_) | Store::I8(_) => 1,
        Store::I16(_) => 2,
        Store::I32(_) | Store::F32(_) | Store::Time32(..) | Store::Time64(..) => 4,
        _ => 8,
    }
}

impl<'a> Section<'a> {
    fn open(bytes: &'a [u8], fixed_bytes: usize, what: &str, read_row: ReadRow) -> Result<Self> {
        if bytes.len() < fixed_bytes {
            return Err(damaged(what, format_args!("has {} bytes where {fixed_bytes} are due", bytes.len())));
        }
        Ok(Self { bytes, budget: bytes.len(), read_row })
    }

    fn bit(&self, bit: usize) -> bool {
        self.bytes.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }

    fn get<const N: usize>(&self, at: usize) -> Result<[u8; N]> {
        let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk::<N>);
        bytes.copied().ok_or_else(|| damaged("value", format_args!("at byte {at} lies outside")))
    }

    /// `length` bytes of the variable part, of which the writer took `room`.
    fn piece(&mut self, offset: usize, length: usize, room: usize) -> Result<&'a [u8]> {
        let outside = || damaged("value", format_args!("of {length} bytes at byte {offset} lies outside"));
        let piece = self.bytes.get(offset..).and_then(|rest| rest.get(..length)).ok_or_else(outside)?;
        self.budget = self.budget.checked_sub(room).ok_or_else(|| damaged("values", "overlap"))?;
        Ok(piece)
    }

    /// The bytes that the slot at `at` holds or points at.
    fn value_bytes(&mut self, at: usize) -> Result<&'a [u8]> {
        let slot = u64::from_le_bytes(self.get(at)?);
        if slot >> 63 == 0 {
            let (offset, length) = split(slot);
            return self.piece(offset, length, length);
        }
        let length = (slot >> 56) as usize & 0x7f;
        let inline = self.bytes.get(at..).and_then(|rest| rest.get(..length)).filter(|_| length <= INLINE_MAX);
        inline.ok_or_else(|| damaged("value", format_args!("at byte {at} claims {length} bytes in its slot")))
    }

    /// Appends the value in the slot at `at`.
    fn read(&mut self, at: usize, column: &mut ColumnBuilder) -> Result<()> {
        match &mut column.store {
            Store::Bool(v) => v.append(u8::from_le_bytes(self.get(at)?) != 0),
            Store::I8(v) => v.push(i8::from_le_bytes(self.get(at)?)),
            Store::I16(v) => v.push(i16::from_le_bytes(self.get(at)?)),
            Store::I32(v) => v.push(i32::from_le_bytes(self.get(at)?)),
            Store::I64(v) => v.push(i64::from_le_bytes(self.get(at)?)),
            Store::F32(v) => v.push(f32::from_le_bytes(self.get(at)?)),
            Store::F64(v) => v.push(f64::from_le_bytes(self.get(at)?)),
            Store::Time32(..) | Store::Time64(..) => {
                return column.push_time(i32::from_le_bytes(self.get(at)?));
            }
            Store::Millis(..) => return column.push_timestamp(i64::from_le_bytes(self.get(at)?), 0),
            Store::Fine(..) => {
                let (offset, nanos) = split(u64::from_le_bytes(self.get(at)?));
                let millis = self.piece(offset, 8, 8)?.first_chunk::<8>();
                let millis = i64::from_le_bytes(millis.copied().unwrap_or_default());
                return column.push_timestamp(millis, nanos as u32);
            }
            Store::SmallDecimal(..) => return column.push_decimal(i64::from_le_bytes(self.get(at)?).into()),
            Store::WideDecimal(..) => {
                let (offset, length) = split(u64::from_le_bytes(self.get(at)?));
                return column.push_decimal_bytes(self.piece(offset, length, WIDE_DECIMAL_BYTES)?);
            }
            Store::Text(..) | Store::Bytes(..) | Store::Fixed(..) => return column.push_bytes(self.value_bytes(at)?),
            Store::List(..) | Store::Map(..) | Store::Row(_) => {
                let (offset, length) = split(u64::from_le_bytes(self.get(at)?));
                return read_nested(self.piece(offset, length, length)?, column, self.read_row);
            }
        }
        column.push_valid();
        Ok(())
    }
}

/// Offset and low half of a slot.
const fn split(slot: u64) -> (usize, usize) {
    ((slot >> 32) as usize, slot as u32 as usize)
}

fn damaged(what: &str, how: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("nested value is damaged: {what} {how}"))
}
