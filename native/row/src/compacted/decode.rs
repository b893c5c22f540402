//! From compacted rows to columns. The bytes may be anything: whatever does not hold together is `Corrupt`.

use super::null_bytes;
use crate::cells::{PRECISION_OF_I64, PRECISION_OF_MILLIS};
use crate::columns::{ColumnBuilder, Store};
use crate::layout::read_nested;
use crate::varint::{get_u32, get_u64};
use crate::{DataType, TypeRoot, arrow_field};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use sluice_base::{Error, Result};
use std::sync::Arc;

/// Decodes compacted rows into columns.
#[derive(Debug)]
pub struct RowDecoder {
    types: Vec<DataType>,
    /// Wanted columns in output order.
    projection: Vec<usize>,
    stored_width: usize,
    schema: Option<SchemaRef>,
}

impl RowDecoder {
    /// A decoder for stored rows of these types; `projection` names the wanted columns in output order, `None` means all.
    ///
    /// # Panics
    /// `builder` panics when the projection names a column that `types` does not have.
    #[must_use]
    pub fn new(types: &[DataType], projection: Option<&[usize]>) -> Self {
        let projection = projection.map_or_else(|| (0..types.len()).collect(), <[usize]>::to_vec);
        Self { types: types.to_vec(), projection, stored_width: types.len(), schema: None }
    }

    /// The stored rows have only the first `columns` columns (an older schema); the others read as NULL.
    #[must_use]
    pub fn with_stored_width(mut self, columns: usize) -> Self {
        self.stored_width = columns.min(self.types.len());
        self
    }

    /// Batches get this schema, whose fields are the projected columns; without it the columns are called `f0`, `f1`, ...
    #[must_use]
    pub fn with_schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self
    }

    /// An empty builder with room for `capacity` rows.
    #[must_use]
    pub fn builder(&self, capacity: usize) -> RowsBuilder {
        let mut columns: Vec<ColumnBuilder> = Vec::new();
        let mut target: Vec<Option<usize>> = vec![None; self.types.len()];
        let output = self.projection.iter().map(|&wanted| {
            *target[wanted].get_or_insert_with(|| {
                columns.push(ColumnBuilder::new(&self.types[wanted], capacity));
                columns.len() - 1
            })
        });
        let output = output.collect();
        let padded = target.iter().skip(self.stored_width).flatten().copied().collect();
        let stored = self.types.iter().zip(&target).take(self.stored_width);
        let steps = stored.map(|(t, target)| target.map_or_else(|| Step::skip(&t.root), Step::Read));
        let mut steps: Vec<Step> = steps.collect();
        // What stands behind the last wanted column need not be looked at.
        steps.truncate(steps.iter().rposition(|s| matches!(s, Step::Read(_))).map_or(0, |last| last + 1));
        let schema = self.schema.clone().unwrap_or_else(|| self.plain_schema());
        let null_bytes = null_bytes(self.stored_width);
        RowsBuilder { steps, null_bytes, columns, padded, output, schema, rows: 0, damaged: false }
    }

    fn plain_schema(&self) -> SchemaRef {
        let field = |(i, &column): (usize, &usize)| arrow_field(&format!("f{i}"), &self.types[column]);
        Arc::new(ArrowSchema::new(self.projection.iter().enumerate().map(field).collect::<Vec<_>>()))
    }
}

/// What to do with one stored column.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Append it to this column.
    Read(usize),
    SkipFixed(usize),
    SkipNumber,
    SkipTwoNumbers,
    SkipBytes,
}

impl Step {
    const fn skip(root: &TypeRoot) -> Self {
        match root {
            TypeRoot::Boolean | TypeRoot::TinyInt => Self::SkipFixed(1),
            TypeRoot::SmallInt => Self::SkipFixed(2),
            TypeRoot::Float => Self::SkipFixed(4),
            TypeRoot::Double => Self::SkipFixed(8),
            TypeRoot::Int | TypeRoot::BigInt | TypeRoot::Date | TypeRoot::Time { .. } => Self::SkipNumber,
            TypeRoot::Decimal { precision, .. } if *precision <= PRECISION_OF_I64 => Self::SkipNumber,
            TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision } => {
                if *precision <= PRECISION_OF_MILLIS { Self::SkipNumber } else { Self::SkipTwoNumbers }
            }
            _ => Self::SkipBytes,
        }
    }
}

/// Columns under construction.
#[derive(Debug)]
pub struct RowsBuilder {
    steps: Vec<Step>,
    null_bytes: usize,
    columns: Vec<ColumnBuilder>,
    /// Columns that the stored rows do not have.
    padded: Vec<usize>,
    /// The column behind each field of the batch.
    output: Vec<usize>,
    schema: SchemaRef,
    rows: usize,
    damaged: bool,
}

impl RowsBuilder {
    /// Decodes one row and appends it.
    ///
    /// # Errors
    /// `Corrupt`; the builder is then unusable and `finish` fails. `Invalid` when a column passes 2 GiB.
    pub fn push(&mut self, row: &[u8]) -> Result<()> {
        let pushed = self.try_push(row);
        self.damaged |= pushed.is_err();
        pushed
    }

    fn try_push(&mut self, row: &[u8]) -> Result<()> {
        let mut reader = Reader::open(row, self.null_bytes)?;
        for (i, step) in self.steps.iter().enumerate() {
            match *step {
                Step::Read(column) if reader.is_null(i) => self.columns[column].push_null(),
                Step::Read(column) => reader.read(&mut self.columns[column])?,
                _ if reader.is_null(i) => {}
                Step::SkipFixed(bytes) => drop(reader.take(bytes)?),
                Step::SkipNumber => drop(reader.number()?),
                Step::SkipTwoNumbers => drop((reader.number()?, reader.number()?)),
                Step::SkipBytes => drop(reader.bytes()?),
            }
        }
        for &column in &self.padded {
            self.columns[column].push_null();
        }
        self.rows += 1;
        Ok(())
    }

    /// The rows pushed since the last call, as a batch; the builder is empty afterwards.
    ///
    /// # Errors
    /// `Corrupt` when text is not UTF-8 or a NULL stands where none may be.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        if self.damaged {
            return Err(Error::corrupt("a row before was damaged; its batch cannot be finished"));
        }
        let arrays = self.columns.iter_mut().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
        let columns = self.output.iter().map(|&column| Arc::clone(&arrays[column])).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|e| Error::corrupt(format!("decoded rows do not fit their schema: {e}")))
    }

    /// Number of rows pushed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether no row was pushed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }
}

/// Appends the values of a row that has no null bits: none of them is NULL.
///
/// # Errors
/// `Corrupt`; the columns are then of unequal length and must be thrown away.
pub(crate) fn read_values(bytes: &[u8], columns: &mut [ColumnBuilder]) -> Result<()> {
    let mut reader = Reader { null_bits: &[], rest: bytes };
    columns.iter_mut().try_for_each(|column| reader.read(column))
}

/// Appends a row that stands inside an array, map or row.
fn read_row(bytes: &[u8], columns: &mut [ColumnBuilder]) -> Result<()> {
    let mut reader = Reader::open(bytes, null_bytes(columns.len()))?;
    for (i, column) in columns.iter_mut().enumerate() {
        if reader.is_null(i) {
            column.push_null();
        } else {
            reader.read(column)?;
        }
    }
    Ok(())
}

/// A row being read.
struct Reader<'a> {
    null_bits: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline]
    fn open(row: &'a [u8], null_bytes: usize) -> Result<Self> {
        let (null_bits, rest) = row.split_at_checked(null_bytes).ok_or_else(cut_off)?;
        Ok(Self { null_bits, rest })
    }

    #[inline]
    fn is_null(&self, column: usize) -> bool {
        self.null_bits.get(column / 8).is_some_and(|byte| byte >> (column % 8) & 1 == 1)
    }

    #[inline]
    fn take(&mut self, bytes: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    fn number(&mut self) -> Result<i64> {
        let (value, length) = get_u64(self.rest).ok_or_else(cut_off)?;
        self.rest = &self.rest[length..];
        Ok(value as i64)
    }

    #[inline]
    fn small_number(&mut self) -> Result<u32> {
        let (value, length) = get_u32(self.rest).ok_or_else(cut_off)?;
        self.rest = &self.rest[length..];
        Ok(value)
    }

    #[inline]
    fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.small_number()?;
        self.take(length as usize)
    }

    /// Appends the next value.
    #[inline]
    fn read(&mut self, column: &mut ColumnBuilder) -> Result<()> {
        match &mut column.store {
            Store::Bool(v) => v.append(u8::from_le_bytes(self.fixed()?) != 0),
            Store::I8(v) => v.push(i8::from_le_bytes(self.fixed()?)),
            Store::I16(v) => v.push(i16::from_le_bytes(self.fixed()?)),
            Store::I32(v) => v.push(self.small_number()? as i32),
            Store::I64(v) => v.push(self.number()?),
            Store::F32(v) => v.push(f32::from_le_bytes(self.fixed()?)),
            Store::F64(v) => v.push(f64::from_le_bytes(self.fixed()?)),
            Store::Time32(..) | Store::Time64(..) => return column.push_time(self.small_number()? as i32),
            Store::Millis(..) => return column.push_timestamp(self.number()?, 0),
            Store::Fine(..) => return column.push_timestamp(self.number()?, self.small_number()?),
            Store::SmallDecimal(..) => return column.push_decimal(self.number()?.into()),
            Store::WideDecimal(..) => return column.push_decimal_bytes(self.bytes()?),
            Store::Text(..) | Store::Bytes(..) | Store::Fixed(..) => return column.push_bytes(self.bytes()?),
            Store::List(..) | Store::Map(..) | Store::Row(_) => return read_nested(self.bytes()?, column, read_row),
        }
        column.push_valid();
        Ok(())
    }
}

fn cut_off() -> Error {
    Error::corrupt("stored row is damaged: it ends early or holds a number that is too long")
}
