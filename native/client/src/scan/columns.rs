//! Which columns are fetched, and how those wanted come out of a log batch of any of the table's schemas.

use crate::cluster::Cluster;
use crate::table::{RemoteTable, batch_of};
use crate::values::Wanted;
use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_buffer::Buffer;
use sluice_base::{Error, Result, SchemaId};
use sluice_log::{BatchDecoder, BatchHeader, verify_crc};
use sluice_row::ChangeKind;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Decodes what is fetched.
#[derive(Debug)]
pub(crate) struct Columns {
    wanted: Wanted,
    /// Positions that servers are asked for, ascending; `None` = whole batches.
    fetched: Option<Vec<usize>>,
    by_schema: Mutex<BTreeMap<SchemaId, Arc<OfSchema>>>,
}

/// Of batches of one schema.
#[derive(Debug)]
struct OfSchema {
    decoder: BatchDecoder,
    /// For each wanted column its place among the decoded ones; a column that came later has none.
    sources: Vec<Option<usize>>,
}

impl Columns {
    /// `pushes` says whether servers may be asked for some columns only.
    pub(crate) fn new(table: &RemoteTable, wanted: Wanted, pushes: bool) -> Self {
        let mut fetched = wanted.positions.clone();
        fetched.sort_unstable();
        if fetched.is_empty() {
            // Rows are counted by the first column; no server ships rows without columns.
            fetched.push(0);
        }
        let all = fetched.len() == table.arrow.fields().len();
        Self { wanted, fetched: (pushes && !all).then_some(fetched), by_schema: Mutex::default() }
    }

    /// Positions that servers are asked for.
    pub(crate) fn fetched(&self) -> Option<Vec<i32>> {
        let positions = self.fetched.as_ref()?;
        Some(positions.iter().map(|p| i32::try_from(*p).unwrap_or(i32::MAX)).collect())
    }

    pub(crate) fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// The wanted columns of exactly one batch, and the kinds of its rows.
    ///
    /// # Errors
    /// `Corrupt`; what asking for an unknown schema gives.
    pub(crate) fn decode(
        &self,
        cluster: &Cluster,
        table: &RemoteTable,
        header: &BatchHeader,
        batch: &Buffer,
    ) -> Result<(RecordBatch, Option<Vec<ChangeKind>>)> {
        // Of some columns only, a server ships the checksum of all.
        if self.fetched.is_none() && !verify_crc(batch) {
            let message = format!("the checksum of the batch at offset {} is wrong", header.base_offset);
            return Err(Error::corrupt(message));
        }
        let of_schema = self.of_schema(cluster, table, header.schema_id)?;
        let (rows, kinds) = of_schema.decoder.decode(batch)?;
        let pad = |(source, field): (&Option<usize>, &arrow_schema::FieldRef)| match source
            .and_then(|i| rows.columns().get(i))
        {
            Some(column) => column.clone(),
            None => new_null_array(field.data_type(), rows.num_rows()),
        };
        let output = &self.wanted.output;
        let all: Vec<ArrayRef> = of_schema.sources.iter().zip(output.fields()).map(pad).collect();
        Ok((batch_of(output, all, rows.num_rows())?, kinds))
    }

    fn of_schema(&self, cluster: &Cluster, table: &RemoteTable, id: SchemaId) -> Result<Arc<OfSchema>> {
        if let Some(known) = self.by_schema.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Ok(known.clone());
        }
        let stored = table.stored(cluster, id)?.arrow.clone();
        let width = stored.fields().len();
        let shipped: Vec<usize> = match &self.fetched {
            Some(fetched) => fetched.iter().copied().filter(|p| *p < width).collect(),
            None => (0..width).collect(),
        };
        let shipped_schema = stored.project(&shipped).map_err(|e| Error::internal(format!("bad projection: {e}")))?;
        let place = |position: &usize| shipped.iter().position(|s| s == position);
        let present: Vec<usize> = self.wanted.positions.iter().filter_map(place).collect();
        let mut next = 0;
        let sources = self.wanted.positions.iter().map(|position| {
            place(position).map(|_| {
                next += 1;
                next - 1
            })
        });
        let sources = sources.collect();
        let decoder = BatchDecoder::new(Arc::new(shipped_schema), Some(&present));
        let made = Arc::new(OfSchema { decoder, sources });
        self.by_schema.lock().unwrap_or_else(PoisonError::into_inner).insert(id, made.clone());
        Ok(made)
    }
}
