//! Upserts and deletes: look the old rows up, merge, append the changelog, note the rows for RocksDB.

use super::changelog::{self, OldRows};
use super::groups::{GroupSteps, Groups, steps_of};
use super::merge::Merge;
use super::merger::{Columns, Merger, Unit};
use super::version::Versions;
use super::{Bucket, Placed, WriteSide};
use crate::TableMeta;
use crate::packed::Packed;
use crate::row_check;
use crate::values::{ValueDecoders, arrow_error, batch_of, start_value, types};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::DataType as ArrowType;
use arrow_select::take::take;
use sluice_base::{Error, Result, SchemaId};
use sluice_kv::{Effect, Kv, MergeEngine, Prior, Step};
use sluice_log::encode_batch;
use sluice_row::{ChangeKind, RowEncoder};
use std::sync::Arc;

/// One incoming batch with its keys encoded, before it is split by bucket.
#[derive(Clone, Copy)]
pub(crate) struct Upsert<'a> {
    /// The description whose newest schema the rows have.
    pub(crate) meta: &'a Arc<TableMeta>,
    pub(crate) merger: &'a Merger,
    pub(crate) rows: &'a RecordBatch,
    /// One a row.
    pub(crate) keys: &'a Packed,
    /// One a row; empty for deletes. None at all where columns are merged: values come of the merge.
    pub(crate) values: &'a Packed,
    /// One a row, or none: all are upserts.
    pub(crate) kinds: &'a [ChangeKind],
    /// Writer id and batch sequence; (-1, -1) for none.
    pub(crate) writer: (i64, i32),
}

impl Upsert<'_> {
    pub(super) fn key(&self, row: u32) -> &[u8] {
        self.keys.get(row as usize)
    }

    pub(super) fn value(&self, row: u32) -> &[u8] {
        self.values.get(row as usize)
    }

    pub(crate) fn kind(&self, row: u32) -> ChangeKind {
        self.kinds.get(row as usize).copied().unwrap_or(ChangeKind::Insert)
    }

    /// Some rows alone, column by column.
    fn pick(&self, rows: &[u32]) -> Result<Vec<ArrayRef>> {
        let all = rows.len() == self.rows.num_rows();
        if all && rows.iter().enumerate().all(|(i, row)| i == *row as usize) {
            return Ok(self.rows.columns().to_vec());
        }
        let wanted = UInt32Array::from(rows.to_vec());
        self.rows.columns().iter().map(|c| take(c, &wanted, None).map_err(arrow_error)).collect()
    }
}

/// Memory that a bucket's upserts use again and again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    merge: Merge,
    encoded: Vec<u8>,
    /// Values of merged rows.
    merged: Packed,
    decoders: Option<(SchemaId, ValueDecoders)>,
}

impl Scratch {
    fn bytes(&self) -> usize {
        self.encoded.capacity() + self.merge.old_values.bytes() + self.merged.bytes()
    }
}

/// Scratch memory above this is given back after a batch.
const SCRATCH_KEPT_BYTES: usize = 16 << 20;
/// Merged rows of more bytes than this are written as more than one log batch.
const MERGED_BYTES: usize = 64 << 20;

impl Bucket {
    /// Merges some rows of a batch and appends their changelog as one log batch (an empty one when nothing changed; several when merged
    /// rows grow very large). `None` when the table got a newer schema meanwhile: encode again. A batch that its writer has sent before is
    /// not written again.
    ///
    /// # Errors
    /// `Conflict` about `Writer` when the batch is out of order; `Busy` about `Disk` when the disk is full; `Invalid` about `Row` for a row
    /// that cannot be merged; `Corrupt`, `Io`. Nothing is written then of what would have become one log batch.
    pub(crate) fn upsert(self: &Arc<Self>, batch: &Upsert<'_>, rows: &[u32]) -> Result<Option<Placed>> {
        let mut side = self.lock_write()?;
        if self.meta.get().schema_id() != batch.meta.schema_id() {
            return Ok(None);
        }
        if let Some((_, placed)) = self.or_ended(self.find_sent(batch.writer))? {
            return Ok(Some(placed));
        }
        let kv = self.or_ended(self.open_kv(&mut side))?;
        let mut scratch = std::mem::take(&mut side.scratch);
        let placed = self.or_ended(self.merge_rows(&mut side, &mut scratch, &kv, batch, rows));
        if placed.is_ok() && scratch.bytes() < SCRATCH_KEPT_BYTES {
            side.scratch = scratch;
        }
        drop(side);
        self.context.commits.push(self);
        placed.map(Some)
    }

    fn merge_rows(
        &self,
        side: &mut WriteSide,
        scratch: &mut Scratch,
        kv: &Kv,
        batch: &Upsert<'_>,
        rows: &[u32],
    ) -> Result<Placed> {
        scratch.merge.start(batch, rows);
        scratch.merge.load_old(batch, batch.merger.image, &side.overlay, kv)?;
        match &batch.merger.unit {
            Unit::Row(engine) => self.by_row(side, scratch, *engine, batch, rows),
            Unit::Column(columns) => {
                let row_bytes = if columns.grows { average_bytes(batch.rows) } else { 0 };
                if rows.len() > 1 && scratch.merge.merged_bytes(row_bytes) > MERGED_BYTES {
                    let (first, rest) = rows.split_at(rows.len() / 2);
                    // The writer's number goes with the last part: only then is all of its batch there.
                    let anonymous = Upsert { writer: (-1, -1), ..*batch };
                    self.merge_rows(side, scratch, kv, &anonymous, first)?;
                    return self.merge_rows(side, scratch, kv, batch, rest);
                }
                self.by_column(side, scratch, columns, batch, rows)
            }
        }
    }

    /// Each row stays or goes as a whole.
    fn by_row(
        &self,
        side: &mut WriteSide,
        scratch: &mut Scratch,
        engine: MergeEngine,
        batch: &Upsert<'_>,
        rows: &[u32],
    ) -> Result<Placed> {
        let Scratch { merge, encoded, decoders, .. } = scratch;
        let decoders = self.changelog_decoders(decoders, batch.meta)?;
        let decoded = match engine {
            MergeEngine::Versioned { .. } => Some(changelog::decode_all(&merge.old_values, decoders)?),
            _ => None,
        };
        let versions = match (engine, &decoded) {
            (MergeEngine::Versioned { column }, Some(old)) => {
                Versions::new(old.column(column), batch.rows.column(column))?
            }
            _ => Versions::default(),
        };
        merge.run(engine, batch.merger, batch, rows, &versions);
        let old = match &decoded {
            Some(old) => OldRows::Decoded(old),
            None => OldRows::Encoded(&merge.old_values, decoders),
        };
        let placed = self.append_changes(side, merge, encoded, batch, batch.rows, &old)?;
        for (key, row) in merge.left() {
            side.overlay.put(batch.key(key), row.map(|row| batch.value(row)));
        }
        Ok(placed)
    }

    /// The row of a key comes of the old one and all that the batch holds for it, column by column.
    fn by_column(
        &self,
        side: &mut WriteSide,
        scratch: &mut Scratch,
        columns: &Columns,
        batch: &Upsert<'_>,
        rows: &[u32],
    ) -> Result<Placed> {
        let Scratch { merge, encoded, merged: values, decoders } = scratch;
        let decoders = self.changelog_decoders(decoders, batch.meta)?;
        let old = changelog::decode_all(&merge.old_values, decoders)?;
        let mut incoming = batch.pick(rows)?;
        let mut groups = Groups::new(columns, (old.columns(), old.num_rows()), (&incoming, rows.len()))?;
        let steps = merge.steps(columns, batch.merger, batch, rows, &old, &mut groups)?;
        if let Some((column, values)) = self.number(columns, batch, rows, &steps)?
            && let Some(place) = incoming.get_mut(column)
        {
            *place = values;
        }
        let merged = fold(columns, batch.meta, &incoming, (&steps, &groups.steps(&steps)), &old)?;
        values.clear();
        let schema = batch.meta.schema();
        let encoder = RowEncoder::new(&types(schema));
        let bound = encoder.bind(merged.columns())?;
        for (key, row) in merge.left() {
            if let Some(row) = row {
                start_value(batch.meta.schema_id(), values.open());
                bound.encode(row as usize, values.open());
            }
            let bytes = batch.key(key).len() + values.close();
            row_check::merged_size(bytes, self.context.settings.row_bytes_max, key)?;
        }
        let placed = self.append_changes(side, merge, encoded, batch, &merged, &OldRows::Decoded(&old))?;
        for (at, (key, row)) in merge.left().enumerate() {
            side.overlay.put(batch.key(key), row.map(|_| values.get(at)));
        }
        Ok(placed)
    }

    /// The incoming values of the numbered column: a new number for each new row that has none of its own.
    fn number(
        &self,
        columns: &Columns,
        batch: &Upsert<'_>,
        rows: &[u32],
        steps: &[Step],
    ) -> Result<Option<(usize, ArrayRef)>> {
        let Some(numbered) = &columns.numbered else { return Ok(None) };
        let column = batch.rows.column(numbered.column);
        let own = |row: u32| {
            let row = Some(row as usize).filter(|row| columns.overwrites && column.is_valid(*row))?;
            let short = column.as_primitive_opt::<Int32Type>().map(|v| i64::from(v.value(row)));
            short.or_else(|| column.as_primitive_opt::<Int64Type>().map(|v| v.value(row)))
        };
        let is_new = |step: &Step| step.prior == Prior::Absent && step.effect == Effect::Merge;
        let count = rows.iter().zip(steps).filter(|(row, step)| is_new(step) && own(**row).is_none()).count();
        let mut next = if count == 0 { 0 } else { self.numbers.take(&self.context, numbered, count)? };
        let mut number = || {
            next += 1;
            next - 1
        };
        let numbers = rows.iter().zip(steps).map(|(row, step)| own(*row).or_else(|| is_new(step).then(&mut number)));
        let numbers: ArrayRef = match column.data_type() {
            ArrowType::Int32 => Arc::new(numbers.map(|n| i32::try_from(n?).ok()).collect::<Int32Array>()),
            _ => Arc::new(numbers.collect::<Int64Array>()),
        };
        Ok(Some((numbered.column, numbers)))
    }

    fn append_changes(
        &self,
        side: &mut WriteSide,
        merge: &Merge,
        encoded: &mut Vec<u8>,
        batch: &Upsert<'_>,
        new: &RecordBatch,
        old: &OldRows<'_>,
    ) -> Result<Placed> {
        let changes = changelog::build(&merge.changes.sources, new, old, batch.meta.arrow_schema()?)?;
        encoded.clear();
        let (schema, compression) = (batch.meta.schema_id(), batch.meta.log.compression);
        encode_batch(changes.as_ref(), Some(&merge.changes.kinds), schema, batch.writer, compression, encoded)?;
        let placed = self.append_locked(side, encoded, None)?.1;
        side.rows += merge.changes.rows_delta;
        Ok(placed)
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

fn average_bytes(rows: &RecordBatch) -> usize {
    rows.get_array_memory_size() / rows.num_rows().max(1)
}

/// The merged rows, one for each incoming one; NULL where none comes of it.
fn fold(
    columns: &Columns,
    meta: &TableMeta,
    incoming: &[ArrayRef],
    (steps, groups): (&[Step], &[GroupSteps]),
    old: &RecordBatch,
) -> Result<RecordBatch> {
    let parts = columns.folds.iter().zip(incoming).zip(old.columns()).zip(&meta.schema().columns);
    let merged = parts.enumerate().map(|(at, (((fold, incoming), old), column))| {
        let merged = fold.fold(steps_of(columns, groups, at).unwrap_or(steps), incoming, old);
        merged.map_err(|e: Error| e.context(format_args!("column '{}'", column.name)))
    });
    let merged = merged.collect::<Result<Vec<ArrayRef>>>()?;
    batch_of(&row_check::lenient(meta.arrow_schema()?), merged, steps.len())
}
