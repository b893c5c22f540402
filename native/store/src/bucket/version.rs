//! Versions of rows, by which the versioned engine and sequence groups decide.

use super::merge::Current;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use sluice_base::{Error, Result};

/// The versions of old and of incoming rows; an engine without versions has none.
#[derive(Debug, Default)]
pub(super) struct Versions {
    old: Vec<Option<i64>>,
    incoming: Vec<Option<i64>>,
}

impl Versions {
    /// Reads the version column of both.
    pub(super) fn new(old: &ArrayRef, incoming: &ArrayRef) -> Result<Self> {
        Ok(Self { old: read(old)?, incoming: read(incoming)? })
    }

    pub(super) fn stored(&self, row: Current) -> Option<i64> {
        match row {
            Current::Absent => None,
            Current::Old(at) => self.old(at),
            Current::Row(row) => self.incoming(row),
        }
    }

    pub(super) fn old(&self, at: u32) -> Option<i64> {
        self.old.get(at as usize).copied().flatten()
    }

    pub(super) fn incoming(&self, row: u32) -> Option<i64> {
        self.incoming.get(row as usize).copied().flatten()
    }
}

/// Times of one column have one unit, so their numbers compare as they do.
fn read(column: &ArrayRef) -> Result<Vec<Option<i64>>> {
    let data = column.to_data();
    let valid = |row: usize| column.is_valid(row);
    match column.data_type() {
        ArrowType::Int32 => {
            let values = data.buffer::<i32>(0).iter().take(column.len()).enumerate();
            Ok(values.map(|(row, v)| valid(row).then(|| i64::from(*v))).collect())
        }
        ArrowType::Int64 | ArrowType::Timestamp(..) => {
            let values = data.buffer::<i64>(0).iter().take(column.len()).enumerate();
            Ok(values.map(|(row, v)| valid(row).then_some(*v)).collect())
        }
        other => Err(Error::internal(format!("a version column of {other}"))),
    }
}
