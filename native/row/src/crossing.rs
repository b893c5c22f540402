//! Columns as Java hands them over (docs/jni.md, "Columns in") to Arrow. Whatever does not hold together is refused, by column and row.

use crate::cells::{PRECISION_OF_I64, PRECISION_OF_MILLIS};
use crate::columns::{ColumnBuilder, beyond, flat, from_be};
use crate::layout::{read_nested, read_row};
use crate::time::Cut;
use crate::{DataType, TypeRoot};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType as ArrowType, Field, SchemaRef};
use sluice_base::{Error, Result, Subject};
use std::sync::Arc;

#[cfg(target_endian = "big")]
compile_error!("column buffers are copied as they are: only little-endian machines can read them");

/// One column of a block. Little-endian; no alignment is asked of `data` and `extra`.
#[derive(Debug, Clone, Copy)]
pub struct ColumnIn<'a> {
    /// Arrow validity bitmap; absent when nothing is NULL.
    pub validity: Option<&'a [u8]>,
    /// The values.
    pub data: &'a [u8],
    /// For values of varying length: where each starts in `data`, and where the last ends.
    pub offsets: Option<&'a [i32]>,
    /// For TIMESTAMP with precision above 3: nanoseconds within the millisecond, 4 bytes a row.
    pub extra: Option<&'a [u8]>,
}

/// Copies and checks `rows` rows. Times are cut to the declared precision, towards the past. The values of NULL cells are ignored.
///
/// # Errors
/// `Invalid` about `Column`, naming it: NULL in a NOT NULL column, text that is not UTF-8, a decimal or timestamp out of range, a BINARY of another
/// length, buffers shorter than `rows` needs. `Corrupt` for damaged ARRAY, MAP or ROW memory. `Internal` when `schema`, `types` and `columns` differ in number.
pub fn columns_to_batch(
    schema: &SchemaRef,
    types: &[DataType],
    columns: &[ColumnIn<'_>],
    rows: usize,
) -> Result<RecordBatch> {
    if types.len() != columns.len() || types.len() != schema.fields().len() {
        let due = schema.fields().len();
        return Err(Error::internal(format!("{} columns of {} types for {due} fields", columns.len(), types.len())));
    }
    let fields = schema.fields().iter().zip(types).zip(columns);
    let arrays = fields.map(|((field, data_type), input)| Incoming::open(field, data_type, *input, rows)?.array());
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
        .map_err(|e| Error::internal(format!("columns do not fit their schema: {e}")))
}

/// One column on its way.
struct Incoming<'a> {
    field: &'a Field,
    data_type: &'a DataType,
    input: ColumnIn<'a>,
    rows: usize,
    /// Absent when nothing is NULL.
    nulls: Option<NullBuffer>,
}

impl<'a> Incoming<'a> {
    fn open(field: &'a Field, data_type: &'a DataType, input: ColumnIn<'a>, rows: usize) -> Result<Self> {
        let mut incoming = Self { field, data_type, input, rows, nulls: None };
        if let Some(bits) = input.validity {
            let bits = incoming.prefix(bits, rows.div_ceil(8), "validity")?;
            let nulls = NullBuffer::new(BooleanBuffer::new(Buffer::from(bits), 0, rows));
            incoming.nulls = Some(nulls).filter(|n| n.null_count() > 0);
        }
        if let (false, Some(nulls)) = (data_type.nullable, &incoming.nulls) {
            let row = (0..rows).find(|&row| nulls.is_null(row)).unwrap_or_default();
            return Err(incoming.wrong(format_args!("is NOT NULL, but row {row} of the batch has no value")));
        }
        Ok(incoming)
    }

    fn array(self) -> Result<ArrayRef> {
        match &self.data_type.root {
            TypeRoot::Boolean => {
                let data = self.prefix(self.input.data, self.rows, "data")?;
                let bits = BooleanBuffer::collect_bool(self.rows, |i| data[i] != 0);
                Ok(Arc::new(BooleanArray::new(bits, self.nulls)))
            }
            TypeRoot::TinyInt => self.copied(1),
            TypeRoot::SmallInt => self.copied(2),
            TypeRoot::Int | TypeRoot::Date | TypeRoot::Float => self.copied(4),
            TypeRoot::BigInt | TypeRoot::Double => self.copied(8),
            TypeRoot::Decimal { precision, .. } if *precision <= PRECISION_OF_I64 => self.small_decimals(*precision),
            TypeRoot::Decimal { precision, .. } => self.wide_decimals(*precision),
            TypeRoot::Time { precision } => self.times(*precision),
            TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision } => {
                let cut = Cut::new(*precision);
                match (cut.is_identity_on_millis(), *precision <= PRECISION_OF_MILLIS) {
                    (true, _) => self.copied(8),
                    (false, true) => self.millis(cut),
                    (false, false) => self.millis_and_nanos(cut),
                }
            }
            TypeRoot::Char(_) | TypeRoot::String => self.text(),
            TypeRoot::Bytes => self.bytes(),
            TypeRoot::Binary(width) => self.fixed_bytes(*width),
            TypeRoot::Array(_) | TypeRoot::Map(..) | TypeRoot::Row(_) => self.nested(),
        }
    }

    /// Values that Arrow keeps as Java hands them over.
    fn copied(self, width: usize) -> Result<ArrayRef> {
        let data = self.prefix(self.input.data, self.rows * width, "data")?;
        flat(self.field.data_type(), self.rows, self.nulls, Buffer::from(data))
    }

    fn small_decimals(self, precision: u8) -> Result<ArrayRef> {
        let beyond = beyond(precision) as i64;
        let data = self.words(self.input.data, "data")?;
        let mut fits = true;
        let number = |word: &[u8; 8]| {
            let value = i64::from_le_bytes(*word);
            fits &= -beyond < value && value < beyond;
            i128::from(value)
        };
        let values: Vec<i128> = data.iter().map(number).collect();
        if !fits {
            let beyond = i128::from(beyond);
            self.check(|row| -beyond < values[row] && values[row] < beyond, "has more digits than its type")?;
        }
        flat(self.field.data_type(), self.rows, self.nulls, values.into())
    }

    fn wide_decimals(self, precision: u8) -> Result<ArrayRef> {
        let beyond = beyond(precision);
        let offsets = self.offsets()?;
        let value = |row| from_be(self.value(offsets, row)).filter(|v| -beyond < *v && *v < beyond);
        let values = self.each(value, "is no decimal of its type")?;
        flat(self.field.data_type(), self.rows, self.nulls, values.into())
    }

    fn times(self, precision: u8) -> Result<ArrayRef> {
        let cut = Cut::new(precision);
        let data = self.words::<4>(self.input.data, "data")?;
        let times = data.iter().map(|word| cut.apply(i64::from(i32::from_le_bytes(*word)), 0).unwrap_or_default());
        let buffer: Buffer = match self.field.data_type() {
            ArrowType::Time32(_) => times.map(|v| v as i32).collect::<Vec<_>>().into(),
            _ => times.collect::<Vec<_>>().into(),
        };
        flat(self.field.data_type(), self.rows, self.nulls, buffer)
    }

    fn millis(self, cut: Cut) -> Result<ArrayRef> {
        let data = self.words(self.input.data, "data")?;
        let values = self.each(|row| cut.apply(i64::from_le_bytes(data[row]), 0), "is out of range")?;
        flat(self.field.data_type(), self.rows, self.nulls, values.into())
    }

    fn millis_and_nanos(self, cut: Cut) -> Result<ArrayRef> {
        let data = self.words(self.input.data, "data")?;
        let nanos = self.words(self.input.extra.unwrap_or_default(), "nanoseconds")?;
        let value = |row: usize| cut.apply(i64::from_le_bytes(data[row]), u32::from_le_bytes(nanos[row]));
        let values =
            self.each(value, "is a timestamp that its type cannot hold; nanoseconds reach from 1677 to 2262")?;
        flat(self.field.data_type(), self.rows, self.nulls, values.into())
    }

    fn text(self) -> Result<ArrayRef> {
        let offsets = self.offsets()?;
        let (starts, bytes) = self.contiguous(offsets);
        if let Ok(array) = StringArray::try_new(starts, bytes, self.nulls.clone()) {
            return Ok(Arc::new(array));
        }
        self.check(|row| std::str::from_utf8(self.value(offsets, row)).is_ok(), "is not UTF-8")?;
        // Only what stands in NULL cells is at fault, and that is nobody's value.
        let (starts, bytes) = self.without_null_cells(offsets)?;
        let array = StringArray::try_new(starts, bytes, self.nulls.clone());
        Ok(Arc::new(array.map_err(|e| self.wrong(format_args!("is not UTF-8: {e}")))?))
    }

    fn bytes(self) -> Result<ArrayRef> {
        let (starts, bytes) = self.contiguous(self.offsets()?);
        let array = BinaryArray::try_new(starts, bytes, self.nulls.clone());
        Ok(Arc::new(array.map_err(|e| self.wrong(format_args!("does not hold together: {e}")))?))
    }

    fn fixed_bytes(self, width: u32) -> Result<ArrayRef> {
        let offsets = self.offsets()?;
        let width = width as usize;
        let fault = format!("is not {width} bytes long; CAST it to BINARY({width})");
        self.check(|row| self.value(offsets, row).len() == width, &fault)?;
        let mut bytes = vec![0; self.rows * width];
        for (row, cell) in bytes.chunks_exact_mut(width.max(1)).enumerate() {
            if self.is_valid(row) {
                cell.copy_from_slice(self.value(offsets, row));
            }
        }
        let array = FixedSizeBinaryArray::try_new(width as i32, bytes.into(), self.nulls.clone());
        Ok(Arc::new(array.map_err(|e| self.wrong(format_args!("does not hold together: {e}")))?))
    }

    fn nested(self) -> Result<ArrayRef> {
        let offsets = self.offsets()?;
        let mut column = ColumnBuilder::new(self.data_type, self.rows);
        for row in 0..self.rows {
            if self.is_valid(row) {
                read_nested(self.value(offsets, row), &mut column, read_row)
                    .map_err(|e| e.context(format_args!("column '{}', row {row} of the batch", self.field.name())))?;
            } else {
                column.push_null();
            }
        }
        let fault = |e: Error| format!("holds a NULL where its type allows none, or text that is not UTF-8 ({e})");
        column.finish().map_err(|e| self.wrong(fault(e)))
    }

    /// `value` of each row; where a row has none, it must be NULL.
    fn each<T: Default>(&self, value: impl Fn(usize) -> Option<T>, fault: &str) -> Result<Vec<T>> {
        let fill = |row| match value(row) {
            Some(value) => Ok(value),
            None if self.is_valid(row) => Err(self.wrong(format_args!("row {row} of the batch: the value {fault}"))),
            None => Ok(T::default()),
        };
        (0..self.rows).map(fill).collect()
    }

    /// Fails at the first row that has a value which is not `right`.
    fn check(&self, right: impl Fn(usize) -> bool, fault: &str) -> Result<()> {
        match (0..self.rows).find(|&row| self.is_valid(row) && !right(row)) {
            Some(row) => Err(self.wrong(format_args!("row {row} of the batch: the value {fault}"))),
            None => Ok(()),
        }
    }

    #[inline]
    fn is_valid(&self, row: usize) -> bool {
        self.nulls.as_ref().is_none_or(|n| n.is_valid(row))
    }

    /// The offsets, checked: `rows + 1`, in order, within the data.
    fn offsets(&self) -> Result<&'a [i32]> {
        let given = self.input.offsets.unwrap_or_default();
        let offsets = given.get(..=self.rows).ok_or_else(|| {
            self.wrong(format_args!(
                "brings {} offsets for {} rows; one more than rows are due",
                given.len(),
                self.rows
            ))
        })?;
        let ordered = offsets.windows(2).fold(true, |ordered, w| ordered & (w[0] <= w[1]));
        let (first, last) = (offsets[0], offsets[self.rows]);
        if !ordered || first < 0 || last as usize > self.input.data.len() {
            let bytes = self.input.data.len();
            return Err(self.wrong(format_args!("brings offsets that are out of order or beyond its {bytes} bytes")));
        }
        Ok(offsets)
    }

    /// The bytes of one value; `offsets` were checked.
    #[inline]
    fn value(&self, offsets: &[i32], row: usize) -> &'a [u8] {
        &self.input.data[offsets[row] as usize..offsets[row + 1] as usize]
    }

    /// Arrow's offsets and bytes.
    fn contiguous(&self, offsets: &[i32]) -> (OffsetBuffer<i32>, Buffer) {
        let (first, last) = (offsets[0], offsets[self.rows]);
        let starts = match first {
            0 => ScalarBuffer::from(offsets.to_vec()),
            _ => offsets.iter().map(|at| at - first).collect(),
        };
        (OffsetBuffer::new(starts), Buffer::from(&self.input.data[first as usize..last as usize]))
    }

    fn without_null_cells(&self, offsets: &[i32]) -> Result<(OffsetBuffer<i32>, Buffer)> {
        let mut bytes = Vec::new();
        let mut starts = vec![0];
        for row in 0..self.rows {
            if self.is_valid(row) {
                bytes.extend_from_slice(self.value(offsets, row));
            }
            let at = i32::try_from(bytes.len()).map_err(|_| self.wrong("passes 2 GiB in one batch"))?;
            starts.push(at);
        }
        Ok((OffsetBuffer::new(starts.into()), bytes.into()))
    }

    /// The first `rows` values of `N` bytes.
    fn words<const N: usize>(&self, bytes: &'a [u8], what: &str) -> Result<&'a [[u8; N]]> {
        Ok(self.prefix(bytes, self.rows * N, what)?.as_chunks::<N>().0)
    }

    fn prefix(&self, bytes: &'a [u8], length: usize, what: &str) -> Result<&'a [u8]> {
        let short = || {
            let (given, rows) = (bytes.len(), self.rows);
            self.wrong(format_args!("brings {given} bytes of {what} for {rows} rows; {length} are due"))
        };
        bytes.get(..length).ok_or_else(short)
    }

    fn wrong(&self, how: impl std::fmt::Display) -> Error {
        Error::invalid(Subject::Column, format!("column '{}' of type {} {how}", self.field.name(), self.data_type))
    }
}

#[cfg(test)]
mod tests;
