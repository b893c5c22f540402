//! The numbers of a table with an auto-increment column: each row that is new gets one that no other row of the table ever had.
//!
//! All buckets and partitions share one count. It is kept in `<table>/row-numbers` from the table's first day, so a missing file is a loss.

use crate::context::Context;
use crate::counter::{Counter, Take};
use crate::ddl::auto_increment::AutoIncrement;
use crate::directory::ROW_NUMBERS_FILE as FILE;
use sluice_base::{Error, Result, Subject, TableId};

const MAGIC: &str = "SLUICE-ROWS 1";
const CURE: &str = "put the file back from a backup, or write a number into it above all that the table's rows have";
const FIRST: i64 = 1;

/// Gives numbers.
#[derive(Debug)]
pub(crate) struct RowNumbers(Counter);

impl RowNumbers {
    pub(crate) fn new(context: &Context, table: TableId) -> Self {
        Self(Counter::new(context.data_dir.join(table.0.to_string()).join(FILE), MAGIC, CURE))
    }

    /// Begins the count of a new table.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn begin(&self, context: &Context) -> Result<()> {
        self.0.begin(context.fs.as_ref(), FIRST)
    }

    /// The first of `count` new numbers.
    ///
    /// # Errors
    /// `Unsupported` about `Column` when the column's type has no more; `Corrupt` naming the file; `Io`, `Busy` about `Disk`.
    pub(crate) fn take(&self, context: &Context, column: &AutoIncrement, count: usize) -> Result<i64> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let take = Take { count, step: column.step, max: column.max };
        let missing = || Err(Error::corrupt(format!("the file {FILE} of the table is missing; {CURE}")));
        let first = self.0.take(context.fs.as_ref(), take, missing).map_err(|e| e.context(&column.name))?;
        first.ok_or_else(|| {
            let message = format!(
                "the numbers of auto-increment column '{}' are used up: its type ends at {}, and {count} more are asked for; copy the rows \
                 into a table whose column is BIGINT",
                column.name, column.max
            );
            Error::unsupported(Subject::Column, message)
        })
    }

    /// Gives back what is reserved and not given: the store closes. Best effort: else those numbers are never given.
    pub(crate) fn end(&self, context: &Context) {
        let _ = self.0.end(context.fs.as_ref());
    }
}
