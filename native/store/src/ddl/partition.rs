//! Partitions: which columns can partition a table, and what a partition's specification may say.

use super::create::Limits;
use super::keys::{check_distinct, missing, physical_key};
use crate::auto_partition::AutoPartition;
use crate::names::check_partition_value;
use sluice_base::{Error, Result, Subject};
use sluice_row::{TableDescriptor, can_partition, partition_text};
use std::collections::BTreeMap;

const TYPES: &str = "CHAR, STRING, BOOLEAN, BINARY, BYTES, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DATE, TIME, TIMESTAMP, TIMESTAMP_LTZ";

/// Checks the columns of PARTITIONED BY.
///
/// # Errors
/// `Invalid` about `Column`, naming it.
pub(super) fn check_key(table: &TableDescriptor) -> Result<()> {
    if table.partition_key.is_empty() {
        return Ok(());
    }
    check_distinct(&table.partition_key, "partition key")?;
    let primary_key = &table.schema.primary_key;
    for name in &table.partition_key {
        let Some(column) = table.schema.columns.iter().find(|c| c.name == *name) else {
            return Err(missing(name, "partition key"));
        };
        if !can_partition(&column.data_type) {
            return Err(Error::invalid(
                Subject::Column,
                format!(
                    "partition column '{name}' has type {}; the partitioned table supported partition key type are [{TYPES}]",
                    column.data_type
                ),
            ));
        }
        if !primary_key.is_empty() && !primary_key.contains(name) {
            let message = format!(
                "a partitioned primary-key table requires partition key ({}) is a subset of the primary key ({}), but '{name}' is not in \
                 it; put '{name}' into the primary key",
                table.partition_key.join(", "),
                primary_key.join(", ")
            );
            return Err(Error::invalid(Subject::Column, message));
        }
    }
    if !primary_key.is_empty() && physical_key(table).next().is_none() {
        let message = format!(
            "the primary key ({}) should not be same with partition fields; it needs a column that tells the rows of one partition apart",
            primary_key.join(", ")
        );
        return Err(Error::invalid(Subject::Column, message));
    }
    Ok(())
}

/// Checks the options of auto-partitioning.
///
/// # Errors
/// `Invalid` about `Option`, naming it.
pub(super) fn check_auto(table: &TableDescriptor, limits: Limits) -> Result<()> {
    let Some(auto) = AutoPartition::of(table)? else { return Ok(()) };
    let (count, option) = auto.precreated();
    match usize::try_from(count) {
        Ok(count) if count <= limits.partitions_max => Ok(()),
        _ => Err(Error::invalid(
            Subject::Option,
            format!(
                "option '{option}' = '{count}' is more than a table may have ('max.partition.num' = {})",
                limits.partitions_max
            ),
        )),
    }
}

/// The values of a whole specification in key order, each in its one form.
///
/// # Errors
/// `Invalid` about `Table` when it has no partitions, about `Partition` for anything else, naming the column.
pub(crate) fn full_spec(table: &TableDescriptor, spec: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let mut values = partial_spec(table, spec)?;
    table
        .partition_key
        .iter()
        .map(|name| {
            let value = values.remove(name).ok_or_else(|| {
                Error::invalid(
                    Subject::Partition,
                    format!(
                        "the partition needs a value for each of ({}), '{name}' is missing",
                        table.partition_key.join(", ")
                    ),
                )
            })?;
            check_partition_value(name, &value)?;
            Ok(value)
        })
        .collect()
}

/// The values of a specification that may leave columns out, each in its one form.
///
/// # Errors
/// As [`full_spec`].
pub(crate) fn partial_spec(
    table: &TableDescriptor,
    spec: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>> {
    if table.partition_key.is_empty() {
        return Err(Error::invalid(Subject::Table, "the table is not partitioned"));
    }
    let value_of = |(name, text): (&String, &String)| {
        let column = table.schema.columns.iter().find(|c| c.name == *name && table.partition_key.contains(name));
        let Some(column) = column else {
            let message = format!("'{name}' is not one of the partition columns ({})", table.partition_key.join(", "));
            return Err(Error::invalid(Subject::Partition, message));
        };
        let value = partition_text(&column.data_type, text).map_err(|why| {
            Error::invalid(
                Subject::Partition,
                format!("partition column '{name}': the partition value is invalid: {why}"),
            )
        })?;
        Ok((name.clone(), value))
    };
    spec.iter().map(value_of).collect()
}
