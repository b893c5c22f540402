//! Data types as Paimon spells them in a schema file.

use serde_json::{Map, Value, json};
use sluice_base::{Error, Result, Subject};
use sluice_row::{DataType, RowField, TypeRoot};

/// The JSON of a type: text for a flat one, an object for ARRAY, MAP and ROW.
pub(crate) fn type_to_json(data_type: &DataType) -> Value {
    let null = if data_type.nullable { "" } else { " NOT NULL" };
    match &data_type.root {
        TypeRoot::Array(element) => json!({"type": format!("ARRAY{null}"), "element": type_to_json(element)}),
        TypeRoot::Map(key, value) => {
            json!({"type": format!("MAP{null}"), "key": type_to_json(key), "value": type_to_json(value)})
        }
        TypeRoot::Row(fields) => {
            let fields =
                fields.iter().map(|f| field_to_json(f.field_id, &f.name, &f.data_type, f.description.as_ref()));
            json!({"type": format!("ROW{null}"), "fields": fields.collect::<Vec<_>>()})
        }
        flat => Value::String(format!("{}{null}", flat_text(flat))),
    }
}

/// The JSON of a column or a field of a ROW.
pub(crate) fn field_to_json(id: i32, name: &str, data_type: &DataType, description: Option<&String>) -> Value {
    let mut field = Map::new();
    field.insert("id".to_owned(), json!(id));
    field.insert("name".to_owned(), json!(name));
    field.insert("type".to_owned(), type_to_json(data_type));
    if let Some(description) = description {
        field.insert("description".to_owned(), json!(description));
    }
    Value::Object(field)
}

fn flat_text(root: &TypeRoot) -> String {
    match root {
        TypeRoot::TimestampLtz { precision } => format!("TIMESTAMP({precision}) WITH LOCAL TIME ZONE"),
        other => DataType::new(other.clone()).to_string(),
    }
}

/// The type behind the JSON of a schema file.
///
/// # Errors
/// `Unsupported` for a type that tables of ours do not have; `Corrupt` for what is no type.
pub(crate) fn type_from_json(json: &Value) -> Result<DataType> {
    if let Some(text) = json.as_str() {
        return flat_from_text(text);
    }
    let text = json.get("type").and_then(Value::as_str).ok_or_else(|| damaged(json))?;
    let (name, nullable) = split_null(text);
    let part = |key: &str| json.get(key).ok_or_else(|| damaged(json)).and_then(type_from_json);
    let root = match name {
        "ARRAY" => TypeRoot::Array(Box::new(part("element")?)),
        "MAP" => TypeRoot::Map(Box::new(part("key")?.not_null()), Box::new(part("value")?)),
        "ROW" => {
            let fields = json.get("fields").and_then(Value::as_array).ok_or_else(|| damaged(json))?;
            TypeRoot::Row(fields.iter().map(field_from_json).collect::<Result<_>>()?)
        }
        other => return Err(unsupported(other)),
    };
    Ok(DataType { root, nullable })
}

/// A column or a field of a ROW.
///
/// # Errors
/// As [`type_from_json`].
pub(crate) fn field_from_json(json: &Value) -> Result<RowField> {
    let id = json.get("id").and_then(Value::as_i64).and_then(|i| i32::try_from(i).ok());
    let name = json.get("name").and_then(Value::as_str).ok_or_else(|| damaged(json))?;
    let data_type = json.get("type").ok_or_else(|| damaged(json)).and_then(type_from_json);
    Ok(RowField {
        name: name.to_owned(),
        data_type: data_type.map_err(|e| e.context(format_args!("column '{name}'")))?,
        description: json.get("description").and_then(Value::as_str).map(str::to_owned),
        field_id: id.ok_or_else(|| damaged(json))?,
    })
}

fn flat_from_text(text: &str) -> Result<DataType> {
    let (spelled, nullable) = split_null(text);
    let (spelled, zoned) = match spelled.strip_suffix("WITH LOCAL TIME ZONE") {
        Some(rest) => (rest.trim_end(), true),
        None => (spelled, false),
    };
    let (name, numbers) = match spelled.split_once('(') {
        Some((name, rest)) => (name.trim_end(), rest.trim_end().trim_end_matches(')')),
        None => (spelled, ""),
    };
    let mut parsed = numbers.split(',').map(str::trim).filter(|n| !n.is_empty()).map(str::parse::<u32>);
    let mut number = |default: u32| parsed.next().unwrap_or(Ok(default)).map_err(|_| unsupported(text));
    let small = |n: u32| u8::try_from(n).map_err(|_| unsupported(text));
    let root = match (name, zoned) {
        ("BOOLEAN", false) => TypeRoot::Boolean,
        ("TINYINT", false) => TypeRoot::TinyInt,
        ("SMALLINT", false) => TypeRoot::SmallInt,
        ("INT" | "INTEGER", false) => TypeRoot::Int,
        ("BIGINT", false) => TypeRoot::BigInt,
        ("FLOAT", false) => TypeRoot::Float,
        ("DOUBLE", false) => TypeRoot::Double,
        ("CHAR", false) => TypeRoot::Char(number(1)?),
        ("STRING" | "VARCHAR", false) => TypeRoot::String,
        ("BINARY", false) => TypeRoot::Binary(number(1)?),
        ("BYTES" | "VARBINARY", false) => TypeRoot::Bytes,
        ("DATE", false) => TypeRoot::Date,
        ("TIME", false) => TypeRoot::Time { precision: small(number(0)?)? },
        ("TIMESTAMP", false) => TypeRoot::Timestamp { precision: small(number(6)?)? },
        ("TIMESTAMP", true) | ("TIMESTAMP_LTZ", false) => TypeRoot::TimestampLtz { precision: small(number(6)?)? },
        ("DECIMAL", false) => TypeRoot::Decimal { precision: small(number(10)?)?, scale: small(number(0)?)? },
        _ => return Err(unsupported(text)),
    };
    Ok(DataType { root, nullable })
}

fn split_null(text: &str) -> (&str, bool) {
    match text.trim().strip_suffix("NOT NULL") {
        Some(rest) => (rest.trim_end(), false),
        None => (text.trim(), true),
    }
}

fn unsupported(text: &str) -> Error {
    Error::unsupported(
        Subject::Column,
        format!("the lake table has a column of type {text}, which cannot be read here"),
    )
}

fn damaged(json: &Value) -> Error {
    Error::corrupt(format!("the lake table's schema has {json} where a column or type is due"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_survives_its_spelling() {
        let field = |name: &str, field_id: i32, text: &str| RowField {
            name: name.to_owned(),
            data_type: flat_from_text(text).unwrap(),
            description: None,
            field_id,
        };
        let flat = [
            "BOOLEAN",
            "TINYINT NOT NULL",
            "SMALLINT",
            "INT NOT NULL",
            "BIGINT",
            "FLOAT",
            "DOUBLE",
            "CHAR(7)",
            "STRING NOT NULL",
            "BINARY(3)",
            "BYTES",
            "DECIMAL(38, 10)",
            "DATE",
            "TIME(3)",
            "TIMESTAMP(9) NOT NULL",
            "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL",
        ];
        for text in flat {
            assert_eq!(type_to_json(&flat_from_text(text).unwrap()), json!(text));
        }
        let map = TypeRoot::Map(
            Box::new(flat_from_text("INT NOT NULL").unwrap()),
            Box::new(DataType::new(TypeRoot::Array(Box::new(flat_from_text("STRING").unwrap())))),
        );
        let row = DataType::new(TypeRoot::Row(vec![
            field("a", 4, "INT"),
            RowField {
                name: "b".to_owned(),
                data_type: DataType::new(map),
                description: Some("x".to_owned()),
                field_id: 5,
            },
        ]));
        assert_eq!(type_from_json(&type_to_json(&row.clone().not_null())).unwrap(), row.not_null());
    }

    #[test]
    fn other_spellings_of_java_are_read() {
        for (theirs, ours) in [
            ("VARCHAR(2147483647)", "STRING"),
            ("VARBINARY(10) NOT NULL", "BYTES NOT NULL"),
            ("DECIMAL(10,2)", "DECIMAL(10, 2)"),
            ("TIMESTAMP", "TIMESTAMP(6)"),
        ] {
            assert_eq!(flat_from_text(theirs).unwrap(), flat_from_text(ours).unwrap(), "{theirs}");
        }
        assert!(flat_from_text("VARIANT").unwrap_err().message().contains("VARIANT"));
        assert!(
            type_from_json(&json!({"type": "MULTISET", "element": "INT"})).unwrap_err().message().contains("MULTISET")
        );
    }
}
