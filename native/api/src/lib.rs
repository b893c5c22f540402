//! What callers may ask of a store, however it is reached: admin, write, scan, lookup.
//!
//! Owns the traits and plain types that the JNI and server rooms call and that the embedded store and the
//! remote client implement. Never says how a thing is done.
//!
//! Rows cross as Arrow record batches. Blocking calls are bounded: each takes a timeout or returns at once.

mod access;
mod admin;
pub mod call;
mod inserting;
mod lookup;
mod scan;
mod write;

pub use access::{ANY, AccessRule, CLUSTER_NAME, EVERY, Operation, Resource, ResourceKind, RuleFilter};
pub use admin::{
    DatabaseInfo, LakePartitionOffsets, LakeSnapshot, OffsetSpec, PartitionInfo, TableChange, TableInfo, TableStats,
    TierPart, TierWork, ViewInfo,
};
pub use inserting::InsertingLookup;
pub use lookup::{Lookup, LookupOptions, LookupRows};
pub use scan::{ScanBatch, ScanOptions, ScanSplit, ScanStart, Scanner};
pub use write::{WriteOptions, Writer};

use sluice_base::{Offset, Result, TableBucket};
use sluice_row::{DatabaseDescriptor, TableDescriptor, TablePath, ViewDescriptor};
use std::collections::BTreeMap;
use std::time::Duration;

/// An open store, embedded or remote. Shared by all handles made from it; closing it closes them.
pub trait Connection: Send + Sync {
    /// Creates a database. Durable when it returns.
    ///
    /// # Errors
    /// `AlreadyExists` about `Database` unless `ignore_if_exists`; `Invalid` for a bad name.
    fn create_database(&self, name: &str, descriptor: &DatabaseDescriptor, ignore_if_exists: bool) -> Result<()>;
    /// Sets (or with `None` removes) properties of a database.
    ///
    /// # Errors
    /// `NotFound` about `Database`.
    fn alter_database(&self, name: &str, changes: &BTreeMap<String, Option<String>>) -> Result<()>;
    /// Drops a database; with `cascade` its tables and views too.
    ///
    /// # Errors
    /// `NotFound` unless `ignore_if_missing`; `Conflict` about `Database` when it has tables or views and no `cascade`;
    /// `Unsupported` for the built-in database.
    fn drop_database(&self, name: &str, ignore_if_missing: bool, cascade: bool) -> Result<()>;
    /// Names of all databases, sorted.
    ///
    /// # Errors
    /// `Closed`.
    fn list_databases(&self) -> Result<Vec<String>>;
    /// One database.
    ///
    /// # Errors
    /// `NotFound` about `Database`.
    fn database(&self, name: &str) -> Result<DatabaseInfo>;
    /// Creates a table after checking every rule; fills in defaults. Durable when it returns.
    ///
    /// # Errors
    /// `AlreadyExists` about `Table` unless `ignore_if_exists` (a view of that name always); `NotFound` about `Database`; `Invalid` or
    /// `Unsupported` naming the column or option at fault.
    fn create_table(&self, path: &TablePath, descriptor: &TableDescriptor, ignore_if_exists: bool) -> Result<()>;
    /// Drops a table and its data.
    ///
    /// # Errors
    /// `NotFound` unless `ignore_if_missing`.
    fn drop_table(&self, path: &TablePath, ignore_if_missing: bool) -> Result<()>;
    /// Names of a database's tables, sorted.
    ///
    /// # Errors
    /// `NotFound` about `Database`.
    fn list_tables(&self, database: &str) -> Result<Vec<String>>;
    /// One table with its newest schema.
    ///
    /// # Errors
    /// `NotFound` about `Table` or `Database`.
    fn table(&self, path: &TablePath) -> Result<TableInfo>;
    /// Changes a table's options or schema, all or nothing.
    ///
    /// # Errors
    /// `NotFound` unless `ignore_if_missing`; `Invalid` or `Unsupported` naming the option or column.
    fn alter_table(&self, path: &TablePath, changes: &[TableChange], ignore_if_missing: bool) -> Result<()>;
    /// Creates a view. Durable when it returns. The query is kept as it is.
    ///
    /// # Errors
    /// `AlreadyExists` about `Table` unless `ignore_if_exists` (a table of that name always); `NotFound` about `Database`; `Invalid` about
    /// `Table` for a bad name or a query that is too long.
    fn create_view(&self, path: &TablePath, descriptor: &ViewDescriptor, ignore_if_exists: bool) -> Result<()>;
    /// Replaces what a view says.
    ///
    /// # Errors
    /// `NotFound` unless `ignore_if_missing`; `Invalid` as when creating.
    fn alter_view(&self, path: &TablePath, descriptor: &ViewDescriptor, ignore_if_missing: bool) -> Result<()>;
    /// Gives a view another name in its database.
    ///
    /// # Errors
    /// `NotFound` unless `ignore_if_missing`; `AlreadyExists` about `Table` when a table or view has the new name; `Invalid` for a bad one.
    fn rename_view(&self, path: &TablePath, new_name: &str, ignore_if_missing: bool) -> Result<()>;
    /// Drops a view. Views that ask it stay and fail when they are asked.
    ///
    /// # Errors
    /// `NotFound` unless `ignore_if_missing`.
    fn drop_view(&self, path: &TablePath, ignore_if_missing: bool) -> Result<()>;
    /// Names of a database's views, sorted.
    ///
    /// # Errors
    /// `NotFound` about `Database`.
    fn list_views(&self, database: &str) -> Result<Vec<String>>;
    /// One view.
    ///
    /// # Errors
    /// `NotFound` about `Table` or `Database`.
    fn view(&self, path: &TablePath) -> Result<ViewInfo>;
    /// Creates a partition from a value for each partition column. Durable when it returns.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Invalid` about `Table` when it is not partitioned; about `Partition`: `AlreadyExists` unless
    /// `ignore_if_exists`, `Invalid` for a value that is missing, is none of the column, or is not one of an auto-partitioned table, and
    /// when there are too many.
    fn create_partition(&self, path: &TablePath, spec: &BTreeMap<String, String>, ignore_if_exists: bool)
    -> Result<()>;
    /// Drops a partition and its data. Those of a table with a lake are brought there first, which keeps them.
    ///
    /// # Errors
    /// As [`Connection::create_partition`]; `NotFound` about `Partition` unless `ignore_if_missing`; those of [`Connection::tier`] for a
    /// table with a lake.
    fn drop_partition(&self, path: &TablePath, spec: &BTreeMap<String, String>, ignore_if_missing: bool) -> Result<()>;
    /// A table's partitions that have the given values, by name; all of them when none is given.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Invalid` about `Table` when it is not partitioned, about `Partition` for the values.
    fn list_partitions(&self, path: &TablePath, spec: &BTreeMap<String, String>) -> Result<Vec<PartitionInfo>>;
    /// One offset for each bucket.
    ///
    /// # Errors
    /// `NotFound` about `Table` or `Bucket`; `Invalid` for a timestamp in the future.
    fn list_offsets(&self, buckets: &[TableBucket], spec: OffsetSpec) -> Result<Vec<Offset>>;
    /// Counts kept by the store.
    ///
    /// # Errors
    /// `NotFound` about `Table`.
    fn table_stats(&self, path: &TablePath) -> Result<TableStats>;
    /// What a catalog of Paimon is opened with to read the store's lake, `None` when the store has none.
    ///
    /// # Errors
    /// `Closed`.
    fn lake_options(&self) -> Result<Option<BTreeMap<String, String>>>;
    /// How far the lake of a table is that has one.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Invalid` about `Option` when the table has no lake; `Conflict`, `Corrupt`, `Io` about the lake.
    fn lake_snapshot(&self, path: &TablePath) -> Result<LakeSnapshot>;
    /// The partitions that only the lake of a table has, for they were dropped or have expired; none when the table has no partitions or no lake.
    /// Their ids are negative; a scanner takes them as it takes others, and finds no log behind the rows of the lake.
    ///
    /// # Errors
    /// Those of [`Connection::lake_snapshot`], but for a table without a lake; `Conflict` about `Table` when somebody else has written rows to
    /// the lake.
    fn lake_partitions(&self, _path: &TablePath) -> Result<Vec<PartitionInfo>> {
        Ok(Vec::new())
    }
    /// Brings all rows that readers can see now into the table's lake, whoever else does so from time to time, and returns when they are there.
    ///
    /// # Errors
    /// Those of [`Connection::lake_snapshot`]; `Busy` when the time is over: what is in the lake by then stays; `Fenced` about `Table` when
    /// somebody else brings rows into the same lake table.
    fn tier(&self, path: &TablePath, timeout: Duration) -> Result<LakeSnapshot>;
    /// What the lake of a table does not have, for a driver that brings it there in its own time. The rows of several buckets may be written at
    /// once, and what was written becomes one snapshot; other drivers may do the same, for a snapshot is made only of what goes on where the
    /// lake ends.
    ///
    /// # Errors
    /// Those of [`Connection::lake_snapshot`].
    fn tier_work(&self, path: &TablePath) -> Result<Vec<TierWork>>;
    /// Writes lake files of a bucket from `start` on: all that readers can see now, or what `timeout` allows, but something. No snapshot names
    /// them before [`Connection::tier_commit`]; without one they are removed after an hour.
    ///
    /// # Errors
    /// As [`Connection::tier_work`]; `NotFound` about `Partition` or `Bucket`.
    fn tier_write(&self, work: &TierWork, timeout: Duration) -> Result<TierPart>;
    /// Makes one snapshot of files that were written for a table, by their numbers.
    ///
    /// # Errors
    /// As [`Connection::tier_work`]; `Fenced` about `Table` when another driver has brought one of the buckets on meanwhile: nothing of these
    /// files is in the lake then; `NotFound` about `File` for files that are not there any more; `Busy` about `Table`.
    fn tier_commit(&self, path: &TablePath, parts: &[u64]) -> Result<LakeSnapshot>;
    /// Makes sure that a snapshot of each given primary-key bucket exists that holds at least all rows acknowledged so far, and
    /// keeps it for `lease` until released or `lease_ms` have passed since the last call. Returns for each bucket the
    /// snapshot's id and the log offset it ends before. Without buckets it only renews: all that the lease holds is kept for another
    /// `lease_ms`. Buckets of a log table with a lake get the newest snapshot of the lake, which nobody needs to hold; its id is 0 when
    /// the lake has nothing yet.
    ///
    /// # Errors
    /// `NotFound` about `Bucket`; `Busy` about `Disk`.
    fn acquire_snapshots(&self, buckets: &[TableBucket], lease: &str, lease_ms: u64) -> Result<Vec<(u64, Offset)>>;
    /// Gives the snapshots of some buckets back (all of the lease's when `buckets` is empty).
    ///
    /// # Errors
    /// `Closed`. An unknown lease is no error.
    fn release_snapshots(&self, buckets: &[TableBucket], lease: &str) -> Result<()>;
    /// The offsets of all of a table's buckets at which a producer (a job, by its id) began to write: those of now at its first call, the same
    /// at every later one, whatever happened since. Kept for a day, or until the producer has ended. Buckets of partitions made since the first
    /// call are not among them.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Invalid` about `Writer` for an id of no or more than 100 bytes; `Io` or `Busy` about `Disk`.
    fn producer_offsets(&self, path: &TablePath, producer: &str) -> Result<Vec<(TableBucket, Offset)>>;
    /// Says that part number `part` of a producer's `parts` needs its offsets no more. With the last of them they are forgotten.
    ///
    /// # Errors
    /// Those of [`Connection::producer_offsets`].
    fn end_producer(&self, path: &TablePath, producer: &str, part: u32, parts: u32) -> Result<()>;
    /// Allows somebody something, all of it or nothing. Durable when it returns.
    ///
    /// # Errors
    /// `Unsupported` about `Store` where nobody is asked for rights; `Unauthorized`; `Invalid` about `Option` for a rule that is none.
    fn add_rules(&self, rules: &[AccessRule]) -> Result<()>;
    /// Takes back what rules allow. Durable when it returns the rules that were there.
    ///
    /// # Errors
    /// As [`Connection::add_rules`].
    fn drop_rules(&self, filter: &RuleFilter) -> Result<Vec<AccessRule>>;
    /// Rules about things that the caller may see, sorted.
    ///
    /// # Errors
    /// As [`Connection::add_rules`].
    fn list_rules(&self, filter: &RuleFilter) -> Result<Vec<AccessRule>>;
    /// Opens a writer.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Invalid` about options.
    fn writer(&self, path: &TablePath, options: &WriteOptions) -> Result<Box<dyn Writer>>;
    /// Opens a scanner with no splits yet.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Invalid` about the projection or a column of the filter.
    fn scanner(&self, path: &TablePath, options: &ScanOptions) -> Result<Box<dyn Scanner>>;
    /// Opens a lookup.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Invalid` when the key columns are neither the primary key nor a legal prefix.
    fn lookup(&self, path: &TablePath, options: &LookupOptions) -> Result<Box<dyn Lookup>>;
}
