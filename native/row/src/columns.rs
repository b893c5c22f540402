//! Columns under construction from decoded rows.

use crate::cells::{PRECISION_OF_I64, PRECISION_OF_MILLIS};
use crate::time::Cut;
use crate::{DataType, TypeRoot, arrow_type};
use arrow_array::{ArrayRef, BinaryArray, ListArray, MapArray, StringArray, StructArray, make_array};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType as ArrowType, Field};
use sluice_base::{Error, Result};
use std::mem::take;
use std::sync::Arc;

/// Room made at first for each text or byte string; more is made as it is needed.
const TEXT_BYTES: usize = 16;

/// One column under construction.
#[derive(Debug)]
pub(crate) struct ColumnBuilder {
    arrow: ArrowType,
    valid: NullBufferBuilder,
    pub(crate) store: Store,
}

/// Values by the way in which the row forms read them; the pairs of vectors are Arrow offsets and what they point into.
#[derive(Debug)]
pub(crate) enum Store {
    Bool(BooleanBufferBuilder),
    I8(Vec<i8>),
    I16(Vec<i16>),
    /// INT and DATE.
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// TIME of precision up to 3.
    Time32(Vec<i32>, Cut),
    Time64(Vec<i64>, Cut),
    /// TIMESTAMP of precision up to 3.
    Millis(Vec<i64>, Cut),
    Fine(Vec<i64>, Cut),
    /// DECIMAL of precision up to 18, and the number that is too large for it.
    SmallDecimal(Vec<i128>, i128),
    WideDecimal(Vec<i128>, i128),
    /// CHAR and STRING.
    Text(Vec<i32>, Vec<u8>),
    Bytes(Vec<i32>, Vec<u8>),
    /// BINARY, all of one width.
    Fixed(usize, Vec<u8>),
    List(Vec<i32>, Box<ColumnBuilder>),
    Map(Vec<i32>, Box<ColumnBuilder>, Box<ColumnBuilder>),
    Row(Vec<ColumnBuilder>),
}

impl Store {
    fn new(root: &TypeRoot, capacity: usize) -> Self {
        let offsets = || {
            let mut offsets = Vec::with_capacity(capacity + 1);
            offsets.push(0);
            offsets
        };
        match root {
            TypeRoot::Boolean => Self::Bool(BooleanBufferBuilder::new(capacity)),
            TypeRoot::TinyInt => Self::I8(Vec::with_capacity(capacity)),
            TypeRoot::SmallInt => Self::I16(Vec::with_capacity(capacity)),
            TypeRoot::Int | TypeRoot::Date => Self::I32(Vec::with_capacity(capacity)),
            TypeRoot::BigInt => Self::I64(Vec::with_capacity(capacity)),
            TypeRoot::Float => Self::F32(Vec::with_capacity(capacity)),
            TypeRoot::Double => Self::F64(Vec::with_capacity(capacity)),
            TypeRoot::Char(_) | TypeRoot::String => Self::Text(offsets(), Vec::with_capacity(capacity * TEXT_BYTES)),
            TypeRoot::Bytes => Self::Bytes(offsets(), Vec::with_capacity(capacity * TEXT_BYTES)),
            TypeRoot::Binary(width) => Self::Fixed(usize::try_from(*width).unwrap_or(usize::MAX), Vec::new()),
            TypeRoot::Decimal { precision, .. } if *precision <= PRECISION_OF_I64 => {
                Self::SmallDecimal(Vec::with_capacity(capacity), beyond(*precision))
            }
            TypeRoot::Decimal { precision, .. } => Self::WideDecimal(Vec::with_capacity(capacity), beyond(*precision)),
            TypeRoot::Time { precision } if *precision <= PRECISION_OF_MILLIS => {
                Self::Time32(Vec::with_capacity(capacity), Cut::new(*precision))
            }
            TypeRoot::Time { precision } => Self::Time64(Vec::with_capacity(capacity), Cut::new(*precision)),
            TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision } => {
                let (values, cut) = (Vec::with_capacity(capacity), Cut::new(*precision));
                if *precision <= PRECISION_OF_MILLIS { Self::Millis(values, cut) } else { Self::Fine(values, cut) }
            }
            TypeRoot::Array(element) => Self::List(offsets(), Box::new(ColumnBuilder::new(element, 0))),
            TypeRoot::Map(key, value) => {
                let part = |t: &DataType| Box::new(ColumnBuilder::new(t, 0));
                Self::Map(offsets(), part(key), part(value))
            }
            TypeRoot::Row(fields) => {
                Self::Row(fields.iter().map(|f| ColumnBuilder::new(&f.data_type, capacity)).collect())
            }
        }
    }
}

impl ColumnBuilder {
    /// An empty column with room for `capacity` values.
    pub(crate) fn new(data_type: &DataType, capacity: usize) -> Self {
        let store = Store::new(&data_type.root, capacity);
        Self { arrow: arrow_type(data_type), valid: NullBufferBuilder::new(capacity), store }
    }

    /// Number of values as an Arrow offset.
    ///
    /// # Errors
    /// `Invalid` beyond 2^31.
    pub(crate) fn offset(&self) -> Result<i32> {
        offset(self.valid.len())
    }

    /// Counts the value just pushed into the store.
    #[inline]
    pub(crate) fn push_valid(&mut self) {
        self.valid.append_non_null();
    }

    /// Appends a NULL.
    pub(crate) fn push_null(&mut self) {
        self.valid.append_null();
        match &mut self.store {
            Store::Bool(v) => v.append(false),
            Store::I8(v) => v.push(0),
            Store::I16(v) => v.push(0),
            Store::I32(v) | Store::Time32(v, _) => v.push(0),
            Store::I64(v) | Store::Time64(v, _) | Store::Millis(v, _) | Store::Fine(v, _) => v.push(0),
            Store::F32(v) => v.push(0.0),
            Store::F64(v) => v.push(0.0),
            Store::SmallDecimal(v, _) | Store::WideDecimal(v, _) => v.push(0),
            Store::Fixed(width, v) => v.resize(v.len() + *width, 0),
            Store::Text(v, _) | Store::Bytes(v, _) | Store::List(v, _) | Store::Map(v, ..) => {
                v.push(v.last().copied().unwrap_or(0));
            }
            Store::Row(fields) => fields.iter_mut().for_each(Self::push_null),
        }
    }

    /// Appends a time of day, cut to the column's precision.
    pub(crate) fn push_time(&mut self, millis: i32) -> Result<()> {
        match &mut self.store {
            Store::Time32(v, cut) => v.push(cut.apply(millis.into(), 0).unwrap_or(0) as i32),
            Store::Time64(v, cut) => v.push(cut.apply(millis.into(), 0).unwrap_or(0)),
            _ => return Err(not_this("a time of day")),
        }
        self.push_valid();
        Ok(())
    }

    /// Appends a timestamp, cut to the column's precision.
    ///
    /// # Errors
    /// `Corrupt` when the column's unit cannot say it.
    #[inline]
    pub(crate) fn push_timestamp(&mut self, millis: i64, nanos: u32) -> Result<()> {
        let (Store::Millis(v, cut) | Store::Fine(v, cut)) = &mut self.store else {
            return Err(not_this("a timestamp"));
        };
        let beyond = || Error::corrupt(format!("timestamp of {millis} ms and {nanos} ns is out of range"));
        v.push(cut.apply(millis, nanos).ok_or_else(beyond)?);
        self.push_valid();
        Ok(())
    }

    /// Appends a decimal.
    ///
    /// # Errors
    /// `Corrupt` when it has too many digits.
    #[inline]
    pub(crate) fn push_decimal(&mut self, unscaled: i128) -> Result<()> {
        let (Store::SmallDecimal(v, beyond) | Store::WideDecimal(v, beyond)) = &mut self.store else {
            return Err(not_this("a decimal"));
        };
        if unscaled >= *beyond || unscaled <= -*beyond {
            return Err(Error::corrupt(format!("decimal {unscaled} has more digits than its type")));
        }
        v.push(unscaled);
        self.push_valid();
        Ok(())
    }

    /// Appends a decimal given as two's complement, most significant byte first.
    ///
    /// # Errors
    /// `Corrupt` when it has too many digits or is not 1 to 16 bytes long.
    pub(crate) fn push_decimal_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let wrong = || Error::corrupt(format!("decimal of {} bytes, not 1 to 16", bytes.len()));
        self.push_decimal(from_be(bytes).ok_or_else(wrong)?)
    }

    /// Appends text or bytes.
    ///
    /// # Errors
    /// `Corrupt` for a BINARY of another length; `Invalid` when the column passes 2 GiB.
    #[inline]
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.store {
            Store::Text(offsets, v) | Store::Bytes(offsets, v) => {
                v.extend_from_slice(bytes);
                offsets.push(offset(v.len())?);
            }
            Store::Fixed(width, v) if bytes.len() == *width => v.extend_from_slice(bytes),
            Store::Fixed(width, _) => {
                return Err(Error::corrupt(format!("BINARY({width}) value has {} bytes", bytes.len())));
            }
            _ => return Err(not_this("bytes")),
        }
        self.push_valid();
        Ok(())
    }

    /// The values pushed so far; the column is empty afterwards.
    ///
    /// # Errors
    /// `Corrupt` for text that is not UTF-8 and for a NULL inside a nested value that allows none.
    pub(crate) fn finish(&mut self) -> Result<ArrayRef> {
        let rows = self.valid.len();
        let nulls = self.valid.finish();
        let arrow = &self.arrow;
        match &mut self.store {
            Store::Bool(v) => flat(arrow, rows, nulls, v.finish().into_inner()),
            Store::I8(v) => flat(arrow, rows, nulls, take(v).into()),
            Store::I16(v) => flat(arrow, rows, nulls, take(v).into()),
            Store::I32(v) | Store::Time32(v, _) => flat(arrow, rows, nulls, take(v).into()),
            Store::I64(v) | Store::Time64(v, _) | Store::Millis(v, _) | Store::Fine(v, _) => {
                flat(arrow, rows, nulls, take(v).into())
            }
            Store::F32(v) => flat(arrow, rows, nulls, take(v).into()),
            Store::F64(v) => flat(arrow, rows, nulls, take(v).into()),
            Store::SmallDecimal(v, _) | Store::WideDecimal(v, _) => flat(arrow, rows, nulls, take(v).into()),
            Store::Fixed(_, v) => flat(arrow, rows, nulls, take(v).into()),
            Store::Text(o, v) => built(StringArray::try_new(restart(o), take(v).into(), nulls)),
            Store::Bytes(o, v) => built(BinaryArray::try_new(restart(o), take(v).into(), nulls)),
            Store::List(o, element) => {
                let ArrowType::List(field) = arrow else { return Err(not_this("a list")) };
                built(ListArray::try_new(Arc::clone(field), restart(o), element.finish()?, nulls))
            }
            Store::Map(o, keys, values) => {
                let ArrowType::Map(field, _) = arrow else { return Err(not_this("a map")) };
                let entries = entries(field, keys.finish()?, values.finish()?)?;
                built(MapArray::try_new(Arc::clone(field), restart(o), entries, nulls, false))
            }
            Store::Row(columns) => {
                let ArrowType::Struct(fields) = arrow else { return Err(not_this("a row")) };
                let columns = columns.iter_mut().map(Self::finish).collect::<Result<Vec<_>>>()?;
                built(StructArray::try_new_with_length(fields.clone(), columns, nulls, rows))
            }
        }
    }
}

/// A column of fixed-width values from its one buffer.
pub(crate) fn flat(arrow: &ArrowType, rows: usize, nulls: Option<NullBuffer>, values: Buffer) -> Result<ArrayRef> {
    let data = ArrayData::builder(arrow.clone()).len(rows).nulls(nulls).add_buffer(values).build();
    Ok(make_array(data.map_err(unfit)?))
}

fn entries(field: &Field, keys: ArrayRef, values: ArrayRef) -> Result<StructArray> {
    let ArrowType::Struct(fields) = field.data_type() else { return Err(not_this("a map's entries")) };
    StructArray::try_new(fields.clone(), vec![keys, values], None).map_err(unfit)
}

/// The offsets collected, leaving those of an empty column.
fn restart(offsets: &mut Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(offsets, vec![0])))
}

fn built(array: Result<impl arrow_array::Array + 'static, ArrowError>) -> Result<ArrayRef> {
    Ok(Arc::new(array.map_err(unfit)?))
}

fn unfit(e: ArrowError) -> Error {
    Error::corrupt(format!("decoded values do not fit their type: {e}"))
}

fn not_this(what: &str) -> Error {
    Error::internal(format!("{what} was read for a column of another type"))
}

fn offset(length: usize) -> Result<i32> {
    let too_much = |_| Error::invalid(sluice_base::Subject::Row, "one batch passes 2 GiB; make batches smaller");
    i32::try_from(length).map_err(too_much)
}

/// `10^precision`, the smallest unscaled number that a DECIMAL of this precision cannot hold.
pub(crate) const fn beyond(precision: u8) -> i128 {
    10_i128.pow(if precision > 38 { 38 } else { precision as u32 })
}

/// A number from its two's complement, most significant byte first; `None` unless 1 to 16 bytes.
pub(crate) fn from_be(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let mut all = if first < 0x80 { [0; 16] } else { [0xff; 16] };
    all.get_mut(16_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(all))
}
