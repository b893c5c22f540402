//! From a table of ours to the schema of its lake table.

use crate::parquet_writer::check_nesting;
use crate::partition::check_column;
use crate::system_column::{is_reserved, tiering_columns};
use crate::table_schema::TableSchema;
use sluice_base::{Error, Result, Subject};
use sluice_row::{Column, TableDescriptor};
use std::collections::BTreeMap;

/// What begins the options that are handed on to the lake table.
const LAKE_PREFIX: &str = "paimon.";
/// What begins the copies of all other options: for information only.
const COPY_PREFIX: &str = "fluss.";
/// Options that follow from the table itself.
const OWN: &[&str] = &["bucket", "bucket-key", "partition", "partition.legacy-name", "path", "primary-key"];
/// Options with the one value (or none at all) with which files and merges stay as they are written and read here.
const ONLY: &[(&str, &str)] = &[
    ("bucket-function.type", "default"),
    ("data-file.thin-mode", "false"),
    ("deletion-vectors.enabled", "false"),
    ("file.format", "parquet"),
    ("merge-engine", "deduplicate"),
    ("row-tracking.enabled", "false"),
    ("type", "table"),
];

/// Whether the lake table gets `__offset` and `__timestamp` at the end of each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemColumns {
    /// It does.
    Added,
    /// Its columns are the table's alone.
    LeftOut,
}

/// The first schema of the lake table of `table`, at the time `now_ms`.
///
/// # Errors
/// `Invalid` or `Unsupported` naming the column or option at fault.
pub fn define(table: &TableDescriptor, system_columns: SystemColumns, now_ms: i64) -> Result<TableSchema> {
    let mut schema = table.schema.clone();
    schema.columns.iter().try_for_each(check_new_column)?;
    for name in &table.partition_key {
        schema.columns.iter().filter(|c| c.name == *name).try_for_each(check_column)?;
    }
    if system_columns == SystemColumns::Added {
        schema.columns.extend(tiering_columns());
    }
    // Ids are the lake's own: dense from 0, depth first.
    schema.highest_field_id = -1;
    schema.columns.iter_mut().for_each(|c| c.id = None);
    schema.assign_ids();
    Ok(TableSchema {
        id: 0,
        schema,
        partition_keys: table.partition_key.clone(),
        options: options(table)?,
        comment: table.comment.clone(),
        time_millis: now_ms,
    })
}

/// Whether a lake table can have this column.
///
/// # Errors
/// `Invalid` or `Unsupported` naming the column.
pub(crate) fn check_new_column(column: &Column) -> Result<()> {
    if is_reserved(&column.name) {
        let message = format!("column '{}': a lake table needs this name for itself; choose another", column.name);
        return Err(Error::invalid(Subject::Column, message));
    }
    check_nesting(&column.name, &column.data_type)
}

fn options(table: &TableDescriptor) -> Result<BTreeMap<String, String>> {
    let mut options = BTreeMap::new();
    for (key, value) in table.properties.iter().chain(&table.custom_properties) {
        match key.strip_prefix(LAKE_PREFIX) {
            Some(own) => {
                check_option(own, value)?;
                options.insert(own.to_owned(), value.clone());
            }
            None => {
                options.insert(format!("{COPY_PREFIX}{key}"), value.clone());
            }
        }
    }
    let mut set = |key: &str, value: String| options.insert(key.to_owned(), value);
    let home: Vec<&str> =
        table.bucket_key.iter().filter(|n| !table.partition_key.contains(n)).map(String::as_str).collect();
    if home.is_empty() {
        set("bucket", "-1".to_owned());
    } else {
        set("bucket", table.bucket_count.unwrap_or(1).to_string());
        set("bucket-key", home.join(","));
    }
    set("partition.legacy-name", "false".to_owned());
    if !table.schema.primary_key.is_empty() {
        options.entry("changelog-producer".to_owned()).or_insert_with(|| "input".to_owned());
    }
    Ok(options)
}

fn check_option(key: &str, value: &str) -> Result<()> {
    if OWN.contains(&key) {
        let message = format!("option '{LAKE_PREFIX}{key}' follows from the table itself; leave it out");
        return Err(Error::invalid(Subject::Option, message));
    }
    if key == "sequence.field" {
        let message = format!("option '{LAKE_PREFIX}{key}': changes are ordered by their log offset; leave it out");
        return Err(Error::unsupported(Subject::Option, message));
    }
    match ONLY.iter().find(|(only, _)| *only == key) {
        Some((_, works)) if *works != value => {
            let message =
                format!("option '{LAKE_PREFIX}{key}' = '{value}' is not supported for lake tables; only '{works}' is");
            Err(Error::unsupported(Subject::Option, message))
        }
        _ => Ok(()),
    }
}
