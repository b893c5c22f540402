//! Columns: names, types, nullability.

use sluice_base::{Error, Result, Subject};
use sluice_row::{DataType, Schema, TypeRoot};
use std::collections::BTreeSet;

/// Names that changelogs and lake tables add; no table may use them, whether it has a lake or not.
const RESERVED: &[&str] = &["__offset", "__timestamp", "__bucket", "_change_type", "_log_offset", "_commit_timestamp"];
const NESTING_MAX: usize = 64;
/// Keeps a column's id inside the protocol's 32 bits and one catalog line readable.
const COLUMNS_MAX: usize = 10_000;

/// Checks names and types of all columns and makes MAP keys NOT NULL.
///
/// # Errors
/// `Invalid` or `Unsupported` about `Column`, naming it.
pub(crate) fn check(schema: &mut Schema) -> Result<()> {
    if schema.columns.is_empty() {
        return Err(Error::invalid(Subject::Column, "a table needs at least one column"));
    }
    if schema.columns.len() > COLUMNS_MAX {
        let message =
            format!("{} columns are more than {COLUMNS_MAX}, the most that a table may have", schema.columns.len());
        return Err(Error::invalid(Subject::Column, message));
    }
    let reserved: Vec<&str> = schema.columns.iter().map(|c| c.name.as_str()).filter(|n| RESERVED.contains(n)).collect();
    if !reserved.is_empty() {
        let message = format!(
            "'{}' cannot be used as a column name: the reserved system columns are {}; choose another name",
            reserved.join("', '"),
            RESERVED.join(", ")
        );
        return Err(Error::invalid(Subject::Column, message));
    }
    let mut seen = BTreeSet::new();
    for column in &mut schema.columns {
        if column.name.is_empty() {
            return Err(Error::invalid(Subject::Column, "a column name is empty"));
        }
        if !seen.insert(column.name.clone()) {
            return Err(Error::invalid(
                Subject::Column,
                format!("column '{}' already exists; column names must differ", column.name),
            ));
        }
        check_type(&mut column.data_type, 1)
            .map_err(|why| Error::invalid(Subject::Column, format!("column '{}': {why}", column.name)))?;
    }
    Ok(())
}

fn check_type(data_type: &mut DataType, depth: usize) -> Result<(), String> {
    if depth > NESTING_MAX {
        return Err(format!("types are nested more than {NESTING_MAX} deep"));
    }
    match &mut data_type.root {
        TypeRoot::Decimal { precision, scale } if !(1..=38).contains(precision) || *scale > *precision => {
            Err(format!("DECIMAL({precision}, {scale}) needs a precision of 1 to 38 and a scale up to it"))
        }
        TypeRoot::Time { precision } | TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision }
            if *precision > 9 =>
        {
            Err(format!("a precision of {precision} is more than 9 digits of a second"))
        }
        TypeRoot::Char(n) | TypeRoot::Binary(n) if *n == 0 || i32::try_from(*n).is_err() => {
            Err(format!("a length of {n} is not 1 to {}", i32::MAX))
        }
        TypeRoot::Array(element) => check_type(element, depth + 1),
        TypeRoot::Map(key, value) => {
            key.nullable = false;
            check_type(key, depth + 1)?;
            check_type(value, depth + 1)
        }
        TypeRoot::Row(fields) => {
            if fields.is_empty() {
                return Err("ROW needs at least one field".to_owned());
            }
            let mut seen = BTreeSet::new();
            for field in fields {
                if !seen.insert(field.name.clone()) {
                    return Err(format!("ROW field '{}' occurs twice", field.name));
                }
                check_type(&mut field.data_type, depth + 1)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Forgets ids that a caller sent along: only the store gives them.
pub(crate) fn forget_ids(schema: &mut Schema) {
    schema.highest_field_id = -1;
    for column in &mut schema.columns {
        column.id = None;
    }
}
