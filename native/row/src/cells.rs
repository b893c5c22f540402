//! Cells of an Arrow column, seen by type: bound once a batch, so that a row costs one jump a column and no type test.

use crate::{DataType, TypeRoot, arrow_type};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, types as arrow};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use sluice_base::{Error, Result};

/// Decimals up to this precision fit in 64 bits and are kept so in every row form.
pub(crate) const PRECISION_OF_I64: u8 = 18;

/// Times up to this precision are kept in milliseconds alone.
pub(crate) const PRECISION_OF_MILLIS: u8 = 3;

/// One column: its cells and which of them are NULL.
#[derive(Debug)]
pub(crate) struct Cells<'a> {
    pub(crate) nulls: Option<&'a NullBuffer>,
    pub(crate) values: Values<'a>,
}

/// Cells by the way in which the row forms write them.
#[derive(Debug)]
pub(crate) enum Values<'a> {
    Bool(&'a BooleanBuffer),
    I8(&'a [i8]),
    I16(&'a [i16]),
    /// INT and DATE.
    I32(&'a [i32]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    /// TIME kept in seconds or milliseconds.
    Time32(&'a [i32], TimeUnit),
    /// TIME kept in micro- or nanoseconds.
    Time64(&'a [i64], TimeUnit),
    /// TIMESTAMP of precision up to 3.
    Millis(&'a [i64], TimeUnit),
    /// TIMESTAMP of a higher precision; whether in nanoseconds.
    Fine(&'a [i64], bool),
    /// DECIMAL of precision up to 18.
    SmallDecimal(&'a [i128]),
    WideDecimal(&'a [i128]),
    /// CHAR, STRING, BYTES.
    Bytes(&'a [i32], &'a [u8]),
    /// BINARY, all of one width.
    Fixed(usize, &'a [u8]),
    List(&'a [i32], Box<Cells<'a>>),
    Map(&'a [i32], Box<Cells<'a>>, Box<Cells<'a>>),
    Row(Vec<Cells<'a>>),
}

impl<'a> Cells<'a> {
    /// Sees `array` as cells of `data_type`.
    ///
    /// # Errors
    /// `Internal` when the array is of another type.
    pub(crate) fn bind(data_type: &DataType, array: &'a dyn Array) -> Result<Self> {
        let values = match &data_type.root {
            TypeRoot::Array(element) => array.as_list_opt::<i32>().map(|list| {
                let cells = Self::bind(element, list.values().as_ref())?;
                Ok(Values::List(list.value_offsets(), Box::new(cells)))
            }),
            TypeRoot::Map(key, value) => array.as_map_opt().map(|map| {
                let keys = Self::bind(key, map.keys().as_ref())?;
                let values = Self::bind(value, map.values().as_ref())?;
                Ok(Values::Map(map.value_offsets(), Box::new(keys), Box::new(values)))
            }),
            TypeRoot::Row(fields) => array.as_struct_opt().filter(|s| s.num_columns() == fields.len()).map(|row| {
                let bound = fields.iter().zip(row.columns()).map(|(f, c)| Self::bind(&f.data_type, c.as_ref()));
                Ok(Values::Row(bound.collect::<Result<_>>()?))
            }),
            flat => Values::bind(flat, array).map(Ok),
        };
        let values = values.ok_or_else(|| mismatch(data_type, array.data_type()))??;
        Ok(Self { nulls: array.nulls().filter(|n| n.null_count() > 0), values })
    }

    /// Sees the arrays of one batch.
    ///
    /// # Errors
    /// `Internal` when number, length or type differs.
    pub(crate) fn bind_all(types: &[DataType], arrays: &'a [ArrayRef]) -> Result<Vec<Self>> {
        if types.len() != arrays.len() {
            return Err(Error::internal(format!("{} columns given where {} are due", arrays.len(), types.len())));
        }
        if arrays.windows(2).any(|w| w[0].len() != w[1].len()) {
            return Err(Error::internal("columns of one batch differ in length"));
        }
        types.iter().zip(arrays).map(|(t, a)| Self::bind(t, a.as_ref())).collect()
    }

    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|n| n.is_null(row))
    }
}

impl<'a> Values<'a> {
    /// `None` when the array is of another type, or the type is nested.
    fn bind(root: &TypeRoot, array: &'a dyn Array) -> Option<Self> {
        Some(match root {
            TypeRoot::Boolean => Self::Bool(array.as_boolean_opt()?.values()),
            TypeRoot::TinyInt => Self::I8(array.as_primitive_opt::<arrow::Int8Type>()?.values()),
            TypeRoot::SmallInt => Self::I16(array.as_primitive_opt::<arrow::Int16Type>()?.values()),
            TypeRoot::Int => Self::I32(array.as_primitive_opt::<arrow::Int32Type>()?.values()),
            TypeRoot::Date => Self::I32(array.as_primitive_opt::<arrow::Date32Type>()?.values()),
            TypeRoot::BigInt => Self::I64(array.as_primitive_opt::<arrow::Int64Type>()?.values()),
            TypeRoot::Float => Self::F32(array.as_primitive_opt::<arrow::Float32Type>()?.values()),
            TypeRoot::Double => Self::F64(array.as_primitive_opt::<arrow::Float64Type>()?.values()),
            TypeRoot::Char(_) | TypeRoot::String => {
                let text = array.as_string_opt::<i32>()?;
                Self::Bytes(text.value_offsets(), text.value_data())
            }
            TypeRoot::Bytes => {
                let bytes = array.as_binary_opt::<i32>()?;
                Self::Bytes(bytes.value_offsets(), bytes.value_data())
            }
            TypeRoot::Binary(width) => {
                let fixed = array.as_fixed_size_binary_opt()?;
                let width = i32::try_from(*width).ok().filter(|w| *w == fixed.value_length())?;
                Self::Fixed(usize::try_from(width).ok()?, fixed.value_data())
            }
            TypeRoot::Decimal { precision, .. } => {
                let decimal = array.as_primitive_opt::<arrow::Decimal128Type>()?;
                let small = *precision <= PRECISION_OF_I64;
                if small { Self::SmallDecimal(decimal.values()) } else { Self::WideDecimal(decimal.values()) }
            }
            TypeRoot::Time { .. } => Self::bind_time(array)?,
            TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision } => {
                Self::bind_timestamp(*precision, array)?
            }
            TypeRoot::Array(_) | TypeRoot::Map(..) | TypeRoot::Row(_) => return None,
        })
    }

    fn bind_time(array: &'a dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            ArrowType::Time32(unit @ TimeUnit::Second) => {
                Self::Time32(array.as_primitive_opt::<arrow::Time32SecondType>()?.values(), *unit)
            }
            ArrowType::Time32(unit @ TimeUnit::Millisecond) => {
                Self::Time32(array.as_primitive_opt::<arrow::Time32MillisecondType>()?.values(), *unit)
            }
            ArrowType::Time64(unit @ TimeUnit::Microsecond) => {
                Self::Time64(array.as_primitive_opt::<arrow::Time64MicrosecondType>()?.values(), *unit)
            }
            ArrowType::Time64(unit @ TimeUnit::Nanosecond) => {
                Self::Time64(array.as_primitive_opt::<arrow::Time64NanosecondType>()?.values(), *unit)
            }
            _ => return None,
        })
    }

    fn bind_timestamp(precision: u8, array: &'a dyn Array) -> Option<Self> {
        let ArrowType::Timestamp(unit, _) = array.data_type() else { return None };
        let values: &'a [i64] = match unit {
            TimeUnit::Second => array.as_primitive_opt::<arrow::TimestampSecondType>()?.values(),
            TimeUnit::Millisecond => array.as_primitive_opt::<arrow::TimestampMillisecondType>()?.values(),
            TimeUnit::Microsecond => array.as_primitive_opt::<arrow::TimestampMicrosecondType>()?.values(),
            TimeUnit::Nanosecond => array.as_primitive_opt::<arrow::TimestampNanosecondType>()?.values(),
        };
        Some(match (precision <= PRECISION_OF_MILLIS, unit) {
            (true, TimeUnit::Second | TimeUnit::Millisecond) => Self::Millis(values, *unit),
            (false, TimeUnit::Microsecond) => Self::Fine(values, false),
            (false, TimeUnit::Nanosecond) => Self::Fine(values, true),
            _ => return None,
        })
    }
}

fn mismatch(data_type: &DataType, found: &ArrowType) -> Error {
    Error::internal(format!("a column of type {data_type} must be {} in Arrow, not {found}", arrow_type(data_type)))
}

/// Bounds of value number `row` among Arrow offsets, which Arrow guarantees to be ordered and not negative.
#[inline]
pub(crate) fn bounds(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    let (start, end) = (offsets[row] as usize, offsets[row + 1] as usize);
    start..end
}

/// Shortest two's complement of a number: its bytes, most significant first and zeroes after them, and how many count.
pub(crate) const fn shortest_be(value: i128) -> ([u8; 16], usize) {
    let magnitude = if value < 0 { !value } else { value };
    let length = (128 - magnitude.leading_zeros()) / 8 + 1;
    ((value << (128 - 8 * length)).to_be_bytes(), length as usize)
}
