//! A writer: checks a batch whole, splits it by bucket, keeps the order of rows in each.

use crate::TableMeta;
use crate::bucket::{Placed, Upsert};
use crate::codec::{TableCodec, pick};
use crate::context::Context;
use crate::packed::Packed;
use crate::row_check;
use crate::table::Table;
use crate::values::{arrow_error, batch_of};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array, new_null_array};
use arrow_select::take::take;
use sluice_api::{WriteOptions, Writer};
use sluice_base::{Error, Result, Subject};
use sluice_log::encode_batch;
use sluice_row::ChangeKind;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A writer waits this long for the disk to catch up before it says `Busy`.
const ROOM_WAIT: Duration = Duration::from_secs(30);
/// Rows of a batch that are written as one log batch, in bytes; a larger batch becomes several.
const LOG_BATCH_BYTES: usize = 64 << 20;

/// An open writer.
pub(crate) struct TableWriter {
    context: Arc<Context>,
    table: Arc<Table>,
    /// Width of the table when the writer was opened: what its batches have.
    width: usize,
    /// For each table column its position in the batches, when the caller gave another order.
    order: Option<Vec<usize>>,
    codec: Option<TableCodec>,
    pending: BTreeMap<u32, Placed>,
    written: (u64, u64),
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    keys: Packed,
    values: Packed,
    buckets: Vec<u32>,
    /// Rows of each bucket, in order.
    split: BTreeMap<u32, Vec<u32>>,
    encoded: Vec<u8>,
}

impl TableWriter {
    pub(crate) fn open(
        context: Arc<Context>,
        table: Arc<Table>,
        meta: &TableMeta,
        options: &WriteOptions,
    ) -> Result<Self> {
        Ok(Self {
            context,
            table,
            width: meta.schema().columns.len(),
            order: order(meta, &options.target_columns)?,
            codec: None,
            pending: BTreeMap::new(),
            written: (0, 0),
            scratch: Scratch::default(),
        })
    }

    /// The rows with all columns of the newest schema in its order; columns added since the writer was opened are NULL.
    fn columns(&self, batch: &RecordBatch, meta: &TableMeta) -> Result<Vec<ArrayRef>> {
        let arrow = meta.arrow_schema()?;
        if batch.num_columns() != self.width {
            let what = format!("the batch has {} columns, the writer takes {}", batch.num_columns(), self.width);
            return Err(Error::invalid(Subject::Column, what));
        }
        let mut columns = match &self.order {
            Some(order) => pick(batch.columns(), order)?,
            None => batch.columns().to_vec(),
        };
        for (column, field) in columns.iter().zip(arrow.fields()) {
            if column.data_type() != field.data_type() {
                let what = format!("column '{}' holds {}, not {}", field.name(), column.data_type(), field.data_type());
                return Err(Error::invalid(Subject::Column, what));
            }
        }
        let added = arrow.fields().iter().skip(columns.len());
        columns.extend(added.map(|f| new_null_array(f.data_type(), batch.num_rows())).collect::<Vec<_>>());
        Ok(columns)
    }

    /// Errors of earlier batches that failed to become durable, once each.
    fn settle(&mut self) -> Result<()> {
        let mut failed = None;
        let table = &self.table;
        self.pending.retain(|bucket, placed| match table.bucket(*bucket).map(|b| b.progress.settled(*placed)) {
            Ok(None) => true,
            Ok(Some(Ok(()))) => false,
            Ok(Some(Err(e))) | Err(e) => {
                failed.get_or_insert(e);
                false
            }
        });
        failed.map_or(Ok(()), Err)
    }

    fn wait_for_room(&self) -> Result<()> {
        let flow = &self.context.flow;
        if flow.wait_for_room(ROOM_WAIT) {
            return Ok(());
        }
        let stuck = self.table.buckets().iter().find(|b| b.progress.stuck().is_some());
        match stuck.or(self.table.buckets().first()) {
            Some(bucket) => Err(bucket.busy(flow.used(), flow.bytes_max())),
            None => Err(Error::internal("a table without buckets")),
        }
    }

    fn place(&mut self, bucket: u32, placed: Placed) {
        self.pending.insert(bucket, placed);
    }

    fn codec(&mut self, meta: &TableMeta) -> Result<TableCodec> {
        match self.codec.take() {
            Some(codec) if codec.schema() == meta.schema_id() => Ok(codec),
            _ => TableCodec::new(meta, meta.schema_id()),
        }
    }

    fn append(&mut self, meta: &TableMeta, rows: &RecordBatch) -> Result<()> {
        if meta.bucket_key.is_empty() {
            let bucket = self.table.next_bucket();
            return self.append_to(bucket, meta, rows);
        }
        self.split(meta, rows, false)?;
        let split = std::mem::take(&mut self.scratch.split);
        let result = split.iter().filter(|(_, rows)| !rows.is_empty()).try_for_each(|(bucket, wanted)| {
            if wanted.len() == rows.num_rows() {
                return self.append_to(*bucket, meta, rows);
            }
            let positions = UInt32Array::from(wanted.clone());
            let columns = rows.columns().iter().map(|c| take(c, &positions, None).map_err(arrow_error));
            let part = batch_of(&rows.schema(), columns.collect::<Result<Vec<ArrayRef>>>()?, wanted.len())?;
            self.append_to(*bucket, meta, &part)
        });
        self.scratch.split = split;
        result
    }

    /// Appends rows to one bucket, as several log batches when they are very many bytes.
    fn append_to(&mut self, bucket: u32, meta: &TableMeta, rows: &RecordBatch) -> Result<()> {
        let home = self.table.bucket(bucket)?.clone();
        let parts = (rows.get_array_memory_size() / LOG_BATCH_BYTES + 1).min(rows.num_rows());
        let step = rows.num_rows().div_ceil(parts.max(1)).max(1);
        for start in (0..rows.num_rows()).step_by(step) {
            let part = rows.slice(start, step.min(rows.num_rows() - start));
            self.wait_for_room()?;
            let encoded = &mut self.scratch.encoded;
            encoded.clear();
            encode_batch(Some(&part), None, meta.schema_id(), (-1, -1), meta.log.compression, encoded)?;
            let placed = home.append(encoded)?;
            self.place(bucket, placed);
        }
        Ok(())
    }

    /// Sorts the rows by bucket, keeping their order.
    fn split(&mut self, meta: &TableMeta, rows: &RecordBatch, keyed: bool) -> Result<()> {
        let codec = self.codec(meta)?;
        let Scratch { keys, buckets, split, .. } = &mut self.scratch;
        codec.buckets(meta, rows, keyed.then_some(keys), buckets)?;
        self.codec = Some(codec);
        for rows in split.values_mut() {
            rows.clear();
        }
        for (row, bucket) in (0_u32..).zip(buckets.iter()) {
            split.entry(*bucket).or_default().push(row);
        }
        Ok(())
    }

    /// False when the table got a newer schema before any row was written: start again.
    fn upsert(&mut self, meta: &Arc<TableMeta>, rows: &RecordBatch, kinds: &[ChangeKind]) -> Result<bool> {
        let codec = self.codec(meta)?;
        let Scratch { keys, values, .. } = &mut self.scratch;
        codec.encode(rows.columns(), kinds, rows.num_rows(), keys, values)?;
        self.codec = Some(codec);
        row_check::encoded_sizes(keys, values, self.context.settings.row_bytes_max)?;
        self.split(meta, rows, true)?;
        let scratch = std::mem::take(&mut self.scratch);
        let result = self.upsert_split(meta, rows, kinds, &scratch);
        self.scratch = scratch;
        result
    }

    fn upsert_split(
        &mut self,
        meta: &Arc<TableMeta>,
        rows: &RecordBatch,
        kinds: &[ChangeKind],
        scratch: &Scratch,
    ) -> Result<bool> {
        let batch = Upsert { meta, rows, keys: &scratch.keys, values: &scratch.values, kinds };
        let mut wrote = false;
        for (bucket, wanted) in scratch.split.iter().filter(|(_, rows)| !rows.is_empty()) {
            let home = self.table.bucket(*bucket)?.clone();
            for part in parts(wanted, &scratch.values) {
                self.wait_for_room()?;
                match home.upsert(&batch, part)? {
                    Some(placed) => self.place(*bucket, placed),
                    None if !wrote => return Ok(false),
                    None => self.upsert_rest(rows, kinds, &home, part)?,
                }
                wrote = true;
            }
        }
        Ok(true)
    }

    /// Writes rows of one bucket after the schema changed in the middle of a batch.
    fn upsert_rest(
        &mut self,
        rows: &RecordBatch,
        kinds: &[ChangeKind],
        home: &Arc<crate::bucket::Bucket>,
        part: &[u32],
    ) -> Result<()> {
        let (mut keys, mut values) = (Packed::default(), Packed::default());
        loop {
            let meta = self.table.meta.get();
            let mut columns = rows.columns().to_vec();
            let arrow = meta.arrow_schema()?;
            let added = arrow.fields().iter().skip(columns.len());
            columns.extend(added.map(|f| new_null_array(f.data_type(), rows.num_rows())).collect::<Vec<_>>());
            TableCodec::new(&meta, meta.schema_id())?.encode(
                &columns,
                kinds,
                rows.num_rows(),
                &mut keys,
                &mut values,
            )?;
            let rows = batch_of(&row_check::lenient(arrow), columns, rows.num_rows())?;
            let batch = Upsert { meta: &meta, rows: &rows, keys: &keys, values: &values, kinds };
            if let Some(placed) = home.upsert(&batch, part)? {
                self.place(u32::try_from(home.id.bucket).unwrap_or(0), placed);
                return Ok(());
            }
        }
    }
}

/// Cuts a bucket's rows so that one log batch stays of moderate size.
fn parts<'a>(rows: &'a [u32], values: &'a Packed) -> impl Iterator<Item = &'a [u32]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut bytes = 0;
        let fits = rest.iter().take_while(|row| {
            bytes += values.get(**row as usize).len();
            bytes <= LOG_BATCH_BYTES
        });
        let (part, tail) = rest.split_at(fits.count().max(1));
        rest = tail;
        Some(part)
    })
}

/// Where each table column stands in the caller's batches.
fn order(meta: &TableMeta, target_columns: &[String]) -> Result<Option<Vec<usize>>> {
    if target_columns.is_empty() {
        return Ok(None);
    }
    let columns = &meta.schema().columns;
    for (i, name) in target_columns.iter().enumerate() {
        if meta.schema().index_of(name).is_none() {
            return Err(Error::invalid(Subject::Column, format!("table {} has no column '{name}'", meta.path)));
        }
        if target_columns.iter().take(i).any(|n| n == name) {
            return Err(Error::invalid(Subject::Column, format!("column '{name}' is named twice")));
        }
    }
    if target_columns.len() < columns.len() {
        return Err(if meta.has_primary_key() {
            Error::unsupported(Subject::Column, "partial update is not supported yet; write all columns")
        } else {
            Error::invalid(Subject::Column, format!("table {} has no primary key: write all of its columns", meta.path))
        });
    }
    let order: Vec<usize> = columns.iter().filter_map(|c| target_columns.iter().position(|n| *n == c.name)).collect();
    Ok((!order.is_sorted()).then_some(order))
}

impl Writer for TableWriter {
    fn write(&mut self, batch: &RecordBatch, kinds: &[ChangeKind]) -> Result<()> {
        self.settle()?;
        if !kinds.is_empty() && kinds.len() != batch.num_rows() {
            let what = format!("{} change kinds for {} rows", kinds.len(), batch.num_rows());
            return Err(Error::invalid(Subject::Row, what));
        }
        self.table.alive()?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        loop {
            let meta = self.table.meta.get();
            let columns = self.columns(batch, &meta)?;
            row_check::not_null(&meta, &columns, kinds)?;
            if meta.has_primary_key() {
                let rows = batch_of(&row_check::lenient(meta.arrow_schema()?), columns, batch.num_rows())?;
                if !self.upsert(&meta, &rows, kinds)? {
                    continue;
                }
            } else {
                row_check::appends_only(&meta, kinds)?;
                let rows = batch_of(meta.arrow_schema()?, columns, batch.num_rows())?;
                let codec = self.codec(&meta)?;
                row_check::column_sizes(&codec, &rows, self.context.settings.row_bytes_max)?;
                self.codec = Some(codec);
                self.append(&meta, &rows)?;
            }
            self.written.0 += batch.num_rows() as u64;
            self.written.1 += batch.get_array_memory_size() as u64;
            return Ok(());
        }
    }

    fn flush(&mut self, timeout: Duration) -> Result<()> {
        let deadline = Instant::now() + timeout;
        let mut result = Ok(());
        while let Some((bucket, placed)) = self.pending.pop_first() {
            let waited = self.table.bucket(bucket).and_then(|b| b.progress.wait(placed, deadline));
            if let Err(e) = waited {
                if e.kind().is_retryable()
                    && self.table.bucket(bucket).is_ok_and(|b| b.progress.settled(placed).is_none())
                {
                    self.pending.insert(bucket, placed);
                    return Err(e);
                }
                result = Err(e);
            }
        }
        result
    }

    fn written(&self) -> (u64, u64) {
        self.written
    }
}
