//! The data types of columns and their JSON form (protocol, table JSON).

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap};
use serde_json::{Map, Value, json};
use std::fmt;

/// A type without its nullability.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each name is the SQL type's name")]
pub enum TypeRoot {
    Boolean,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Float,
    Double,
    /// `CHAR(n)`, n characters.
    Char(u32),
    String,
    Decimal {
        precision: u8,
        scale: u8,
    },
    /// Days since 1970-01-01.
    Date,
    /// Time of day; the store keeps what the precision says, Flink uses milliseconds.
    Time {
        precision: u8,
    },
    /// Wall-clock time without a zone.
    Timestamp {
        precision: u8,
    },
    /// An instant.
    TimestampLtz {
        precision: u8,
    },
    /// `BINARY(n)`, n bytes.
    Binary(u32),
    Bytes,
    Array(Box<DataType>),
    Map(Box<DataType>, Box<DataType>),
    Row(Vec<RowField>),
}

/// A column's type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DataType {
    /// The type proper.
    pub root: TypeRoot,
    /// Whether NULL is allowed.
    pub nullable: bool,
}

/// A field of a ROW type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Its comment.
    pub description: Option<String>,
    /// Its id in the table's schema; -1 while the schema has not assigned one.
    pub field_id: i32,
}

impl DataType {
    /// A nullable type.
    #[must_use]
    pub const fn new(root: TypeRoot) -> Self {
        Self { root, nullable: true }
    }

    /// The same type without NULL.
    #[must_use]
    pub fn not_null(mut self) -> Self {
        self.nullable = false;
        self
    }

    /// Whether the type is ARRAY, MAP or ROW.
    #[must_use]
    pub const fn is_nested(&self) -> bool {
        matches!(self.root, TypeRoot::Array(_) | TypeRoot::Map(..) | TypeRoot::Row(_))
    }

    fn to_json(&self) -> Value {
        let mut m = Map::new();
        let mut put = |k: &str, v: Value| {
            m.insert(k.to_owned(), v);
        };
        let name = match &self.root {
            TypeRoot::Boolean => "BOOLEAN",
            TypeRoot::TinyInt => "TINYINT",
            TypeRoot::SmallInt => "SMALLINT",
            TypeRoot::Int => "INTEGER",
            TypeRoot::BigInt => "BIGINT",
            TypeRoot::Float => "FLOAT",
            TypeRoot::Double => "DOUBLE",
            TypeRoot::Char(_) => "CHAR",
            TypeRoot::String => "STRING",
            TypeRoot::Decimal { .. } => "DECIMAL",
            TypeRoot::Date => "DATE",
            TypeRoot::Time { .. } => "TIME_WITHOUT_TIME_ZONE",
            TypeRoot::Timestamp { .. } => "TIMESTAMP_WITHOUT_TIME_ZONE",
            TypeRoot::TimestampLtz { .. } => "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
            TypeRoot::Binary(_) => "BINARY",
            TypeRoot::Bytes => "BYTES",
            TypeRoot::Array(_) => "ARRAY",
            TypeRoot::Map(..) => "MAP",
            TypeRoot::Row(_) => "ROW",
        };
        put("type", json!(name));
        if !self.nullable {
            put("nullable", json!(false));
        }
        match &self.root {
            TypeRoot::Char(n) | TypeRoot::Binary(n) => put("length", json!(n)),
            TypeRoot::Decimal { precision, scale } => {
                put("precision", json!(precision));
                put("scale", json!(scale));
            }
            TypeRoot::Time { precision } | TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision } => {
                put("precision", json!(precision));
            }
            TypeRoot::Array(element) => put("element_type", element.to_json()),
            TypeRoot::Map(key, value) => {
                put("key_type", key.to_json());
                put("value_type", value.to_json());
            }
            TypeRoot::Row(fields) => put("fields", Value::Array(fields.iter().map(RowField::to_json).collect())),
            _ => {}
        }
        Value::Object(m)
    }

    fn from_json(v: &Value) -> Result<Self, String> {
        let text = |k: &str| v.get(k).and_then(Value::as_str);
        let number = |k: &str| v.get(k).and_then(Value::as_u64);
        let inner =
            |k: &str| v.get(k).ok_or_else(|| format!("data type lacks '{k}'")).and_then(Self::from_json).map(Box::new);
        let small = |k: &str, min: u64, max: u64, default: u64| match number(k).unwrap_or(default) {
            n if (min..=max).contains(&n) => Ok(u8::try_from(n).unwrap_or(0)),
            n => Err(format!("'{k}' is {n}, not {min} to {max}")),
        };
        let length = || match number("length").and_then(|n| u32::try_from(n).ok()) {
            Some(n) if n > 0 => Ok(n),
            _ => Err("'length' is missing or not positive".to_owned()),
        };
        let name = text("type").ok_or("data type lacks 'type'")?;
        let root = match name {
            "BOOLEAN" => TypeRoot::Boolean,
            "TINYINT" => TypeRoot::TinyInt,
            "SMALLINT" => TypeRoot::SmallInt,
            "INTEGER" => TypeRoot::Int,
            "BIGINT" => TypeRoot::BigInt,
            "FLOAT" => TypeRoot::Float,
            "DOUBLE" => TypeRoot::Double,
            "CHAR" => TypeRoot::Char(length()?),
            "STRING" => TypeRoot::String,
            "DECIMAL" => {
                let precision = small("precision", 1, 38, 10)?;
                TypeRoot::Decimal { precision, scale: small("scale", 0, u64::from(precision), 0)? }
            }
            "DATE" => TypeRoot::Date,
            "TIME_WITHOUT_TIME_ZONE" => TypeRoot::Time { precision: small("precision", 0, 9, 0)? },
            "TIMESTAMP_WITHOUT_TIME_ZONE" => TypeRoot::Timestamp { precision: small("precision", 0, 9, 6)? },
            "TIMESTAMP_WITH_LOCAL_TIME_ZONE" => TypeRoot::TimestampLtz { precision: small("precision", 0, 9, 6)? },
            "BINARY" => TypeRoot::Binary(length()?),
            "BYTES" => TypeRoot::Bytes,
            "ARRAY" => TypeRoot::Array(inner("element_type")?),
            "MAP" => {
                let key = inner("key_type")?;
                TypeRoot::Map(Box::new(key.not_null()), inner("value_type")?)
            }
            "ROW" => {
                let fields = v.get("fields").and_then(Value::as_array).ok_or("ROW lacks 'fields'")?;
                TypeRoot::Row(fields.iter().map(RowField::from_json).collect::<Result<_, _>>()?)
            }
            other => return Err(format!("unknown data type '{other}'")),
        };
        Ok(Self { root, nullable: v.get("nullable").and_then(Value::as_bool).unwrap_or(true) })
    }
}

impl RowField {
    fn to_json(&self) -> Value {
        let mut v = json!({"name": self.name, "field_type": self.data_type.to_json(), "field_id": self.field_id});
        if let (Some(d), Some(m)) = (&self.description, v.as_object_mut()) {
            m.insert("description".to_owned(), json!(d));
        }
        v
    }

    fn from_json(v: &Value) -> Result<Self, String> {
        let id = v.get("field_id").and_then(Value::as_i64).and_then(|i| i32::try_from(i).ok());
        Ok(Self {
            name: v.get("name").and_then(Value::as_str).ok_or("ROW field lacks 'name'")?.to_owned(),
            data_type: DataType::from_json(v.get("field_type").ok_or("ROW field lacks 'field_type'")?)?,
            description: v.get("description").and_then(Value::as_str).map(str::to_owned),
            field_id: id.unwrap_or(-1),
        })
    }
}

impl Serialize for DataType {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Value::Object(m) = self.to_json() else {
            return s.serialize_unit();
        };
        let mut out = s.serialize_map(Some(m.len()))?;
        for (k, v) in &m {
            out.serialize_entry(k, v)?;
        }
        out.end()
    }
}

impl<'de> Deserialize<'de> for DataType {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Self::from_json(&Value::deserialize(d)?).map_err(D::Error::custom)
    }
}

/// The SQL spelling, as DESCRIBE would show it.
impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            TypeRoot::Boolean => f.write_str("BOOLEAN")?,
            TypeRoot::TinyInt => f.write_str("TINYINT")?,
            TypeRoot::SmallInt => f.write_str("SMALLINT")?,
            TypeRoot::Int => f.write_str("INT")?,
            TypeRoot::BigInt => f.write_str("BIGINT")?,
            TypeRoot::Float => f.write_str("FLOAT")?,
            TypeRoot::Double => f.write_str("DOUBLE")?,
            TypeRoot::Char(n) => write!(f, "CHAR({n})")?,
            TypeRoot::String => f.write_str("STRING")?,
            TypeRoot::Decimal { precision, scale } => write!(f, "DECIMAL({precision}, {scale})")?,
            TypeRoot::Date => f.write_str("DATE")?,
            TypeRoot::Time { precision } => write!(f, "TIME({precision})")?,
            TypeRoot::Timestamp { precision } => write!(f, "TIMESTAMP({precision})")?,
            TypeRoot::TimestampLtz { precision } => write!(f, "TIMESTAMP_LTZ({precision})")?,
            TypeRoot::Binary(n) => write!(f, "BINARY({n})")?,
            TypeRoot::Bytes => f.write_str("BYTES")?,
            TypeRoot::Array(e) => write!(f, "ARRAY<{e}>")?,
            TypeRoot::Map(k, v) => write!(f, "MAP<{k}, {v}>")?,
            TypeRoot::Row(fields) => {
                f.write_str("ROW<")?;
                for (i, field) in fields.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}`{}` {}", field.name, field.data_type)?;
                }
                f.write_str(">")?;
            }
        }
        f.write_str(if self.nullable { "" } else { " NOT NULL" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_round_trip_of_a_nested_type() {
        let text = r#"{"type":"ROW","nullable":false,"fields":[
            {"name":"a","field_type":{"type":"ARRAY","element_type":{"type":"DECIMAL","precision":38,"scale":10}},"field_id":2},
            {"name":"m","field_type":{"type":"MAP","key_type":{"type":"STRING","nullable":false},
             "value_type":{"type":"TIMESTAMP_WITH_LOCAL_TIME_ZONE","precision":9}},"field_id":3,"description":"x"}]}"#;
        let t: DataType = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_value(&t).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(
            t.to_string(),
            "ROW<`a` ARRAY<DECIMAL(38, 10)>, `m` MAP<STRING NOT NULL, TIMESTAMP_LTZ(9)>> NOT NULL"
        );
    }

    #[test]
    fn bad_types_are_named() {
        for (text, part) in [
            (r#"{"type":"MULTISET"}"#, "MULTISET"),
            (r#"{"type":"DECIMAL","precision":39,"scale":0}"#, "39"),
            (r#"{"type":"CHAR"}"#, "length"),
        ] {
            let e = serde_json::from_str::<DataType>(text).unwrap_err().to_string();
            assert!(e.contains(part), "{e}");
        }
    }
}
