//! Which columns of a log table have statistics kept beside their batches.

use super::options::STATISTICS_COLUMNS;
use sluice_base::{Error, Result, Subject};
use sluice_row::{Schema, Statistics};
use std::collections::BTreeMap;

/// Columns described when the table does not say: enough for nearly all tables, few enough that a very wide one costs no more.
const COLUMNS_DEFAULT: usize = 32;

/// Checks the option against the table's columns.
///
/// # Errors
/// `Invalid` about `Option`, naming the column.
pub(crate) fn check(properties: &BTreeMap<String, String>, schema: &Schema) -> Result<()> {
    let Some(value) = properties.get(STATISTICS_COLUMNS).filter(|v| !v.trim().is_empty()) else { return Ok(()) };
    let refuse =
        |why: String| Err(Error::invalid(Subject::Option, format!("option '{STATISTICS_COLUMNS}' = '{value}' {why}")));
    if !schema.primary_key.is_empty() {
        return refuse("is only supported in log tables: rows of a primary-key table are read by key".to_owned());
    }
    if value.trim() == "*" {
        return Ok(());
    }
    for name in names(value) {
        match schema.columns.iter().find(|c| c.name == name) {
            None => return refuse(format!("names column '{name}', which the table does not have")),
            Some(column) if !Statistics::supports(&column.data_type) => {
                return refuse(format!("names column '{name}' of type {}, which has no order", column.data_type));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn names(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim)
}

/// Positions of the described columns in the table's schema; none for a primary-key table.
pub(crate) fn columns(properties: &BTreeMap<String, String>, schema: &Schema) -> Vec<usize> {
    if !schema.primary_key.is_empty() {
        return Vec::new();
    }
    let able = (0..schema.columns.len())
        .filter(|i| schema.columns.get(*i).is_some_and(|c| Statistics::supports(&c.data_type)));
    match properties.get(STATISTICS_COLUMNS).map(|v| v.trim()) {
        None => able.take(COLUMNS_DEFAULT).collect(),
        Some("*") => able.collect(),
        Some(value) => {
            able.filter(|i| schema.columns.get(*i).is_some_and(|c| names(value).any(|n| n == c.name))).collect()
        }
    }
}
