//! Values as text that every reader can be asked for: numbers of the smallest unit, bits of floating-point numbers, hex of bytes.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use serde_json::{Value, json};

/// One row as a list.
pub fn row(batch: &RecordBatch, row: usize) -> Vec<Value> {
    batch.columns().iter().map(|column| value(column.as_ref(), row)).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn float(value: f64, bits: u64) -> Value {
    if value.is_nan() { json!("NaN") } else { json!(format!("{bits:x}")) }
}

/// One value.
pub fn value(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    let number = |n: i128| json!(n.to_string());
    match array.data_type() {
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Int8 => number(array.as_primitive::<Int8Type>().value(row).into()),
        DataType::Int16 => number(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int32 => number(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => number(array.as_primitive::<Int64Type>().value(row).into()),
        DataType::Date32 => number(array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Decimal128(..) => number(array.as_primitive::<Decimal128Type>().value(row)),
        DataType::Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            float(value.into(), value.to_bits().into())
        }
        DataType::Float64 => {
            let value = array.as_primitive::<Float64Type>().value(row);
            float(value, value.to_bits())
        }
        DataType::Utf8 => json!(array.as_string::<i32>().value(row)),
        DataType::Binary => json!(hex(array.as_binary::<i32>().value(row))),
        DataType::FixedSizeBinary(_) => json!(hex(array.as_fixed_size_binary().value(row))),
        DataType::Time32(_) | DataType::Time64(_) => number(time_millis(array, row)),
        DataType::Timestamp(..) => number(nanoseconds(array, row)),
        DataType::List(_) => {
            let element = array.as_list::<i32>().value(row);
            (0..element.len()).map(|i| value(element.as_ref(), i)).collect()
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let pair = |i| json!([value(entries.column(0).as_ref(), i), value(entries.column(1).as_ref(), i)]);
            (0..entries.len()).map(pair).collect()
        }
        DataType::Struct(_) => array.as_struct().columns().iter().map(|c| value(c.as_ref(), row)).collect(),
        other => panic!("no canonical form of {other}"),
    }
}

fn time_millis(array: &dyn Array, row: usize) -> i128 {
    match array.data_type() {
        DataType::Time32(TimeUnit::Second) => i128::from(array.as_primitive::<Time32SecondType>().value(row)) * 1_000,
        DataType::Time32(_) => array.as_primitive::<Time32MillisecondType>().value(row).into(),
        DataType::Time64(TimeUnit::Microsecond) => {
            i128::from(array.as_primitive::<Time64MicrosecondType>().value(row)) / 1_000
        }
        _ => i128::from(array.as_primitive::<Time64NanosecondType>().value(row)) / 1_000_000,
    }
}

fn nanoseconds(array: &dyn Array, row: usize) -> i128 {
    let DataType::Timestamp(unit, _) = array.data_type() else { panic!("not a timestamp") };
    let (value, factor) = match unit {
        TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(row), 1_000_000_000),
        TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().value(row), 1_000_000),
        TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().value(row), 1_000),
        TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().value(row), 1),
    };
    i128::from(value) * factor
}
