//! Rows as a user wrote them, to the columns of a table.

use crate::calendar::{days, instant, of_day, timestamp};
use crate::scalar::{boolean, bytes, decimal, example, floating, floating32, string, whole};
use arrow_array::types as t;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array, ListArray,
    MapArray, PrimitiveArray, StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType as ArrowType, FieldRef, Fields, TimeUnit};
use serde_json::Value;
use sluice_row::{DataType, RowField, TypeRoot, arrow_field, arrow_type};
use std::sync::Arc;

/// A value that its column cannot hold.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// The number of the row.
    pub(crate) row: usize,
    pub(crate) why: String,
}

/// One value of a column, and the row that it belongs to: inside an ARRAY a row has several.
pub(crate) type Cell<'a> = (usize, &'a Value);

type Done<T> = Result<T, Wrong>;

/// So much of a value is repeated in a complaint.
const SHOWN_CHARS: usize = 60;

fn wrong(cell: Cell<'_>, data_type: &DataType) -> Wrong {
    let (row, value) = cell;
    if value.is_null() {
        return Wrong { row, why: format!("{data_type} needs a value") };
    }
    let text = value.to_string();
    let shown: String = text.chars().take(SHOWN_CHARS).collect();
    let dots = if shown.len() < text.len() { "..." } else { "" };
    let plain = DataType { nullable: true, ..data_type.clone() };
    Wrong { row, why: format!("{shown}{dots} is not {plain}; write it like {}", example(data_type)) }
}

/// The cells that have a value, as `read` understands it.
fn each<'a, T>(
    data_type: &DataType,
    cells: &[Cell<'a>],
    read: impl Fn(&'a Value) -> Option<T>,
) -> Done<Vec<Option<T>>> {
    let one = |cell: &Cell<'a>| match cell.1 {
        Value::Null if data_type.nullable => Ok(None),
        value => read(value).map(Some).ok_or_else(|| wrong(*cell, data_type)),
    };
    cells.iter().map(one).collect()
}

fn primitive<T: ArrowPrimitiveType>(
    data_type: &DataType,
    cells: &[Cell<'_>],
    read: impl Fn(&Value) -> Option<T::Native>,
) -> Done<ArrayRef> {
    let values = each(data_type, cells, read)?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter(values)))
}

/// The column that holds the cells.
///
/// # Errors
/// The first cell that the type does not have.
pub(crate) fn column(data_type: &DataType, cells: &[Cell<'_>]) -> Done<ArrayRef> {
    let chars = match &data_type.root {
        TypeRoot::Char(chars) => Some(*chars),
        _ => None,
    };
    Ok(match &data_type.root {
        TypeRoot::Boolean => Arc::new(BooleanArray::from(each(data_type, cells, boolean)?)),
        TypeRoot::TinyInt => primitive::<t::Int8Type>(data_type, cells, whole)?,
        TypeRoot::SmallInt => primitive::<t::Int16Type>(data_type, cells, whole)?,
        TypeRoot::Int => primitive::<t::Int32Type>(data_type, cells, whole)?,
        TypeRoot::BigInt => primitive::<t::Int64Type>(data_type, cells, whole)?,
        TypeRoot::Float => Arc::new(Float32Array::from(each(data_type, cells, floating32)?)),
        TypeRoot::Double => Arc::new(Float64Array::from(each(data_type, cells, floating)?)),
        TypeRoot::Char(_) | TypeRoot::String => {
            Arc::new(StringArray::from(each(data_type, cells, |v| string(v, chars))?))
        }
        TypeRoot::Decimal { precision, scale } => {
            let values = each(data_type, cells, |v| decimal(v, *precision, *scale))?;
            Arc::new(Decimal128Array::from(values).with_data_type(arrow_type(data_type)))
        }
        TypeRoot::Date => primitive::<t::Date32Type>(data_type, cells, |v| i32::try_from(days(v.as_str()?)?).ok())?,
        TypeRoot::Time { .. } | TypeRoot::Timestamp { .. } | TypeRoot::TimestampLtz { .. } => times(data_type, cells)?,
        TypeRoot::Binary(length) => {
            let right = |v| bytes(v).filter(|b| b.len() == *length as usize);
            let values = each(data_type, cells, right)?;
            let size = i32::try_from(*length).unwrap_or(i32::MAX);
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.into_iter(), size).map_err(unfit)?)
        }
        TypeRoot::Bytes => {
            let values = each(data_type, cells, bytes)?;
            Arc::new(values.iter().map(Option::as_deref).collect::<BinaryArray>())
        }
        TypeRoot::Array(element) => list(data_type, element, cells)?,
        TypeRoot::Map(key, value) => map(data_type, (key, value), cells)?,
        TypeRoot::Row(fields) => row(data_type, fields, cells)?,
    })
}

/// Arrow does not take what was checked here: never seen, and said all the same.
fn unfit(e: impl std::fmt::Display) -> Wrong {
    Wrong { row: 0, why: format!("the values do not make a column: {e}") }
}

fn times(data_type: &DataType, cells: &[Cell<'_>]) -> Done<ArrayRef> {
    let nanos = |value: &Value| -> Option<i128> {
        let text = value.as_str()?;
        match data_type.root {
            TypeRoot::Time { precision } => of_day(text, precision).map(i128::from),
            TypeRoot::Timestamp { precision } => timestamp(text, precision),
            TypeRoot::TimestampLtz { precision } => instant(text, precision),
            _ => None,
        }
    };
    let in_unit = |value: &Value, per_unit: i128| i64::try_from(nanos(value)?.div_euclid(per_unit)).ok();
    let small = |value: &Value, per_unit: i128| i32::try_from(in_unit(value, per_unit)?).ok();
    const SECOND: i128 = 1_000_000_000;
    const MILLI: i128 = 1_000_000;
    const MICRO: i128 = 1_000;
    match arrow_type(data_type) {
        ArrowType::Time32(TimeUnit::Second) => primitive::<t::Time32SecondType>(data_type, cells, |v| small(v, SECOND)),
        ArrowType::Time32(_) => primitive::<t::Time32MillisecondType>(data_type, cells, |v| small(v, MILLI)),
        ArrowType::Time64(TimeUnit::Microsecond) => {
            primitive::<t::Time64MicrosecondType>(data_type, cells, |v| in_unit(v, MICRO))
        }
        ArrowType::Time64(_) => primitive::<t::Time64NanosecondType>(data_type, cells, |v| in_unit(v, 1)),
        ArrowType::Timestamp(TimeUnit::Second, _) => {
            primitive::<t::TimestampSecondType>(data_type, cells, |v| in_unit(v, SECOND))
        }
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => {
            primitive::<t::TimestampMillisecondType>(data_type, cells, |v| in_unit(v, MILLI))
        }
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            primitive::<t::TimestampMicrosecondType>(data_type, cells, |v| in_unit(v, MICRO))
        }
        _ => primitive::<t::TimestampNanosecondType>(data_type, cells, |v| in_unit(v, 1)),
    }
}

fn nulls(cells: &[Cell<'_>]) -> Option<NullBuffer> {
    let buffer = NullBuffer::from_iter(cells.iter().map(|(_, value)| !value.is_null()));
    (buffer.null_count() > 0).then_some(buffer)
}

fn refuse_nulls(data_type: &DataType, cells: &[Cell<'_>]) -> Done<()> {
    match cells.iter().find(|(_, value)| value.is_null()) {
        Some(cell) if !data_type.nullable => Err(wrong(*cell, data_type)),
        _ => Ok(()),
    }
}

/// The type of the entries of a list or a map.
fn entry_field(data_type: &DataType) -> Option<FieldRef> {
    match arrow_type(data_type) {
        ArrowType::List(field) | ArrowType::Map(field, _) => Some(field),
        _ => None,
    }
}

fn list(data_type: &DataType, element: &DataType, cells: &[Cell<'_>]) -> Done<ArrayRef> {
    refuse_nulls(data_type, cells)?;
    let (mut inner, mut lengths) = (Vec::new(), Vec::with_capacity(cells.len()));
    for cell in cells {
        match cell.1 {
            Value::Null => lengths.push(0),
            Value::Array(elements) => {
                inner.extend(elements.iter().map(|e| (cell.0, e)));
                lengths.push(elements.len());
            }
            _ => return Err(wrong(*cell, data_type)),
        }
    }
    let field = entry_field(data_type).ok_or_else(|| unfit("no list"))?;
    let array = ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), column(element, &inner)?, nulls(cells));
    Ok(Arc::new(array.map_err(unfit)?))
}

fn map(data_type: &DataType, (key, value): (&DataType, &DataType), cells: &[Cell<'_>]) -> Done<ArrayRef> {
    refuse_nulls(data_type, cells)?;
    let (mut keys, mut values, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(cells.len()));
    for cell in cells {
        match cell.1 {
            Value::Null => lengths.push(0),
            Value::Object(entries) => {
                for (k, v) in entries {
                    keys.push((cell.0, Value::String(k.clone())));
                    values.push((cell.0, v));
                }
                lengths.push(entries.len());
            }
            _ => return Err(wrong(*cell, data_type)),
        }
    }
    let keys: Vec<Cell<'_>> = keys.iter().map(|(row, key)| (*row, key)).collect();
    let field = entry_field(data_type).ok_or_else(|| unfit("no map"))?;
    let ArrowType::Struct(fields) = field.data_type() else { return Err(unfit("no entries")) };
    let columns = vec![column(key, &keys)?, column(value, &values)?];
    let entries = StructArray::try_new(fields.clone(), columns, None).map_err(unfit)?;
    let array = MapArray::try_new(field.clone(), OffsetBuffer::from_lengths(lengths), entries, nulls(cells), false);
    Ok(Arc::new(array.map_err(unfit)?))
}

fn row(data_type: &DataType, fields: &[RowField], cells: &[Cell<'_>]) -> Done<ArrayRef> {
    refuse_nulls(data_type, cells)?;
    for cell in cells {
        match cell.1 {
            Value::Null => {}
            Value::Object(given) => {
                if let Some(name) = given.keys().find(|name| !fields.iter().any(|f| f.name == **name)) {
                    return Err(Wrong { row: cell.0, why: format!("{data_type} has no field '{name}'") });
                }
            }
            _ => return Err(wrong(*cell, data_type)),
        }
    }
    let mut arrays = Vec::with_capacity(fields.len());
    for field in fields {
        // What is inside a row that is NULL is never looked at.
        let inner_type = if nulls(cells).is_some() {
            DataType { nullable: true, ..field.data_type.clone() }
        } else {
            field.data_type.clone()
        };
        let values: Vec<(usize, &Value)> =
            cells.iter().map(|c| (c.0, c.1.get(&field.name).unwrap_or(&Value::Null))).collect();
        let missing = cells.iter().zip(&values).find(|(c, v)| !c.1.is_null() && v.1.is_null());
        if let (false, Some((cell, _))) = (field.data_type.nullable, missing) {
            return Err(Wrong { row: cell.0, why: format!("field '{}' needs a value", field.name) });
        }
        let array = column(&inner_type, &values);
        arrays.push(array.map_err(|w| Wrong { why: format!("field '{}': {}", field.name, w.why), ..w })?);
    }
    let fields: Fields = fields.iter().map(|f| arrow_field(&f.name, &f.data_type)).collect();
    let array = StructArray::try_new_with_length(fields, arrays, nulls(cells), cells.len());
    Ok(Arc::new(array.map_err(unfit)?))
}

/// A scalar that a user wrote as bare text, on a command line or in CSV. ARRAY, MAP and ROW are written in JSON there.
pub(crate) fn of_text(data_type: &DataType, text: String) -> Result<Value, String> {
    if data_type.is_nested() {
        return serde_json::from_str(&text)
            .map_err(|_| format!("{text} is no JSON; {data_type} is written like {}", example(data_type)));
    }
    Ok(Value::String(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cell, scalar};
    use arrow_array::Array;
    use serde_json::json;

    fn type_of(json: Value) -> DataType {
        serde_json::from_value(json).unwrap()
    }

    fn there_and_back(data_type: &DataType, values: &[Value]) {
        let cells: Vec<Cell<'_>> = values.iter().enumerate().collect();
        let array = column(data_type, &cells).unwrap_or_else(|w| panic!("{data_type}: {}", w.why));
        assert_eq!(array.data_type(), &arrow_type(data_type));
        let back: Vec<Value> = (0..array.len()).map(|i| cell::value(data_type, &array, i)).collect();
        assert_eq!(back, values, "{data_type}");
    }

    #[test]
    fn every_type_goes_there_and_back() {
        let simple = |name: &str| type_of(json!({"type": name}));
        for (data_type, values) in [
            (simple("BOOLEAN"), vec![json!(true), json!(false), Value::Null]),
            (simple("TINYINT"), vec![json!(-128), json!(127)]),
            (simple("SMALLINT"), vec![json!(-32768), Value::Null]),
            (simple("INTEGER"), vec![json!(i32::MIN), json!(i32::MAX)]),
            (simple("BIGINT"), vec![json!(i64::MIN), json!(i64::MAX)]),
            (simple("FLOAT"), vec![json!(0.1), json!("NaN"), json!("-Infinity"), Value::Null]),
            (simple("DOUBLE"), vec![json!(0.1), json!(1e300), json!("Infinity")]),
            (simple("STRING"), vec![json!("a\n\u{1f600}"), json!(""), Value::Null]),
            (type_of(json!({"type": "CHAR", "length": 2})), vec![json!("ab")]),
            (
                type_of(json!({"type": "DECIMAL", "precision": 38, "scale": 10})),
                vec![json!("-1234567890123456789012345678.0123456789"), json!("0.0000000001")],
            ),
            (simple("DATE"), vec![json!("2025-11-30"), json!("1969-12-31")]),
            (simple("BYTES"), vec![json!("00ff"), json!(""), Value::Null]),
            (type_of(json!({"type": "BINARY", "length": 2})), vec![json!("00ff"), Value::Null]),
            (
                type_of(json!({"type": "ARRAY", "element_type": {"type": "INTEGER"}})),
                vec![json!([1, null, 3]), json!([]), Value::Null],
            ),
            (
                type_of(
                    json!({"type": "MAP", "key_type": {"type": "INTEGER", "nullable": false}, "value_type": {"type": "STRING"}}),
                ),
                vec![json!({"1": "a", "2": null}), json!({}), Value::Null],
            ),
            (
                type_of(
                    json!({"type": "ROW", "fields": [{"name": "a", "field_type": {"type": "INTEGER", "nullable": false}, "field_id": 1}, {"name": "b", "field_type": {"type": "ARRAY", "element_type": {"type": "STRING"}}, "field_id": 2}]}),
                ),
                vec![json!({"a": 1, "b": ["x"]}), json!({"a": 2, "b": null})],
            ),
        ] {
            there_and_back(&data_type, &values);
        }
        for precision in 0..=9 {
            let digits = "123456789".get(..precision).unwrap();
            let fraction = if precision == 0 { String::new() } else { format!(".{digits}") };
            for (name, value) in [
                ("TIME_WITHOUT_TIME_ZONE", format!("23:59:59{fraction}")),
                ("TIMESTAMP_WITHOUT_TIME_ZONE", format!("1969-12-31 23:59:59{fraction}")),
                ("TIMESTAMP_WITH_LOCAL_TIME_ZONE", format!("2025-11-30 10:15:30{fraction}Z")),
            ] {
                let data_type = type_of(json!({"type": name, "precision": precision}));
                there_and_back(&data_type, &[json!(value), Value::Null]);
            }
        }
    }

    #[test]
    fn the_row_at_fault_is_named() {
        let int = || json!({"type": "INTEGER"});
        for (data_type, values, row, part) in [
            (int(), json!([1, "x"]), 1, "\"x\" is not INT; write it like 42"),
            (int(), json!([1, 2, 2147483648_i64]), 2, "2147483648 is not INT"),
            (json!({"type": "INTEGER", "nullable": false}), json!([1, null]), 1, "INT NOT NULL needs a value"),
            (json!({"type": "STRING"}), json!([5]), 0, "5 is not STRING"),
            (json!({"type": "DATE"}), json!(["2025-02-30"]), 0, "is not DATE"),
            (json!({"type": "BINARY", "length": 2}), json!(["00"]), 0, "BINARY(2)"),
            (json!({"type": "ARRAY", "element_type": int()}), json!([[1], [2, "y"]]), 1, "\"y\" is not INT"),
            (
                json!({"type": "ROW", "fields": [{"name": "a", "field_type": {"type": "INTEGER", "nullable": false}, "field_id": 1}]}),
                json!([null, {}]),
                1,
                "field 'a' needs a value",
            ),
            (
                json!({"type": "ROW", "fields": [{"name": "a", "field_type": int(), "field_id": 1}]}),
                json!([{"b": 1}]),
                0,
                "no field 'b'",
            ),
        ] {
            let data_type = type_of(data_type);
            let values = values.as_array().unwrap();
            let cells: Vec<Cell<'_>> = values.iter().enumerate().collect();
            let Err(wrong) = column(&data_type, &cells) else { panic!("{data_type} took {values:?}") };
            assert!(wrong.row == row && wrong.why.contains(part), "{} {} lacks {row} {part}", wrong.row, wrong.why);
        }
        let text = of_text(&type_of(json!({"type": "ARRAY", "element_type": int()})), "[1".to_owned());
        assert!(text.unwrap_err().contains("[1 is no JSON"));
        assert!(scalar::text(&Value::Null).is_none());
    }
}
