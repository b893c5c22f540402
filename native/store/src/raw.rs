//! One bucket as the protocol sees it: bytes in, bytes out. For a server; all paths are those of the Arrow side.
//!
//! Nothing here is believed: batches are checked before they are stored, for what is stored must be readable for ever.

mod inserting;
mod snapshots;

use crate::TableMeta;
use crate::bucket::{Bucket, Merger, Placed, Targets, Then, Unit, Upsert};
use crate::codec::pick;
use crate::context::Context;
use crate::packed::Packed;
use crate::row_check;
use crate::signal::Bell;
use crate::table::Table;
use crate::values::{batch_of, start_value, types};
use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use sluice_base::{Error, Offset, Result, SchemaId, Subject};
use sluice_kv::DeleteBehavior;
use sluice_log::{BatchDecoder, BatchHeader, BatchProjector, verify_crc};
use sluice_row::{BoundPartition, ChangeKind, KeyEncoder, KeyFormat, RowDecoder};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

/// Bytes read from the log at once when columns are left out.
const PROJECTED_READ_BYTES: usize = 1 << 20;

/// A bucket of an open store.
#[derive(Debug, Clone)]
pub struct RawBucket {
    context: Arc<Context>,
    table: Arc<Table>,
    bucket: Arc<Bucket>,
}

/// Rows by key as a client sent them.
#[derive(Debug)]
pub struct SentRows<'a> {
    /// Schema of the rows.
    pub schema_id: SchemaId,
    /// Writer id and batch sequence; (-1, -1) for none.
    pub writer: (i64, i32),
    /// Positions of the columns that are written; empty = all.
    pub targets: Vec<usize>,
    /// Whether rows replace what is there whatever the table's merge engine says.
    pub overwrite: bool,
    /// Whether a table with `table.delete.behavior = retract` takes the rows back; any other deletes them.
    pub takes_back: bool,
    /// Encoded keys, each with its row or, for a delete, `None`.
    pub rows: Vec<(&'a [u8], Option<&'a [u8]>)>,
}

/// Rows taken apart.
struct Taken {
    rows: RecordBatch,
    keys: Packed,
    values: Packed,
    kinds: Vec<ChangeKind>,
    /// Which of them are not a key alone.
    has_row: Vec<bool>,
}

impl RawBucket {
    pub(crate) fn new(context: Arc<Context>, table: Arc<Table>, bucket: Arc<Bucket>) -> Self {
        Self { context, table, bucket }
    }

    /// The table's description.
    #[must_use]
    pub fn table(&self) -> Arc<TableMeta> {
        self.table.meta.get()
    }

    fn wait_for_room(&self, wait: Duration) -> Result<()> {
        let flow = &self.context.flow;
        match flow.wait_for_room(wait) {
            true => Ok(()),
            false => Err(self.bucket.busy(flow.used(), flow.bytes_max())),
        }
    }

    fn settle(&self, placed: Placed, then: impl FnOnce(Result<()>) + Send + 'static) {
        self.bucket.progress.tell(placed, Then(Box::new(then)));
    }

    /// Appends one or more encoded batches of a log table in order; those that their writer has sent before are not appended again. Returns the
    /// first one's offset, `None` without batches. `then` is called, once and without being let to block, when all are durable and
    /// visible, or lost; not at all after an error. Blocks up to `wait` while too many bytes are on their way to the disk.
    ///
    /// # Errors
    /// `Corrupt` about `Row` for damaged bytes; `Invalid` about `Row` or `Table`; `NotFound` about `Column` for an unknown schema; `Conflict` about
    /// `Writer` when a batch is out of order; `Busy`, `Io`: batches before the one at fault may be written.
    pub fn append(
        &self,
        batches: &mut [u8],
        wait: Duration,
        then: impl FnOnce(Result<()>) + Send + 'static,
    ) -> Result<Option<Offset>> {
        self.table.alive()?;
        let meta = self.table();
        if meta.has_primary_key() {
            let message = format!("table {} has a primary key: its rows are put by key, not appended", meta.path);
            return Err(Error::invalid(Subject::Table, message));
        }
        let headers = check_batches(&meta, batches)?;
        self.wait_for_room(wait)?;
        let (mut rest, mut first, mut last) = (batches, None, None);
        for header in headers {
            let (batch, behind) = rest.split_at_mut(header.total_bytes());
            rest = behind;
            let writer = (header.writer_id, header.batch_sequence);
            let (base_offset, placed) = self.bucket.append_sent(batch, writer)?;
            first.get_or_insert(base_offset);
            last = Some(last.map_or(placed, |l: Placed| if l.end > placed.end { l } else { placed }));
        }
        match last {
            Some(placed) => self.settle(placed, then),
            None => then(Ok(())),
        }
        Ok(first)
    }

    /// Puts and deletes rows of a primary-key table. Returns the offset behind their changes. `then` and `wait` are as for [`RawBucket::append`].
    ///
    /// # Errors
    /// `Corrupt` about `Row` for bytes that are no rows; `Invalid` about `Row` (NULL where none may be, row too large, a key that is not the row's)
    /// or `Table`, or about `Column` when those columns cannot be written alone; `Unsupported` about `Row` for a delete that the table refuses;
    /// `NotFound` about `Column` for an unknown schema; `Conflict` about `Writer`; `Busy`, `Io`. Nothing is written then.
    pub fn upsert(
        &self,
        sent: &SentRows<'_>,
        wait: Duration,
        then: impl FnOnce(Result<()>) + Send + 'static,
    ) -> Result<Offset> {
        self.table.alive()?;
        self.wait_for_room(wait)?;
        let order: Vec<u32> = (0_u32..).take(sent.rows.len()).collect();
        loop {
            let meta = self.table();
            if !meta.has_primary_key() {
                return Err(no_primary_key(&meta));
            }
            let targets = targets(&meta, sent);
            let merger = merger(&meta, &targets, sent.takes_back)?;
            let mut taken = take_rows(&meta, sent)?;
            let id = self.bucket.id.partition;
            let partition = meta.partitions.iter().find(|(_, info)| Some(info.id()) == id);
            check_partition(&meta, partition.map(|(name, _)| name.as_str()), &taken)?;
            let refused = |e: Error| Error::unsupported(Subject::Row, e.message());
            merger.check_kinds(&meta, &taken.kinds).map_err(refused)?;
            let kinds = without_deletes(&taken.kinds);
            row_check::not_null(&meta, taken.rows.columns(), &targets.columns, &kinds, sent.takes_back)?;
            row_check::encoded_sizes(&taken.keys, &taken.values, self.context.settings.row_bytes_max)?;
            if matches!(merger.unit, Unit::Column(_)) {
                taken.values.clear();
            }
            let batch = Upsert {
                meta: &meta,
                merger: &merger,
                rows: &taken.rows,
                keys: &taken.keys,
                values: &taken.values,
                kinds: &taken.kinds,
                writer: sent.writer,
            };
            if let Some(placed) = self.bucket.upsert(&batch, &order)? {
                self.settle(placed, then);
                return Ok(placed.end);
            }
        }
    }

    /// The first offset that can be read and the end of what can be.
    ///
    /// # Errors
    /// `NotFound` about `Table` once it is dropped; what opening the log says.
    pub fn readable(&self) -> Result<(Offset, Offset)> {
        self.bucket.readable()
    }

    /// Rings whenever readers may see more, as long as the bell lives.
    pub fn watch<B: Bell + 'static>(&self, bell: &Arc<B>) {
        self.bucket.bells.add(bell);
    }

    /// Appends whole batches to `out`, from the one that holds `from` on: about `bytes_max` bytes, but at least one batch if there is one.
    /// `wanted` are positions of columns, ascending.
    ///
    /// # Errors
    /// `Invalid` about `Offset` outside the log; `Corrupt`, `Io`.
    pub fn read(&self, from: Offset, bytes_max: usize, wanted: Option<&[usize]>, out: &mut Vec<u8>) -> Result<()> {
        let (start, high) = self.readable()?;
        if from < start || from > high {
            return Err(self.bucket.out_of_range(from, start, high));
        }
        let Some(wanted) = wanted else {
            for batch in self.bucket.log()?.read(from, high, bytes_max)? {
                out.extend_from_slice(&batch.bytes);
            }
            return Ok(());
        };
        let (meta, begun) = (self.table(), out.len());
        let mut projectors: BTreeMap<SchemaId, BatchProjector> = BTreeMap::new();
        let mut next = from;
        while next < high && out.len() - begun < bytes_max {
            let batches = self.bucket.log()?.read(next, high, PROJECTED_READ_BYTES.min(bytes_max))?;
            let Some(last) = batches.last() else { break };
            next = last.header.next_offset();
            for batch in &batches {
                let id = batch.header.schema_id;
                let projector = match projectors.entry(id) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(slot) => {
                        let stored = meta.arrow.get(&id).ok_or_else(|| unknown_schema(&meta, id))?;
                        slot.insert(BatchProjector::new(stored, wanted))
                    }
                };
                projector.project(&batch.bytes, out)?;
            }
        }
        Ok(())
    }

    /// Appends the whole batches that hold the last `rows` rows of the log to `out`.
    ///
    /// # Errors
    /// `Invalid` about `Row` when they are more than `bytes_max`; `Corrupt`, `Io`.
    pub fn last_batches(&self, rows: u64, bytes_max: usize, out: &mut Vec<u8>) -> Result<()> {
        let (start, high) = self.readable()?;
        let begun = out.len();
        let mut next = high.saturating_sub(i64::try_from(rows).unwrap_or(i64::MAX)).max(start);
        while next < high {
            let batches = self.bucket.log()?.read(next, high, PROJECTED_READ_BYTES)?;
            let Some(last) = batches.last() else { break };
            next = last.header.next_offset();
            for batch in &batches {
                out.extend_from_slice(&batch.bytes);
            }
            if out.len() - begun > bytes_max {
                let message = format!("the rows are more than {bytes_max} bytes; ask for fewer, or scan");
                return Err(Error::invalid(Subject::Row, message));
            }
        }
        Ok(())
    }

    /// Looks keys up; `each` gets the position of a key and its stored value (schema id and row), in no fixed order.
    ///
    /// # Errors
    /// `Invalid` about `Table` without a primary key; `Corrupt`, `Io`.
    pub fn lookup(&self, keys: &[&[u8]], mut each: impl FnMut(usize, &[u8])) -> Result<()> {
        self.keyed()?;
        self.bucket.kv()?.multi_get(keys, |i, value| {
            // The empty key is not a row's.
            if let (Some(value), false) = (value, keys.get(i).is_none_or(|k| k.is_empty())) {
                each(i, value);
            }
        })
    }

    /// The stored values of all rows whose key begins with one of `prefixes`: `each` gets the prefix's position, in their order, and the
    /// values of each in key order.
    ///
    /// # Errors
    /// `Invalid` about `Table` when the table cannot be asked so; `Corrupt`, `Io`; those of `each`.
    pub fn prefix_lookup(&self, prefixes: &[&[u8]], mut each: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        let meta = self.keyed()?;
        let is_prefix = meta.key_format == KeyFormat::Compacted
            && meta.row_key.starts_with(&meta.bucket_key)
            && meta.bucket_key.len() < meta.row_key.len();
        if !is_prefix || prefixes.iter().any(|p| p.is_empty()) {
            let message = format!(
                "table {} cannot be looked up by prefix: its bucket key must be a strict prefix of its primary key",
                meta.path
            );
            return Err(Error::invalid(Subject::Table, message));
        }
        let mut rows = self.bucket.kv()?.prefixes();
        for (i, prefix) in prefixes.iter().enumerate() {
            let mut taken = Ok(());
            rows.with_prefix(prefix, |_, value| {
                taken = each(i, value);
                taken.is_ok()
            })?;
            taken?;
        }
        Ok(())
    }

    /// The stored values of the first `rows` rows in key order.
    ///
    /// # Errors
    /// `Invalid` about `Table` without a primary key; `Corrupt`, `Io`; those of `each`.
    pub fn first_rows(&self, rows: u64, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.keyed()?;
        let mut walk = self.bucket.kv()?.scan(None);
        for _ in 0..rows {
            match walk.next_row()? {
                Some((_, value)) => each(value)?,
                None => break,
            }
        }
        Ok(())
    }

    /// How many rows there are.
    ///
    /// # Errors
    /// `NotFound` about `Table` once it is dropped; `Corrupt`, `Io`.
    pub fn rows(&self) -> Result<i64> {
        if self.table().has_primary_key() {
            return Ok(self.bucket.kv()?.mark().rows);
        }
        let (start, high) = self.readable()?;
        Ok(high - start)
    }

    fn keyed(&self) -> Result<Arc<TableMeta>> {
        self.table.alive()?;
        let meta = self.table();
        if meta.has_primary_key() { Ok(meta) } else { Err(no_primary_key(&meta)) }
    }
}

fn targets(meta: &TableMeta, sent: &SentRows<'_>) -> Targets {
    let width = meta.schema().columns.len();
    let all = sent.targets.is_empty();
    let columns: Vec<usize> = if all { (0..width).collect() } else { sent.targets.clone() };
    let numbered = meta.auto_increment.as_ref().map(|n| n.column);
    let partial = (0..width).any(|i| numbered != Some(i) && !columns.contains(&i));
    Targets { partial, columns, overwrites: sent.overwrite }
}

/// The table's rules. A delete by key has no row that could be taken back, so it deletes where the table would do that.
fn merger(meta: &TableMeta, targets: &Targets, takes_back: bool) -> Result<Merger> {
    let mut merger = Merger::new(meta, targets)?;
    if merger.deletes == DeleteBehavior::Retract && !takes_back {
        merger.deletes = DeleteBehavior::Allow;
    }
    Ok(merger)
}

fn no_primary_key(meta: &TableMeta) -> Error {
    Error::invalid(Subject::Table, format!("table {} has no primary key", meta.path))
}

fn unknown_schema(meta: &TableMeta, id: SchemaId) -> Error {
    Error::not_found(Subject::Column, format!("table {} has no schema {}", meta.path, id.0))
}

/// The headers of all batches, each checked whole.
fn check_batches(meta: &TableMeta, batches: &[u8]) -> Result<Vec<BatchHeader>> {
    let damaged = |e: &Error| Error::new(sluice_base::ErrorKind::Corrupt, Subject::Row, e.message());
    let mut headers = Vec::new();
    let mut decoders: BTreeMap<SchemaId, BatchDecoder> = BTreeMap::new();
    let mut rest = batches;
    while !rest.is_empty() {
        let header = BatchHeader::parse(rest).map_err(|e| damaged(&e))?;
        let (batch, behind) = rest
            .split_at_checked(header.total_bytes())
            .ok_or_else(|| damaged(&Error::corrupt("a log batch is cut short")))?;
        if !verify_crc(batch) {
            return Err(damaged(&Error::corrupt("the checksum of a log batch is wrong")));
        }
        if !header.append_only {
            let message = format!("table {} has no primary key and takes appends only", meta.path);
            return Err(Error::invalid(Subject::Row, message));
        }
        let stored = meta.arrow.get(&header.schema_id).ok_or_else(|| unknown_schema(meta, header.schema_id))?;
        let decoder = decoders.entry(header.schema_id).or_insert_with(|| BatchDecoder::new(stored.clone(), None));
        decoder.check(batch).map_err(|e| Error::invalid(Subject::Row, e.message()))?;
        headers.push(header);
        rest = behind;
    }
    Ok(headers)
}

/// Decodes rows into the columns of the newest schema. Deletes get a row of NULLs, at which nobody looks.
fn take_rows(meta: &TableMeta, sent: &SentRows<'_>) -> Result<Taken> {
    let stored = meta.schemas.get(&sent.schema_id).ok_or_else(|| unknown_schema(meta, sent.schema_id))?;
    let width = stored.columns.len();
    let lenient: Vec<_> = types(meta.schema())
        .into_iter()
        .map(|mut t| {
            t.nullable = true;
            t
        })
        .collect();
    let decoder =
        RowDecoder::new(&lenient, None).with_stored_width(width).with_schema(row_check::lenient(meta.arrow_schema()?));
    let mut rows = decoder.builder(sent.rows.len());
    let (mut keys, mut values) = (Packed::default(), Packed::default());
    let mut kinds = Vec::with_capacity(sent.rows.len());
    let nothing = vec![0xff; width.div_ceil(8)];
    let damaged = |e: Error| Error::invalid(Subject::Row, format!("a row cannot be read: {e}"));
    for (key, row) in &sent.rows {
        if key.is_empty() {
            return Err(Error::invalid(Subject::Row, "a row has an empty key"));
        }
        if sent.takes_back && row.is_none() {
            return Err(Error::invalid(Subject::Row, "a row that is to be taken back has no values"));
        }
        keys.push(key);
        rows.push(row.unwrap_or(&nothing)).map_err(damaged)?;
        if let Some(row) = row {
            start_value(sent.schema_id, values.open());
            values.open().extend_from_slice(row);
        }
        values.close();
        kinds.push(if row.is_some() && !sent.takes_back { ChangeKind::Insert } else { ChangeKind::Delete });
    }
    let has_row = sent.rows.iter().map(|(_, row)| row.is_some()).collect();
    let rows = written_only(rows.finish().map_err(damaged)?, &sent.targets)?;
    let taken = Taken { rows, keys, values, kinds, has_row };
    check_keys(meta, &taken)?;
    Ok(taken)
}

/// What a client sends in columns that it does not write counts for nothing.
fn written_only(rows: RecordBatch, targets: &[usize]) -> Result<RecordBatch> {
    if targets.is_empty() {
        return Ok(rows);
    }
    let column = |(i, column): (usize, &ArrayRef)| match targets.contains(&i) {
        true => column.clone(),
        false => new_null_array(column.data_type(), column.len()),
    };
    let columns = rows.columns().iter().enumerate().map(column).collect();
    batch_of(&rows.schema(), columns, rows.num_rows())
}

/// Rows must belong to the partition that they are sent to: readers and lookups of another would never find them.
fn check_partition(meta: &TableMeta, partition: Option<&str>, taken: &Taken) -> Result<()> {
    let Some(name) = partition else { return Ok(()) };
    let all = types(meta.schema());
    let key_types: Vec<_> = meta.partition_key.iter().filter_map(|i| all.get(*i).cloned()).collect();
    let columns = pick(taken.rows.columns(), &meta.partition_key)?;
    let bound = BoundPartition::new(&key_types, &columns)?;
    for (row, _) in taken.has_row.iter().enumerate().filter(|(_, there)| **there) {
        let text = |column| bound.text(row, column).map_err(|why| Error::invalid(Subject::Row, why));
        let values = (0..key_types.len()).map(text).collect::<Result<Vec<_>>>()?;
        if values.join("$") != name {
            let message = format!(
                "row {row} of the batch is one of partition {}, not of {name} of table {}; nothing of the batch is written",
                values.join("$"),
                meta.path
            );
            return Err(Error::invalid(Subject::Row, message));
        }
    }
    Ok(())
}

/// The kinds as if deletes, whose rows are not looked at, were old images.
fn without_deletes(kinds: &[ChangeKind]) -> Vec<ChangeKind> {
    let looked_at = |kind: &ChangeKind| if *kind == ChangeKind::Delete { ChangeKind::UpdateBefore } else { *kind };
    kinds.iter().map(looked_at).collect()
}

/// A key must be that of its row: a replay of the log makes keys out of rows.
fn check_keys(meta: &TableMeta, taken: &Taken) -> Result<()> {
    let all = types(meta.schema());
    let key_types: Vec<_> = meta.row_key.iter().filter_map(|i| all.get(*i).cloned()).collect();
    let key_columns = pick(taken.rows.columns(), &meta.row_key)?;
    let encoder = KeyEncoder::new(meta.key_format, &key_types)?;
    let bound = encoder.bind(&key_columns)?;
    let mut expected = Vec::new();
    for (row, _) in taken.has_row.iter().enumerate().filter(|(_, there)| **there) {
        expected.clear();
        bound.encode(row, &mut expected)?;
        if expected != taken.keys.get(row) {
            let message =
                format!("row {row} of the batch has another key than its columns say; nothing of the batch is written");
            return Err(Error::invalid(Subject::Row, message));
        }
    }
    Ok(())
}
