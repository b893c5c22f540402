//! ALTER TABLE: a list of changes applied to a table's description, all or none.

use super::create::{Limits, settle_bucket_count};
use super::merging::{self, Merging};
use super::options::MERGE_ENGINE;
use super::{auto_increment, columns, options, partition, statistics};
use sluice_api::TableChange;
use sluice_base::{Error, Result, Subject};
use sluice_row::{Column, Schema, TableDescriptor};

const BUCKET_COUNT: &str = "bucket.num";
/// Custom keys that stand for the table's shape and cannot change.
const FIXED_KEYS: &[&str] = &[BUCKET_COUNT, "bucket.key", auto_increment::FIELDS, "bootstrap.servers"];

/// What a list of changes comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Alteration {
    /// Nothing differs.
    Nothing,
    /// Options differ, the schema is the same.
    Options(TableDescriptor),
    /// The schema differs; it needs a new id.
    Schema(TableDescriptor),
}

/// Applies changes in order.
///
/// # Errors
/// `Invalid` or `Unsupported` naming the column or option; then none of the changes holds.
pub(crate) fn alter(table: &TableDescriptor, changes: &[TableChange], limits: Limits) -> Result<Alteration> {
    let columns_added = changes.iter().filter(|c| matches!(c, TableChange::AddColumn { .. })).count();
    if columns_added != 0 && columns_added != changes.len() {
        return Err(Error::invalid(
            Subject::Table,
            "one ALTER TABLE can only be applied to one of schema and options; split it into two statements",
        ));
    }
    let mut altered = table.clone();
    for change in changes {
        match change {
            TableChange::Set { key, value } => set(&mut altered, key, Some(value), limits)?,
            TableChange::Reset { key } => set(&mut altered, key, None, limits)?,
            TableChange::AddColumn { column } => add_column(&mut altered.schema, column)?,
        }
    }
    if columns_added == 0 {
        options::check(&altered.properties, !altered.schema.primary_key.is_empty())?;
        partition::check_auto(&altered, limits)?;
        statistics::check(&altered.properties, &altered.schema)?;
    }
    Merging::of(&altered)?;
    Ok(match () {
        () if altered == *table => Alteration::Nothing,
        () if altered.schema == table.schema => Alteration::Options(altered),
        () => Alteration::Schema(altered),
    })
}

fn set(table: &mut TableDescriptor, key: &str, value: Option<&String>, limits: Limits) -> Result<()> {
    if key == BUCKET_COUNT && !table.partition_key.is_empty() {
        if merging::is_aggregation(table) {
            // A job's rows come to its writers by bucket number, and each writer answers for its numbers in all partitions.
            return Err(Error::unsupported(
                Subject::Option,
                format!(
                    "option '{BUCKET_COUNT}' is not supported to alter for tables with '{MERGE_ENGINE}' = 'aggregation'"
                ),
            ));
        }
        return set_bucket_count(table, value, limits);
    }
    let own = key.starts_with(options::PREFIX);
    if own {
        options::check_known(key)?;
    }
    let fixed = FIXED_KEYS.contains(&key) || merging::is_merge_option(key);
    if own && !options::is_alterable(key) || fixed {
        return Err(Error::unsupported(
            Subject::Option,
            format!("option '{key}' is not supported to alter yet; create the table with the value that it shall have"),
        ));
    }
    let map = if own { &mut table.properties } else { &mut table.custom_properties };
    match value {
        Some(value) => map.insert(key.to_owned(), value.clone()),
        None => map.remove(key),
    };
    Ok(())
}

/// The number of buckets of partitions that are created from now on; each partition keeps its own.
fn set_bucket_count(table: &mut TableDescriptor, value: Option<&String>, limits: Limits) -> Result<()> {
    table.bucket_count = match value {
        None => None,
        Some(text) => Some(text.trim().parse().map_err(|_| {
            Error::invalid(Subject::Option, format!("option '{BUCKET_COUNT}' = '{text}' is not a whole number"))
        })?),
    };
    settle_bucket_count(table, limits)
}

fn add_column(schema: &mut Schema, column: &Column) -> Result<()> {
    if !column.data_type.nullable {
        return Err(Error::invalid(
            Subject::Column,
            format!("column '{}' must be nullable: rows written before it was added have no value for it", column.name),
        ));
    }
    schema.columns.push(Column { id: None, ..column.clone() });
    columns::check(schema)?;
    schema.assign_ids();
    Ok(())
}
