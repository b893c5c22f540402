//! Upserts and deletes: look the old rows up, merge, append the changelog, note the rows for RocksDB.

use super::merge::Merge;
use super::{Bucket, Placed, WriteSide, changelog};
use crate::TableMeta;
use crate::packed::Packed;
use crate::values::ValueDecoders;
use arrow_array::RecordBatch;
use sluice_base::{Result, SchemaId};
use sluice_kv::MergeEngine;
use sluice_log::encode_batch;
use sluice_row::ChangeKind;
use std::sync::Arc;

/// One incoming batch with its keys and values encoded, before it is split by bucket.
pub(crate) struct Upsert<'a> {
    /// The description whose newest schema the rows have.
    pub(crate) meta: &'a Arc<TableMeta>,
    pub(crate) rows: &'a RecordBatch,
    /// One a row.
    pub(crate) keys: &'a Packed,
    /// One a row; empty for deletes.
    pub(crate) values: &'a Packed,
    /// One a row, or none: all are upserts.
    pub(crate) kinds: &'a [ChangeKind],
}

impl Upsert<'_> {
    pub(super) fn key(&self, row: u32) -> &[u8] {
        self.keys.get(row as usize)
    }

    pub(super) fn value(&self, row: u32) -> &[u8] {
        self.values.get(row as usize)
    }

    pub(super) fn kind(&self, row: u32) -> ChangeKind {
        self.kinds.get(row as usize).copied().unwrap_or(ChangeKind::Insert)
    }
}

/// Memory that a bucket's upserts use again and again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    merge: Merge,
    encoded: Vec<u8>,
    decoders: Option<(SchemaId, ValueDecoders)>,
}

/// Scratch memory above this is given back after a batch.
const SCRATCH_KEPT_BYTES: usize = 16 << 20;

impl Bucket {
    /// Merges some rows of a batch and appends their changelog as one log batch (an empty one when nothing changed).
    /// `None` when the table got a newer schema meanwhile: encode again.
    ///
    /// # Errors
    /// `Busy` about `Disk` when the disk is full; `Corrupt`, `Io`. Nothing is written then.
    pub(crate) fn upsert(self: &Arc<Self>, batch: &Upsert<'_>, rows: &[u32]) -> Result<Option<Placed>> {
        let mut side = self.lock_write()?;
        if self.meta.get().schema_id() != batch.meta.schema_id() {
            return Ok(None);
        }
        let kv = self.open_kv(&mut side)?;
        let mut scratch = std::mem::take(&mut side.scratch);
        scratch.merge.start(batch, rows);
        scratch.merge.load_old(batch, &side.overlay, &kv)?;
        scratch.merge.run(MergeEngine::LastRow, batch, rows);
        let placed = self.append_changes(&mut side, &mut scratch, batch)?;
        scratch.merge.apply(batch, &mut side.overlay);
        side.rows += scratch.merge.rows_delta;
        if scratch.encoded.capacity() + scratch.merge.old_values.bytes() < SCRATCH_KEPT_BYTES {
            side.scratch = scratch;
        }
        drop(side);
        self.context.commits.push(self);
        Ok(Some(placed))
    }

    fn append_changes(&self, side: &mut WriteSide, scratch: &mut Scratch, batch: &Upsert<'_>) -> Result<Placed> {
        let Scratch { merge, encoded, decoders } = scratch;
        let decoders = self.changelog_decoders(decoders, batch.meta)?;
        let changes = changelog::build(merge, batch, decoders)?;
        encoded.clear();
        let schema = batch.meta.schema_id();
        encode_batch(changes.as_ref(), Some(&merge.kinds), schema, (-1, -1), batch.meta.log.compression, encoded)?;
        self.append_locked(side, encoded)
    }

    fn changelog_decoders<'a>(
        &self,
        kept: &'a mut Option<(SchemaId, ValueDecoders)>,
        meta: &TableMeta,
    ) -> Result<&'a ValueDecoders> {
        let id = meta.schema_id();
        if kept.as_ref().is_none_or(|(schema, _)| *schema != id) {
            *kept = None;
        }
        let all = || (0..meta.schema().columns.len()).collect();
        let output = meta.arrow_schema()?.clone();
        Ok(&kept.get_or_insert_with(|| (id, ValueDecoders::new(self.meta.clone(), meta.schema(), all(), output))).1)
    }
}
