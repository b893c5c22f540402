//! Files read one after the other: those of an append table's bucket in the order in which they were written, those of a sorted run by key.

use crate::parquet_reader::{FileColumns, ParquetReader, Wanted};
use crate::predicate::Predicate;
use crate::storage::Storage;
use arrow_array::ArrayRef;
use sluice_base::Result;
use std::collections::VecDeque;
use std::sync::Arc;

/// What to read of each file.
#[derive(Debug, Clone)]
pub(crate) struct OfEach {
    /// Positions of the table's columns that are wanted, in output order.
    pub(crate) projection: Vec<usize>,
    /// Further columns of the file itself, which come first.
    pub(crate) system: &'static [&'static str],
    pub(crate) predicate: Option<Predicate>,
    pub(crate) batch_rows: usize,
}

/// Files of which one is open at a time.
#[derive(Debug)]
pub(crate) struct FileSeries {
    storage: Arc<dyn Storage>,
    /// Their names, sizes and columns.
    files: VecDeque<(String, i64, FileColumns)>,
    of_each: Arc<OfEach>,
    reader: Option<ParquetReader>,
}

impl FileSeries {
    pub(crate) const fn new(
        storage: Arc<dyn Storage>,
        files: VecDeque<(String, i64, FileColumns)>,
        of_each: Arc<OfEach>,
    ) -> Self {
        Self { storage, files, of_each, reader: None }
    }

    /// The next rows, at least one: their columns, and how many.
    ///
    /// # Errors
    /// As [`ParquetReader::open`] and [`ParquetReader::next`].
    pub(crate) fn next(&mut self) -> Result<Option<(Vec<ArrayRef>, usize)>> {
        loop {
            if let Some(reader) = &mut self.reader {
                match reader.next()? {
                    Some((columns, rows)) if rows > 0 => return Ok(Some((columns, rows))),
                    Some(_) => continue,
                    None => self.reader = None,
                }
            }
            let Some((name, length, columns)) = self.files.pop_front() else { return Ok(None) };
            let wanted = Wanted {
                columns: &columns,
                projection: &self.of_each.projection,
                system: self.of_each.system,
                predicate: self.of_each.predicate.as_ref(),
                batch_rows: self.of_each.batch_rows,
            };
            self.reader = Some(ParquetReader::open(self.storage.as_ref(), &name, length, &wanted)?);
        }
    }
}
