//! One table as the engine holds it: its live description and its partitions with their buckets.

use crate::TableMeta;
use crate::bucket::Bucket;
use crate::context::Context;
use crate::failure::Failure;
use crate::lake::Lake;
use crate::live_meta::LiveMeta;
use crate::row_numbers::RowNumbers;
use sluice_base::{Error, ErrorKind, Offset, PartitionId, Result, Subject, TableBucket, TableId};
use sluice_lake::{LakeBucket, LakePartition};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};

/// What is open over a table and holds parts of it, such as a scanner.
pub(crate) trait Holder: std::fmt::Debug + Send + Sync {
    /// Gives all of it up: the table has ended.
    fn give_up(&self);
    /// Gives up what it holds of a partition: that was dropped.
    fn give_up_partition(&self, partition: Option<PartitionId>);
}

/// A table. One without partition columns has one partition without id, which is there for good.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) id: TableId,
    pub(crate) meta: Arc<LiveMeta>,
    numbers: Arc<RowNumbers>,
    context: Arc<Context>,
    partitions: RwLock<Partitions>,
    holders: Mutex<Vec<Weak<dyn Holder>>>,
    ended: OnceLock<Failure>,
}

#[derive(Debug, Default)]
struct Partitions {
    by_id: BTreeMap<Option<PartitionId>, Arc<Partition>>,
    by_name: BTreeMap<String, Arc<Partition>>,
}

/// The buckets of a partition.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) id: Option<PartitionId>,
    name: String,
    buckets: Vec<Arc<Bucket>>,
    /// Which bucket gets the next batch of rows that have no home.
    turn: AtomicUsize,
    ended: AtomicBool,
}

impl Partition {
    fn new(table: &Table, id: Option<PartitionId>, name: String, count: i32) -> Arc<Self> {
        let bucket = |bucket| {
            let id = TableBucket { table: table.id, partition: id, bucket };
            Arc::new(Bucket::new(id, table.meta.clone(), table.numbers.clone(), table.context.clone()))
        };
        let buckets = (0..count).map(bucket).collect();
        Arc::new(Self { id, name, buckets, turn: AtomicUsize::new(0), ended: AtomicBool::new(false) })
    }

    pub(crate) fn bucket(&self, number: u32) -> Result<&Arc<Bucket>> {
        self.buckets.get(number as usize).ok_or_else(|| {
            let message = format!("there is no bucket {number}; there are {}", self.buckets.len());
            Error::not_found(Subject::Bucket, message)
        })
    }

    pub(crate) fn bucket_count(&self) -> i32 {
        i32::try_from(self.buckets.len()).unwrap_or(i32::MAX)
    }

    /// How the lake names one of its buckets.
    pub(crate) fn lake_bucket(&self, bucket: i32) -> LakeBucket {
        let partition = self.id.map(|id| LakePartition { name: self.name.clone(), id: id.0 });
        LakeBucket { partition, bucket }
    }

    pub(crate) fn next_bucket(&self) -> u32 {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        u32::try_from(turn % self.buckets.len().max(1)).unwrap_or(0)
    }

    /// Whether it was dropped.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

/// Whether an error says that a partition is not there (any more).
pub(crate) fn is_partition_gone(e: &Error) -> bool {
    e.kind() == ErrorKind::NotFound && e.subject() == Subject::Partition
}

impl Table {
    pub(crate) fn new(meta: Arc<TableMeta>, context: &Arc<Context>) -> Self {
        let table = Self {
            id: meta.id,
            meta: Arc::new(LiveMeta::new(meta.clone())),
            numbers: Arc::new(RowNumbers::new(context, meta.id)),
            context: context.clone(),
            partitions: RwLock::default(),
            holders: Mutex::default(),
            ended: OnceLock::new(),
        };
        table.take_partitions(&meta);
        table
    }

    /// Takes a new description over. Returns the partitions that it no longer has.
    pub(crate) fn update(&self, meta: Arc<TableMeta>) -> Vec<Arc<Partition>> {
        self.meta.set(meta.clone());
        self.take_partitions(&meta)
    }

    fn take_partitions(&self, meta: &TableMeta) -> Vec<Arc<Partition>> {
        // Each change is one insert or remove of whole entries in both maps, without code between that can panic.
        let mut partitions = self.partitions.write().unwrap_or_else(PoisonError::into_inner);
        if !meta.is_partitioned() {
            let whole = || Partition::new(self, None, String::new(), meta.bucket_count());
            partitions.by_id.entry(None).or_insert_with(whole);
            return Vec::new();
        }
        let gone: Vec<_> = partitions
            .by_id
            .values()
            .filter(|p| meta.partitions.get(&p.name).map(|info| info.id()) != p.id)
            .cloned()
            .collect();
        for partition in &gone {
            partitions.by_id.remove(&partition.id);
            partitions.by_name.remove(&partition.name);
        }
        for (name, info) in meta.partitions.iter() {
            if !partitions.by_name.contains_key(name) {
                let partition = Partition::new(self, Some(info.id()), name.clone(), info.bucket_count);
                partitions.by_id.insert(partition.id, partition.clone());
                partitions.by_name.insert(name.clone(), partition);
            }
        }
        gone
    }

    fn read<R>(&self, f: impl FnOnce(&Partitions) -> R) -> R {
        f(&self.partitions.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Buckets of all partitions.
    pub(crate) fn buckets(&self) -> Vec<Arc<Bucket>> {
        self.read(|p| p.by_id.values().flat_map(|p| p.buckets.iter().cloned()).collect())
    }

    /// Buckets of all partitions, each with its name in the lake.
    pub(crate) fn lake_buckets(&self) -> Vec<(LakeBucket, Arc<Bucket>)> {
        let named = |p: &Arc<Partition>| {
            let partition = p.clone();
            p.buckets.clone().into_iter().map(move |bucket| (partition.lake_bucket(bucket.id.bucket), bucket))
        };
        self.read(|p| p.by_id.values().flat_map(named).collect())
    }

    /// The lake of the table, `None` when it has none.
    ///
    /// # Errors
    /// As [`Context::lake_of`].
    pub(crate) fn lake(&self) -> Result<Option<&Lake>> {
        self.context.lake_of(&self.meta.get())
    }

    /// How the lake names a bucket.
    ///
    /// # Errors
    /// `NotFound` about `Partition`.
    pub(crate) fn lake_bucket(&self, id: &TableBucket) -> Result<LakeBucket> {
        let partition = self.read(|p| p.by_id.get(&id.partition).cloned());
        partition.map(|p| p.lake_bucket(id.bucket)).ok_or_else(|| self.no_partition(id))
    }

    /// The lake has the log of a bucket up to `end`. Buckets of partitions that are gone are passed over.
    pub(crate) fn note_in_lake(&self, bucket: &LakeBucket, end: Offset) {
        let id = TableBucket {
            table: self.id,
            partition: bucket.partition.as_ref().map(|p| PartitionId(p.id)),
            bucket: bucket.bucket,
        };
        if let Ok(bucket) = self.find(&id) {
            bucket.in_lake.fetch_max(end, Ordering::AcqRel);
        }
    }

    /// Whether the lake is known to have all rows of a partition; so it is of one that is not there.
    ///
    /// # Errors
    /// What opening a log says.
    pub(crate) fn is_in_lake(&self, partition: PartitionId) -> Result<bool> {
        let Some(partition) = self.read(|p| p.by_id.get(&Some(partition)).cloned()) else { return Ok(true) };
        for bucket in &partition.buckets {
            if bucket.readable()?.1 > bucket.in_lake.load(Ordering::Acquire) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The one partition of a table without partition columns.
    ///
    /// # Errors
    /// `Internal` for another table.
    pub(crate) fn whole(&self) -> Result<Arc<Partition>> {
        let whole = self.read(|p| p.by_id.get(&None).cloned());
        whole.ok_or_else(|| Error::internal(format!("table {} has partitions", self.meta.get().path)))
    }

    /// A partition by name.
    pub(crate) fn partition(&self, name: &str) -> Option<Arc<Partition>> {
        self.read(|p| p.by_name.get(name).cloned())
    }

    /// The directory that holds all of its buckets.
    pub(crate) fn dir(&self) -> PathBuf {
        self.context.data_dir.join(self.id.0.to_string())
    }

    /// A bucket by its full name.
    ///
    /// # Errors
    /// `NotFound` about `Partition` or `Bucket`.
    pub(crate) fn find(&self, id: &TableBucket) -> Result<Arc<Bucket>> {
        let Some(partition) = self.read(|p| p.by_id.get(&id.partition).cloned()) else {
            return Err(self.no_partition(id));
        };
        let number = u32::try_from(id.bucket).unwrap_or(u32::MAX);
        let found = partition.bucket(number).cloned();
        found.map_err(|e| e.context(format_args!("table {}", self.meta.get().path)))
    }

    fn no_partition(&self, id: &TableBucket) -> Error {
        let path = &self.meta.get().path;
        let message = match id.partition {
            Some(PartitionId(p)) => format!("table {path} has no partition {p}; it was dropped, or never there"),
            None => format!("table {path} has partitions, and bucket {} names none of them", id.bucket),
        };
        Error::not_found(Subject::Partition, message)
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
        let buckets = self.buckets();
        for bucket in &buckets {
            bucket.end(why.clone());
        }
        for holder in self.holders().drain(..) {
            if let Some(holder) = holder.upgrade() {
                holder.give_up();
            }
        }
        for bucket in &buckets {
            bucket.close_kv();
            closed();
        }
    }

    /// What a new table with an auto-increment column begins with.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn begin_numbers(&self) -> Result<()> {
        match &self.meta.get().auto_increment {
            Some(_) => self.numbers.begin(&self.context),
            None => Ok(()),
        }
    }

    /// Gives numbers back that no row got: the buckets have ended.
    pub(crate) fn end_numbers(&self) {
        self.numbers.end(&self.context);
    }

    /// A partition is dropped: its writers and readers get `NotFound` about `Partition`. Returns its directory.
    pub(crate) fn end_partition(&self, partition: &Partition) -> PathBuf {
        partition.ended.store(true, Ordering::Release);
        let meta = self.meta.get();
        let message = format!("partition {} of table {} was dropped", partition.name, meta.path);
        let why = Failure::new(ErrorKind::NotFound, Subject::Partition, message);
        for bucket in &partition.buckets {
            bucket.end(why.clone());
        }
        let holders: Vec<_> = self.holders().iter().filter_map(Weak::upgrade).collect();
        for holder in holders {
            holder.give_up_partition(partition.id);
        }
        for bucket in &partition.buckets {
            bucket.close_kv();
        }
        self.partition_dir(partition.id)
    }

    /// The directory that holds the buckets of a partition.
    pub(crate) fn partition_dir(&self, id: Option<PartitionId>) -> PathBuf {
        match id {
            Some(PartitionId(id)) => self.dir().join(format!("p{id}")),
            None => self.dir(),
        }
    }

    fn holders(&self) -> MutexGuard<'_, Vec<Weak<dyn Holder>>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody to be told when the table or a partition ends.
    pub(crate) fn add_holder(&self, holder: &Arc<impl Holder + 'static>) {
        let mut holders = self.holders();
        holders.retain(|h| h.strong_count() > 0);
        let holder = Arc::downgrade(holder);
        holders.push(holder);
    }
}
