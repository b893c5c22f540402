//! The wanted columns out of log batches of any of a table's schemas: a column that a batch's schema lacks reads as NULL.

use crate::TableMeta;
use crate::live_meta::LiveMeta;
use crate::values::{ValueDecoders, batch_of};
use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::SchemaRef;
use sluice_base::{Error, Result, SchemaId, Subject};
use sluice_log::{BatchDecoder, StoredBatch};
use sluice_row::ChangeKind;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a scanner or lookup wants of each row.
#[derive(Debug)]
pub(crate) struct Wanted {
    live: Arc<LiveMeta>,
    /// Positions in the newest schema at the time of opening.
    positions: Vec<usize>,
    pub(crate) output: SchemaRef,
    /// Decodes stored values of primary-key rows.
    pub(crate) values: ValueDecoders,
    by_schema: BTreeMap<SchemaId, BatchColumns>,
}

/// How the batches of one schema give the wanted columns.
#[derive(Debug)]
struct BatchColumns {
    decoder: BatchDecoder,
    /// For each wanted column its position among the decoded ones.
    sources: Vec<Option<usize>>,
    /// Whether the decoded columns are the wanted ones as they are.
    complete: bool,
}

impl Wanted {
    /// # Errors
    /// `Invalid` about `Column` for a position outside the schema or named twice.
    pub(crate) fn new(live: Arc<LiveMeta>, meta: &TableMeta, projection: Option<&[usize]>) -> Result<Self> {
        let arrow = meta.arrow_schema()?;
        let width = arrow.fields().len();
        let positions: Vec<usize> = projection.map_or_else(|| (0..width).collect(), <[usize]>::to_vec);
        for (i, position) in positions.iter().enumerate() {
            if *position >= width {
                let what = format!("table {} has {width} columns, there is no column number {position}", meta.path);
                return Err(Error::invalid(Subject::Column, what));
            }
            if positions.iter().take(i).any(|p| p == position) {
                return Err(Error::invalid(Subject::Column, format!("column number {position} is wanted twice")));
            }
        }
        let output = Arc::new(arrow.project(&positions).map_err(crate::values::arrow_error)?);
        let values = ValueDecoders::new(live.clone(), meta.schema(), positions.clone(), output.clone());
        Ok(Self { live, positions, output, values, by_schema: BTreeMap::new() })
    }

    /// The wanted columns of a log batch.
    ///
    /// # Errors
    /// `Corrupt` when the bytes are damaged or the schema is unknown.
    pub(crate) fn decode(&mut self, batch: &StoredBatch) -> Result<(RecordBatch, Option<Vec<ChangeKind>>)> {
        let id = batch.header.schema_id;
        if !self.by_schema.contains_key(&id) {
            let columns = self.columns_of(id)?;
            self.by_schema.insert(id, columns);
        }
        let Some(columns) = self.by_schema.get(&id) else { return Err(Error::internal("no decoder")) };
        let (rows, kinds) = columns.decoder.decode(&batch.bytes)?;
        if columns.complete {
            return Ok((batch_of(&self.output, rows.columns().to_vec(), rows.num_rows())?, kinds));
        }
        let pad = |(source, field): (&Option<usize>, &arrow_schema::FieldRef)| match source
            .and_then(|i| rows.columns().get(i))
        {
            Some(column) => column.clone(),
            None => new_null_array(field.data_type(), rows.num_rows()),
        };
        let all: Vec<ArrayRef> = columns.sources.iter().zip(self.output.fields()).map(pad).collect();
        Ok((batch_of(&self.output, all, rows.num_rows())?, kinds))
    }

    fn columns_of(&self, id: SchemaId) -> Result<BatchColumns> {
        let meta = self.live.get();
        let stored = meta.arrow.get(&id).cloned().ok_or_else(|| {
            Error::corrupt(format!(
                "a log batch of table {} has schema {}, which the catalog does not know",
                meta.path, id.0
            ))
        })?;
        let width = stored.fields().len();
        let present: Vec<usize> = self.positions.iter().copied().filter(|p| *p < width).collect();
        let mut next = 0;
        let sources = self.positions.iter().map(|p| {
            (*p < width).then(|| {
                next += 1;
                next - 1
            })
        });
        let sources: Vec<Option<usize>> = sources.collect();
        let complete = present.len() == sources.len();
        Ok(BatchColumns { decoder: BatchDecoder::new(stored, Some(&present)), sources, complete })
    }
}
