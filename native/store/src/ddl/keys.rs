//! Primary key and bucket key.

use sluice_base::{Error, Result, Subject};
use sluice_row::{Schema, TableDescriptor};

/// Checks the primary key and makes its columns NOT NULL.
///
/// # Errors
/// `Invalid` about `Column`, naming it.
pub(crate) fn check_primary_key(schema: &mut Schema) -> Result<()> {
    check_distinct(&schema.primary_key, "primary key")?;
    for name in &schema.primary_key {
        let Some(column) = schema.columns.iter_mut().find(|c| c.name == *name) else {
            return Err(missing(name, "primary key"));
        };
        if column.data_type.is_nested() {
            return Err(nested(name, "Primary key", &column.data_type.to_string()));
        }
        column.data_type.nullable = false;
    }
    Ok(())
}

/// Checks the bucket key; a primary-key table without one gets its primary key.
///
/// # Errors
/// `Invalid` about `Column`, naming it.
pub(crate) fn settle_bucket_key(table: &mut TableDescriptor) -> Result<()> {
    if table.bucket_key.is_empty() {
        table.bucket_key = physical_key(table).cloned().collect();
        return Ok(());
    }
    check_distinct(&table.bucket_key, "bucket key")?;
    if let Some(name) = table.bucket_key.iter().find(|n| table.partition_key.contains(n)) {
        return Err(Error::invalid(
            Subject::Column,
            format!(
                "the bucket key shouldn't include any column in partition keys ({}), but it has '{name}'; take it out of 'bucket.key'",
                table.partition_key.join(", ")
            ),
        ));
    }
    let primary_key = &table.schema.primary_key;
    for name in &table.bucket_key {
        let Some(column) = table.schema.columns.iter().find(|c| c.name == *name) else {
            return Err(missing(name, "bucket key"));
        };
        if column.data_type.is_nested() {
            return Err(nested(name, "Bucket key", &column.data_type.to_string()));
        }
        if !primary_key.is_empty() && !primary_key.contains(name) {
            return Err(Error::invalid(
                Subject::Column,
                format!(
                    "bucket keys must be a subset of the primary key, but '{name}' is not in ({}); \
                     take '{name}' out of 'bucket.key' or put it into the primary key",
                    primary_key.join(", ")
                ),
            ));
        }
    }
    Ok(())
}

/// The primary key without the partition columns: what tells rows of one partition apart.
pub(crate) fn physical_key(table: &TableDescriptor) -> impl Iterator<Item = &String> {
    table.schema.primary_key.iter().filter(|name| !table.partition_key.contains(name))
}

/// Refuses a column that is named twice.
///
/// # Errors
/// `Invalid` about `Column`.
pub(super) fn check_distinct(names: &[String], what: &str) -> Result<()> {
    let twice = names.iter().enumerate().find(|(i, n)| names.iter().take(*i).any(|m| m == *n));
    match twice {
        Some((_, name)) => Err(Error::invalid(Subject::Column, format!("the {what} names column '{name}' twice"))),
        None => Ok(()),
    }
}

pub(super) fn missing(name: &str, what: &str) -> Error {
    Error::invalid(Subject::Column, format!("the {what} names column '{name}', which the table does not have"))
}

fn nested(name: &str, what: &str, data_type: &str) -> Error {
    Error::invalid(
        Subject::Column,
        format!("{what} column '{name}' has unsupported data type {data_type}; ARRAY, MAP and ROW cannot be keys"),
    )
}
