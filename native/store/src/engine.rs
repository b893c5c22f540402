//! All open buckets of one store and the threads that serve them.

use crate::bucket::Bucket;
use crate::closing::Closing;
use crate::context::Context;
use crate::copying::Copier;
use crate::directory::Directory;
use crate::lake::{Lake, LakePlan, no_lake};
use crate::lookup::TableLookup;
use crate::partitioner::Partitioner;
use crate::producers::Producers;
use crate::raw::RawBucket;
use crate::scan::TableScanner;
use crate::status::{self, BucketStatus};
use crate::table::Table;
use crate::tables::Tables;
use crate::tiering::{self, Tiering};
use crate::worker::Workers;
use crate::write::TableWriter;
use crate::{Settings, TableMeta};
use sluice_api::{
    LakeSnapshot, Lookup, LookupOptions, OffsetSpec, PartitionInfo, ScanOptions, Scanner, TableStats, TierPart,
    TierWork, WriteOptions, Writer,
};
use sluice_base::{Clock, Error, ErrorKind, Fs, Offset, PartitionId, Result, Subject, TableBucket, TableId};
use sluice_lake::LakeOffsets;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The data of one store. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Engine {
    context: Arc<Context>,
    tables: Arc<Tables>,
    partitioner: Arc<OnceLock<Arc<Partitioner>>>,
    workers: Arc<Workers>,
    producers: Producers,
    tiering: Arc<Tiering>,
    copier: Arc<Copier>,
    closed: AtomicBool,
}

impl Engine {
    /// Starts the engine over `<root>/data`. Tables are added one by one; nothing is read before it is used.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn open(
        root: &Path,
        fs: Arc<dyn Fs>,
        clock: Arc<dyn Clock>,
        settings: &Settings,
        read_only: bool,
    ) -> Result<Arc<Self>> {
        let context = Context::new(root, fs, clock, settings, read_only)?;
        let tiering = Tiering::new(context.clone());
        let engine = Arc::new(Self {
            tables: Arc::new(Tables::new(context.clone())),
            context,
            partitioner: Arc::default(),
            workers: Arc::new(Workers::default()),
            producers: Producers::default(),
            tiering,
            copier: Arc::default(),
            closed: AtomicBool::new(false),
        });
        if !read_only {
            engine.workers.start(&engine.context, engine.tables.clone(), engine.partitioner.clone())?;
            engine.tiering.start(engine.tables.clone())?;
            engine.copier.start(&engine.context, engine.tables.clone())?;
        }
        Ok(engine)
    }

    /// Copies closed log segments to remote storage now, and gives up local files.
    ///
    /// # Errors
    /// `Invalid` about `Option` without remote storage; `Closed`; the first failure.
    pub(crate) fn copy_segments(&self) -> Result<()> {
        self.open_check()?;
        let Some(remote) = &self.context.remote else {
            let message = "the store was opened without 'remote.data.dir': there is no remote storage to copy to";
            return Err(Error::invalid(Subject::Option, message));
        };
        self.copier.round(&self.context, remote, &self.tables)
    }

    /// The disk, with what is in remote storage.
    pub(crate) fn disk(&self) -> &dyn Fs {
        self.context.fs.as_ref()
    }

    /// Refuses what needs a disk that can be written.
    ///
    /// # Errors
    /// `Busy` about `Disk` when the store is open for reading only.
    pub(crate) fn writable(&self) -> Result<()> {
        self.context.writable()
    }

    /// The open tables.
    pub(crate) fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }

    /// Lets writers and the clock create and drop partitions from now on.
    pub(crate) fn set_partitioner(&self, partitioner: Arc<Partitioner>) {
        // Set once, when the store opens.
        let _ = self.partitioner.set(partitioner);
    }

    fn open_check(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, Subject::Store, "the store is closed; open it again"));
        }
        Ok(())
    }

    fn table(&self, id: TableId) -> Result<Arc<Table>> {
        self.open_check()?;
        self.tables.get(id)
    }

    fn bucket(&self, id: &TableBucket) -> Result<Arc<Bucket>> {
        self.table(id.table)?.find(id)
    }

    /// A bucket for callers that speak the protocol.
    ///
    /// # Errors
    /// `NotFound` about `Table`, `Partition` or `Bucket`.
    pub(crate) fn raw_bucket(&self, id: &TableBucket) -> Result<RawBucket> {
        let table = self.table(id.table)?;
        let bucket = table.find(id)?;
        Ok(RawBucket::new(self.context.clone(), table, bucket))
    }

    /// Adds a table; creates its directories when they are missing.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn add_table(&self, meta: Arc<TableMeta>) -> Result<()> {
        self.open_check()?;
        self.tables.add(meta)?;
        self.tiering.look();
        Ok(())
    }

    /// A table has new options, which tiering may have to follow.
    pub(crate) fn table_changed(&self, id: TableId) {
        self.tiering.changed(id);
    }

    /// Ends a table: its writers and readers get `NotFound`, its data goes.
    ///
    /// # Errors
    /// `Io` when files cannot be removed; the directory's owner removes them when it opens next.
    pub(crate) fn remove_table(&self, id: TableId) -> Result<()> {
        let Some(dir) = self.tables.end(id) else { return Ok(()) };
        self.tiering.forget(id);
        self.context.fs.remove_dir_all(&dir)
    }

    /// Opens a writer.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Invalid`, `Unsupported` about columns; `Busy` about `Disk` when the store is open for reading only.
    pub(crate) fn writer(&self, meta: Arc<TableMeta>, options: &WriteOptions) -> Result<Box<dyn Writer>> {
        self.context.writable()?;
        let table = self.table(meta.id)?;
        Ok(Box::new(TableWriter::open(self.context.clone(), table, self.partitioner.get().cloned(), &meta, options)?))
    }

    /// Opens a scanner.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Invalid` about columns or options.
    pub(crate) fn scanner(&self, meta: Arc<TableMeta>, options: &ScanOptions) -> Result<Box<dyn Scanner>> {
        Ok(Box::new(TableScanner::open(self.table(meta.id)?, &meta, options)?))
    }

    /// Opens a lookup.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Invalid` about columns.
    pub(crate) fn lookup(&self, meta: Arc<TableMeta>, options: &LookupOptions) -> Result<Box<dyn Lookup>> {
        Ok(Box::new(TableLookup::open(self.table(meta.id)?, &meta, options)?))
    }

    /// One offset for each bucket.
    ///
    /// # Errors
    /// `NotFound` about `Table`, `Partition` or `Bucket`; `Invalid` about `Offset` for a time in the future.
    pub(crate) fn list_offsets(&self, buckets: &[TableBucket], spec: OffsetSpec) -> Result<Vec<Offset>> {
        let now = self.context.clock.now_ms();
        if let OffsetSpec::Timestamp(ms) = spec
            && ms > now
        {
            let message =
                format!("timestamp {ms} lies in the future, the store's clock says {now}; give a time that has passed");
            return Err(Error::invalid(Subject::Offset, message));
        }
        let offset = |id: &TableBucket| {
            if id.partition.is_some_and(PartitionId::is_of_lake) {
                // The lake has its rows, and no log goes on behind them.
                return Ok(0);
            }
            let bucket = self.bucket(id)?;
            let (start, end) = bucket.readable()?;
            Ok(match spec {
                OffsetSpec::Earliest => start,
                OffsetSpec::Latest => end,
                OffsetSpec::Timestamp(ms) => {
                    bucket.log()?.offset_for_timestamp(ms)?.map_or(end, |o| o.clamp(start, end))
                }
            })
        };
        buckets.iter().map(offset).collect()
    }

    /// The store's lake.
    ///
    /// # Errors
    /// `Invalid` about `Option` when it has none.
    pub(crate) fn lake(&self) -> Result<&Lake> {
        self.context.lake.as_ref().ok_or_else(no_lake)
    }

    /// How far the lake of a table is.
    ///
    /// # Errors
    /// As `sluice_api::Connection::lake_snapshot`.
    pub(crate) fn lake_snapshot(&self, id: TableId) -> Result<LakeSnapshot> {
        self.tiering.snapshot(&*self.table(id)?)
    }

    /// Brings all rows that are visible now into the lake.
    ///
    /// # Errors
    /// As `sluice_api::Connection::tier`.
    pub(crate) fn tier(&self, id: TableId, timeout: Duration) -> Result<LakeSnapshot> {
        self.tiering.tier(&*self.table(id)?, None, timeout)
    }

    /// What the lake of a table does not have.
    ///
    /// # Errors
    /// As `sluice_api::Connection::tier_work`.
    pub(crate) fn tier_work(&self, id: TableId) -> Result<Vec<TierWork>> {
        self.tiering.work(&*self.table(id)?)
    }

    /// Writes lake files of a bucket.
    ///
    /// # Errors
    /// As `sluice_api::Connection::tier_write`.
    pub(crate) fn tier_write(&self, work: &TierWork, timeout: Duration) -> Result<TierPart> {
        self.tiering.write(&*self.table(TableId(work.table_id))?, work, timeout)
    }

    /// Makes one snapshot of lake files.
    ///
    /// # Errors
    /// As `sluice_api::Connection::tier_commit`.
    pub(crate) fn tier_commit(&self, id: TableId, parts: &[u64]) -> Result<LakeSnapshot> {
        self.tiering.commit(&*self.table(id)?, parts)
    }

    /// Brings all rows of a partition that are visible now into the lake, so that it can be dropped without loss.
    ///
    /// # Errors
    /// As `sluice_api::Connection::tier`.
    pub(crate) fn tier_partition(&self, id: TableId, partition: PartitionId, timeout: Duration) -> Result<()> {
        self.tiering.tier(&*self.table(id)?, Some(partition), timeout).map(drop)
    }

    /// The partitions of a table that only its lake has.
    ///
    /// # Errors
    /// As `sluice_api::Connection::lake_partitions`.
    pub(crate) fn lake_partitions(&self, id: TableId) -> Result<Vec<PartitionInfo>> {
        let table = self.table(id)?;
        let meta = table.meta.get();
        let Some(lake) = table.lake()?.filter(|_| meta.is_partitioned()) else { return Ok(Vec::new()) };
        let Some((snapshot, _)) = LakePlan::newest(lake, &meta)? else { return Ok(Vec::new()) };
        LakePlan::new(lake, &meta, snapshot.id.unsigned_abs())?.partitions_beside(&meta)
    }

    /// Rows and bytes of a table.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Corrupt`, `Io`.
    pub(crate) fn table_stats(&self, id: TableId) -> Result<TableStats> {
        let table = self.table(id)?;
        let meta = table.meta.get();
        let keyed = meta.has_primary_key();
        // Where the changelog does not say whether a key is new, nobody counts.
        let counted = !keyed || meta.merging.full_image && self.lake_partitions(id)?.is_empty();
        let lake = if keyed { None } else { self.context.lake_of(&meta)? };
        let (in_lake, ends) = lake.map_or(Ok((0, LakeOffsets::default())), |lake| tiering::lake_rows(lake, &meta))?;
        let mut stats = TableStats { row_count: counted.then_some(in_lake), size_bytes: 0 };
        for (name, bucket) in table.lake_buckets() {
            let (start, end) = bucket.readable()?;
            let mut rows = end - ends.end(&name).map_or(start, |lake| start.max(lake)).min(end);
            if keyed {
                let kv = bucket.kv()?;
                rows = kv.mark().rows;
                stats.size_bytes += kv.size_bytes();
            }
            stats.size_bytes += bucket.log()?.size_bytes();
            stats.row_count = stats.row_count.map(|n| n + rows);
        }
        Ok(stats)
    }

    /// How a table's buckets are; logs that are closed are opened if `open` says so.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Closed`.
    pub(crate) fn bucket_status(&self, id: TableId, open: bool) -> Result<Vec<BucketStatus>> {
        Ok(status::buckets(&*self.table(id)?, open))
    }

    /// The offsets of a table's buckets at which a producer began.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Invalid` about `Writer`; `Corrupt`; `Io` or `Busy` about `Disk`.
    pub(crate) fn producer_offsets(&self, id: TableId, producer: &str) -> Result<Vec<(TableBucket, Offset)>> {
        let table = self.table(id)?;
        let now = || {
            let mut buckets = table.buckets();
            buckets.sort_by_key(|b| (b.id.partition, b.id.bucket));
            buckets.iter().map(|b| Ok((b.id, b.readable()?.1))).collect()
        };
        self.producers.start(&self.context, id, producer, now)
    }

    /// Notes that a part of a producer has ended.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Invalid` about `Writer`; `Io`.
    pub(crate) fn end_producer(&self, id: TableId, producer: &str, part: u32, parts: u32) -> Result<()> {
        self.table(id)?;
        self.producers.end(&self.context, id, producer, part, parts)
    }

    /// A leased snapshot of each bucket that holds all rows visible now. Without buckets it renews what the lease holds.
    ///
    /// # Errors
    /// `NotFound` about `Bucket`; `Invalid` for a log table's; `Busy` about `Disk`.
    pub(crate) fn acquire_snapshots(
        &self,
        buckets: &[TableBucket],
        lease: &str,
        lease_ms: u64,
    ) -> Result<Vec<(u64, Offset)>> {
        if lease.is_empty() || lease.len() > usize::from(u16::MAX) {
            return Err(Error::invalid(Subject::Snapshot, "the id of a snapshot lease must have 1 to 65535 bytes"));
        }
        if buckets.is_empty() {
            self.context.writable()?;
            self.open_check()?;
            self.keyed_buckets().iter().try_for_each(|b| b.renew_lease(lease, lease_ms))?;
            return Ok(Vec::new());
        }
        let mut lakes = BTreeMap::new();
        let acquire = |id: &TableBucket| {
            let table = self.table(id.table)?;
            let meta = table.meta.get();
            let of_lake = id.partition.is_some_and(PartitionId::is_of_lake);
            let bucket = if of_lake { None } else { Some(table.find(id)?) };
            if let Some(bucket) = bucket.as_ref().filter(|_| meta.has_primary_key()) {
                self.context.writable()?;
                return bucket.acquire_snapshot(lease, lease_ms);
            }
            let Some(lake) = table.lake()? else {
                let message = format!("{id} is of a log table without a lake, which has no snapshots; scan its log");
                return Err(Error::invalid(Subject::Snapshot, message));
            };
            let newest = match lakes.get(&id.table) {
                Some(known) => known,
                None => lakes.entry(id.table).or_insert(LakePlan::newest(lake, &meta)?),
            };
            let snapshot = newest.as_ref().map_or(0, |(snapshot, _)| snapshot.id.unsigned_abs());
            let Some(bucket) = bucket else { return Ok((snapshot, 0)) };
            let name = table.lake_bucket(id)?;
            let end = newest.as_ref().and_then(|(_, offsets)| offsets.end(&name));
            Ok((snapshot, end.map_or_else(|| Ok(bucket.readable()?.0), Ok)?))
        };
        buckets.iter().map(acquire).collect()
    }

    fn keyed_buckets(&self) -> Vec<Arc<Bucket>> {
        let tables = self.tables.all().into_iter().filter(|t| t.meta.get().has_primary_key());
        tables.flat_map(|t| t.buckets()).collect()
    }

    /// Gives snapshots back; all of the lease's when `buckets` is empty.
    ///
    /// # Errors
    /// `Closed`; `Io`.
    pub(crate) fn release_snapshots(&self, buckets: &[TableBucket], lease: &str) -> Result<()> {
        self.open_check()?;
        if buckets.is_empty() {
            return self.keyed_buckets().iter().try_for_each(|b| b.release_snapshot_if_any(lease));
        }
        buckets.iter().try_for_each(|id| match self.bucket(id) {
            Ok(bucket) => bucket.release_snapshot_if_any(lease),
            // A table or partition dropped meanwhile has given everything back.
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
        })
    }

    /// Makes everything durable, writes rows to files, ends the threads, gives the directory up. Later calls get `Closed`. Closing twice is
    /// no error.
    ///
    /// # Errors
    /// Those of [`Closing::run`].
    pub(crate) fn close(&self, directory: Option<Directory>) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.tiering.stop();
        self.copier.stop();
        let tables = self.tables.all();
        self.tables.clear();
        Closing { context: self.context.clone(), tables, workers: self.workers.clone(), directory }.run()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Nobody is left to tell; the log keeps what could not be written out.
        let _ = self.close(None);
    }
}

#[cfg(test)]
mod tests;
