//! One table as the engine holds it: its live description and its buckets.

use crate::TableMeta;
use crate::bucket::Bucket;
use crate::context::Context;
use crate::failure::Failure;
use crate::live_meta::LiveMeta;
use sluice_base::{Error, ErrorKind, PartitionId, Result, Subject, TableBucket, TableId};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// What is open over a table and holds parts of it, such as a scanner.
pub(crate) trait Holder: std::fmt::Debug + Send + Sync {
    /// Gives all of it up: the table has ended.
    fn give_up(&self);
}

/// A table's buckets.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) id: TableId,
    pub(crate) meta: Arc<LiveMeta>,
    buckets: Vec<Arc<Bucket>>,
    /// Which bucket gets the next batch of rows that have no home.
    turn: AtomicUsize,
    holders: Mutex<Vec<Weak<dyn Holder>>>,
    ended: OnceLock<Failure>,
}

impl Table {
    pub(crate) fn new(meta: Arc<TableMeta>, context: &Arc<Context>) -> Self {
        let (id, count) = (meta.id, meta.bucket_count());
        let live = Arc::new(LiveMeta::new(meta));
        let bucket = |bucket| {
            Arc::new(Bucket::new(TableBucket { table: id, partition: None, bucket }, live.clone(), context.clone()))
        };
        Self {
            id,
            buckets: (0..count).map(bucket).collect(),
            meta: live,
            turn: AtomicUsize::new(0),
            holders: Mutex::default(),
            ended: OnceLock::new(),
        }
    }

    pub(crate) fn buckets(&self) -> &[Arc<Bucket>] {
        &self.buckets
    }

    /// The directory that holds all of its buckets.
    pub(crate) fn dir(&self, context: &Context) -> PathBuf {
        context.data_dir.join(self.id.0.to_string())
    }

    pub(crate) fn bucket(&self, number: u32) -> Result<&Arc<Bucket>> {
        self.buckets.get(number as usize).ok_or_else(|| self.no_bucket(format!("bucket {number}")))
    }

    /// A bucket by its full name.
    ///
    /// # Errors
    /// `NotFound` about `Bucket`.
    pub(crate) fn find(&self, id: &TableBucket) -> Result<&Arc<Bucket>> {
        let number = match id.partition {
            None => u32::try_from(id.bucket).map_err(|_| self.no_bucket(format!("bucket {}", id.bucket)))?,
            Some(PartitionId(p)) => return Err(self.no_bucket(format!("partition {p}"))),
        };
        self.bucket(number)
    }

    fn no_bucket(&self, what: String) -> Error {
        let meta = self.meta.get();
        Error::not_found(
            Subject::Bucket,
            format!("table {} has no {what}; it has {} buckets", meta.path, self.buckets.len()),
        )
    }

    pub(crate) fn next_bucket(&self) -> u32 {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        u32::try_from(turn % self.buckets.len().max(1)).unwrap_or(0)
    }

    /// Refuses once the table is dropped or the store closed. One bucket may have ended for itself.
    pub(crate) fn alive(&self) -> Result<()> {
        self.ended.get().map_or(Ok(()), |why| Err(why.error()))
    }

    /// The table is dropped: its writers and readers get `NotFound`.
    pub(crate) fn end_dropped(&self) {
        let meta = self.meta.get();
        self.end(
            &Failure::new(ErrorKind::NotFound, Subject::Table, format!("table {} was dropped", meta.path)),
            &|| (),
        );
    }

    /// Ends all buckets and takes from those who hold them what they hold; `closed` is called after each bucket whose files are given up.
    pub(crate) fn end(&self, why: &Failure, closed: &dyn Fn()) {
        self.ended.get_or_init(|| why.clone());
        for bucket in &self.buckets {
            bucket.end(why.clone());
        }
        for holder in self.holders.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if let Some(holder) = holder.upgrade() {
                holder.give_up();
            }
        }
        for bucket in &self.buckets {
            bucket.close_kv();
            closed();
        }
    }

    /// Somebody to be told when the table ends.
    pub(crate) fn add_holder(&self, holder: &Arc<impl Holder + 'static>) {
        let mut holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        holders.retain(|h| h.strong_count() > 0);
        let holder = Arc::downgrade(holder);
        holders.push(holder);
    }
}
