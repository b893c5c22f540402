//! Stored values of primary-key rows: two bytes of schema id, then the compacted row; and their way back to columns.

use crate::live_meta::LiveMeta;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave;
use sluice_base::{Error, Result, SchemaId};
use sluice_row::{DataType, RowDecoder, RowsBuilder, Schema};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

const SCHEMA_ID_BYTES: usize = 2;

/// Starts a value: the schema id goes in front of the row.
pub(crate) fn start_value(schema: SchemaId, out: &mut Vec<u8>) {
    out.extend_from_slice(&schema.0.to_le_bytes());
}

fn split(value: &[u8]) -> Result<(SchemaId, &[u8])> {
    match value.split_first_chunk::<SCHEMA_ID_BYTES>() {
        Some((id, row)) => Ok((SchemaId(i16::from_le_bytes(*id)), row)),
        None => Err(Error::corrupt("a stored row is shorter than its schema id")),
    }
}

/// The data types of a schema's columns.
pub(crate) fn types(schema: &Schema) -> Vec<DataType> {
    schema.columns.iter().map(|c| c.data_type.clone()).collect()
}

/// Decodes stored values of any of a table's schemas into the same columns.
#[derive(Debug)]
pub(crate) struct ValueDecoders {
    live: Arc<LiveMeta>,
    /// Types of the reader's schema.
    types: Vec<DataType>,
    projection: Vec<usize>,
    output: SchemaRef,
    by_schema: RwLock<BTreeMap<SchemaId, Arc<RowDecoder>>>,
}

impl ValueDecoders {
    /// `projection` names positions of `schema`; batches get the schema `output`.
    pub(crate) fn new(live: Arc<LiveMeta>, schema: &Schema, projection: Vec<usize>, output: SchemaRef) -> Self {
        Self { live, types: types(schema), projection, output, by_schema: RwLock::default() }
    }

    pub(crate) fn rows(&self, capacity: usize) -> ValueRows<'_> {
        ValueRows { decoders: self, capacity, builders: Vec::new(), order: Vec::new() }
    }

    fn decoder(&self, id: SchemaId) -> Result<Arc<RowDecoder>> {
        // A cache of whole entries: usable after any panic.
        if let Some(found) = self.by_schema.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Ok(found.clone());
        }
        let meta = self.live.get();
        let stored = meta.schemas.get(&id).ok_or_else(|| {
            Error::corrupt(format!(
                "a stored row of table {} has schema {}, which the catalog does not know",
                meta.path, id.0
            ))
        })?;
        let stored_types = types(stored);
        let width = stored_types.len();
        let types = if width > self.types.len() { &stored_types } else { &self.types };
        let decoder =
            RowDecoder::new(types, Some(&self.projection)).with_stored_width(width).with_schema(self.output.clone());
        let decoder = Arc::new(decoder);
        self.by_schema.write().unwrap_or_else(PoisonError::into_inner).insert(id, decoder.clone());
        Ok(decoder)
    }
}

/// Rows under construction, in the order pushed, whatever their schemas.
pub(crate) struct ValueRows<'a> {
    decoders: &'a ValueDecoders,
    capacity: usize,
    /// One for each schema met.
    builders: Vec<(SchemaId, RowsBuilder)>,
    /// For each row its builder and position there; kept only once there are two builders.
    order: Vec<(usize, usize)>,
}

impl ValueRows<'_> {
    /// Appends one stored value.
    pub(crate) fn push(&mut self, value: &[u8]) -> Result<()> {
        let (id, row) = split(value)?;
        if let [(only, builder)] = self.builders.as_mut_slice()
            && *only == id
        {
            return builder.push(row);
        }
        let at = self.builder_of(id)?;
        let Some((_, builder)) = self.builders.get_mut(at) else { return Err(Error::internal("no builder")) };
        if at > 0 || !self.order.is_empty() {
            self.order.push((at, builder.len()));
        }
        builder.push(row)
    }

    fn builder_of(&mut self, id: SchemaId) -> Result<usize> {
        if let Some(at) = self.builders.iter().position(|(b, _)| *b == id) {
            return Ok(at);
        }
        if let [(_, first)] = self.builders.as_slice() {
            self.order = (0..first.len()).map(|i| (0, i)).collect();
        }
        self.builders.push((id, self.decoders.decoder(id)?.builder(self.capacity)));
        Ok(self.builders.len() - 1)
    }

    pub(crate) fn len(&self) -> usize {
        self.builders.iter().map(|(_, b)| b.len()).sum()
    }

    /// The rows pushed since the last call.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        let order = std::mem::take(&mut self.order);
        let count = self.len();
        let mut batches = self.builders.iter_mut().map(|(_, b)| b.finish()).collect::<Result<Vec<_>>>()?;
        let batch = match batches.len() {
            0 => Ok(RecordBatch::new_empty(self.decoders.output.clone())),
            1 => Ok(batches.remove(0)),
            _ => mix(&batches, &order, count, &self.decoders.output),
        };
        // A schema met once need not be met again; keep the first builder with its memory.
        self.builders.truncate(1);
        batch
    }
}

fn mix(batches: &[RecordBatch], order: &[(usize, usize)], count: usize, output: &SchemaRef) -> Result<RecordBatch> {
    let columns = (0..output.fields().len()).map(|c| {
        let parts: Vec<&dyn Array> = batches.iter().map(|b| b.column(c).as_ref()).collect();
        interleave(&parts, order).map_err(arrow_error)
    });
    let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
    batch_of(output, columns, count)
}

/// A batch that has `count` rows also when it has no columns.
pub(crate) fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, count: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(arrow_error)
}

/// Arrow refuses only what does not fit together, which is our defect.
#[expect(clippy::needless_pass_by_value, reason = "used as map_err(arrow_error)")]
pub(crate) fn arrow_error(e: arrow_schema::ArrowError) -> Error {
    Error::internal(format!("columns do not fit together: {e}"))
}
