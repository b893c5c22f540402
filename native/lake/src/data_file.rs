//! Files of data being written into one bucket of a lake table.

use crate::file_meta::FileMeta;
use crate::manifest::Entry;
use crate::parquet_writer::ParquetWriter;
use crate::partition;
use crate::storage::Storage;
use crate::stored_row::StoredRows;
use crate::system_column::StoredColumn;
use crate::table::LakeTable;
use arrow_array::{ArrayRef, RecordBatch};
use sluice_base::Result;
use sluice_row::DataType;
use std::sync::Arc;
use uuid::Uuid;

/// Files written into one bucket, for the round that commits them.
#[derive(Debug, Default)]
pub struct WrittenFiles {
    pub(crate) data: Vec<Entry>,
    pub(crate) changelog: Vec<Entry>,
    pub(crate) names: Vec<String>,
    /// What log offsets are counted from in sequence numbers.
    pub(crate) sequence_base: i64,
}

impl WrittenFiles {
    /// How many rows of the log they hold.
    #[must_use]
    pub fn rows(&self) -> i64 {
        let rows = |entries: &[Entry]| entries.iter().map(|entry| entry.file.row_count).sum::<i64>();
        // Data files of rows by key have the newest of each key only.
        rows(&self.data).max(rows(&self.changelog))
    }
}

/// A bucket of a partition in the lake: where its files go.
#[derive(Debug)]
pub(crate) struct Place {
    storage: Arc<dyn Storage>,
    /// `<table>/<partition>/bucket-<n>`.
    directory: String,
    partition: Vec<u8>,
    bucket: i32,
    total_buckets: i32,
    /// Tells the files of this writer from all others.
    id: Uuid,
    created: Vec<String>,
}

impl Place {
    /// The place of bucket `bucket` in the partition of the first row of `rows`, which must have one.
    ///
    /// # Errors
    /// `Unsupported` for a partition column that [`partition::check_column`] refuses.
    pub(crate) fn new(table: &LakeTable, rows: &RecordBatch, bucket: i32) -> Result<Self> {
        let schema = table.schema();
        let indexes = schema.partition_indexes();
        let columns: Vec<ArrayRef> = indexes.iter().map(|i| Arc::clone(rows.column(*i))).collect();
        let types: Vec<DataType> = indexes.iter().map(|i| schema.schema.columns[*i].data_type.clone()).collect();
        let partition = StoredRows::new(&types)?.encode(&columns, 0)?;
        // Rows without a home bucket all lie in bucket 0 of the lake.
        let bucket = if schema.bucket_count().is_some() { bucket } else { 0 };
        let within = partition::directory(schema, &columns, 0)?;
        Ok(Self {
            storage: Arc::clone(table.storage()),
            directory: format!("{}/{within}bucket-{bucket}", table.directory()),
            partition,
            bucket,
            total_buckets: schema.bucket_count().unwrap_or(-1),
            id: Uuid::new_v4(),
            created: Vec::new(),
        })
    }

    /// The place that a file of an entry is in.
    ///
    /// # Errors
    /// `Corrupt` for a partition that is none of the table's.
    pub(crate) fn of(table: &LakeTable, entry: &Entry) -> Result<Self> {
        Ok(Self {
            storage: Arc::clone(table.storage()),
            directory: table.bucket_directory(&entry.partition, entry.bucket)?,
            partition: entry.partition.clone(),
            bucket: entry.bucket,
            total_buckets: entry.total_buckets,
            id: Uuid::new_v4(),
            created: Vec::new(),
        })
    }

    /// Begins a file; `prefix` is `data` or `changelog`.
    ///
    /// # Errors
    /// As [`ParquetWriter::create`].
    pub(crate) fn begin(&mut self, prefix: &str, columns: Vec<StoredColumn>) -> Result<(String, ParquetWriter)> {
        let name = format!("{prefix}-{}-{}.parquet", self.id, self.created.len());
        let path = format!("{}/{name}", self.directory);
        // Named before it is there: what is begun must be cleaned away when the round fails.
        self.created.push(path.clone());
        let writer = ParquetWriter::create(self.storage.as_ref(), &path, columns)?;
        Ok((name, writer))
    }

    /// The entry that adds a file of this place.
    pub(crate) fn entry(&self, file: FileMeta) -> Entry {
        Entry::add(self.partition.clone(), self.bucket, self.total_buckets, file)
    }

    /// Paths of all files begun here: whoever takes them sees to them from now on.
    pub(crate) fn take_names(mut self) -> Vec<String> {
        std::mem::take(&mut self.created)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Files that no round will ever name would only take space.
        for name in &self.created {
            let _ = self.storage.remove(name);
        }
    }
}
