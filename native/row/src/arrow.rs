//! How data types look in Arrow (protocol, Arrow body). Every batch that crosses a wall of ours has these types.

use crate::{DataType, Schema, TypeRoot};
use arrow_schema::{DataType as ArrowType, Field, Fields, Schema as ArrowSchema, SchemaRef, TimeUnit};
use std::sync::Arc;

/// The Arrow type that holds values of `data_type`. Instants (TIMESTAMP_LTZ) carry no zone.
#[must_use]
pub fn arrow_type(data_type: &DataType) -> ArrowType {
    match &data_type.root {
        TypeRoot::Boolean => ArrowType::Boolean,
        TypeRoot::TinyInt => ArrowType::Int8,
        TypeRoot::SmallInt => ArrowType::Int16,
        TypeRoot::Int => ArrowType::Int32,
        TypeRoot::BigInt => ArrowType::Int64,
        TypeRoot::Float => ArrowType::Float32,
        TypeRoot::Double => ArrowType::Float64,
        TypeRoot::Char(_) | TypeRoot::String => ArrowType::Utf8,
        TypeRoot::Decimal { precision, scale } => ArrowType::Decimal128(*precision, i8::try_from(*scale).unwrap_or(0)),
        TypeRoot::Date => ArrowType::Date32,
        TypeRoot::Time { precision } => match unit(*precision) {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => ArrowType::Time32(unit),
            unit => ArrowType::Time64(unit),
        },
        TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision } => {
            ArrowType::Timestamp(unit(*precision), None)
        }
        TypeRoot::Binary(length) => ArrowType::FixedSizeBinary(i32::try_from(*length).unwrap_or(i32::MAX)),
        TypeRoot::Bytes => ArrowType::Binary,
        TypeRoot::Array(element) => ArrowType::List(Arc::new(arrow_field("element", element))),
        TypeRoot::Map(key, value) => {
            let entry = [arrow_field("key", key).with_nullable(false), arrow_field("value", value)];
            ArrowType::Map(Arc::new(Field::new("entries", ArrowType::Struct(Fields::from_iter(entry)), false)), false)
        }
        TypeRoot::Row(fields) => ArrowType::Struct(fields.iter().map(|f| arrow_field(&f.name, &f.data_type)).collect()),
    }
}

/// The Arrow field of a column: its name, type and nullability.
#[must_use]
pub fn arrow_field(name: &str, data_type: &DataType) -> Field {
    Field::new(name, arrow_type(data_type), data_type.nullable)
}

/// All columns of `schema`, nullability as declared.
#[must_use]
pub fn arrow_schema(schema: &Schema) -> SchemaRef {
    let fields: Fields = schema.columns.iter().map(|c| arrow_field(&c.name, &c.data_type)).collect();
    Arc::new(ArrowSchema::new(fields))
}

/// The unit in which times of this precision are kept.
pub(crate) const fn unit(precision: u8) -> TimeUnit {
    match precision {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}
