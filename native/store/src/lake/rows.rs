//! The rows that a lake snapshot has for one bucket of a table, in an order that is the same each time.

use super::LakePlan;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use sluice_base::{Error, Result};
use sluice_lake::{LakeSplit, Rows};
use sluice_row::Predicate;
use std::collections::VecDeque;
use std::sync::Arc;

/// A reader's position among them.
#[derive(Debug)]
pub(crate) struct LakeRows {
    plan: Arc<LakePlan>,
    columns: Vec<String>,
    files: VecDeque<LakeSplit>,
    /// Rows that cannot match are left out, and not counted.
    filter: Option<Predicate>,
    open: Option<Rows>,
    /// Rows still to be passed over: a restored reader has had them.
    skip: u64,
    /// Rows still wanted at most.
    left: u64,
    /// Rows handed out or passed over so far.
    pub(crate) read: u64,
}

impl LakeRows {
    /// The rows of `files` but the first `skip`, at most `limit` of them. Columns are those of `output`, by name.
    pub(crate) fn new(
        plan: Arc<LakePlan>,
        files: Vec<LakeSplit>,
        output: &SchemaRef,
        skip: u64,
        limit: Option<u64>,
    ) -> Self {
        let files = files.into();
        let columns = output.fields().iter().map(|f| f.name().clone()).collect();
        Self { plan, columns, files, filter: None, open: None, skip, left: limit.unwrap_or(u64::MAX), read: 0 }
    }

    /// The same rows without some that cannot match. Which those are is the same each time, so positions hold for one filter.
    pub(crate) fn filtered(self, filter: Option<Predicate>) -> Self {
        Self { filter, ..self }
    }

    /// The next rows, at most `rows_max`; `None` at the end.
    ///
    /// # Errors
    /// `NotFound` about `File` when the snapshot has expired; `Conflict`, `Unsupported`, `Corrupt`, `Io`.
    pub(crate) fn next(&mut self, output: &SchemaRef, rows_max: usize) -> Result<Option<RecordBatch>> {
        while self.left > 0 {
            let Some(rows) = &mut self.open else {
                let Some(files) = self.files.pop_front() else { return Ok(None) };
                self.open = Some(self.plan.read(&files, &self.columns, self.filter.as_ref(), rows_max)?);
                continue;
            };
            let Some(batch) = rows.next_batch()? else {
                self.open = None;
                continue;
            };
            let all = batch.num_rows() as u64;
            let skipped = all.min(self.skip);
            let taken = (all - skipped).min(self.left);
            self.skip -= skipped;
            self.read += skipped + taken;
            self.left -= taken;
            if taken > 0 {
                let batch = batch.slice(usize::try_from(skipped).unwrap_or(0), usize::try_from(taken).unwrap_or(0));
                return conform(batch, output).map(Some);
            }
        }
        Ok(None)
    }
}

/// The same columns under the table's own Arrow schema.
fn conform(batch: RecordBatch, output: &SchemaRef) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(output.clone(), batch.columns().to_vec(), &options)
        .map_err(|e| Error::corrupt(format!("rows of the lake do not fit their table: {e}")).with_source(e))
}
