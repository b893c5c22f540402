//! Stored values (schema id and row), whatever their schemas, as columns.

use crate::cluster::Cluster;
use crate::table::{RemoteTable, batch_of};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use sluice_base::{Error, ErrorKind, Result, SchemaId, Subject};
use sluice_row::{RowDecoder, RowsBuilder};
use std::sync::Arc;

/// The wanted columns of a table, whose positions were checked.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) positions: Vec<usize>,
    pub(crate) output: SchemaRef,
}

impl Wanted {
    /// # Errors
    /// `Invalid` about `Column` for a position outside the schema or named twice.
    pub(crate) fn new(table: &RemoteTable, projection: Option<&[usize]>) -> Result<Self> {
        let width = table.arrow.fields().len();
        let positions: Vec<usize> = projection.map_or_else(|| (0..width).collect(), <[usize]>::to_vec);
        for (i, position) in positions.iter().enumerate() {
            if *position >= width {
                let what = format!("table {} has {width} columns, there is no column number {position}", table.path());
                return Err(Error::invalid(Subject::Column, what));
            }
            if positions.iter().take(i).any(|p| p == position) {
                return Err(Error::invalid(Subject::Column, format!("column number {position} is wanted twice")));
            }
        }
        let output = table.arrow.project(&positions).map_err(|e| Error::internal(format!("bad projection: {e}")))?;
        Ok(Self { positions, output: Arc::new(output) })
    }
}

fn split(value: &[u8]) -> Result<(SchemaId, &[u8])> {
    let damaged = || Error::new(ErrorKind::Corrupt, Subject::Row, "a stored row has no schema");
    let (id, row) = value.split_first_chunk::<2>().ok_or_else(damaged)?;
    Ok((SchemaId(i16::from_le_bytes(*id)), row))
}

/// The wanted columns of stored values, in their order.
///
/// # Errors
/// `Corrupt`; what asking for an unknown schema gives.
pub(crate) fn decode<'a>(
    cluster: &Cluster,
    table: &RemoteTable,
    wanted: &Wanted,
    values: impl Iterator<Item = &'a [u8]>,
) -> Result<RecordBatch> {
    let (mut done, mut open): (Vec<RecordBatch>, Option<(SchemaId, RowsBuilder)>) = (Vec::new(), None);
    for value in values {
        let (id, row) = split(value)?;
        if open.as_ref().is_none_or(|(known, _)| *known != id) {
            if let Some((_, mut builder)) = open.take() {
                done.push(builder.finish()?);
            }
            open = Some((id, builder(cluster, table, wanted, id)?));
        }
        if let Some((_, builder)) = &mut open {
            builder.push(row)?;
        }
    }
    if let Some((_, mut builder)) = open {
        done.push(builder.finish()?);
    }
    match done.as_slice() {
        [] => batch_of(
            &wanted.output,
            wanted.output.fields().iter().map(|f| arrow_array::new_empty_array(f.data_type())).collect(),
            0,
        ),
        [one] => Ok(one.clone()),
        several if wanted.positions.is_empty() => {
            batch_of(&wanted.output, Vec::new(), several.iter().map(RecordBatch::num_rows).sum())
        }
        several => concat_batches(&wanted.output, several)
            .map_err(|e| Error::corrupt(format!("rows cannot be put together: {e}"))),
    }
}

fn builder(cluster: &Cluster, table: &RemoteTable, wanted: &Wanted, id: SchemaId) -> Result<RowsBuilder> {
    let stored = table.stored(cluster, id)?;
    let (width, newest) = (stored.types.len(), table.types());
    // A column may have been added since the table was opened.
    let types = if width > newest.len() { &stored.types } else { &newest };
    let decoder = RowDecoder::new(types, Some(&wanted.positions));
    let decoder = decoder.with_stored_width(width).with_schema(wanted.output.clone());
    Ok(decoder.builder(64))
}
