//! Changes of a primary-key table's log into one bucket: a level-0 file with the newest change of each key, and a changelog file with
//! all of them. The sequence number of a change is its log offset, so writing a range again gives the same rows.
//!
//! Memory: changes wait until some [`BUFFER_BYTES`] are there; sorting them takes about twice that again.

use crate::append_writer::all_columns;
use crate::data_file::{Place, WrittenFiles};
use crate::file_meta::{FileMeta, Statistics};
use crate::manifest::Entry;
use crate::parquet_writer::ParquetWriter;
use crate::stored_row::StoredRows;
use crate::system_column::keyed_columns;
use crate::table::LakeTable;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{ArrayRef, Int8Array, Int64Array, RecordBatch, UInt32Array};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::ArrowError;
use arrow_select::{concat::concat, take::take};
use sluice_base::{Error, Result};
use sluice_row::{ChangeKind, DataType};
use std::sync::Arc;

/// Bytes of changes that are sorted and written at a time.
const BUFFER_BYTES: usize = 64 << 20;
/// Rows of a file that are handed to Parquet at a time.
const SLICE_ROWS: usize = 8 << 10;

/// Writes one bucket's changes in log order.
#[derive(Debug)]
pub struct KeyedWriter<'t> {
    table: &'t LakeTable,
    bucket: i32,
    place: Option<Place>,
    /// Batches that wait: sequence numbers, kinds, then all columns.
    waiting: Vec<Vec<ArrayRef>>,
    waiting_bytes: usize,
    data: Vec<Entry>,
    changelog: Vec<Entry>,
    sequence_base: i64,
}

impl<'t> KeyedWriter<'t> {
    /// A writer for bucket number `bucket` of a partition, which the rows themselves name.
    #[must_use]
    pub const fn new(table: &'t LakeTable, bucket: i32) -> Self {
        Self {
            table,
            bucket,
            place: None,
            waiting: Vec::new(),
            waiting_bytes: 0,
            data: Vec::new(),
            changelog: Vec::new(),
            sequence_base: 0,
        }
    }

    /// The same writer for a partition that had another's name before: [`crate::LakeOffsets::sequence_base`].
    #[must_use]
    pub const fn counting_from(mut self, sequence_base: i64) -> Self {
        self.sequence_base = sequence_base;
        self
    }

    /// Adds a batch of the changelog: all of the table's columns in their order, one kind a row, the offset of the first row (the
    /// others follow one by one), the time of its commit in ms since 1970. All rows must be of one partition.
    ///
    /// # Errors
    /// `Internal` when the columns are not those of the table; `Io`, `Busy` about `Disk`.
    pub fn write(
        &mut self,
        rows: &RecordBatch,
        kinds: &[ChangeKind],
        first_offset: i64,
        timestamp_ms: i64,
    ) -> Result<()> {
        let count = i64::try_from(rows.num_rows()).unwrap_or(i64::MAX);
        self.write_at(rows, kinds, &Int64Array::from_iter_values(first_offset..first_offset + count), timestamp_ms)
    }

    /// As [`KeyedWriter::write`], for rows that are not one a log offset, such as those of a snapshot: all get the same one.
    ///
    /// # Errors
    /// As [`KeyedWriter::write`].
    pub fn write_snapshot(&mut self, rows: &RecordBatch, offset: i64, timestamp_ms: i64) -> Result<()> {
        let kinds = vec![ChangeKind::Insert; rows.num_rows()];
        self.write_at(rows, &kinds, &Int64Array::from_value(offset, rows.num_rows()), timestamp_ms)
    }

    fn write_at(
        &mut self,
        rows: &RecordBatch,
        kinds: &[ChangeKind],
        offsets: &Int64Array,
        timestamp_ms: i64,
    ) -> Result<()> {
        if rows.num_rows() != kinds.len() {
            return Err(Error::internal(format!("{} kinds of change given for {} rows", kinds.len(), rows.num_rows())));
        }
        if kinds.is_empty() {
            return Ok(());
        }
        if self.place.is_none() {
            self.place = Some(Place::new(self.table, rows, self.bucket)?);
        }
        let offsets: ArrayRef = Arc::new(offsets.clone());
        let kinds: Int8Array = kinds.iter().map(|k| Some(value_kind(*k))).collect();
        let sequences: ArrayRef = match self.sequence_base {
            0 => Arc::clone(&offsets),
            base => Arc::new(offsets.as_primitive::<Int64Type>().unary::<_, Int64Type>(|offset| base + offset)),
        };
        let mut arrays: Vec<ArrayRef> = vec![sequences, Arc::new(kinds)];
        arrays.extend(all_columns(self.table, rows, offsets, timestamp_ms)?);
        self.waiting_bytes += arrays.iter().map(|a| a.get_array_memory_size()).sum::<usize>();
        self.waiting.push(arrays);
        if self.waiting_bytes >= BUFFER_BYTES { self.write_waiting() } else { Ok(()) }
    }

    fn write_waiting(&mut self) -> Result<()> {
        let batches = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let Some(width) = batches.first().map(Vec::len) else { return Ok(()) };
        let column = |i: usize| concat(&batches.iter().map(|b| b[i].as_ref()).collect::<Vec<_>>());
        let columns = (0..width).map(column).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        drop(batches);
        let sorted = Sorted::new(self.table, columns)?;
        let (table, Some(place)) = (self.table, &mut self.place) else { return Ok(()) };
        let data = place.begin("data", keyed_columns(table.schema()))?;
        if table.schema().option("changelog-producer") != Some("input") {
            self.data.push(place.entry(sorted.write(table, data, &sorted.newest)?));
            return Ok(());
        }
        let changelog = place.begin("changelog", keyed_columns(table.schema()))?;
        // Both files hold mostly the same rows: what one thread decodes and compresses, the other need not wait for.
        let (data, changelog) = std::thread::scope(|scope| {
            let changelog = scope.spawn(|| sorted.write(table, changelog, &sorted.all));
            let data = sorted.write(table, data, &sorted.newest);
            (data, changelog.join().unwrap_or_else(|_| Err(Error::internal("writing a changelog file panicked"))))
        });
        self.data.push(place.entry(data?));
        self.changelog.push(place.entry(changelog?));
        Ok(())
    }

    /// Ends the files, which are then durable.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub fn finish(mut self) -> Result<WrittenFiles> {
        self.write_waiting()?;
        let names = self.place.map(Place::take_names).unwrap_or_default();
        Ok(WrittenFiles { data: self.data, changelog: self.changelog, names, sequence_base: self.sequence_base })
    }
}

/// The byte that Paimon gives a kind of change.
const fn value_kind(kind: ChangeKind) -> i8 {
    match kind {
        ChangeKind::Append | ChangeKind::Insert => 0,
        ChangeKind::UpdateBefore => 1,
        ChangeKind::UpdateAfter => 2,
        ChangeKind::Delete => 3,
    }
}

/// Whether a kind takes a row away.
pub(crate) const fn retracts(value_kind: i8) -> bool {
    matches!(value_kind, 1 | 3)
}

fn failed(e: ArrowError) -> Error {
    Error::internal(format!("cannot sort changes for the lake: {e}")).with_source(e)
}

/// Changes in the order of their keys.
struct Sorted {
    /// Sequence numbers, kinds, then all columns.
    columns: Vec<ArrayRef>,
    keys: Vec<usize>,
    key_types: Vec<DataType>,
    /// Rows by key, then by sequence number.
    all: UInt32Array,
    /// The last row of each key.
    newest: UInt32Array,
}

impl Sorted {
    fn new(table: &LakeTable, columns: Vec<ArrayRef>) -> Result<Self> {
        let schema = &table.schema().schema;
        let keys: Vec<usize> = table.schema().key_indexes();
        let key_types: Vec<DataType> = keys.iter().map(|i| schema.columns[*i].data_type.clone()).collect();
        // Behind sequence numbers and kinds.
        let keys: Vec<usize> = keys.iter().map(|i| i + 2).collect();
        let rows = key_rows(&keys.iter().map(|i| Arc::clone(&columns[*i])).collect::<Vec<_>>())?;
        let count = u32::try_from(rows.num_rows()).map_err(|_| Error::internal("too many changes to sort at once"))?;
        let mut order: Vec<u32> = (0..count).collect();
        // Rows come in log order, and a stable sort keeps it among those of one key.
        order.sort_by(|a, b| rows.row(*a as usize).cmp(&rows.row(*b as usize)));
        let is_last = |i: usize| match order.get(i + 1) {
            Some(next) => rows.row(order[i] as usize) != rows.row(*next as usize),
            None => true,
        };
        let newest = (0..order.len()).filter(|i| is_last(*i)).map(|i| order[i]).collect::<Vec<_>>();
        Ok(Self { columns, keys, key_types, all: order.into(), newest: newest.into() })
    }

    /// Writes the rows of `order` as one file.
    fn write(&self, table: &LakeTable, file: (String, ParquetWriter), order: &UInt32Array) -> Result<FileMeta> {
        let (name, mut writer) = file;
        let mut sequences = (i64::MAX, i64::MIN);
        let mut retracting = 0;
        for start in (0..order.len()).step_by(SLICE_ROWS) {
            let slice = order.slice(start, SLICE_ROWS.min(order.len() - start));
            let taken = self.columns.iter().map(|c| take(c, &slice, None)).collect::<Result<Vec<_>, _>>();
            let taken = taken.map_err(failed)?;
            for sequence in taken[0].as_primitive::<Int64Type>().values() {
                sequences = (sequences.0.min(*sequence), sequences.1.max(*sequence));
            }
            retracting += taken[1].as_primitive::<Int8Type>().values().iter().filter(|k| retracts(**k)).count();
            let mut arrays: Vec<ArrayRef> = self.keys.iter().map(|i| Arc::clone(&taken[*i])).collect();
            arrays.extend(taken);
            writer.write(&arrays)?;
        }
        let mut meta = FileMeta::append(name, table.schema().id);
        (meta.min_key, meta.max_key, meta.key_statistics) = self.key_bounds(order)?;
        (meta.min_sequence, meta.max_sequence) = sequences;
        meta.row_count = i64::try_from(writer.rows()).unwrap_or(i64::MAX);
        meta.delete_row_count = i64::try_from(retracting).ok();
        meta.creation_time = Some(table.now_ms());
        meta.file_size = i64::try_from(writer.finish()?).unwrap_or(i64::MAX);
        Ok(meta)
    }

    fn key_bounds(&self, order: &UInt32Array) -> Result<(Vec<u8>, Vec<u8>, Statistics)> {
        let rows = StoredRows::new(&self.key_types)?;
        let keys: Vec<ArrayRef> = self.keys.iter().map(|i| Arc::clone(&self.columns[*i])).collect();
        let key = |at: usize| rows.encode(&keys, order.value(at) as usize);
        let (first, last) = (key(0)?, key(order.len() - 1)?);
        // The first and last of several columns say nothing of the smallest and largest of the later ones.
        let statistics = match keys.len() {
            1 => Statistics::of_keys(first.clone(), last.clone(), 1),
            several => Statistics::unknown(several),
        };
        Ok((first, last, statistics))
    }
}

/// Key columns as bytes that compare as Paimon compares keys: numbers by value, text and bytes unsigned.
pub(crate) fn key_rows(columns: &[ArrayRef]) -> Result<Rows> {
    let fields = columns.iter().map(|c| SortField::new(c.data_type().clone())).collect();
    RowConverter::new(fields).and_then(|converter| converter.convert_columns(columns)).map_err(failed)
}
