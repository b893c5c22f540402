//! The changelog batch: rows from before the batch are decoded, new ones are taken from the incoming columns.

use super::Upsert;
use super::merge::{Current, Merge};
use crate::values::{ValueDecoders, arrow_error, batch_of};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_select::{interleave::interleave, take::take};
use sluice_base::Result;

/// The rows of the changelog in order; `None` when nothing changed.
pub(super) fn build(merge: &Merge, batch: &Upsert<'_>, decoders: &ValueDecoders) -> Result<Option<RecordBatch>> {
    let sources = &merge.sources;
    if sources.is_empty() {
        return Ok(None);
    }
    let old = decode_old(merge, decoders)?;
    if old.num_rows() == 0 {
        return only_new(sources, batch).map(Some);
    }
    let mut next_old = 0;
    let order: Vec<(usize, usize)> = sources
        .iter()
        .map(|source| match source {
            Current::Row(row) => (0, *row as usize),
            Current::Old(_) | Current::Absent => {
                next_old += 1;
                (1, next_old - 1)
            }
        })
        .collect();
    let columns = batch.rows.columns().iter().zip(old.columns()).map(|(new, old)| {
        let parts: [&dyn Array; 2] = [new.as_ref(), old.as_ref()];
        interleave(&parts, &order).map_err(arrow_error)
    });
    let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
    batch_of(batch.meta.arrow_schema()?, columns, order.len()).map(Some)
}

/// The old rows in the order in which the changelog names them; each is named once.
fn decode_old(merge: &Merge, decoders: &ValueDecoders) -> Result<RecordBatch> {
    let mut rows = decoders.rows(merge.old_values.len());
    for source in &merge.sources {
        if let Current::Old(at) = source {
            rows.push(merge.old_values.get(*at as usize))?;
        }
    }
    rows.finish()
}

/// All rows are new, as in a first load: mostly the incoming batch as it is.
fn only_new(sources: &[Current], batch: &Upsert<'_>) -> Result<RecordBatch> {
    let rows: Vec<u32> =
        sources.iter().filter_map(|s| if let Current::Row(row) = s { Some(*row) } else { None }).collect();
    if rows.len() == batch.rows.num_rows() && rows.iter().enumerate().all(|(i, row)| i == *row as usize) {
        return Ok(batch.rows.clone());
    }
    let count = rows.len();
    let rows = UInt32Array::from(rows);
    let columns = batch.rows.columns().iter().map(|c| take(c, &rows, None).map_err(arrow_error));
    batch_of(batch.meta.arrow_schema()?, columns.collect::<Result<Vec<ArrayRef>>>()?, count)
}
