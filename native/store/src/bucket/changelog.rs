//! The changelog batch: rows from before the batch are decoded, new ones are taken from the incoming or merged columns.

use super::merge::Current;
use crate::packed::Packed;
use crate::values::{ValueDecoders, arrow_error, batch_of};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::{interleave::interleave, take::take};
use sluice_base::Result;

/// The rows from before the batch.
pub(super) enum OldRows<'a> {
    /// Still encoded; what the changelog names is decoded.
    Encoded(&'a Packed, &'a ValueDecoders),
    /// All of them, decoded for the merge already.
    Decoded(&'a RecordBatch),
}

/// The rows of the changelog in order; `None` when nothing changed.
pub(super) fn build(
    sources: &[Current],
    new: &RecordBatch,
    old: &OldRows<'_>,
    schema: &SchemaRef,
) -> Result<Option<RecordBatch>> {
    if sources.is_empty() {
        return Ok(None);
    }
    if !sources.iter().any(|s| matches!(s, Current::Old(_))) {
        return only_new(sources, new, schema).map(Some);
    }
    let decoded;
    let (old, in_order) = match old {
        OldRows::Decoded(old) => (*old, false),
        OldRows::Encoded(values, decoders) => {
            decoded = decode_named(sources, values, decoders)?;
            (&decoded, true)
        }
    };
    let mut next_old = 0;
    let order: Vec<(usize, usize)> = sources
        .iter()
        .map(|source| match source {
            Current::Row(row) => (0, *row as usize),
            Current::Old(at) if !in_order => (1, *at as usize),
            Current::Old(_) | Current::Absent => {
                next_old += 1;
                (1, next_old - 1)
            }
        })
        .collect();
    let columns = new.columns().iter().zip(old.columns()).map(|(new, old)| {
        let parts: [&dyn Array; 2] = [new.as_ref(), old.as_ref()];
        interleave(&parts, &order).map_err(arrow_error)
    });
    let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
    batch_of(schema, columns, order.len()).map(Some)
}

/// The old rows in the order in which the changelog names them; each is named once.
fn decode_named(sources: &[Current], values: &Packed, decoders: &ValueDecoders) -> Result<RecordBatch> {
    let mut rows = decoders.rows(values.len());
    for source in sources {
        if let Current::Old(at) = source {
            rows.push(values.get(*at as usize))?;
        }
    }
    rows.finish()
}

/// All old rows.
pub(super) fn decode_all(values: &Packed, decoders: &ValueDecoders) -> Result<RecordBatch> {
    let mut rows = decoders.rows(values.len());
    (0..values.len()).try_for_each(|at| rows.push(values.get(at)))?;
    rows.finish()
}

/// All rows are new, as in a first load: mostly the incoming batch as it is.
fn only_new(sources: &[Current], new: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let rows: Vec<u32> =
        sources.iter().filter_map(|s| if let Current::Row(row) = s { Some(*row) } else { None }).collect();
    if rows.len() == new.num_rows() && rows.iter().enumerate().all(|(i, row)| i == *row as usize) {
        return Ok(new.clone());
    }
    let count = rows.len();
    let rows = UInt32Array::from(rows);
    let columns = new.columns().iter().map(|c| take(c, &rows, None).map_err(arrow_error));
    batch_of(schema, columns.collect::<Result<Vec<ArrayRef>>>()?, count)
}
