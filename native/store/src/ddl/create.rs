//! CREATE TABLE: what a user said becomes what the store keeps, or one sentence says why not.

use super::merging::{self, Merging};
use super::{auto_increment, columns, keys, options, partition, statistics};
use crate::auto_partition::{self, AutoPartition};
use sluice_base::{Error, Result, Subject};
use sluice_row::TableDescriptor;

/// How many buckets and partitions a table gets and may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Buckets when the table does not say.
    pub(crate) buckets_default: i32,
    /// Buckets at most.
    pub(crate) buckets_max: i32,
    /// Partitions at most.
    pub(crate) partitions_max: usize,
}

/// Checks every rule, fills in defaults, gives ids to columns.
///
/// # Errors
/// `Invalid` or `Unsupported` naming the column or option at fault.
pub(crate) fn create(mut table: TableDescriptor, limits: Limits) -> Result<TableDescriptor> {
    table.version = 1;
    table.schema.version = 1;
    table.sort_options();
    columns::check(&mut table.schema)?;
    keys::check_primary_key(&mut table.schema)?;
    partition::check_key(&table)?;
    keys::settle_bucket_key(&mut table)?;
    settle_bucket_count(&mut table, limits)?;
    let has_primary_key = !table.schema.primary_key.is_empty();
    options::check(&table.properties, has_primary_key)?;
    statistics::check(&table.properties, &table.schema)?;
    table.declare_columns()?;
    merging::settle(&mut table)?;
    Merging::of(&table)?;
    auto_increment::check(&table)?;
    fill_in(&mut table, has_primary_key);
    partition::check_auto(&table, limits)?;
    columns::forget_ids(&mut table.schema);
    table.schema.assign_ids();
    Ok(table)
}

/// Fills the number of buckets in, and refuses one that no table can have.
///
/// # Errors
/// `Invalid` about `Option`.
pub(super) fn settle_bucket_count(table: &mut TableDescriptor, limits: Limits) -> Result<()> {
    let count = *table.bucket_count.get_or_insert(limits.buckets_default);
    if count < 1 {
        return Err(Error::invalid(
            Subject::Option,
            format!("'bucket.num' = {count}: a table needs at least 1 bucket"),
        ));
    }
    if count > limits.buckets_max {
        let message =
            format!("'bucket.num' = {count} is more than the maximum of {} ('max.bucket.num')", limits.buckets_max);
        return Err(Error::invalid(Subject::Bucket, message));
    }
    Ok(())
}

fn fill_in(table: &mut TableDescriptor, has_primary_key: bool) {
    let nothing_ahead = table.partition_key.len() > 1 && AutoPartition::is_on(&table.properties);
    let mut put = |key: &str, value: &str| {
        table.properties.entry(key.to_owned()).or_insert_with(|| value.to_owned());
    };
    put(options::REPLICATION_FACTOR, "1");
    put(options::DATALAKE_FORMAT, "paimon");
    if has_primary_key {
        put(options::KV_FORMAT_VERSION, "2");
    }
    if nothing_ahead {
        put(auto_partition::NUM_PRECREATE, "0");
    }
}
