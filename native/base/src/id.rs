//! Ids and offsets. A type each, so that they cannot be exchanged.

use std::fmt;

/// Position of a row in its bucket's log, from 0. Ranges are half-open.
pub type Offset = i64;

/// Id of a table; every CREATE gets a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub i64);

/// Id of a partition; every creation gets a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartitionId(pub i64);

impl PartitionId {
    /// Whether only the lake has the partition: its id follows from its name then and is negative, which no other is.
    #[must_use]
    pub const fn is_of_lake(self) -> bool {
        self.0 < 0
    }
}

/// Id of one version of a table's schema, from 1; the protocol carries it in two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchemaId(pub i16);

/// One bucket of a table or of one of its partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableBucket {
    /// The table.
    pub table: TableId,
    /// The partition, for partitioned tables only.
    pub partition: Option<PartitionId>,
    /// The bucket's number, from 0.
    pub bucket: i32,
}

impl fmt::Display for TableBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.partition {
            Some(p) => write!(f, "table {} partition {} bucket {}", self.table.0, p.0, self.bucket),
            None => write!(f, "table {} bucket {}", self.table.0, self.bucket),
        }
    }
}
