//! The column that the store numbers by itself: which one, and what a table with it may be.

use super::merging::Merging;
use super::options::AUTO_INCREMENT_STEP;
use sluice_base::{Error, Result, Subject};
use sluice_kv::MergeEngine;
use sluice_row::{TableDescriptor, TypeRoot};

/// The option of CREATE TABLE that names it; kept in the schema.
pub(crate) const FIELDS: &str = sluice_row::NUMBERED;
const STEP_DEFAULT: i64 = 100_000;

/// A table's numbered column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutoIncrement {
    /// Its position; columns are only ever added behind it.
    pub column: usize,
    /// Its name.
    pub name: String,
    /// The greatest number of its type.
    pub max: i64,
    /// Numbers that are reserved on the disk at once.
    pub step: i64,
}

impl AutoIncrement {
    /// What a table's description says; `None` when it has no such column.
    ///
    /// # Errors
    /// `Invalid` about `Option` or `Column`, naming it.
    pub(crate) fn of(table: &TableDescriptor) -> Result<Option<Self>> {
        let [name] = table.schema.auto_increment.as_slice() else {
            return match table.schema.auto_increment.is_empty() {
                true => Ok(None),
                false => refuse(&table.schema.auto_increment, "a table can have one auto-increment column only"),
            };
        };
        let named = std::slice::from_ref(name);
        let Some(column) = table.schema.index_of(name) else { return refuse(named, "the table has no such column") };
        if table.schema.primary_key.is_empty() {
            return refuse(named, "a log table cannot have an auto-increment column; give the table a primary key");
        }
        if table.schema.primary_key.contains(name) {
            return refuse(
                named,
                "the auto-increment column cannot be part of the primary key: a row is new when its key is",
            );
        }
        let described = table.schema.columns.get(column);
        let max = match described.map(|c| &c.data_type.root) {
            Some(TypeRoot::Int) => i32::MAX.into(),
            Some(TypeRoot::BigInt) => i64::MAX - 1,
            _ => {
                let data_type = described.map_or_else(String::new, |c| c.data_type.to_string());
                return refuse(
                    named,
                    &format!("the auto-increment column must be INT or BIGINT, but it is {data_type}"),
                );
            }
        };
        if described.is_some_and(|c| c.agg_function.is_some()) {
            return refuse(
                named,
                "the auto-increment column cannot have an aggregation function: its value never changes",
            );
        }
        let step = table.properties.get(AUTO_INCREMENT_STEP).and_then(|v| v.trim().parse().ok());
        Ok(Some(Self { column, name: name.clone(), max, step: step.unwrap_or(STEP_DEFAULT) }))
    }
}

fn refuse<T>(named: &[String], why: &str) -> Result<T> {
    Err(Error::invalid(Subject::Option, format!("option '{FIELDS}' = '{}': {why}", named.join(","))))
}

/// Checks what the schema of a new table says.
///
/// # Errors
/// `Invalid` about `Option`, naming it.
pub(crate) fn check(table: &TableDescriptor) -> Result<()> {
    let Some(column) = AutoIncrement::of(table)? else { return Ok(()) };
    match Merging::of(table)?.engine {
        MergeEngine::FirstRow | MergeEngine::Versioned { .. } => refuse(
            &[column.name],
            "the merge engines first_row and versioned take whole rows only, and this column is never written",
        ),
        MergeEngine::LastRow | MergeEngine::Aggregation => Ok(()),
    }
}
