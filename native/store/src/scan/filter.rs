//! A scan's condition: which stretches of a log need not be read because no row there can meet it.

use crate::live_meta::LiveMeta;
use sluice_base::{Offset, Result, SchemaId};
use sluice_log::{Ahead, BatchDecoder, Log, StoredBatch};
use sluice_row::{Filter, Statistics};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// The condition, and what it takes to describe batches that have no statistics.
#[derive(Debug)]
pub(crate) struct ScanFilter {
    filter: Filter,
    live: Arc<LiveMeta>,
    by_schema: BTreeMap<SchemaId, Described>,
}

/// The described columns of batches of one schema.
#[derive(Debug)]
struct Described {
    decoder: BatchDecoder,
    ids: Vec<i32>,
}

impl ScanFilter {
    pub(super) fn new(filter: Filter, live: Arc<LiveMeta>) -> Self {
        Self { filter, live, by_schema: BTreeMap::new() }
    }

    /// Where a reader at `from` has to look next.
    ///
    /// # Errors
    /// As `Log::ahead`.
    pub(super) fn ahead(&self, log: &Log, from: Offset, limit: Offset) -> Result<Ahead> {
        let meta = self.live.get();
        log.ahead(from, limit, &|schema, rows| match meta.schemas.get(&schema) {
            Some(schema) => self.filter.may_hold(rows, |id| schema.columns.iter().any(|c| c.id == Some(id))),
            None => true,
        })
    }

    /// Makes the statistics of batches just read, for the next reader: they were lost with a crash, or a file.
    pub(super) fn describe(&mut self, log: &Log, batches: &[StoredBatch]) {
        for batch in batches.iter().filter(|b| b.header.record_count > 0) {
            let Some(described) = self.described(batch.header.schema_id) else { continue };
            // A damaged batch is told of by the reader, which decodes it next.
            let Ok((rows, _)) = described.decoder.decode(&batch.bytes) else { continue };
            let columns = described.ids.iter().copied().zip(rows.columns().iter().map(|c| &**c));
            let statistics = Statistics::of(columns, rows.num_rows());
            // Without them the next reader reads the batch again; nothing else is lost.
            let _ = log.describe(&batch.header, &statistics);
        }
    }

    /// `None` when the table keeps no statistics.
    fn described(&mut self, schema: SchemaId) -> Option<&Described> {
        let meta = self.live.get();
        if meta.statistics.is_empty() {
            return None;
        }
        if let Entry::Vacant(place) = self.by_schema.entry(schema) {
            let (arrow, columns) = (meta.arrow.get(&schema)?, &meta.schemas.get(&schema)?.columns);
            let positions: Vec<usize> = meta.statistics.iter().copied().filter(|p| *p < columns.len()).collect();
            let ids = positions.iter().filter_map(|p| columns.get(*p)?.id).collect();
            let decoder = BatchDecoder::new(arrow.clone(), Some(&positions));
            place.insert(Described { decoder, ids });
        }
        self.by_schema.get(&schema)
    }
}
