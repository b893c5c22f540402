//! Rows of a log into one bucket of an append table.

use crate::data_file::{Place, WrittenFiles};
use crate::file_meta::FileMeta;
use crate::manifest::Entry;
use crate::parquet_writer::ParquetWriter;
use crate::system_column::{OFFSET, TIMESTAMP, append_columns};
use crate::table::LakeTable;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray, new_null_array};
use sluice_base::{Error, ErrorKind, Result, Subject};
use sluice_row::arrow_type;
use std::sync::Arc;

/// Bytes at which a file is ended and another begun: Paimon's own target for append tables.
const FILE_BYTES: u64 = 256 << 20;

/// Writes one bucket's rows in log order.
#[derive(Debug)]
pub struct AppendWriter<'t> {
    table: &'t LakeTable,
    bucket: i32,
    place: Option<Place>,
    file: Option<OpenFile>,
    entries: Vec<Entry>,
    sequence_base: i64,
}

#[derive(Debug)]
struct OpenFile {
    name: String,
    writer: ParquetWriter,
    first_offset: i64,
    last_offset: i64,
}

impl<'t> AppendWriter<'t> {
    /// A writer for bucket number `bucket` of a partition, which the rows themselves name.
    #[must_use]
    pub const fn new(table: &'t LakeTable, bucket: i32) -> Self {
        Self { table, bucket, place: None, file: None, entries: Vec::new(), sequence_base: 0 }
    }

    /// The same writer for a partition that had another's name before: [`crate::LakeOffsets::sequence_base`].
    #[must_use]
    pub const fn counting_from(mut self, sequence_base: i64) -> Self {
        self.sequence_base = sequence_base;
        self
    }

    /// Appends a batch of the log: all of the table's columns in their order, the offset of the first row (the others follow
    /// one by one), the time of its commit in ms since 1970. All rows must be of one partition.
    ///
    /// # Errors
    /// `Internal` when the columns are not those of the table; `Io`, `Busy` about `Disk`.
    pub fn write(&mut self, rows: &RecordBatch, first_offset: i64, timestamp_ms: i64) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let count = i64::try_from(rows.num_rows()).unwrap_or(i64::MAX);
        let place = match &mut self.place {
            Some(place) => place,
            None => self.place.insert(Place::new(self.table, rows, self.bucket)?),
        };
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let (name, writer) = place.begin("data", append_columns(self.table.schema()))?;
                self.file.insert(OpenFile { name, writer, first_offset, last_offset: first_offset })
            }
        };
        let offsets: ArrayRef = Arc::new(Int64Array::from_iter_values(first_offset..first_offset + count));
        file.writer.write(&all_columns(self.table, rows, offsets, timestamp_ms)?)?;
        file.last_offset = first_offset + count - 1;
        if file.writer.bytes() >= FILE_BYTES { self.end_file() } else { Ok(()) }
    }

    fn end_file(&mut self) -> Result<()> {
        let (Some(file), Some(place)) = (self.file.take(), &self.place) else { return Ok(()) };
        let mut meta = FileMeta::append(file.name, self.table.schema().id);
        meta.row_count = i64::try_from(file.writer.rows()).unwrap_or(i64::MAX);
        meta.min_sequence = self.sequence_base + file.first_offset;
        meta.max_sequence = self.sequence_base + file.last_offset;
        meta.creation_time = Some(self.table.now_ms());
        meta.file_size = i64::try_from(file.writer.finish()?).unwrap_or(i64::MAX);
        self.entries.push(place.entry(meta));
        Ok(())
    }

    /// Ends the files, which are then durable.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub fn finish(mut self) -> Result<WrittenFiles> {
        self.end_file()?;
        let names = self.place.map(Place::take_names).unwrap_or_default();
        Ok(WrittenFiles { data: self.entries, changelog: Vec::new(), names, sequence_base: self.sequence_base })
    }
}

/// All columns of the lake table: those given, the two of tiering wherever they are, NULL for those that were added since, by the table or
/// by somebody else.
///
/// # Errors
/// `Internal` when more columns are given than the lake table has; `Conflict` about `Column` for one that was added and may not be NULL.
pub(crate) fn all_columns(
    table: &LakeTable,
    rows: &RecordBatch,
    offsets: ArrayRef,
    timestamp_ms: i64,
) -> Result<Vec<ArrayRef>> {
    let columns = &table.schema().schema.columns;
    let own = columns.iter().position(|c| c.name == OFFSET).unwrap_or(columns.len());
    let given = rows.num_columns();
    if given > own {
        let message = format!("{given} columns given for lake table {}, which has {own}", table.path());
        return Err(Error::internal(message));
    }
    let mut arrays = rows.columns().to_vec();
    for column in columns.iter().skip(given) {
        let array: ArrayRef = match column.name.as_str() {
            OFFSET => offsets.clone(),
            TIMESTAMP => Arc::new(TimestampMillisecondArray::from_value(timestamp_ms, rows.num_rows())),
            _ if column.data_type.nullable => new_null_array(&arrow_type(&column.data_type), rows.num_rows()),
            name => {
                let message = format!(
                    "lake table {}: somebody has added its column '{name}' {}, which the table does not have; let it be NULL or drop it",
                    table.path(),
                    column.data_type
                );
                return Err(Error::new(ErrorKind::Conflict, Subject::Column, message));
            }
        };
        arrays.push(array);
    }
    Ok(arrays)
}
