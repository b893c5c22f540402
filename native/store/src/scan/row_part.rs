//! Reading a primary-key bucket's rows as inserts: of a snapshot, as they are now, or the first few.

use super::projection::Wanted;
use arrow_array::RecordBatch;
use sluice_base::Result;
use sluice_kv::KvIter;

/// A split's position among the rows.
#[derive(Debug)]
pub(crate) struct RowPart {
    rows: KvIter,
    /// Rows that are still wanted at most.
    left: u64,
    /// Rows of the walk handed out or skipped so far.
    pub(super) read: u64,
    /// Whether the walk is over.
    pub(crate) ended: bool,
}

impl RowPart {
    pub(crate) fn new(rows: KvIter, skipped: u64, limit: Option<u64>) -> Self {
        let left = limit.unwrap_or(u64::MAX);
        Self { rows, left, read: skipped, ended: left == 0 }
    }

    /// Up to `rows_max` rows; fewer only at the end.
    pub(crate) fn next(&mut self, wanted: &Wanted, rows_max: usize) -> Result<RecordBatch> {
        let count = u64::try_from(rows_max).unwrap_or(u64::MAX).min(self.left);
        let mut batch = wanted.values.rows(rows_max.min(1024));
        let mut taken = 0;
        while taken < count {
            match self.rows.next_row()? {
                Some((_, value)) => batch.push(value)?,
                None => {
                    self.ended = true;
                    break;
                }
            }
            taken += 1;
        }
        self.read += taken;
        self.left -= taken;
        self.ended |= self.left == 0;
        batch.finish()
    }
}
