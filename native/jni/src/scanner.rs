//! An open scanner, and the exports of `NativeScanner`.

use crate::block::BlockWriter;
use crate::connection::OpenConnection;
use crate::error::Failure;
use crate::handle::{self, Handle, Object};
use crate::json::{ScannerArguments, SplitArguments};
use crate::writer::timeout;
use crate::{export, json};
use jni::objects::{JByteArray, JString};
use jni::sys::{jint, jlong};
use sluice_api::{ScanBatch, ScanOptions, Scanner};
use sluice_base::{Error, ErrorKind, Result, Subject};
use sluice_row::{BinaryRowWriter, Column, DataType, Schema};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A scanner that Java or C has opened.
pub struct OpenScanner {
    scanner: Box<dyn Scanner>,
    block: Mutex<BlockWriter>,
    closed: AtomicBool,
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
    let options = ScanOptions { projection: Some(projection), batch_rows_max: arguments.batch_rows_max };
    let scanner = store.scanner(&arguments.path, &options)?;
    let block = Mutex::new(BlockWriter::new(BinaryRowWriter::new(&types)));
    let open = OpenScanner { scanner, block, closed: AtomicBool::new(false) };
    handle::insert_child(Object::Scanner(Arc::new(open)), parent)
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

impl OpenScanner {
    /// Adds a split.
    ///
    /// # Errors
    /// As [`Scanner::subscribe`]; `Invalid` for wrong arguments.
    pub fn subscribe(&self, json: &str) -> Result<()> {
        let arguments: SplitArguments = json::parse("subscribe", json)?;
        self.scanner.subscribe(arguments.into())
    }

    /// Removes a split.
    pub fn unsubscribe(&self, split: u32) {
        self.scanner.unsubscribe(split);
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

    /// Ends a running poll, which then says `Closed`.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.scanner.wake();
    }

    /// Waits for a batch and calls `send` with it as a block.
    fn poll_block<R: Default>(
        &self,
        timeout: Duration,
        send: impl FnOnce(&[u8]) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let Some(batch) = self.poll(timeout)? else {
            return Ok(R::default());
        };
        let mut block = self
            .block
            .lock()
            .map_err(|_| Error::internal("an earlier poll of this scanner ended in a defect; open a new one"))?;
        send(block.scan(&batch)?)
    }
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
