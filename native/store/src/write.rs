//! A writer: checks a batch whole, splits it by partition and bucket, keeps the order of rows in each.

use crate::TableMeta;
use crate::bucket::{Bucket, Merger, Placed, Unit, Upsert};
use crate::codec::TableCodec;
use crate::commit::{Committable, Stage};
use crate::context::Context;
use crate::failure::Failure;
use crate::given::GivenColumns;
use crate::packed::Packed;
use crate::partitioner::Partitioner;
use crate::route::{NOWHERE, Router, Want};
use crate::row_check;
use crate::table::{Partition, Table, is_partition_gone};
use crate::undo;
use crate::values::{arrow_error, batch_of};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array, new_null_array};
use arrow_select::take::take;
use sluice_api::{WriteOptions, Writer};
use sluice_base::{Error, ErrorKind, Offset, Result, SchemaId, Subject, TableBucket};
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
/// How often rows whose partition is dropped while they are written find it anew.
const PARTITION_TRIES: usize = 20;
/// Buckets of one batch that are remembered for the next one.
const SPLIT_KEPT_MAX: usize = 4096;

/// An open writer.
pub(crate) struct TableWriter {
    context: Arc<Context>,
    table: Arc<Table>,
    /// Creates partitions; `None` when rows may not.
    partitioner: Option<Arc<Partitioner>>,
    /// Finds partitions, in a table that has them.
    router: Option<Router>,
    given: GivenColumns,
    codec: Option<TableCodec>,
    merger: Option<(SchemaId, Arc<Merger>)>,
    pending: BTreeMap<TableBucket, (Arc<Bucket>, Placed)>,
    /// Whether rows of the present batch have their place.
    begun: bool,
    written: (u64, u64),
    scratch: Scratch,
}

/// A partition among those of a batch, and a bucket of it.
type Home = (u32, u32);

#[derive(Default)]
struct Scratch {
    keys: Packed,
    values: Packed,
    buckets: Vec<u32>,
    /// Rows of each bucket, in order.
    split: BTreeMap<Home, Vec<u32>>,
    encoded: Vec<u8>,
}

impl TableWriter {
    pub(crate) fn open(
        context: Arc<Context>,
        table: Arc<Table>,
        partitioner: Option<Arc<Partitioner>>,
        meta: &TableMeta,
        options: &WriteOptions,
    ) -> Result<Self> {
        let given = GivenColumns::new(meta, options)?;
        let merger = if meta.has_primary_key() { Some(Arc::new(Merger::new(meta, &given.targets)?)) } else { None };
        Ok(Self {
            context,
            table,
            partitioner: partitioner.filter(|_| options.create_partitions),
            router: meta.is_partitioned().then(|| Router::new(meta)),
            given,
            codec: None,
            merger: merger.map(|m| (meta.schema_id(), m)),
            pending: BTreeMap::new(),
            begun: false,
            written: (0, 0),
            scratch: Scratch::default(),
        })
    }

    /// Errors of earlier batches that failed to become durable, once each.
    fn settle(&mut self) -> Result<()> {
        let mut failed = None;
        self.pending.retain(|_, (bucket, placed)| match bucket.progress.settled(*placed) {
            None => true,
            Some(settled) => {
                if let Err(e) = or_gone(settled) {
                    failed.get_or_insert(e);
                }
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
            None => Err(Error::new(ErrorKind::Busy, Subject::Disk, "too many bytes wait for the disk")),
        }
    }

    fn place(&mut self, bucket: &Arc<Bucket>, placed: Placed) {
        self.begun = true;
        self.pending.insert(bucket.id, (bucket.clone(), placed));
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
                let merger = Arc::new(Merger::new(meta, &self.given.targets)?);
                self.merger = Some((meta.schema_id(), merger.clone()));
                Ok(merger)
            }
        }
    }

    /// Whoever writes a batch again has those of its rows twice that are there already. By key that is no harm, but a sum that takes a row
    /// twice is wrong.
    fn written_in_part(&self, e: Error) -> Error {
        let again_is_wrong = self.merger.as_ref().is_none_or(|(_, merger)| matches!(merger.unit, Unit::Column(_)));
        match self.begun && again_is_wrong && e.kind().is_retryable() {
            true => {
                Failure::of(&e.context("some rows of the batch are written, the rest is not")).for_lost_rows().error()
            }
            false => e,
        }
    }

    /// Finds the partition of each row, creating what is missing.
    fn route(&mut self, meta: &TableMeta, rows: &RecordBatch, kinds: &[ChangeKind]) -> Result<()> {
        let Some(router) = &mut self.router else { return Ok(()) };
        let want = |row: usize| match kinds.get(row) {
            // What is not there need not be taken back or deleted.
            Some(ChangeKind::UpdateBefore | ChangeKind::Delete) => Want::IfThere,
            _ => Want::There,
        };
        router.route(&self.table, rows.columns(), &meta.partition_key, rows.num_rows(), want)?;
        let missing = router.missing();
        let Some(first) = missing.first() else { return Ok(()) };
        let Some(partitioner) = &self.partitioner else {
            let message = format!(
                "partition {} does not exist in table {}, and 'client.writer.dynamic-create-partition.enabled' = 'false' forbids to create \
                 it; nothing of the batch is written",
                crate::catalog::shown(meta, first),
                meta.path
            );
            return Err(Error::not_found(Subject::Partition, message));
        };
        partitioner.create_missing(self.table.id, &meta.path, &missing)?;
        router.look_up(&self.table);
        Ok(())
    }

    /// The partition at a place of the batch; `None` when there is none for its rows to go to.
    fn partition(&self, place: u32) -> Result<Option<Arc<Partition>>> {
        match &self.router {
            None => self.table.whole().map(Some),
            Some(router) => Ok(router.place(place).and_then(|p| p.partition.clone())),
        }
    }

    /// Appends rows; returns those whose partition was dropped meanwhile.
    fn append(&mut self, meta: &TableMeta, rows: &RecordBatch) -> Result<Vec<u32>> {
        self.wait_for_room()?;
        if self.router.is_none() && meta.bucket_key.is_empty() {
            let whole = self.table.whole()?;
            return self.append_to(whole.bucket(whole.next_bucket())?, meta, rows).map(|()| Vec::new());
        }
        self.split(meta, rows, false)?;
        let split = std::mem::take(&mut self.scratch.split);
        let mut gone = Vec::new();
        let result = split.iter().filter(|(_, rows)| !rows.is_empty()).try_for_each(|((place, bucket), wanted)| {
            let Some(partition) = self.partition(*place)? else {
                gone.extend_from_slice(wanted);
                return Ok(());
            };
            let bucket = partition.bucket(*bucket)?;
            let appended = if wanted.len() == rows.num_rows() {
                self.append_to(bucket, meta, rows)
            } else {
                self.append_to(bucket, meta, &taken(rows, wanted)?)
            };
            match appended {
                Err(e) if is_partition_gone(&e) => {
                    gone.extend_from_slice(wanted);
                    Ok(())
                }
                other => other,
            }
        });
        self.keep_split(split);
        result.map(|()| sorted(gone))
    }

    /// Appends rows to one bucket, as several log batches when they are very many bytes.
    fn append_to(&mut self, home: &Arc<Bucket>, meta: &TableMeta, rows: &RecordBatch) -> Result<()> {
        let parts = (rows.get_array_memory_size() / LOG_BATCH_BYTES + 1).min(rows.num_rows());
        let step = rows.num_rows().div_ceil(parts.max(1)).max(1);
        for start in (0..rows.num_rows()).step_by(step) {
            let part = rows.slice(start, step.min(rows.num_rows() - start));
            let encoded = &mut self.scratch.encoded;
            encoded.clear();
            encode_batch(Some(&part), None, meta.schema_id(), (-1, -1), meta.log.compression, encoded)?;
            let placed = home.append(encoded, meta.describe(&part).as_ref())?;
            self.place(home, placed);
        }
        Ok(())
    }

    /// Sorts the rows by partition and bucket, keeping their order.
    fn split(&mut self, meta: &TableMeta, rows: &RecordBatch, keyed: bool) -> Result<()> {
        for rows in self.scratch.split.values_mut() {
            rows.clear();
        }
        if meta.bucket_key.is_empty() {
            return self.split_in_turn();
        }
        let codec = self.codec(meta)?;
        let Scratch { keys, buckets, split, .. } = &mut self.scratch;
        let keys = keyed.then_some(&*keys);
        match &self.router {
            None => codec.buckets(meta, rows, keys, self.table.whole()?.bucket_count(), buckets)?,
            Some(router) => router.buckets(&codec, meta, rows, keys, buckets)?,
        }
        self.codec = Some(codec);
        let places = self.router.as_ref().map(Router::rows);
        for (row, bucket) in (0_u32..).zip(buckets.iter()) {
            let place = places.map_or(0, |p| p.get(row as usize).copied().unwrap_or(NOWHERE));
            if place != NOWHERE {
                split.entry((place, *bucket)).or_default().push(row);
            }
        }
        Ok(())
    }

    /// Rows without a home bucket: those of one partition go to its next bucket together.
    fn split_in_turn(&mut self) -> Result<()> {
        let Some(router) = &self.router else { return Err(Error::internal("rows without partitions and buckets")) };
        let mut turns: BTreeMap<u32, u32> = BTreeMap::new();
        for (row, place) in (0_u32..).zip(router.rows()) {
            let partition = router.place(*place).and_then(|p| p.partition.as_ref());
            let bucket = *turns.entry(*place).or_insert_with(|| partition.map_or(0, |p| p.next_bucket()));
            self.scratch.split.entry((*place, bucket)).or_default().push(row);
        }
        Ok(())
    }

    fn keep_split(&mut self, split: BTreeMap<Home, Vec<u32>>) {
        if split.len() <= SPLIT_KEPT_MAX {
            self.scratch.split = split;
        }
    }

    /// Upserts rows; returns those whose partition was dropped meanwhile, or `None` when the table got a newer schema before any row was
    /// written: start again.
    fn upsert(&mut self, meta: &Arc<TableMeta>, rows: &RecordBatch, kinds: &[ChangeKind]) -> Result<Option<Vec<u32>>> {
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
        let mut scratch = std::mem::take(&mut self.scratch);
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
        let split = std::mem::take(&mut scratch.split);
        self.scratch = scratch;
        self.keep_split(split);
        result
    }

    fn upsert_split(&mut self, batch: &Upsert<'_>, split: &BTreeMap<Home, Vec<u32>>) -> Result<Option<Vec<u32>>> {
        let (mut wrote, mut gone) = (false, Vec::new());
        for ((place, bucket), wanted) in split.iter().filter(|(_, rows)| !rows.is_empty()) {
            let Some(partition) = self.partition(*place)? else {
                let insists = |row: &&u32| !matches!(batch.kind(**row), ChangeKind::Delete | ChangeKind::UpdateBefore);
                gone.extend(wanted.iter().filter(insists));
                continue;
            };
            let home = partition.bucket(*bucket)?;
            for part in parts(wanted, batch) {
                match home.upsert(batch, part) {
                    Ok(Some(placed)) => self.place(home, placed),
                    Ok(None) if !wrote => return Ok(None),
                    Ok(None) => self.upsert_rest(batch, home, part)?,
                    Err(e) if is_partition_gone(&e) => gone.extend_from_slice(part),
                    Err(e) => return Err(e),
                }
                wrote = true;
            }
        }
        Ok(Some(sorted(gone)))
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
                Some(placed) => self.place(home, placed),
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
                self.place(home, placed);
                return Ok(());
            }
        }
    }

    /// Writes a batch, and again those of its rows whose partition was dropped meanwhile.
    fn write_rows(&mut self, batch: &RecordBatch, kinds: &[ChangeKind]) -> Result<()> {
        let (mut batch, mut kinds) = (batch.clone(), kinds.to_vec());
        for _ in 0..PARTITION_TRIES {
            let gone = self.write_once(&batch, &kinds).map_err(|e| self.written_in_part(e))?;
            if gone.is_empty() {
                return Ok(());
            }
            batch = taken(&batch, &gone)?;
            if !kinds.is_empty() {
                kinds = gone.iter().filter_map(|row| kinds.get(*row as usize).copied()).collect();
            }
        }
        let path = &self.table.meta.get().path;
        let message = format!("partitions of table {path} are dropped faster than they can be written to");
        Err(Error::new(ErrorKind::Busy, Subject::Partition, message))
    }

    fn write_once(&mut self, batch: &RecordBatch, kinds: &[ChangeKind]) -> Result<Vec<u32>> {
        loop {
            let meta = self.table.meta.get();
            let columns = self.given.whole(batch, &meta)?;
            let takes_back = meta.merging.deletes == DeleteBehavior::Retract;
            row_check::not_null(&meta, &columns, &self.given.targets.columns, kinds, takes_back)?;
            if meta.has_primary_key() {
                let rows = batch_of(&row_check::lenient(meta.arrow_schema()?), columns, batch.num_rows())?;
                self.route(&meta, &rows, kinds)?;
                if let Some(gone) = self.upsert(&meta, &rows, kinds)? {
                    return Ok(gone);
                }
            } else {
                row_check::appends_only(&meta, kinds)?;
                let rows = batch_of(meta.arrow_schema()?, columns, batch.num_rows())?;
                let codec = self.codec(&meta)?;
                row_check::column_sizes(&codec, &rows, self.context.settings.row_bytes_max)?;
                self.codec = Some(codec);
                self.route(&meta, &rows, kinds)?;
                return self.append(&meta, &rows);
            }
        }
    }
}

/// Rows that went with their partition are nobody's loss.
fn or_gone(settled: Result<()>) -> Result<()> {
    settled.or_else(|e| if is_partition_gone(&e) { Ok(()) } else { Err(e) })
}

fn sorted(mut rows: Vec<u32>) -> Vec<u32> {
    rows.sort_unstable();
    rows
}

/// Some rows of a batch.
fn taken(rows: &RecordBatch, wanted: &[u32]) -> Result<RecordBatch> {
    let positions = UInt32Array::from(wanted.to_vec());
    let columns = rows.columns().iter().map(|c| take(c, &positions, None).map_err(arrow_error));
    batch_of(&rows.schema(), columns.collect::<Result<Vec<ArrayRef>>>()?, wanted.len())
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
        self.write_rows(batch, kinds)?;
        self.written.0 += batch.num_rows() as u64;
        self.written.1 += batch.get_array_memory_size() as u64;
        Ok(())
    }

    fn flush(&mut self, timeout: Duration) -> Result<()> {
        let deadline = Instant::now() + timeout;
        let mut result = Ok(());
        while let Some((id, (bucket, placed))) = self.pending.pop_first() {
            if let Err(e) = or_gone(bucket.progress.wait(placed, deadline)) {
                if e.kind().is_retryable() && bucket.progress.settled(placed).is_none() {
                    self.pending.insert(id, (bucket, placed));
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
        let home = self.table.find(bucket)?;
        let overwrote = std::mem::replace(&mut self.given.targets.overwrites, true);
        self.merger = None;
        let result = undo::changes_back(&home, &meta, from, |rows, kinds| self.put_back(&meta, &home, rows, kinds));
        self.given.targets.overwrites = overwrote;
        self.merger = None;
        result
    }

    fn written(&self) -> (u64, u64) {
        self.written
    }
}
