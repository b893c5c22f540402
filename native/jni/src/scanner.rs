//! An open scanner, and the exports of `NativeScanner`.

use crate::block::BlockWriter;
use crate::connection::OpenConnection;
use crate::error::Failure;
use crate::handle::{self, Handle, Held};
use crate::json::{ScannerArguments, SplitArguments};
use crate::writer::timeout;
use crate::{export, json};
use arrow_array::{Array, ArrayRef, RecordBatch};
use jni::objects::{JByteArray, JString};
use jni::sys::{jint, jlong};
use sluice_api::{ScanBatch, ScanOptions, ScanSplit, ScanStart, Scanner};
use sluice_base::{Error, ErrorKind, Result, Subject};
use sluice_row::{BinaryRowWriter, Column, DataType, Schema};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// A block of rows aims at this size: larger arrays leave the JVM's ordinary heap regions and the processor's cache.
const BLOCK_BYTES: usize = 128 << 10;

/// A scanner that Java or C has opened.
pub struct OpenScanner {
    scanner: Box<dyn Scanner>,
    sending: Mutex<Sending>,
    closed: AtomicBool,
}

/// What leaves as blocks, piece by piece.
struct Sending {
    block: BlockWriter,
    /// The part of the last batch that has not left yet.
    rest: Option<ScanBatch>,
    /// Rows of that batch that fill a block.
    rows: usize,
    /// Of splits inside a snapshot: its id, and how many of its rows have left.
    snapshots: HashMap<u32, Position>,
}

/// A place inside a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    snapshot: u64,
    rows: u64,
}

/// Opens a scanner of the connection `parent`.
///
/// # Errors
/// `Closed`; `Invalid` for wrong arguments; `NotFound` about `Table`.
pub fn open(parent: Handle, json: &str) -> Result<Handle> {
    let arguments: ScannerArguments = json::parse("scanner", json)?;
    if arguments.batch_rows_max == 0 {
        return Err(Error::invalid(Subject::None, "batch_rows_max must be at least 1"));
    }
    let connection = handle::get::<OpenConnection>(parent)?;
    let store = connection.store();
    let schema = store.table(&arguments.path)?.descriptor.schema;
    let (projection, types) = project(&schema, arguments.projection)?;
    let options = ScanOptions {
        projection: Some(projection),
        batch_rows_max: arguments.batch_rows_max,
        filter: arguments.filter,
    };
    let scanner = store.scanner(&arguments.path, &options)?;
    let block = BlockWriter::new(BinaryRowWriter::new(&types));
    let sending = Mutex::new(Sending { block, rest: None, rows: 1, snapshots: HashMap::new() });
    let open = OpenScanner { scanner, sending, closed: AtomicBool::new(false) };
    handle::insert_child::<OpenConnection>(open, parent)
}

/// The wanted positions and their types. "All" is spelt out, so that a column added meanwhile changes nothing.
///
/// # Errors
/// `Invalid` about `Column` for a position that the schema does not have.
pub fn project(schema: &Schema, projection: Option<Vec<usize>>) -> Result<(Vec<usize>, Vec<DataType>)> {
    let projection = projection.unwrap_or_else(|| (0..schema.columns.len()).collect());
    let of = |at: &usize| {
        let column: Option<&Column> = schema.columns.get(*at);
        column.map(|column| column.data_type.clone()).ok_or_else(|| {
            let message = format!("the projection names column {at}, the table has {}", schema.columns.len());
            Error::invalid(Subject::Column, message)
        })
    };
    let types = projection.iter().map(of).collect::<Result<_>>()?;
    Ok((projection, types))
}

impl Held for OpenScanner {
    fn noun() -> &'static str {
        "table scanner"
    }

    /// Ends a running poll, which then says `Closed`.
    fn leave(&self) {
        self.closed.store(true, Ordering::Release);
        self.scanner.wake();
    }
}

impl OpenScanner {
    /// Adds a split.
    ///
    /// # Errors
    /// As [`Scanner::subscribe`]; `Invalid` for wrong arguments.
    pub fn subscribe(&self, json: &str) -> Result<()> {
        let split: ScanSplit = json::parse::<SplitArguments>("subscribe", json)?.into();
        let (id, start) = (split.id, split.start.clone());
        self.scanner.subscribe(split)?;
        self.sending()?.forget(id).note(id, &start);
        Ok(())
    }

    /// Removes a split, what is left of its last batch too.
    pub fn unsubscribe(&self, split: u32) {
        self.scanner.unsubscribe(split);
        if let Ok(mut sending) = self.sending.lock() {
            sending.forget(split);
        }
    }

    /// Waits for a batch.
    ///
    /// # Errors
    /// As [`Scanner::poll`]; `Closed` when the scanner was closed meanwhile.
    pub fn poll(&self, timeout: Duration) -> Result<Option<ScanBatch>> {
        let batch = self.scanner.poll(timeout)?;
        if batch.is_none() && self.closed.load(Ordering::Acquire) {
            return Err(Error::new(
                ErrorKind::Closed,
                Subject::None,
                "this table scanner was closed while it was polled",
            ));
        }
        Ok(batch)
    }

    /// Ends the running or the next poll.
    pub fn wake(&self) {
        self.scanner.wake();
    }

    /// Waits for a batch and calls `send` with it, or with a part of it, as a block.
    fn poll_block<R: Default>(
        &self,
        timeout: Duration,
        send: impl FnOnce(&[u8]) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let rest = self.sending()?.rest.take();
        let is_new = rest.is_none();
        let Some(batch) = rest.map_or_else(|| self.poll(timeout), |rest| Ok(Some(rest)))? else {
            return Ok(R::default());
        };
        let mut sending = self.sending()?;
        if is_new {
            sending.rows = rows_of_a_block(&batch.rows);
        }
        let (now, rest) = split(batch, sending.rows, &sending.snapshots);
        sending.rest = rest;
        sending.note(now.split, &now.next);
        send(sending.block.scan(&now)?)
    }

    fn sending(&self) -> Result<MutexGuard<'_, Sending>> {
        self.sending
            .lock()
            .map_err(|_| Error::internal("an earlier poll of this scanner ended in a defect; open a new one"))
    }
}

impl Sending {
    /// Drops what is known of a split.
    fn forget(&mut self, split: u32) -> &mut Self {
        self.rest.take_if(|rest| rest.split == split);
        self.snapshots.remove(&split);
        self
    }

    /// Remembers where a split goes on, as far as [`split`] needs it.
    fn note(&mut self, split: u32, next: &ScanStart) {
        match *next {
            ScanStart::Snapshot { snapshot, skip_rows } => {
                self.snapshots.insert(split, Position { snapshot, rows: skip_rows })
            }
            _ => self.snapshots.remove(&split),
        };
    }
}

/// How many rows like these fill a block.
fn rows_of_a_block(rows: &RecordBatch) -> usize {
    let values = |column: &ArrayRef| column.to_data().get_slice_memory_size().unwrap_or(0);
    let slots = 8 * rows.num_rows() * (rows.num_columns() + 1);
    let bytes = slots + rows.columns().iter().map(values).sum::<usize>();
    (BLOCK_BYTES * rows.num_rows() / bytes.max(1)).max(1)
}

/// The first `rows` rows of a batch and the rest, if there is one and a reader can be told where to go on between the two.
fn split(batch: ScanBatch, rows: usize, snapshots: &HashMap<u32, Position>) -> (ScanBatch, Option<ScanBatch>) {
    let left = batch.rows.num_rows().saturating_sub(rows);
    let taken = i64::try_from(rows).unwrap_or(i64::MAX);
    let next = match batch.next {
        _ if left == 0 => None,
        ScanStart::Log { .. } if batch.base_offset >= 0 => Some(ScanStart::Log { offset: batch.base_offset + taken }),
        // The last batch of a snapshot goes on in the log and does not say how many rows came before it.
        ScanStart::Log { .. } => snapshots
            .get(&batch.split)
            .map(|before| ScanStart::Snapshot { snapshot: before.snapshot, skip_rows: before.rows + rows as u64 }),
        ScanStart::Snapshot { snapshot, skip_rows } => {
            Some(ScanStart::Snapshot { snapshot, skip_rows: skip_rows.saturating_sub(left as u64) })
        }
        ScanStart::Current | ScanStart::Limit { .. } => Some(batch.next.clone()),
    };
    let Some(next) = next else {
        return (batch, None);
    };
    let (head, tail) = match &batch.kinds {
        Some(kinds) => (kinds.get(..rows).map(<[_]>::to_vec), kinds.get(rows..).map(<[_]>::to_vec)),
        None => (None, None),
    };
    let first = ScanBatch { rows: batch.rows.slice(0, rows), kinds: head, next, finished: false, ..batch };
    let base_offset = if batch.base_offset < 0 { -1 } else { batch.base_offset + taken };
    let rest = ScanBatch { rows: batch.rows.slice(rows, left), kinds: tail, base_offset, ..batch };
    (first, Some(rest))
}

export!(fn Java_io_sluice_store_NativeScanner_open(env, connection: jlong, json: JString<'local>) -> jlong {
    Ok(open(connection, &json.try_to_string(env)?)?)
});

export!(fn Java_io_sluice_store_NativeScanner_subscribe(env, scanner: jlong, json: JString<'local>) -> () {
    let json = json.try_to_string(env)?;
    Ok(handle::get::<OpenScanner>(scanner)?.subscribe(&json)?)
});

export!(fn Java_io_sluice_store_NativeScanner_unsubscribe(_env, scanner: jlong, split: jint) -> () {
    handle::get::<OpenScanner>(scanner)?.unsubscribe(split.cast_unsigned());
    Ok(())
});

export!(fn Java_io_sluice_store_NativeScanner_poll(env, scanner: jlong, timeout_ms: jlong) -> JByteArray<'local> {
    handle::get::<OpenScanner>(scanner)?.poll_block(timeout(timeout_ms), |block| Ok(env.byte_array_from_slice(block)?))
});

export!(fn Java_io_sluice_store_NativeScanner_wake(_env, scanner: jlong) -> () {
    handle::get::<OpenScanner>(scanner)?.wake();
    Ok(())
});

export!(fn Java_io_sluice_store_NativeScanner_close(_env, scanner: jlong) -> () {
    Ok(handle::close(scanner)?)
});

#[cfg(test)]
mod tests;
