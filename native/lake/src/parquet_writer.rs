//! One Parquet file, written row group by row group straight to its place.
//!
//! Memory: the encoded pages of the row group being written, at most about [`ROW_GROUP_BYTES`].

use crate::file_columns::to_file;
use crate::parquet_schema::{file_field, is_int96, parquet_schema};
use crate::storage::{Storage, Upload, unwrap_io};
use crate::system_column::StoredColumn;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampNanosecondType;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{Field, Schema as ArrowSchema};
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{Int96, Int96Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use sluice_base::{Error, Result, Subject};
use std::io::Write;
use std::sync::Arc;

/// Encoded bytes at which a row group is closed.
const ROW_GROUP_BYTES: usize = 64 << 20;
const ROW_GROUP_ROWS: usize = 1 << 20;
/// The Julian day of 1970-01-01, from which 96-bit timestamps count.
const JULIAN_EPOCH_DAY: i64 = 2_440_588;
const NANOSECONDS_OF_DAY: i64 = 86_400_000_000_000;

/// A file being written.
pub(crate) struct ParquetWriter {
    writer: SerializedFileWriter<Destination>,
    factory: ArrowRowGroupWriterFactory,
    columns: Vec<(StoredColumn, Field)>,
    group: Option<Group>,
    rows: usize,
}

impl std::fmt::Debug for ParquetWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetWriter").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// The row group being written: its leaf columns in order.
struct Group {
    leaves: Vec<Leaf>,
    rows: usize,
}

enum Leaf {
    Arrow(Box<ArrowColumnWriter>),
    /// Timestamps of more than 6 digits.
    Int96 {
        values: Vec<Int96>,
        definitions: Vec<i16>,
        nullable: bool,
    },
}

/// Counts the bytes that leave.
struct Destination {
    upload: Box<dyn Upload>,
    bytes: u64,
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.upload.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.upload.flush()
    }
}

fn failed(e: ParquetError) -> Error {
    match e {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(io) => unwrap_io("write a data file", *io),
            Err(other) => Error::internal(format!("cannot write a data file: {other}")),
        },
        other => Error::internal(format!("cannot write a data file: {other}")).with_source(other),
    }
}

impl ParquetWriter {
    /// Begins the file `name`.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`; `Unsupported` for columns that [`check_column`] refuses.
    pub(crate) fn create(storage: &dyn Storage, name: &str, columns: Vec<StoredColumn>) -> Result<Self> {
        columns.iter().try_for_each(|c| check_nesting(&c.name, &c.data_type))?;
        let schema = parquet_schema(&columns).map_err(failed)?;
        let fields: Vec<Field> = columns.iter().map(|c| file_field(&c.name, &c.data_type)).collect();
        let level = ZstdLevel::try_new(1).map_err(failed)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_created_by(concat!("sluice ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let destination = Destination { upload: storage.create(name)?, bytes: 0 };
        let writer = SerializedFileWriter::new(destination, schema, Arc::new(properties)).map_err(failed)?;
        let factory = ArrowRowGroupWriterFactory::new(&writer, Arc::new(ArrowSchema::new(fields.clone())));
        Ok(Self { writer, factory, columns: columns.into_iter().zip(fields).collect(), group: None, rows: 0 })
    }

    /// Rows handed over so far.
    pub(crate) const fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes written so far, with an estimate of those of the open row group.
    pub(crate) fn bytes(&self) -> u64 {
        self.writer.inner().bytes + self.group.as_ref().map_or(0, |g| g.bytes() as u64)
    }

    /// Appends rows, one array a column in the tables' Arrow types.
    ///
    /// # Errors
    /// `Internal` when an array is not of its column's type; `Io`, `Busy` about `Disk`.
    pub(crate) fn write(&mut self, arrays: &[ArrayRef]) -> Result<()> {
        let rows = arrays.first().map_or(0, |a| a.len());
        if arrays.len() != self.columns.len() {
            return Err(Error::internal(format!(
                "{} columns given for a file of {}",
                arrays.len(),
                self.columns.len()
            )));
        }
        let mut group = match self.group.take() {
            Some(group) => group,
            None => self.open_group()?,
        };
        let mut leaves = group.leaves.iter_mut();
        for ((column, field), array) in self.columns.iter().zip(arrays) {
            let array = to_file(&column.data_type, array)?;
            if is_int96(&column.data_type.root) {
                leaves.next().ok_or_else(missing_leaf)?.push_int96(&array)?;
                continue;
            }
            for leaf in compute_leaves(field, &array).map_err(failed)? {
                match leaves.next() {
                    Some(Leaf::Arrow(writer)) => writer.write(&leaf).map_err(failed)?,
                    _ => return Err(missing_leaf()),
                }
            }
        }
        group.rows += rows;
        self.rows += rows;
        let full = group.rows >= ROW_GROUP_ROWS || group.bytes() >= ROW_GROUP_BYTES;
        self.group = Some(group);
        if full { self.close_group() } else { Ok(()) }
    }

    fn open_group(&self) -> Result<Group> {
        let index = self.writer.flushed_row_groups().len();
        let writers = self.factory.create_column_writers(index).map_err(failed)?;
        let mut leaves: Vec<Leaf> = writers.into_iter().map(|w| Leaf::Arrow(Box::new(w))).collect();
        // A flat column has one leaf; those of nested columns before it are counted by the schema.
        let descriptor = self.writer.schema_descr();
        for (leaf, place) in leaves.iter_mut().enumerate() {
            let (column, _) = &self.columns[descriptor.get_column_root_idx(leaf)];
            if is_int96(&column.data_type.root) {
                let nullable = column.data_type.nullable;
                *place = Leaf::Int96 { values: Vec::new(), definitions: Vec::new(), nullable };
            }
        }
        Ok(Group { leaves, rows: 0 })
    }

    fn close_group(&mut self) -> Result<()> {
        let Some(group) = self.group.take() else { return Ok(()) };
        let mut writer = self.writer.next_row_group().map_err(failed)?;
        for leaf in group.leaves {
            leaf.append_to(&mut writer).map_err(failed)?;
        }
        writer.close().map_err(failed)?;
        Ok(())
    }

    /// Ends the file and makes it durable; returns its size in bytes.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`; the file must then not be used.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.close_group()?;
        let destination = self.writer.into_inner().map_err(failed)?;
        destination.upload.finish()?;
        Ok(destination.bytes)
    }
}

fn missing_leaf() -> Error {
    Error::internal("a data file has fewer leaf columns than its columns have")
}

impl Group {
    fn bytes(&self) -> usize {
        let bytes = |leaf: &Leaf| match leaf {
            Leaf::Arrow(writer) => writer.get_estimated_total_bytes(),
            Leaf::Int96 { values, .. } => values.len() * size_of::<Int96>(),
        };
        self.leaves.iter().map(bytes).sum()
    }
}

impl Leaf {
    fn push_int96(&mut self, array: &ArrayRef) -> Result<()> {
        let stamps = array.as_primitive_opt::<TimestampNanosecondType>();
        let (Self::Int96 { values, definitions, .. }, Some(stamps)) = (self, stamps) else {
            return Err(Error::internal(format!("a column of timestamps is {} in Arrow", array.data_type())));
        };
        for stamp in stamps {
            definitions.push(i16::from(stamp.is_some()));
            values.extend(stamp.map(int96));
        }
        Ok(())
    }

    fn append_to(self, group: &mut SerializedRowGroupWriter<'_, Destination>) -> parquet::errors::Result<()> {
        match self {
            Self::Arrow(writer) => writer.close()?.append_to_row_group(group),
            Self::Int96 { values, definitions, nullable } => {
                let Some(mut column) = group.next_column()? else { return Ok(()) };
                let definitions = nullable.then_some(definitions.as_slice());
                column.typed::<Int96Type>().write_batch(&values, definitions, None)?;
                column.close()
            }
        }
    }
}

/// Nanoseconds of the day, then the Julian day.
fn int96(nanoseconds: i64) -> Int96 {
    let day = nanoseconds.div_euclid(NANOSECONDS_OF_DAY) + JULIAN_EPOCH_DAY;
    let of_day = nanoseconds.rem_euclid(NANOSECONDS_OF_DAY);
    let mut value = Int96::new();
    // Cut on purpose: the two halves of 64 bits, and a day of some 19 bits.
    value.set_data(of_day as u32, (of_day >> 32) as u32, day as u32);
    value
}

/// Whether columns of this type can be written.
///
/// # Errors
/// `Unsupported` naming the column.
pub(crate) fn check_nesting(name: &str, data_type: &sluice_row::DataType) -> Result<()> {
    use sluice_row::TypeRoot;
    let inner = |data_type: &sluice_row::DataType| {
        if is_int96(&data_type.root) {
            let message = format!(
                "column '{name}' has {data_type} inside ARRAY, MAP or ROW; a lake table keeps at most 6 digits of a second there"
            );
            return Err(Error::unsupported(Subject::Column, message));
        }
        check_nesting(name, data_type)
    };
    match &data_type.root {
        TypeRoot::Array(element) => inner(element),
        TypeRoot::Map(key, value) => inner(key).and_then(|()| inner(value)),
        TypeRoot::Row(fields) => fields.iter().try_for_each(|f| inner(&f.data_type)),
        _ => Ok(()),
    }
}
