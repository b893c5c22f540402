//! A lookup that inserts what it does not find: for dictionaries that grow as they are asked.
//!
//! Only the key is written, which changes no row that is there. So whoever comes second, from wherever, finds the row of the first.

use crate::{Connection, Lookup, LookupOptions, LookupRows, WriteOptions, Writer};
use arrow_array::{Array, RecordBatch};
use sluice_base::{Error, ErrorKind, Result, Subject};
use sluice_row::TablePath;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long inserted rows may take to become durable.
const PATIENCE: Duration = Duration::from_secs(60);

/// A lookup and the writer of what it misses. Threads may share it; they insert one after the other.
pub struct InsertingLookup {
    lookup: Box<dyn Lookup>,
    writer: Mutex<Box<dyn Writer>>,
}

impl InsertingLookup {
    /// Opens a lookup by the whole primary key of a table.
    ///
    /// # Errors
    /// `Invalid` about `Column` for other key columns, and for a table with a NOT NULL column that a new row would have no value for; those
    /// of [`Connection::lookup`] and [`Connection::writer`].
    pub fn open(connection: &dyn Connection, path: &TablePath, options: &LookupOptions) -> Result<Self> {
        let schema = connection.table(path)?.descriptor.schema;
        let key = &schema.primary_key;
        if options.key_columns.len() != key.len() || !key.iter().all(|name| options.key_columns.contains(name)) {
            let message = format!(
                "a lookup that inserts what it does not find goes by the primary key ({}) of table {path}, not by ({})",
                key.join(", "),
                options.key_columns.join(", ")
            );
            return Err(Error::invalid(Subject::Column, message));
        }
        let filled = |name: &String| key.contains(name) || schema.auto_increment.contains(name);
        if let Some(column) = schema.columns.iter().find(|c| !c.data_type.nullable && !filled(&c.name)) {
            let message = format!(
                "a lookup in table {path} cannot insert what it does not find: column '{}' is NOT NULL, and a new row would have no value for it",
                column.name
            );
            return Err(Error::invalid(Subject::Column, message));
        }
        let target_columns = options.key_columns.clone();
        // A partition that is not there has no row, as for every lookup.
        let write = WriteOptions { target_columns, create_partitions: false, ..WriteOptions::default() };
        let writer = Mutex::new(connection.writer(path, &write)?);
        Ok(Self { lookup: connection.lookup(path, options)?, writer })
    }

    fn insert(&self, missing: &[RecordBatch]) -> Result<()> {
        // A writer that panicked says so itself.
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + PATIENCE;
        for rows in missing {
            if let Err(e) = write(writer.as_mut(), rows, until) {
                if !is_partition_missing(&e) {
                    return Err(e);
                }
                for row in 0..rows.num_rows() {
                    match write(writer.as_mut(), &rows.slice(row, 1), until) {
                        Err(e) if is_partition_missing(&e) => {}
                        other => other?,
                    }
                }
            }
        }
        writer.flush(until.saturating_duration_since(Instant::now()))
    }
}

/// Writes rows, again while the store does not keep up.
fn write(writer: &mut dyn Writer, rows: &RecordBatch, until: Instant) -> Result<()> {
    loop {
        match writer.write(rows, &[]) {
            Err(e) if e.kind() == ErrorKind::Busy && Instant::now() < until => {}
            other => return other,
        }
    }
}

fn is_partition_missing(e: &Error) -> bool {
    e.kind() == ErrorKind::NotFound && e.subject() == Subject::Partition
}

/// The keys that found nothing, as runs of them. One with a NULL is no key.
fn missing(keys: &RecordBatch, found: &LookupRows) -> Vec<RecordBatch> {
    let is_missing = |row: usize| {
        let start = row.checked_sub(1).and_then(|before| found.ends.get(before)).copied().unwrap_or(0);
        found.ends.get(row) == Some(&start) && keys.columns().iter().all(|c| c.is_valid(row))
    };
    let mut runs = Vec::new();
    let mut from = 0;
    for row in 0..=keys.num_rows() {
        if row == keys.num_rows() || !is_missing(row) {
            if row > from {
                runs.push(keys.slice(from, row - from));
            }
            from = row + 1;
        }
    }
    runs
}

impl Lookup for InsertingLookup {
    fn lookup(&self, keys: &RecordBatch) -> Result<LookupRows> {
        let found = self.lookup.lookup(keys)?;
        let missing = missing(keys, &found);
        if missing.is_empty() {
            return Ok(found);
        }
        self.insert(&missing)?;
        self.lookup.lookup(keys)
    }
}
