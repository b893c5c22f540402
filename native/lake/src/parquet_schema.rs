//! How a table's columns look in Parquet: physical types, annotations, names of groups and field ids as Paimon's own writer makes
//! them, and the Arrow types that the Parquet library takes for them.

use crate::system_column::StoredColumn;
use arrow_schema::{DataType as ArrowType, Field, Fields, TimeUnit};
use parquet::basic::{LogicalType, Repetition, TimeUnit as ParquetUnit, Type as Physical};
use parquet::errors::Result as ParquetResult;
use parquet::schema::types::{Type, TypePtr};
use sluice_row::{DataType, RowField, TypeRoot};
use std::sync::Arc;

/// Ids of elements, keys and values are counted from here by the id of their column and their depth.
const NESTED_ID_BASE: i32 = i32::MAX / 4;
const NESTED_ID_STEP: i32 = 1 << 10;
/// Timestamps of more digits are kept in 96 bits, the others in 64.
pub(crate) const PRECISION_OF_INT64: u8 = 6;

/// Where a type stands: its own id, that of the column it is in, and how deep.
#[derive(Debug, Clone, Copy)]
struct Place {
    own: i32,
    column: i32,
    depth: i32,
}

impl Place {
    const fn of_column(id: i32) -> Self {
        Self { own: id, column: id, depth: 0 }
    }

    /// Of an element or value (`sign` 1) or a key (`sign` -1).
    const fn nested(self, sign: i32) -> Self {
        let depth = self.depth + 1;
        let own = NESTED_ID_BASE.wrapping_add(sign * (self.column.wrapping_mul(NESTED_ID_STEP).wrapping_add(depth)));
        Self { own, column: self.column, depth }
    }
}

/// The schema of a file with these columns.
///
/// # Errors
/// What the library refuses, for example a DECIMAL of too many digits.
pub(crate) fn parquet_schema(columns: &[StoredColumn]) -> ParquetResult<TypePtr> {
    let field = |c: &StoredColumn| parquet_type(&c.name, &c.data_type, Place::of_column(c.id));
    let fields = columns.iter().map(field).collect::<ParquetResult<_>>()?;
    Ok(Arc::new(Type::group_type_builder("paimon_schema").with_fields(fields).build()?))
}

fn parquet_type(name: &str, data_type: &DataType, place: Place) -> ParquetResult<TypePtr> {
    let repetition = if data_type.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let group = |logical: Option<LogicalType>, fields: Vec<TypePtr>| {
        let group = Type::group_type_builder(name).with_repetition(repetition).with_logical_type(logical);
        Ok(Arc::new(group.with_fields(fields).with_id(Some(place.own)).build()?))
    };
    let repeated = |name: &str, fields: Vec<TypePtr>| -> ParquetResult<Vec<TypePtr>> {
        let group = Type::group_type_builder(name).with_repetition(Repetition::REPEATED);
        Ok(vec![Arc::new(group.with_fields(fields).build()?)])
    };
    match &data_type.root {
        TypeRoot::Array(element) => {
            let element = parquet_type("element", element, place.nested(1))?;
            group(Some(LogicalType::List), repeated("list", vec![element])?)
        }
        TypeRoot::Map(key, value) => {
            let key = parquet_type("key", &(**key).clone().not_null(), place.nested(-1))?;
            let value = parquet_type("value", value, place.nested(1))?;
            group(Some(LogicalType::Map), repeated("key_value", vec![key, value])?)
        }
        TypeRoot::Row(fields) => {
            let field = |f: &RowField| parquet_type(&f.name, &f.data_type, Place::of_column(f.field_id));
            group(None, fields.iter().map(field).collect::<ParquetResult<_>>()?)
        }
        flat => flat_type(name, flat, repetition, place.own),
    }
}

fn flat_type(name: &str, root: &TypeRoot, repetition: Repetition, id: i32) -> ParquetResult<TypePtr> {
    let (physical, logical) = match root {
        TypeRoot::Boolean => (Physical::BOOLEAN, None),
        TypeRoot::TinyInt => (Physical::INT32, Some(LogicalType::integer(8, true))),
        TypeRoot::SmallInt => (Physical::INT32, Some(LogicalType::integer(16, true))),
        TypeRoot::Int => (Physical::INT32, None),
        TypeRoot::BigInt => (Physical::INT64, None),
        TypeRoot::Float => (Physical::FLOAT, None),
        TypeRoot::Double => (Physical::DOUBLE, None),
        TypeRoot::Char(_) | TypeRoot::String => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        TypeRoot::Date => (Physical::INT32, Some(LogicalType::Date)),
        TypeRoot::Time { .. } => (Physical::INT32, Some(LogicalType::time(true, ParquetUnit::MILLIS))),
        TypeRoot::Timestamp { precision } => timestamp(*precision, false),
        TypeRoot::TimestampLtz { precision } => timestamp(*precision, true),
        TypeRoot::Decimal { precision, scale } => return decimal(name, *precision, *scale, repetition, id),
        // BINARY and BYTES; nested types never come here.
        _ => (Physical::BYTE_ARRAY, None),
    };
    let flat = Type::primitive_type_builder(name, physical).with_repetition(repetition).with_logical_type(logical);
    Ok(Arc::new(flat.with_id(Some(id)).build()?))
}

fn timestamp(precision: u8, is_adjusted_to_utc: bool) -> (Physical, Option<LogicalType>) {
    let unit = match precision {
        0..=3 => ParquetUnit::MILLIS,
        4..=PRECISION_OF_INT64 => ParquetUnit::MICROS,
        _ => return (Physical::INT96, None),
    };
    (Physical::INT64, Some(LogicalType::timestamp(is_adjusted_to_utc, unit)))
}

fn decimal(name: &str, precision: u8, scale: u8, repetition: Repetition, id: i32) -> ParquetResult<TypePtr> {
    let (precision, scale) = (i32::from(precision), i32::from(scale));
    let (physical, length) = match precision {
        ..=9 => (Physical::INT32, 0),
        10..=18 => (Physical::INT64, 0),
        _ => (Physical::FIXED_LEN_BYTE_ARRAY, decimal_bytes(precision)),
    };
    let flat = Type::primitive_type_builder(name, physical).with_repetition(repetition).with_length(length);
    let flat = flat.with_logical_type(Some(LogicalType::decimal(scale, precision)));
    Ok(Arc::new(flat.with_precision(precision).with_scale(scale).with_id(Some(id)).build()?))
}

/// Bytes of two's complement that hold so many decimal digits.
fn decimal_bytes(precision: i32) -> i32 {
    let mut bytes = 1;
    while 2_f64.powi(8 * bytes - 1) < 10_f64.powi(precision) {
        bytes += 1;
    }
    bytes
}

/// Whether columns of this type are written value by value: the Parquet library has no way from Arrow to 96 bits.
pub(crate) const fn is_int96(root: &TypeRoot) -> bool {
    matches!(root, TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision } if *precision > PRECISION_OF_INT64)
}

/// The Arrow type in which values of this type are handed to the Parquet library and come from it.
pub(crate) fn file_type(data_type: &DataType) -> ArrowType {
    match &data_type.root {
        TypeRoot::Time { .. } => ArrowType::Time32(TimeUnit::Millisecond),
        TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision } => {
            let unit = match precision {
                0..=3 => TimeUnit::Millisecond,
                4..=PRECISION_OF_INT64 => TimeUnit::Microsecond,
                _ => TimeUnit::Nanosecond,
            };
            ArrowType::Timestamp(unit, None)
        }
        TypeRoot::Binary(_) => ArrowType::Binary,
        TypeRoot::Array(element) => ArrowType::List(Arc::new(file_field("element", element))),
        TypeRoot::Map(key, value) => {
            let entry = [file_field("key", key).with_nullable(false), file_field("value", value)];
            let entries = Field::new("key_value", ArrowType::Struct(Fields::from_iter(entry)), false);
            ArrowType::Map(Arc::new(entries), false)
        }
        TypeRoot::Row(fields) => ArrowType::Struct(fields.iter().map(|f| file_field(&f.name, &f.data_type)).collect()),
        _ => sluice_row::arrow_type(data_type),
    }
}

/// The Arrow field of a column in a file.
pub(crate) fn file_field(name: &str, data_type: &DataType) -> Field {
    Field::new(name, file_type(data_type), data_type.nullable)
}
