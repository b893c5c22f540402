//! Types of the admin calls. Serialised as JSON where they cross to Java.

use serde::{Deserialize, Serialize};
use sluice_base::{Offset, PartitionId, TableBucket, TableId};
use sluice_row::{Column, DatabaseDescriptor, TableDescriptor, TablePath, ViewDescriptor};

/// A database as the store has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DatabaseInfo {
    /// What the user said.
    pub descriptor: DatabaseDescriptor,
    /// Creation time, ms since 1970.
    pub created_ms: i64,
    /// Time of the last change, ms since 1970.
    pub modified_ms: i64,
}

/// A table as the store has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TableInfo {
    /// Where it is.
    pub path: TablePath,
    /// Its id, new with every CREATE.
    pub table_id: i64,
    /// Id of its newest schema.
    pub schema_id: i16,
    /// What the user said, with defaults filled in and column ids assigned.
    pub descriptor: TableDescriptor,
    /// Creation time, ms since 1970.
    pub created_ms: i64,
    /// Time of the last change, ms since 1970.
    pub modified_ms: i64,
}

impl TableInfo {
    /// Whether the table has a primary key.
    #[must_use]
    pub fn has_primary_key(&self) -> bool {
        !self.descriptor.schema.primary_key.is_empty()
    }

    /// Number of buckets (of each partition that is created from now on, if the table has partitions).
    #[must_use]
    pub fn bucket_count(&self) -> i32 {
        self.descriptor.bucket_count.unwrap_or(1)
    }
}

/// A view as the store has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewInfo {
    /// Where it is.
    pub path: TablePath,
    /// What the user said.
    pub descriptor: ViewDescriptor,
    /// Creation time, ms since 1970.
    pub created_ms: i64,
    /// Time of the last change, ms since 1970.
    pub modified_ms: i64,
}

/// A partition as the store has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionInfo {
    /// Its id, new with every creation.
    pub partition_id: i64,
    /// Its value for each partition column, in key order. How a value is written: `sluice_row::partition_text`.
    pub values: Vec<String>,
    /// Number of its buckets.
    pub bucket_count: i32,
    /// Creation time, ms since 1970.
    pub created_ms: i64,
}

impl PartitionInfo {
    /// Its id.
    #[must_use]
    pub const fn id(&self) -> PartitionId {
        PartitionId(self.partition_id)
    }

    /// Its name: the values with `$` between them, which no value can have.
    #[must_use]
    pub fn name(&self) -> String {
        self.values.join("$")
    }
}

/// Which offset of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OffsetSpec {
    /// The first offset that can be read.
    Earliest,
    /// The offset after the last row that readers may see.
    Latest,
    /// The first offset of the first batch committed at or after this time (ms since 1970); `Latest` when all
    /// are older.
    Timestamp(i64),
}

/// Counts of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableStats {
    /// Rows that a full batch scan would return, when the store can tell without one.
    pub row_count: Option<i64>,
    /// Bytes on disk.
    pub size_bytes: u64,
}

/// How far a table's lake is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LakeSnapshot {
    /// The newest snapshot in the lake that says how far it goes; `None` before the first.
    pub snapshot: Option<i64>,
    /// For each bucket the end (exclusive) of its log in the lake; buckets of which nothing is there are left out. Empty for a table with
    /// partitions.
    pub buckets: Vec<(i32, Offset)>,
    /// The same for each partition that ever had rows there, whether the store still has it or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<LakePartitionOffsets>,
    /// When this process last brought rows into the lake, ms since 1970.
    pub last_round_ms: Option<i64>,
    /// Why this process could not at its last try; `None` when it could, or has not tried.
    pub error: Option<String>,
}

/// How far the lake is with a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LakePartitionOffsets {
    /// Its id.
    pub partition_id: i64,
    /// Its name: [`PartitionInfo::name`].
    pub name: String,
    /// As [`LakeSnapshot::buckets`].
    pub buckets: Vec<(i32, Offset)>,
}

/// Rows of a bucket that its table's lake does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierWork {
    /// The table's id.
    pub table_id: i64,
    /// The partition's id; `None` for a table without partitions.
    #[serde(default)]
    pub partition_id: Option<i64>,
    /// The bucket's number.
    pub bucket: i32,
    /// Up to where (exclusive) the lake has its log; `None` when it has nothing of the bucket.
    #[serde(default)]
    pub start: Option<Offset>,
    /// The end (exclusive) of its log at this moment.
    pub end: Offset,
}

impl TierWork {
    /// The bucket.
    #[must_use]
    pub const fn id(&self) -> TableBucket {
        let partition = match self.partition_id {
            Some(id) => Some(PartitionId(id)),
            None => None,
        };
        TableBucket { table: TableId(self.table_id), partition, bucket: self.bucket }
    }
}

/// Lake files of a bucket that no snapshot names yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierPart {
    /// What a commit calls them.
    pub part: u64,
    /// Up to where (exclusive) they have the bucket's log.
    pub end: Offset,
    /// How many of its rows they hold.
    pub rows: i64,
}

/// One change of ALTER TABLE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableChange {
    /// Sets an option.
    Set {
        /// Its key.
        key: String,
        /// Its new value.
        value: String,
    },
    /// Takes an option back to its default.
    Reset {
        /// Its key.
        key: String,
    },
    /// Adds a nullable column at the end.
    AddColumn {
        /// The column.
        column: Column,
    },
}
