//! One table as the data paths see it: its newest description, every schema it ever had, and what is derived from them.
//!
//! A [`TableMeta`] never changes; ALTER TABLE makes a new one.

use super::partitions::Partitions;
use crate::auto_partition::AutoPartition;
use crate::ddl::auto_increment::AutoIncrement;
use crate::ddl::merging::Merging;
use crate::ddl::{options, statistics};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use sluice_api::TableInfo;
use sluice_base::{Error, Result, SchemaId, TableId};
use sluice_log::Compression;
use sluice_row::{BucketFunction, KeyFormat, Schema, Statistics, TablePath, arrow_schema};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How a table's log is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogOptions {
    /// How the bodies of its batches are packed.
    pub compression: Compression,
    /// Age in ms at which rows may go; `None` = never.
    pub ttl_ms: Option<i64>,
    /// What stays on the local disk although remote storage has it.
    pub local: options::LocalLog,
}

/// How a table's rows go into the lake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LakeOptions {
    /// How far the lake may lag; also the longest that one round takes.
    pub freshness: Duration,
}

/// A table with all that is derived from its description.
#[derive(Debug, Clone)]
pub struct TableMeta {
    /// Its id.
    pub id: TableId,
    /// Where it is.
    pub path: TablePath,
    /// What callers see; its schema is the newest.
    pub info: TableInfo,
    /// Every schema by id, the newest last.
    pub schemas: BTreeMap<SchemaId, Schema>,
    /// The Arrow form of each.
    pub arrow: BTreeMap<SchemaId, SchemaRef>,
    /// Encoding of primary keys.
    pub key_format: KeyFormat,
    /// Which bucket a bucket key belongs to. Bucket keys are always in [`KeyFormat::Paimon`], whatever `key_format` says.
    pub bucket_function: BucketFunction,
    /// Positions of the primary key's columns in the newest schema, in key order; empty for a log table.
    pub primary_key: Vec<usize>,
    /// Positions of the primary key's columns that are no partition columns: what rows of one partition are kept by.
    pub row_key: Vec<usize>,
    /// Positions of the partition columns, in order; empty when the table has no partitions.
    pub partition_key: Vec<usize>,
    /// Its partitions by name.
    pub(crate) partitions: Arc<Partitions>,
    /// How its partitions follow the clock.
    pub(crate) auto: Option<AutoPartition>,
    /// Positions of the bucket key's columns, in key order; empty when rows have no home bucket.
    pub bucket_key: Vec<usize>,
    /// How the log is kept.
    pub log: LogOptions,
    /// How rows of one key are merged.
    pub merging: Merging,
    /// The column that the store numbers by itself.
    pub auto_increment: Option<AutoIncrement>,
    /// How rows go into the lake; `None` when they do not.
    pub lake: Option<LakeOptions>,
    /// Positions of the columns whose statistics are kept beside the log's batches.
    pub statistics: Vec<usize>,
}

impl TableMeta {
    /// Derives everything from a table's description and its schemas. Partitions it has none yet.
    ///
    /// # Errors
    /// `Corrupt` when the parts do not fit each other, which only a damaged catalog can bring about.
    pub fn new(info: TableInfo, schemas: BTreeMap<SchemaId, Schema>) -> Result<Self> {
        let path = info.path.clone();
        let schema = &info.descriptor.schema;
        let misfit = |what: &str| Error::corrupt(format!("table {path}: {what}"));
        match schemas.last_key_value() {
            Some((id, newest)) if id.0 == info.schema_id && newest == schema => {}
            _ => return Err(misfit("its newest schema is not the one that its description names")),
        }
        let position =
            |name: &String| schema.index_of(name).ok_or_else(|| misfit(&format!("key column '{name}' is missing")));
        let primary_key = schema.primary_key.iter().map(position).collect::<Result<Vec<_>>>()?;
        let partition_key = info.descriptor.partition_key.iter().map(position).collect::<Result<Vec<_>>>()?;
        let bucket_key = info.descriptor.bucket_key.iter().map(position).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            id: TableId(info.table_id),
            arrow: schemas.iter().map(|(id, s)| (*id, arrow_schema(s))).collect(),
            key_format: options::key_format(&info.descriptor)?,
            bucket_function: BucketFunction::Paimon,
            log: LogOptions {
                compression: options::compression(&info.descriptor.properties)?,
                ttl_ms: options::log_ttl_ms(&info.descriptor.properties)?,
                local: options::local_log(&info.descriptor.properties)?,
            },
            merging: Merging::of(&info.descriptor)?,
            auto_increment: AutoIncrement::of(&info.descriptor)?,
            lake: options::lake_freshness(&info.descriptor.properties)?.map(|freshness| LakeOptions { freshness }),
            row_key: primary_key.iter().copied().filter(|i| !partition_key.contains(i)).collect(),
            partition_key,
            partitions: Arc::default(),
            auto: AutoPartition::of(&info.descriptor)?,
            statistics: statistics::columns(&info.descriptor.properties, schema),
            primary_key,
            bucket_key,
            schemas,
            path,
            info,
        })
    }

    /// The same table with these partitions.
    pub(crate) fn with_partitions(mut self, partitions: Arc<Partitions>) -> Self {
        self.partitions = partitions;
        self
    }

    /// The newest schema.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.info.descriptor.schema
    }

    /// The newest schema's id.
    #[must_use]
    pub const fn schema_id(&self) -> SchemaId {
        SchemaId(self.info.schema_id)
    }

    /// The Arrow form of the newest schema.
    ///
    /// # Errors
    /// `Internal`, never for a table that [`TableMeta::new`] made.
    pub fn arrow_schema(&self) -> Result<&SchemaRef> {
        self.arrow.get(&self.schema_id()).ok_or_else(|| Error::internal(format!("table {} has no schema", self.path)))
    }

    /// Statistics of rows of the newest schema; `None` when the table keeps none.
    #[must_use]
    pub fn describe(&self, rows: &RecordBatch) -> Option<Statistics> {
        if self.statistics.is_empty() {
            return None;
        }
        let columns = &self.schema().columns;
        let described = self.statistics.iter().filter_map(|i| Some((columns.get(*i)?.id?, &**rows.columns().get(*i)?)));
        Some(Statistics::of(described, rows.num_rows()))
    }

    /// Whether the table has a primary key.
    #[must_use]
    pub fn has_primary_key(&self) -> bool {
        !self.primary_key.is_empty()
    }

    /// Whether the table's rows in the lake carry their log offset and time.
    #[must_use]
    pub fn lake_system_columns(&self) -> bool {
        options::lake_system_columns(&self.info.descriptor.properties)
    }

    /// Whether old snapshots of the table's lake go after a round.
    #[must_use]
    pub fn lake_compacts(&self) -> bool {
        options::lake_compacts(&self.info.descriptor.properties)
    }

    /// Whether old snapshots of the lake go after a round.
    #[must_use]
    pub fn lake_expires(&self) -> bool {
        options::lake_expires(&self.info.descriptor.properties)
    }

    /// Whether the table has partition columns.
    #[must_use]
    pub fn is_partitioned(&self) -> bool {
        !self.partition_key.is_empty()
    }

    /// Number of buckets; of each partition that is created from now on, if the table has partitions.
    #[must_use]
    pub fn bucket_count(&self) -> i32 {
        self.info.bucket_count()
    }
}
