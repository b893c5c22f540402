//! Between the Arrow types of tables and those of data files: the few that differ are TIME, TIMESTAMP of seconds and BINARY, and what
//! contains them.

use crate::parquet_schema::{file_field, file_type};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMillisecondType,
    TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, ListArray, MapArray, StructArray, Time32MillisecondArray,
    TimestampMillisecondArray, TimestampSecondArray, make_array,
};
use arrow_schema::{DataType as ArrowType, Field, Fields, TimeUnit};
use sluice_base::{Error, Result};
use sluice_row::{DataType, TypeRoot, arrow_field, arrow_type};
use std::sync::Arc;

/// Values of a table's column as a file takes them.
///
/// # Errors
/// `Internal` when the array is not of the column's type.
pub(crate) fn to_file(data_type: &DataType, array: &ArrayRef) -> Result<ArrayRef> {
    if *array.data_type() == file_type(data_type) {
        return Ok(Arc::clone(array));
    }
    let converted = match &data_type.root {
        TypeRoot::Time { .. } => time_to_millis(array),
        TypeRoot::Timestamp { .. } | TypeRoot::TimestampLtz { .. } => {
            array.as_primitive_opt::<TimestampSecondType>().map(|a| {
                let millis: TimestampMillisecondArray = a.unary(|s| s.saturating_mul(1_000));
                Arc::new(millis) as ArrayRef
            })
        }
        TypeRoot::Binary(_) => array.as_fixed_size_binary_opt().map(|fixed| {
            let values: BinaryArray = fixed.iter().collect();
            Arc::new(values) as ArrayRef
        }),
        _ => None,
    };
    match converted {
        Some(converted) => Ok(converted),
        None => rebuild(data_type, array, file_field, to_file),
    }
}

/// Values of a file as a table's column has them.
///
/// # Errors
/// `Corrupt` when the file holds another type.
pub(crate) fn from_file(data_type: &DataType, array: &ArrayRef) -> Result<ArrayRef> {
    if *array.data_type() == arrow_type(data_type) {
        return Ok(Arc::clone(array));
    }
    let converted = match &data_type.root {
        TypeRoot::Time { precision } => millis_to_time(*precision, array),
        TypeRoot::Timestamp { .. } | TypeRoot::TimestampLtz { .. } => instants(data_type, array)?,
        TypeRoot::Binary(width) => fixed(*width, array)?,
        _ => None,
    };
    match converted {
        Some(converted) => Ok(converted),
        None => rebuild(data_type, array, arrow_field, from_file).map_err(|_| wrong(data_type, array)),
    }
}

fn wrong(data_type: &DataType, array: &ArrayRef) -> Error {
    Error::corrupt(format!("a data file has {} where a column of type {data_type} is due", array.data_type()))
}

fn time_to_millis(array: &ArrayRef) -> Option<ArrayRef> {
    let millis: Time32MillisecondArray = match array.data_type() {
        ArrowType::Time32(TimeUnit::Second) => {
            array.as_primitive_opt::<Time32SecondType>()?.unary(|s| s.saturating_mul(1_000))
        }
        ArrowType::Time64(TimeUnit::Microsecond) => {
            array.as_primitive_opt::<Time64MicrosecondType>()?.unary(|t| i32::try_from(t / 1_000).unwrap_or(0))
        }
        ArrowType::Time64(TimeUnit::Nanosecond) => {
            array.as_primitive_opt::<Time64NanosecondType>()?.unary(|t| i32::try_from(t / 1_000_000).unwrap_or(0))
        }
        _ => return None,
    };
    Some(Arc::new(millis))
}

fn millis_to_time(precision: u8, array: &ArrayRef) -> Option<ArrayRef> {
    let millis = array.as_primitive_opt::<Time32MillisecondType>()?;
    Some(match precision {
        0 => Arc::new(millis.unary::<_, Time32SecondType>(|t| t / 1_000)),
        1..=3 => Arc::new(millis.clone()),
        4..=6 => Arc::new(millis.unary::<_, Time64MicrosecondType>(|t| i64::from(t) * 1_000)),
        _ => Arc::new(millis.unary::<_, Time64NanosecondType>(|t| i64::from(t) * 1_000_000)),
    })
}

/// Timestamps without their zone, in the unit of the precision.
fn instants(data_type: &DataType, array: &ArrayRef) -> Result<Option<ArrayRef>> {
    let ArrowType::Timestamp(unit, _) = array.data_type() else { return Ok(None) };
    let bare = array.to_data().into_builder().data_type(ArrowType::Timestamp(*unit, None)).build();
    let bare = make_array(bare.map_err(|_| wrong(data_type, array))?);
    if *bare.data_type() == arrow_type(data_type) {
        return Ok(Some(bare));
    }
    Ok(bare.as_primitive_opt::<TimestampMillisecondType>().map(|millis| {
        let seconds: TimestampSecondArray = millis.unary(|t| t.div_euclid(1_000));
        Arc::new(seconds) as ArrayRef
    }))
    .map(|seconds: Option<ArrayRef>| seconds.filter(|s| *s.data_type() == arrow_type(data_type)))
}

fn fixed(width: u32, array: &ArrayRef) -> Result<Option<ArrayRef>> {
    let Some(values) = array.as_binary_opt::<i32>() else { return Ok(None) };
    let width = i32::try_from(width).unwrap_or(i32::MAX);
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.iter(), width);
    let fixed =
        fixed.map_err(|e| Error::corrupt(format!("a data file has a value that is no BINARY({width}): {e}")))?;
    Ok(Some(Arc::new(fixed)))
}

type MakeField = fn(&str, &DataType) -> Field;
type Convert = fn(&DataType, &ArrayRef) -> Result<ArrayRef>;

/// The same ARRAY, MAP or ROW around converted parts.
fn rebuild(data_type: &DataType, array: &ArrayRef, field: MakeField, convert: Convert) -> Result<ArrayRef> {
    let mismatch = || Error::internal(format!("a column of type {data_type} is {} in Arrow", array.data_type()));
    let failed = |e: arrow_schema::ArrowError| mismatch().with_source(e);
    match &data_type.root {
        TypeRoot::Array(element) => {
            let list = array.as_list_opt::<i32>().ok_or_else(mismatch)?;
            let values = convert(element, list.values())?;
            let element = Arc::new(field("element", element));
            let list = ListArray::try_new(element, list.offsets().clone(), values, list.nulls().cloned());
            Ok(Arc::new(list.map_err(failed)?))
        }
        TypeRoot::Map(key, value) => {
            let map = array.as_map_opt().ok_or_else(mismatch)?;
            let parts = vec![convert(key, map.keys())?, convert(value, map.values())?];
            let fields = Fields::from(vec![field("key", key).with_nullable(false), field("value", value)]);
            let ArrowType::Map(entries, _) = field("", data_type).data_type().clone() else { return Err(mismatch()) };
            let inner = StructArray::try_new(fields, parts, None).map_err(failed)?;
            let map = MapArray::try_new(entries, map.offsets().clone(), inner, map.nulls().cloned(), false);
            Ok(Arc::new(map.map_err(failed)?))
        }
        TypeRoot::Row(fields) => {
            let row = array.as_struct_opt().filter(|s| s.num_columns() == fields.len()).ok_or_else(mismatch)?;
            let parts = fields.iter().zip(row.columns()).map(|(f, c)| convert(&f.data_type, c));
            let parts = parts.collect::<Result<Vec<_>>>()?;
            let names = fields.iter().map(|f| field(&f.name, &f.data_type)).collect::<Fields>();
            let row = StructArray::try_new_with_length(names, parts, row.nulls().cloned(), row.len());
            Ok(Arc::new(row.map_err(failed)?))
        }
        _ => Err(mismatch()),
    }
}
