//! Where jobs began: the offsets of a table's buckets before a producer wrote its first row, kept in `<table>/producers/` until the
//! producer needs them no more. They go with the table, and a day after they were made.
//!
//! A file holds one line of magic and version, then JSON; replaced whole. One that cannot be read is an error, never forgotten.

use crate::context::Context;
use serde::{Deserialize, Serialize};
use sluice_base::{Error, Offset, PartitionId, Result, Subject, TableBucket, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const MAGIC: &str = "SLUICE-PRODUCER 1\n";
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;
/// So that its name as hexadecimal digits stays a file name.
const ID_BYTES_MAX: usize = 100;

/// The producers of all tables.
#[derive(Debug, Default)]
pub(crate) struct Producers {
    /// Parts of a producer that have ended; also the lock on the files.
    ended: Mutex<BTreeMap<(TableId, String), BTreeSet<u32>>>,
}

#[derive(Serialize, Deserialize)]
struct Start {
    created_ms: i64,
    /// By bucket number; empty for a table with partitions.
    offsets: Vec<Offset>,
    /// The same of each partition, by its id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    partitions: BTreeMap<i64, Vec<Offset>>,
}

impl Start {
    /// `buckets` come in the order of their numbers.
    fn new(created_ms: i64, buckets: Vec<(TableBucket, Offset)>) -> Self {
        let mut start = Self { created_ms, offsets: Vec::new(), partitions: BTreeMap::new() };
        for (bucket, offset) in buckets {
            match bucket.partition {
                None => start.offsets.push(offset),
                Some(partition) => start.partitions.entry(partition.0).or_default().push(offset),
            }
        }
        start
    }

    fn buckets(self, table: TableId) -> Vec<(TableBucket, Offset)> {
        let of = |partition, offsets: Vec<Offset>| {
            (0..).zip(offsets).map(move |(bucket, offset)| (TableBucket { table, partition, bucket }, offset))
        };
        let partitions = self.partitions.into_iter().flat_map(|(id, offsets)| of(Some(PartitionId(id)), offsets));
        of(None, self.offsets).chain(partitions).collect()
    }
}

impl Producers {
    /// The offsets at which a producer began: those of `now` the first time, the same ever after. A partition made since is not among them.
    ///
    /// # Errors
    /// `Invalid` about `Writer` for an unfit id; `Corrupt`; `Io` or `Busy` about `Disk`.
    pub(crate) fn start(
        &self,
        context: &Context,
        table: TableId,
        id: &str,
        now: impl FnOnce() -> Result<Vec<(TableBucket, Offset)>>,
    ) -> Result<Vec<(TableBucket, Offset)>> {
        let file = file(context, table, id)?;
        let mut ended = self.lock();
        ended.remove(&(table, id.to_owned()));
        remove_old(context, file.parent().unwrap_or(&file))?;
        if context.fs.exists(&file) {
            return Ok(read(context, &file)?.buckets(table));
        }
        let start = Start::new(context.clock.now_ms(), now()?);
        let body = serde_json::to_string(&start).map_err(|e| Error::internal(format!("offsets as JSON: {e}")))?;
        if let Some(dir) = file.parent() {
            context.fs.create_dir_all(dir)?;
        }
        context.fs.replace(&file, [MAGIC, &body].concat().as_bytes())?;
        Ok(start.buckets(table))
    }

    /// Notes that part number `part` of `parts` has ended well. With the last one the offsets are forgotten.
    ///
    /// # Errors
    /// `Invalid` about `Writer` for an unfit id; `Io`.
    pub(crate) fn end(&self, context: &Context, table: TableId, id: &str, part: u32, parts: u32) -> Result<()> {
        let file = file(context, table, id)?;
        let mut ended = self.lock();
        let key = (table, id.to_owned());
        let done = ended.entry(key.clone()).or_default();
        done.insert(part);
        if done.len() < usize::try_from(parts).unwrap_or(usize::MAX) {
            return Ok(());
        }
        ended.remove(&key);
        if context.fs.exists(&file) { context.fs.remove(&file) } else { Ok(()) }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(TableId, String), BTreeSet<u32>>> {
        // Whole entries only, whatever panicked.
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn file(context: &Context, table: TableId, id: &str) -> Result<PathBuf> {
    if id.is_empty() || id.len() > ID_BYTES_MAX {
        let what = format!("a producer's id must have 1 to {ID_BYTES_MAX} bytes, '{id}' has {}", id.len());
        return Err(Error::invalid(Subject::Writer, what));
    }
    let name: String = id.bytes().map(|b| format!("{b:02x}")).collect();
    Ok(context.data_dir.join(table.0.to_string()).join("producers").join(name))
}

fn read(context: &Context, file: &Path) -> Result<Start> {
    let bytes = context.fs.read(file)?;
    let damaged =
        || Error::corrupt(format!("{} is damaged; remove it and start the job from a savepoint", file.display()));
    let body = bytes.strip_prefix(MAGIC.as_bytes()).ok_or_else(damaged)?;
    serde_json::from_slice(body).map_err(|e| damaged().with_source(e))
}

fn remove_old(context: &Context, dir: &Path) -> Result<()> {
    if !context.fs.exists(dir) {
        return Ok(());
    }
    let now = context.clock.now_ms();
    for file in context.fs.list(dir)? {
        let named = file.extension().is_none();
        if named && read(context, &file).is_ok_and(|s| now - s.created_ms > KEPT_MS) {
            context.fs.remove(&file)?;
        }
    }
    Ok(())
}
