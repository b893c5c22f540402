//! What a column holds, as JSON and as text.

use crate::calendar::{date_text, of_day_text, timestamp_text};
use arrow_array::cast::AsArray;
use arrow_array::types as t;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use serde_json::{Map, Number, Value, json};
use sluice_row::{DataType, TypeRoot};
use std::fmt::Write as _;

/// A cell as JSON; what JSON has no numbers for is text.
pub(crate) fn value(data_type: &DataType, array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match &data_type.root {
        TypeRoot::Boolean => json!(array.as_boolean().value(row)),
        TypeRoot::TinyInt => json!(array.as_primitive::<t::Int8Type>().value(row)),
        TypeRoot::SmallInt => json!(array.as_primitive::<t::Int16Type>().value(row)),
        TypeRoot::Int => json!(array.as_primitive::<t::Int32Type>().value(row)),
        TypeRoot::BigInt => json!(array.as_primitive::<t::Int64Type>().value(row)),
        // By way of its shortest text, which has not the digits that 64 bits would add.
        TypeRoot::Float => floating(array.as_primitive::<t::Float32Type>().value(row).to_string()),
        TypeRoot::Double => floating(array.as_primitive::<t::Float64Type>().value(row).to_string()),
        TypeRoot::Char(_) | TypeRoot::String => json!(array.as_string::<i32>().value(row)),
        TypeRoot::Decimal { scale, .. } => json!(decimal(array.as_primitive::<t::Decimal128Type>().value(row), *scale)),
        TypeRoot::Date => json!(date_text(i64::from(array.as_primitive::<t::Date32Type>().value(row)))),
        TypeRoot::Time { .. } => json!(of_day_text(i64::try_from(nanos(array, row)).unwrap_or(0))),
        TypeRoot::Timestamp { .. } => json!(timestamp_text(nanos(array, row))),
        TypeRoot::TimestampLtz { .. } => json!(timestamp_text(nanos(array, row)) + "Z"),
        TypeRoot::Binary(_) => json!(hex(array.as_fixed_size_binary().value(row))),
        TypeRoot::Bytes => json!(hex(array.as_binary::<i32>().value(row))),
        TypeRoot::Array(element) => {
            let inner = array.as_list::<i32>().value(row);
            (0..inner.len()).map(|i| value(element, &inner, i)).collect()
        }
        TypeRoot::Map(key, of) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let entry = |i| (text(&value(key, keys, i)), value(of, values, i));
            Value::Object((0..entries.len()).map(entry).collect())
        }
        TypeRoot::Row(fields) => {
            let columns = array.as_struct().columns();
            let field =
                |(f, column): (&sluice_row::RowField, &ArrayRef)| (f.name.clone(), value(&f.data_type, column, row));
            Value::Object(fields.iter().zip(columns).map(field).collect::<Map<_, _>>())
        }
    }
}

/// The same for people.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether cells of a type stand to the right.
pub(crate) const fn is_number(data_type: &DataType) -> bool {
    matches!(
        data_type.root,
        TypeRoot::TinyInt
            | TypeRoot::SmallInt
            | TypeRoot::Int
            | TypeRoot::BigInt
            | TypeRoot::Float
            | TypeRoot::Double
            | TypeRoot::Decimal { .. }
    )
}

fn floating(text: String) -> Value {
    match text.as_str() {
        "inf" => json!("Infinity"),
        "-inf" => json!("-Infinity"),
        _ => text.parse().ok().and_then(Number::from_f64).map_or_else(|| json!(text), Value::Number),
    }
}

/// Puts the point into a decimal.
fn decimal(unscaled: i128, scale: u8) -> String {
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    let sign = if unscaled < 0 { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Nanoseconds of a time or timestamp in whatever unit it is kept.
fn nanos(array: &ArrayRef, row: usize) -> i128 {
    let in_unit = |value: i64, unit: &TimeUnit| {
        i128::from(value)
            * match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            }
    };
    match array.data_type() {
        ArrowType::Time32(unit @ TimeUnit::Second) => {
            in_unit(i64::from(array.as_primitive::<t::Time32SecondType>().value(row)), unit)
        }
        ArrowType::Time32(unit) => {
            in_unit(i64::from(array.as_primitive::<t::Time32MillisecondType>().value(row)), unit)
        }
        ArrowType::Time64(unit @ TimeUnit::Microsecond) => {
            in_unit(array.as_primitive::<t::Time64MicrosecondType>().value(row), unit)
        }
        ArrowType::Time64(unit) => in_unit(array.as_primitive::<t::Time64NanosecondType>().value(row), unit),
        ArrowType::Timestamp(unit @ TimeUnit::Second, _) => {
            in_unit(array.as_primitive::<t::TimestampSecondType>().value(row), unit)
        }
        ArrowType::Timestamp(unit @ TimeUnit::Millisecond, _) => {
            in_unit(array.as_primitive::<t::TimestampMillisecondType>().value(row), unit)
        }
        ArrowType::Timestamp(unit @ TimeUnit::Microsecond, _) => {
            in_unit(array.as_primitive::<t::TimestampMicrosecondType>().value(row), unit)
        }
        ArrowType::Timestamp(unit, _) => in_unit(array.as_primitive::<t::TimestampNanosecondType>().value(row), unit),
        _ => 0,
    }
}

/// Rows on their way out: each cell of a batch.
pub(crate) struct Rows<'a> {
    pub(crate) columns: &'a [sluice_row::Column],
    pub(crate) arrays: &'a [ArrayRef],
}

impl Rows<'_> {
    /// A row as the cells of a text table.
    pub(crate) fn texts(&self, row: usize) -> Vec<String> {
        self.cells(row).map(|(_, v)| text(&v)).collect()
    }

    /// A row as the inside of a JSON object, in the order of the columns.
    pub(crate) fn json(&self, row: usize) -> String {
        let pairs = self.cells(row).map(|(name, v)| format!("{}:{v}", json!(name)));
        pairs.collect::<Vec<_>>().join(",")
    }

    fn cells(&self, row: usize) -> impl Iterator<Item = (&str, Value)> {
        let cell = move |(c, array)| {
            let (c, array): (&sluice_row::Column, &ArrayRef) = (c, array);
            (c.name.as_str(), value(&c.data_type, array, row))
        };
        self.columns.iter().zip(self.arrays).map(cell)
    }
}
