//! Which part of a lake snapshot stands for which bucket of a log table, and where its log goes on.

use super::Lake;
use crate::TableMeta;
use sluice_base::{Error, Offset, Result, Subject};
use sluice_lake::{LakeBucket, LakeOffsets, LakeScan, LakeSplit, LakeTable, Rows, ScanOptions, Snapshot};

/// A bucket's name in the lake.
pub(crate) const fn lake_bucket(bucket: i32) -> LakeBucket {
    LakeBucket { partition: None, bucket }
}

/// One snapshot of a table's lake, pinned: what others commit meanwhile changes nothing.
#[derive(Debug)]
pub(crate) struct LakePlan {
    table: LakeTable,
    snapshot: Snapshot,
    offsets: LakeOffsets,
    scan: LakeScan,
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
    /// `NotFound` about `Snapshot` when it is not there any more; those of [`Lake::open`] and [`LakeScan::new`].
    pub(crate) fn new(lake: &Lake, meta: &TableMeta, id: u64) -> Result<Self> {
        let table = lake.open(meta)?;
        let snapshot = i64::try_from(id).map_or(Ok(None), |id| table.snapshot(id))?;
        let snapshot = snapshot.ok_or_else(|| gone(meta, id))?;
        let offsets = table.tiered_before(Some(&snapshot))?.offsets;
        let scan = LakeScan::new(&table, &snapshot)?;
        Ok(Self { table, snapshot, offsets, scan })
    }

    pub(crate) fn snapshot(&self) -> u64 {
        self.snapshot.id.unsigned_abs()
    }

    /// Where the log of a bucket goes on; `None` when nothing of it is in the lake.
    pub(crate) fn end(&self, bucket: i32) -> Option<Offset> {
        self.offsets.end(&lake_bucket(bucket))
    }

    /// The files that a reader of `bucket` reads. Rows without a home bucket all lie in bucket 0 of the lake: the buckets that ever had rows
    /// share its files.
    pub(super) fn files(&self, bucket: i32) -> Vec<LakeSplit> {
        let splits = self.scan.splits().iter();
        if self.table.schema().bucket_count().is_some() {
            return splits.filter(|s| s.bucket() == bucket).cloned().collect();
        }
        let sharing: Vec<i32> =
            self.offsets.iter().filter(|(_, range)| range.end > 0).map(|(bucket, _)| bucket.bucket).collect();
        match sharing.iter().position(|b| *b == bucket) {
            Some(at) => splits.map(|s| s.part(at, sharing.len())).collect(),
            None => Vec::new(),
        }
    }

    /// The rows of some files: the columns of these names, in this order.
    ///
    /// # Errors
    /// `Conflict` about `Column` when the lake lacks one; those of [`LakeScan::read`].
    pub(super) fn read(&self, files: &LakeSplit, columns: &[String], batch_rows_max: usize) -> Result<Rows> {
        let schema = &self.table.schema().schema;
        let position = |name: &String| {
            schema.index_of(name).ok_or_else(|| {
                let message = format!("lake table {} has no column '{name}'", self.table.path());
                Error::new(sluice_base::ErrorKind::Conflict, Subject::Column, message)
            })
        };
        let projection = Some(columns.iter().map(position).collect::<Result<Vec<_>>>()?);
        self.scan.read(files, &ScanOptions { projection, predicate: None, batch_rows_max })
    }
}

fn gone(meta: &TableMeta, id: u64) -> Error {
    let message = format!(
        "snapshot {id} of lake table {} is not there any more, it has expired; start the reader afresh",
        meta.path
    );
    Error::not_found(Subject::Snapshot, message)
}
