//! Rows of one Parquet file: some of a table's columns, in the tables' Arrow types, without what a predicate excludes.

use crate::file_columns::from_file;
use crate::predicate::Predicate;
use crate::pruning::Pruning;
use crate::storage::{Opened, Storage};
use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::reader::{ChunkReader, Length};
use sluice_base::{Error, Result};
use sluice_row::{DataType, arrow_type};
use std::io::{self, Read};
use std::sync::Arc;

/// Bytes read ahead where the library reads a stretch of unknown length.
const READ_AHEAD_BYTES: usize = 64 << 10;

/// For each column of a table its type and its name in a file; `None` where the file does not have it.
pub(crate) type FileColumns = Vec<(DataType, Option<String>)>;

/// A file as the Parquet library sees it.
#[derive(Debug, Clone)]
struct Source {
    file: Arc<dyn Opened>,
    length: u64,
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.length
    }
}

fn external(e: Error) -> ParquetError {
    ParquetError::External(Box::new(e))
}

impl ChunkReader for Source {
    type T = Ahead;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Ahead> {
        Ok(Ahead { source: self.clone(), position: start, block: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let bytes = self.file.read_range(start, length).map_err(external)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF(format!("{} bytes at {start} where {length} are due", bytes.len())));
        }
        Ok(bytes)
    }
}

/// Reads on from a position, a block at a time.
#[derive(Debug)]
struct Ahead {
    source: Source,
    position: u64,
    block: Bytes,
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.block.is_empty() {
            self.block = self.source.file.read_range(self.position, READ_AHEAD_BYTES).map_err(io::Error::other)?;
            self.position += self.block.len() as u64;
        }
        let taken = self.block.split_to(buffer.len().min(self.block.len()));
        buffer[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}

/// What is wanted of a file.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    /// For each column of the table its type and its name in the file; `None` where the file does not have it.
    pub(crate) columns: &'a [(DataType, Option<String>)],
    /// Columns wanted, in output order.
    pub(crate) projection: &'a [usize],
    /// Further columns of the file itself, which come first.
    pub(crate) system: &'a [&'a str],
    pub(crate) predicate: Option<&'a Predicate>,
    pub(crate) batch_rows: usize,
}

/// Reads a file batch by batch: the system columns wanted, then the projected ones.
#[derive(Debug)]
pub(crate) struct ParquetReader {
    reader: ParquetRecordBatchReader,
    name: String,
    /// Where each output column is in the batches that come, and its type; `None` for one that the file does not have.
    output: Vec<(Option<usize>, Option<DataType>)>,
}

impl ParquetReader {
    /// Opens the file `name` of `length` bytes.
    ///
    /// # Errors
    /// `NotFound` about `File` when it has expired; `Corrupt` naming it; `Io`.
    pub(crate) fn open(storage: &dyn Storage, name: &str, length: i64, wanted: &Wanted<'_>) -> Result<Self> {
        let file = Arc::from(storage.open(name)?);
        let source = Source { file, length: u64::try_from(length).unwrap_or(0) };
        let pages = if wanted.predicate.is_some() { PageIndexPolicy::Optional } else { PageIndexPolicy::Skip };
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true).with_page_index_policy(pages);
        let damaged = |e| damaged(name, e);
        let mut builder = ParquetRecordBatchReaderBuilder::try_new_with_options(source, options).map_err(damaged)?;
        if let Some(predicate) = wanted.predicate {
            let (groups, pages) = {
                let pruning = Pruning {
                    metadata: builder.metadata(),
                    arrow: builder.schema(),
                    parquet: builder.parquet_schema(),
                    columns: wanted.columns,
                };
                let groups = pruning.row_groups(predicate);
                let pages = pruning.pages(predicate, &groups);
                (groups, pages)
            };
            builder = builder.with_row_groups(groups);
            if let Some(pages) = pages {
                builder = builder.with_row_selection(pages);
            }
        }
        let root_of = |name: &str| builder.schema().fields().iter().position(|f| f.name() == name);
        let mut roots = Vec::new();
        for name in wanted.system {
            roots.push(Some(root_of(name).ok_or_else(|| missing(name))?));
        }
        for column in wanted.projection {
            let stored = wanted.columns.get(*column).and_then(|(_, stored)| stored.as_ref());
            roots.push(match stored {
                Some(stored) => Some(root_of(stored).ok_or_else(|| missing(stored))?),
                None => None,
            });
        }
        let mut read: Vec<usize> = roots.iter().flatten().copied().collect();
        read.sort_unstable();
        read.dedup();
        let types = wanted.system.iter().map(|_| None);
        let types = types.chain(wanted.projection.iter().map(|c| wanted.columns.get(*c).map(|(t, _)| t.clone())));
        let place = |root: &Option<usize>| root.and_then(|root| read.binary_search(&root).ok());
        let output = roots.iter().map(place).zip(types).collect();
        let mask = ProjectionMask::roots(builder.parquet_schema(), read);
        let reader =
            builder.with_projection(mask).with_batch_size(wanted.batch_rows.max(1)).build().map_err(damaged)?;
        Ok(Self { reader, name: name.to_owned(), output })
    }

    /// The next rows: their columns, and how many.
    ///
    /// # Errors
    /// `Corrupt` naming the file; `Io`.
    pub(crate) fn next(&mut self) -> Result<Option<(Vec<ArrayRef>, usize)>> {
        let Some(batch) = self.reader.next().transpose().map_err(|e| damaged(&self.name, e.into()))? else {
            return Ok(None);
        };
        let columns = self.output.iter().map(|(place, data_type)| self.column(&batch, *place, data_type.as_ref()));
        Ok(Some((columns.collect::<Result<_>>()?, batch.num_rows())))
    }

    fn column(&self, batch: &RecordBatch, place: Option<usize>, data_type: Option<&DataType>) -> Result<ArrayRef> {
        match (place, data_type) {
            (Some(place), Some(data_type)) => from_file(data_type, batch.column(place))
                .map_err(|e| e.context(format_args!("data file {}", self.name))),
            (Some(place), None) => Ok(Arc::clone(batch.column(place))),
            (None, Some(data_type)) => Ok(new_null_array(&arrow_type(data_type), batch.num_rows())),
            (None, None) => Err(Error::internal("a column of a data file has neither place nor type")),
        }
    }
}

fn missing(name: &str) -> Error {
    Error::corrupt(format!("a data file lacks its column '{name}'"))
}

fn damaged(name: &str, e: ParquetError) -> Error {
    match e {
        ParquetError::External(inner) => match inner.downcast::<Error>() {
            Ok(own) => own.context(format_args!("data file {name}")),
            Err(other) => Error::corrupt(format!("data file {name}: {other}")),
        },
        other => Error::corrupt(format!("data file {name} is damaged: {other}")).with_source(other),
    }
}
