//! A writer: checks a batch whole, splits it by bucket, keeps the order of rows in each.

use crate::TableMeta;
use crate::bucket::{Bucket, Merger, Placed, Targets, Unit, Upsert};
use crate::codec::TableCodec;
use crate::commit::{Committable, Stage};
use crate::context::Context;
use crate::failure::Failure;
use crate::packed::Packed;
use crate::row_check;
use crate::table::Table;
use crate::undo;
use crate::values::{arrow_error, batch_of};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array, new_null_array};
use arrow_schema::FieldRef;
use arrow_select::take::take;
use sluice_api::{WriteOptions, Writer};
use sluice_base::{Error, Offset, Result, SchemaId, Subject, TableBucket};
use sluice_kv::DeleteBehavior;
use sluice_log::encode_batch;
use sluice_row::ChangeKind;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A writer waits this long for the disk to catch up before it says `Busy`. Its caller may be a task that is cancelled, and nothing ends
/// this wait, so that whoever has more patience asks again.
const ROOM_WAIT: Duration = Duration::from_secs(1);
/// Rows of a batch that are written as one log batch, in bytes; a larger batch becomes several.
const LOG_BATCH_BYTES: usize = 64 << 20;

/// An open writer.
pub(crate) struct TableWriter {
    context: Arc<Context>,
    table: Arc<Table>,
    /// The columns that its batches have.
    targets: Targets,
    /// For each column that the table had when the writer was opened, its position in the batches; `None` when they are the same.
    order: Option<Vec<Option<usize>>>,
    codec: Option<TableCodec>,
    merger: Option<(SchemaId, Arc<Merger>)>,
    pending: BTreeMap<u32, Placed>,
    /// Whether rows of the present batch have their place.
    begun: bool,
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
        let order = order(meta, &options.target_columns)?;
        let targets = Targets {
            columns: order.iter().enumerate().filter_map(|(i, at)| at.map(|_| i)).collect(),
            partial: order.iter().any(Option::is_none),
            overwrites: options.overwrite,
        };
        let merger = if meta.has_primary_key() { Some(Arc::new(Merger::new(meta, &targets)?)) } else { None };
        let as_it_is = order.iter().enumerate().all(|(i, at)| *at == Some(i));
        Ok(Self {
            context,
            table,
            targets,
            order: (!as_it_is).then_some(order),
            codec: None,
            merger: merger.map(|m| (meta.schema_id(), m)),
            pending: BTreeMap::new(),
            begun: false,
            written: (0, 0),
            scratch: Scratch::default(),
        })
    }

    /// The rows with all columns of the newest schema in its order; those that the writer does not write, and columns added since it was
    /// opened, are NULL.
    fn columns(&self, batch: &RecordBatch, meta: &TableMeta) -> Result<Vec<ArrayRef>> {
        let arrow = meta.arrow_schema()?;
        let width = self.targets.columns.len();
        if batch.num_columns() != width {
            let what = format!("the batch has {} columns, the writer takes {width}", batch.num_columns());
            return Err(Error::invalid(Subject::Column, what));
        }
        let mut columns = match &self.order {
            Some(order) => {
                let column = |(at, field): (&Option<usize>, &FieldRef)| match at {
                    Some(at) => batch.column(*at).clone(),
                    None => new_null_array(field.data_type(), batch.num_rows()),
                };
                order.iter().zip(arrow.fields()).map(column).collect()
            }
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

    /// Asked once a batch, before any of its rows has its place: a batch is refused whole.
    fn wait_for_room(&self) -> Result<()> {
        let flow = &self.context.flow;
        if flow.wait_for_room(ROOM_WAIT) {
            return Ok(());
        }
        let buckets = self.table.buckets();
        let stuck = buckets.iter().find(|b| b.progress.stuck().is_some());
        let late = || buckets.iter().find(|b| b.stage() != Stage::Idle);
        match stuck.or_else(late).or(buckets.first()) {
            Some(bucket) => Err(bucket.busy(flow.used(), flow.bytes_max())),
            None => Err(Error::internal("a table without buckets")),
        }
    }

    fn place(&mut self, bucket: u32, placed: Placed) {
        self.begun = true;
        self.pending.insert(bucket, placed);
    }

    fn codec(&mut self, meta: &TableMeta) -> Result<TableCodec> {
        match self.codec.take() {
            Some(codec) if codec.schema() == meta.schema_id() => Ok(codec),
            _ => TableCodec::new(meta, meta.schema_id()),
        }
    }

    fn merger(&mut self, meta: &TableMeta) -> Result<Arc<Merger>> {
        match &self.merger {
            Some((schema, merger)) if *schema == meta.schema_id() => Ok(merger.clone()),
            _ => {
                let merger = Arc::new(Merger::new(meta, &self.targets)?);
                self.merger = Some((meta.schema_id(), merger.clone()));
                Ok(merger)
            }
        }
    }

    fn append(&mut self, meta: &TableMeta, rows: &RecordBatch) -> Result<()> {
        self.wait_for_room()?;
        self.append_whole(meta, rows).map_err(|e| self.written_in_part(e))
    }

    /// Whoever writes a batch again has those of its rows twice that are there already.
    fn written_in_part(&self, e: Error) -> Error {
        match self.begun && e.kind().is_retryable() {
            true => {
                Failure::of(&e.context("some rows of the batch are written, the rest is not")).for_lost_rows().error()
            }
            false => e,
        }
    }

    fn append_whole(&mut self, meta: &TableMeta, rows: &RecordBatch) -> Result<()> {
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
        let merger = self.merger(meta)?;
        let kinds = taken_back(&merger, kinds);
        merger.check_kinds(meta, &kinds)?;
        let codec = self.codec(meta)?;
        let Scratch { keys, values, .. } = &mut self.scratch;
        encode(&codec, &merger, rows, &kinds, keys, values)?;
        let bytes_max = self.context.settings.row_bytes_max;
        match merger.unit {
            Unit::Row(_) => row_check::encoded_sizes(keys, values, bytes_max)?,
            Unit::Column(_) => row_check::column_sizes(&codec, rows, bytes_max)?,
        }
        self.codec = Some(codec);
        self.split(meta, rows, true)?;
        self.wait_for_room()?;
        let scratch = std::mem::take(&mut self.scratch);
        let batch = Upsert {
            meta,
            merger: &merger,
            rows,
            keys: &scratch.keys,
            values: &scratch.values,
            kinds: &kinds,
            writer: (-1, -1),
        };
        let result = self.upsert_split(&batch, &scratch.split);
        self.scratch = scratch;
        match merger.unit {
            Unit::Row(_) => result,
            // A sum that takes a row twice is wrong.
            Unit::Column(_) => result.map_err(|e| self.written_in_part(e)),
        }
    }

    fn upsert_split(&mut self, batch: &Upsert<'_>, split: &BTreeMap<u32, Vec<u32>>) -> Result<bool> {
        let mut wrote = false;
        for (bucket, wanted) in split.iter().filter(|(_, rows)| !rows.is_empty()) {
            let home = self.table.bucket(*bucket)?.clone();
            for part in parts(wanted, batch) {
                match home.upsert(batch, part)? {
                    Some(placed) => self.place(*bucket, placed),
                    None if !wrote => return Ok(false),
                    None => self.upsert_rest(batch, &home, part)?,
                }
                wrote = true;
            }
        }
        Ok(true)
    }

    /// Writes rows of one bucket as they were.
    fn put_back(
        &mut self,
        meta: &Arc<TableMeta>,
        home: &Arc<Bucket>,
        rows: &RecordBatch,
        kinds: &[ChangeKind],
    ) -> Result<()> {
        let merger = self.merger(meta)?;
        let (mut keys, mut values) = (Packed::default(), Packed::default());
        encode(&TableCodec::new(meta, meta.schema_id())?, &merger, rows, kinds, &mut keys, &mut values)?;
        let batch = Upsert { meta, merger: &merger, rows, keys: &keys, values: &values, kinds, writer: (-1, -1) };
        let all: Vec<u32> = (0_u32..).take(rows.num_rows()).collect();
        for part in parts(&all, &batch) {
            self.wait_for_room()?;
            match home.upsert(&batch, part)? {
                Some(placed) => self.place(u32::try_from(home.id.bucket).unwrap_or(0), placed),
                None => self.upsert_rest(&batch, home, part)?,
            }
        }
        Ok(())
    }

    /// Writes rows of one bucket after the schema changed in the middle of a batch.
    fn upsert_rest(&mut self, batch: &Upsert<'_>, home: &Arc<Bucket>, part: &[u32]) -> Result<()> {
        let (rows, kinds) = (batch.rows, batch.kinds);
        let (mut keys, mut values) = (Packed::default(), Packed::default());
        loop {
            let meta = self.table.meta.get();
            let mut columns = rows.columns().to_vec();
            let arrow = meta.arrow_schema()?;
            let added = arrow.fields().iter().skip(columns.len());
            columns.extend(added.map(|f| new_null_array(f.data_type(), rows.num_rows())).collect::<Vec<_>>());
            let rows = batch_of(&row_check::lenient(arrow), columns, rows.num_rows())?;
            let merger = self.merger(&meta)?;
            encode(&TableCodec::new(&meta, meta.schema_id())?, &merger, &rows, kinds, &mut keys, &mut values)?;
            let batch = Upsert {
                meta: &meta,
                merger: &merger,
                rows: &rows,
                keys: &keys,
                values: &values,
                kinds,
                writer: (-1, -1),
            };
            if let Some(placed) = home.upsert(&batch, part)? {
                self.place(u32::try_from(home.id.bucket).unwrap_or(0), placed);
                return Ok(());
            }
        }
    }
}

/// Where what a row brought in is taken back, the row before an update is taken back too.
fn taken_back<'a>(merger: &Merger, kinds: &'a [ChangeKind]) -> Cow<'a, [ChangeKind]> {
    if merger.deletes != DeleteBehavior::Retract || !kinds.contains(&ChangeKind::UpdateBefore) {
        return Cow::Borrowed(kinds);
    }
    let kind = |k: &ChangeKind| if *k == ChangeKind::UpdateBefore { ChangeKind::Delete } else { *k };
    Cow::Owned(kinds.iter().map(kind).collect())
}

/// Encodes keys, and values where rows are merged as a whole.
fn encode(
    codec: &TableCodec,
    merger: &Merger,
    rows: &RecordBatch,
    kinds: &[ChangeKind],
    keys: &mut Packed,
    values: &mut Packed,
) -> Result<()> {
    match merger.unit {
        Unit::Row(_) => codec.encode(rows.columns(), kinds, rows.num_rows(), keys, values),
        Unit::Column(_) => {
            values.clear();
            codec.encode_keys(rows.columns(), kinds, rows.num_rows(), keys)
        }
    }
}

/// Cuts a bucket's rows so that one log batch stays of moderate size.
fn parts<'a>(rows: &'a [u32], batch: &'a Upsert<'_>) -> impl Iterator<Item = &'a [u32]> {
    let mut rest = rows;
    let unencoded = match batch.merger.unit {
        Unit::Row(_) => 0,
        Unit::Column(_) => batch.rows.get_array_memory_size() / batch.rows.num_rows().max(1),
    };
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut bytes = 0;
        let fits = rest.iter().take_while(|row| {
            bytes += unencoded + batch.values.get(**row as usize).len();
            bytes <= LOG_BATCH_BYTES
        });
        let (part, tail) = rest.split_at(fits.count().max(1));
        rest = tail;
        Some(part)
    })
}

/// Where each table column stands in the caller's batches, if there.
fn order(meta: &TableMeta, target_columns: &[String]) -> Result<Vec<Option<usize>>> {
    let columns = &meta.schema().columns;
    if target_columns.is_empty() {
        return Ok((0..columns.len()).map(Some).collect());
    }
    for (i, name) in target_columns.iter().enumerate() {
        if meta.schema().index_of(name).is_none() {
            return Err(Error::invalid(Subject::Column, format!("table {} has no column '{name}'", meta.path)));
        }
        if target_columns.iter().take(i).any(|n| n == name) {
            return Err(Error::invalid(Subject::Column, format!("column '{name}' is named twice")));
        }
    }
    if target_columns.len() < columns.len() && !meta.has_primary_key() {
        let what = format!("table {} has no primary key: write all of its columns", meta.path);
        return Err(Error::invalid(Subject::Column, what));
    }
    Ok(columns.iter().map(|c| target_columns.iter().position(|n| *n == c.name)).collect())
}

impl Writer for TableWriter {
    fn write(&mut self, batch: &RecordBatch, kinds: &[ChangeKind]) -> Result<()> {
        self.settle()?;
        self.begun = false;
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
            row_check::not_null(&meta, &columns, &self.targets.columns, kinds)?;
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

    fn undo(&mut self, bucket: &TableBucket, from: Offset) -> Result<()> {
        self.settle()?;
        let meta = self.table.meta.get();
        if !meta.has_primary_key() || !meta.merging.full_image {
            let what = format!("the log of table {} does not say what rows were before", meta.path);
            return Err(Error::unsupported(Subject::Table, what));
        }
        let home = self.table.find(bucket)?.clone();
        let overwrote = std::mem::replace(&mut self.targets.overwrites, true);
        self.merger = None;
        let result = undo::changes_back(&home, &meta, from, |rows, kinds| self.put_back(&meta, &home, rows, kinds));
        self.targets.overwrites = overwrote;
        self.merger = None;
        result
    }

    fn written(&self) -> (u64, u64) {
        self.written
    }
}
