//! How buckets are, for those who look after a store. Looking opens no rows by key and waits for no writer.

use crate::bucket::Bucket;
use crate::table::Table;
use sluice_base::{Offset, TableBucket};
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// One bucket at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketStatus {
    /// Which one.
    pub id: TableBucket,
    /// The name of its partition.
    pub partition: Option<String>,
    /// Its log; `None` when nobody has used the bucket since the store was opened, and nobody asked to open it now.
    pub log: Option<LogStatus>,
    /// Its rows by key; `None` in a log table, and as long as nobody has used them.
    pub rows: Option<RowsStatus>,
    /// Up to which offset (exclusive) the lake is known to have the log.
    pub in_lake: Option<Offset>,
    /// Up to which offset (exclusive) remote storage is known to have the log.
    pub in_remote: Option<Offset>,
    /// What keeps rows from becoming durable, ended the bucket, or keeps its log from being copied to remote storage.
    pub trouble: Option<String>,
}

/// A bucket's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogStatus {
    /// The first offset that can be read.
    pub start: Offset,
    /// The offset behind the last row that readers may see.
    pub end: Offset,
    /// Bytes on disk, and in remote storage alone.
    pub bytes: u64,
}

/// A bucket's rows by key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsStatus {
    /// How many.
    pub rows: i64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Up to which offset (exclusive) the log is in their files; a start after a crash replays the rest.
    pub in_files: Offset,
    /// Snapshots that are kept; `None` as long as nobody has asked for one.
    pub snapshots: Option<usize>,
}

/// All buckets of a table; logs that are closed are opened if `open` says so.
pub(crate) fn buckets(table: &Table, open: bool) -> Vec<BucketStatus> {
    let meta = table.meta.get();
    let names: BTreeMap<_, _> = meta.partitions.iter().map(|(name, info)| (info.id(), name)).collect();
    let name = |bucket: &Bucket| names.get(&bucket.id.partition?).map(|name| (*name).clone());
    table.buckets().iter().map(|bucket| one(bucket, name(bucket), open)).collect()
}

fn one(bucket: &Bucket, partition: Option<String>, open: bool) -> BucketStatus {
    let opened = if open { bucket.log().map(Some) } else { Ok(bucket.log_if_open()) };
    let (log, unreadable) = match opened {
        Ok(log) => (log, None),
        Err(e) => (None, Some(e.to_string())),
    };
    let log = log.map(|log| LogStatus {
        start: log.start_offset(),
        end: bucket.progress.high().max(log.start_offset()),
        bytes: log.size_bytes(),
    });
    let rows = bucket.kv_if_open().map(|kv| RowsStatus {
        rows: kv.mark().rows,
        bytes: kv.size_bytes(),
        in_files: kv.flushed_offset(),
        snapshots: bucket
            .snapshots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .map(|index| index.snapshots.len()),
    });
    let stuck = bucket.progress.stuck().map(|why| why.message().to_owned());
    let ended = bucket.progress.alive().err().map(|e| e.message().to_owned());
    let in_lake = Some(bucket.in_lake.load(Ordering::Acquire)).filter(|offset| *offset > 0);
    let not_copied = bucket.not_copied.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let trouble = ended.or(stuck).or(unreadable).or(not_copied);
    let in_remote = Some(bucket.log_copied.load(Ordering::Acquire)).filter(|offset| *offset > 0);
    BucketStatus { id: bucket.id, partition, log, rows, in_lake, in_remote, trouble }
}
