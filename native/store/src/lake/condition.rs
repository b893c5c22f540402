//! A reader's condition as the lake is asked by it: the same condition, or one that holds wherever it does.

use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int8Array, Int16Array, Int32Array, Int64Array,
    StringArray, make_array,
};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use arrow_select::concat::concat;
use sluice_lake::Predicate as Asked;
use sluice_row::{Comparison, DataType, Literal, Predicate, Schema, TypeRoot, arrow_type};
use std::sync::Arc;

/// `None` when nothing can be told from the bounds that files keep.
pub(super) fn condition(predicate: &Predicate, schema: &Schema) -> Option<Asked> {
    match predicate {
        Predicate::And(parts) => {
            let parts: Vec<Asked> = parts.iter().filter_map(|p| condition(p, schema)).collect();
            (!parts.is_empty()).then_some(Asked::And(parts))
        }
        // Only whole: a part that is left out could have been the one that holds.
        Predicate::Or(parts) => {
            let parts = parts.iter().map(|p| condition(p, schema)).collect::<Option<Vec<_>>>()?;
            (!parts.is_empty()).then_some(Asked::Or(parts))
        }
        Predicate::IsTrue(inner) => condition(inner, schema),
        Predicate::IsNull(name) => schema.index_of(name).map(Asked::IsNull),
        Predicate::Compare { column, op, value } => {
            let comparison = match op {
                Comparison::Equal => sluice_lake::Comparison::Equal,
                Comparison::Less => sluice_lake::Comparison::Less,
                Comparison::LessOrEqual => sluice_lake::Comparison::LessOrEqual,
                Comparison::Greater => sluice_lake::Comparison::Greater,
                Comparison::GreaterOrEqual => sluice_lake::Comparison::GreaterOrEqual,
                Comparison::NotEqual => return None,
            };
            let (column, data_type) = found(schema, column)?;
            Some(Asked::Compare { column, comparison, value: array_of(value, data_type)? })
        }
        Predicate::In { column, values } => {
            let (column, data_type) = found(schema, column)?;
            let values = values.iter().map(|v| array_of(v, data_type)).collect::<Option<Vec<_>>>()?;
            let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
            Some(Asked::In { column, values: concat(&values).ok()? })
        }
        Predicate::Not(_) | Predicate::Unknown => None,
    }
}

fn found<'s>(schema: &'s Schema, name: &str) -> Option<(usize, &'s DataType)> {
    let at = schema.index_of(name)?;
    schema.columns.get(at).map(|column| (at, &column.data_type))
}

/// The literal as an array of one value of the column's Arrow type; `None` when the column cannot hold exactly it. Floating point is left
/// out: files and SQL do not order NaN and the two zeros alike.
fn array_of(literal: &Literal, data_type: &DataType) -> Option<ArrayRef> {
    match (&data_type.root, literal) {
        (TypeRoot::Boolean, Literal::Boolean(value)) => Some(Arc::new(BooleanArray::from(vec![*value]))),
        (TypeRoot::TinyInt, Literal::Integer(value)) => {
            Some(Arc::new(Int8Array::from(vec![i8::try_from(*value).ok()?])))
        }
        (TypeRoot::SmallInt, Literal::Integer(value)) => {
            Some(Arc::new(Int16Array::from(vec![i16::try_from(*value).ok()?])))
        }
        (TypeRoot::Int, Literal::Integer(value)) => Some(Arc::new(Int32Array::from(vec![i32::try_from(*value).ok()?]))),
        (TypeRoot::BigInt, Literal::Integer(value)) => Some(Arc::new(Int64Array::from(vec![*value]))),
        (TypeRoot::Decimal { precision, scale }, Literal::Integer(_) | Literal::Decimal(_)) => {
            let value = Decimal128Array::from(vec![literal.unscaled(*scale)?]);
            let value = value.with_precision_and_scale(*precision, i8::try_from(*scale).ok()?).ok()?;
            Some(Arc::new(value))
        }
        (TypeRoot::Char(_) | TypeRoot::String, Literal::Text(text)) => {
            Some(Arc::new(StringArray::from(vec![text.as_str()])))
        }
        (TypeRoot::Date, Literal::Date(days)) => Some(Arc::new(Date32Array::from(vec![*days]))),
        (TypeRoot::Timestamp { .. } | TypeRoot::TimestampLtz { .. }, Literal::Timestamp { millis, nanos }) => {
            instant(i128::from(*millis) * 1_000_000 + i128::from(*nanos), arrow_type(data_type))
        }
        _ => None,
    }
}

/// Nanoseconds since 1970-01-01 in the unit of an Arrow type.
fn instant(nanos: i128, arrow: ArrowType) -> Option<ArrayRef> {
    let ArrowType::Timestamp(unit, _) = &arrow else { return None };
    let step = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    let value = (nanos % step == 0).then(|| i64::try_from(nanos / step).ok())??;
    // The same 64 bits under the type of the column.
    Int64Array::from(vec![value]).into_data().into_builder().data_type(arrow).build().ok().map(make_array)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(root: TypeRoot) -> DataType {
        DataType::new(root)
    }

    #[test]
    fn literals_become_values_of_the_column_or_nothing() {
        let small = of(TypeRoot::TinyInt);
        assert_eq!(array_of(&Literal::Integer(127), &small).unwrap().data_type(), &ArrowType::Int8);
        assert!(array_of(&Literal::Integer(128), &small).is_none());
        assert!(array_of(&Literal::Text("1".to_owned()), &small).is_none());
        let money = of(TypeRoot::Decimal { precision: 10, scale: 2 });
        let found = array_of(&Literal::Decimal("1.5".to_owned()), &money).unwrap();
        assert_eq!(found.data_type(), &ArrowType::Decimal128(10, 2));
        assert!(array_of(&Literal::Decimal("1.505".to_owned()), &money).is_none());
        for (precision, fits) in [(0, false), (3, true), (6, true), (9, true)] {
            let instant = of(TypeRoot::TimestampLtz { precision });
            let found = array_of(&Literal::Timestamp { millis: -1, nanos: 0 }, &instant);
            assert_eq!(found.map(|f| f.data_type().clone()), fits.then(|| arrow_type(&instant)), "{precision}");
        }
        assert!(array_of(&Literal::Float("1.5".to_owned()), &of(TypeRoot::Double)).is_none());
    }
}
