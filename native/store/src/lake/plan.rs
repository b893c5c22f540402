//! Which part of a lake snapshot stands for which bucket of a table, and where its log goes on.

use super::Lake;
use super::condition::condition;
use super::partitions::{partition_id, partition_of};
use crate::TableMeta;
use sluice_api::PartitionInfo;
use sluice_base::{Error, ErrorKind, Offset, PartitionId, Result, Subject, TableBucket};
use sluice_lake::{LakeBucket, LakeOffsets, LakeScan, LakeSplit, LakeTable, Rows, ScanOptions, Snapshot};
use sluice_row::Predicate;
use std::collections::{BTreeMap, BTreeSet};

/// One snapshot of a table's lake, pinned: what others commit meanwhile changes nothing.
#[derive(Debug)]
pub(crate) struct LakePlan {
    table: LakeTable,
    snapshot: Snapshot,
    offsets: LakeOffsets,
    scan: LakeScan,
    /// The values of each partition that has files, by the name that the lake gives it; empty for a table without partitions.
    partitions: BTreeMap<Vec<u8>, Vec<String>>,
}

impl LakePlan {
    /// The newest snapshot and how far it goes, `None` when the lake has nothing yet. Files are not looked at.
    ///
    /// # Errors
    /// Those of [`Lake::open`] and of [`LakeTable::tiered`].
    pub(crate) fn newest(lake: &Lake, meta: &TableMeta) -> Result<Option<(Snapshot, LakeOffsets)>> {
        let table = lake.open(meta)?;
        let Some(snapshot) = table.newest()? else { return Ok(None) };
        let tiered = table.tiered_before(Some(&snapshot))?;
        Ok(tiered.snapshot.is_some().then_some((snapshot, tiered.offsets)))
    }

    /// Plans snapshot `id`.
    ///
    /// # Errors
    /// `NotFound` about `Snapshot` when it is not there any more; those of [`Lake::open`] and [`LakeScan::new`]; `Conflict` about `Table` for
    /// a partition that the table cannot have.
    pub(crate) fn new(lake: &Lake, meta: &TableMeta, id: u64) -> Result<Self> {
        let table = lake.open(meta)?;
        let snapshot = i64::try_from(id).map_or(Ok(None), |id| table.snapshot(id))?;
        let snapshot = snapshot.ok_or_else(|| gone(meta, id))?;
        let offsets = table.tiered_before(Some(&snapshot))?.offsets;
        let scan = LakeScan::new(&table, &snapshot)?;
        let mut partitions = BTreeMap::new();
        if meta.is_partitioned() {
            for split in scan.splits() {
                if !partitions.contains_key(split.partition()) {
                    let values = partition_of(meta, &scan.partition_values(split)?)?;
                    partitions.insert(split.partition().to_vec(), values);
                }
            }
        }
        Ok(Self { table, snapshot, offsets, scan, partitions })
    }

    pub(crate) fn snapshot(&self) -> u64 {
        self.snapshot.id.unsigned_abs()
    }

    /// Where the log of a bucket goes on; `None` when nothing of it is in the lake.
    pub(crate) fn end(&self, bucket: &LakeBucket) -> Option<Offset> {
        self.offsets.end(bucket)
    }

    /// How the lake names a bucket whose partition the store need not have any more; `None` when nothing of it is there.
    pub(crate) fn named(&self, id: &TableBucket) -> Option<LakeBucket> {
        let is_it = |of: &&LakeBucket| {
            of.bucket == id.bucket && of.partition.as_ref().map(|p| PartitionId(p.id)) == id.partition
        };
        self.offsets.iter().map(|(of, _)| of).find(is_it).cloned()
    }

    /// The partitions that only the lake has, by name.
    ///
    /// # Errors
    /// `Internal` when two of them would get one id.
    pub(crate) fn partitions_beside(&self, meta: &TableMeta) -> Result<Vec<PartitionInfo>> {
        let bucket_count = self.table.schema().bucket_count().unwrap_or(1);
        let mut found = BTreeMap::new();
        let mut ids = BTreeSet::new();
        for values in self.partitions.values() {
            let name = values.join("$");
            if meta.partitions.contains_key(&name) {
                continue;
            }
            let id = partition_id(&name).0;
            if !ids.insert(id) {
                let message = format!("table {}: two partitions of its lake have the id {id}", meta.path);
                return Err(Error::internal(message));
            }
            let info = PartitionInfo { partition_id: id, values: values.clone(), bucket_count, created_ms: 0 };
            found.insert(name, info);
        }
        Ok(found.into_values().collect())
    }

    /// The files that a reader of `bucket` reads, whatever partition of that name brought them. Rows without a home bucket all lie in bucket 0
    /// of the lake: the buckets that ever had rows share its files.
    pub(crate) fn files(&self, bucket: &LakeBucket) -> Vec<LakeSplit> {
        let name = bucket.partition.as_ref().map(|p| &p.name);
        let splits = self.scan.splits().iter().filter(|split| self.name_of(split).as_ref() == name);
        if self.table.schema().bucket_count().is_some() {
            return splits.filter(|s| s.bucket() == bucket.bucket).cloned().collect();
        }
        let ours =
            self.offsets.iter().filter(|(of, range)| range.end > 0 && of.partition.as_ref().map(|p| &p.name) == name);
        let sharing: BTreeSet<i32> = ours.map(|(of, _)| of.bucket).collect();
        match sharing.iter().position(|b| *b == bucket.bucket) {
            Some(at) => splits.map(|s| s.part(at, sharing.len())).collect(),
            None => Vec::new(),
        }
    }

    /// The files of bucket number `bucket` of a partition that only the lake has.
    pub(crate) fn files_beside(&self, partition: PartitionId, bucket: i32) -> Vec<LakeSplit> {
        let is_it = |split: &&LakeSplit| self.name_of(split).is_some_and(|name| partition_id(&name) == partition);
        self.scan.splits().iter().filter(|s| s.bucket() == bucket).filter(is_it).cloned().collect()
    }

    fn name_of(&self, split: &LakeSplit) -> Option<String> {
        self.partitions.get(split.partition()).map(|values| values.join("$"))
    }

    /// The rows of some files: the columns of these names, in this order. Rows that cannot match `filter` may be left out.
    ///
    /// # Errors
    /// `Conflict` about `Column` when the lake lacks one; those of [`LakeScan::read`].
    pub(super) fn read(
        &self,
        files: &LakeSplit,
        columns: &[String],
        filter: Option<&Predicate>,
        batch_rows_max: usize,
    ) -> Result<Rows> {
        let schema = &self.table.schema().schema;
        let position = |name: &String| {
            schema.index_of(name).ok_or_else(|| {
                let message = format!("lake table {} has no column '{name}'", self.table.path());
                Error::new(ErrorKind::Conflict, Subject::Column, message)
            })
        };
        let projection = Some(columns.iter().map(position).collect::<Result<Vec<_>>>()?);
        let predicate = filter.and_then(|filter| condition(filter, schema));
        self.scan.read(files, &ScanOptions { projection, predicate, batch_rows_max })
    }
}

fn gone(meta: &TableMeta, id: u64) -> Error {
    let message = format!(
        "snapshot {id} of lake table {} is not there any more, it has expired; start the reader afresh",
        meta.path
    );
    Error::not_found(Subject::Snapshot, message)
}
