//! An open writer, and the exports of `NativeWriter`.

use crate::connection::OpenConnection;
use crate::handle::{self, Handle, Held};
use crate::json::WriterArguments;
use crate::{columns, export, json};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use jni::objects::JString;
use jni::sys::{jint, jlong};
use sluice_api::{WriteOptions, Writer};
use sluice_base::{Error, Offset, Result, Subject, TableBucket};
use sluice_row::{ChangeKind, Column, ColumnIn, DataType, Schema, arrow_schema, columns_to_batch};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// A writer that Java or C has opened.
pub struct OpenWriter {
    writing: Mutex<Writing>,
    types: Vec<DataType>,
    schema: SchemaRef,
}

struct Writing {
    writer: Box<dyn Writer>,
    kinds: Vec<ChangeKind>,
}

/// Opens a writer of the connection `parent`.
///
/// # Errors
/// `Closed`; `Invalid` for wrong arguments; `NotFound` about `Table`.
pub fn open(parent: Handle, json: &str) -> Result<Handle> {
    let arguments: WriterArguments = json::parse("writer", json)?;
    let connection = handle::get::<OpenConnection>(parent)?;
    let store = connection.store();
    let table = store.table(&arguments.path)?;
    let keyed = !table.descriptor.schema.primary_key.is_empty();
    let mut columns = if arguments.target_columns.is_empty() {
        table.descriptor.schema.columns
    } else {
        named(&table.descriptor.schema, &arguments.target_columns)?
    };
    if keyed {
        // A delete may carry nothing but its key; the store checks the other rows.
        columns.iter_mut().for_each(|column| column.data_type.nullable = true);
    }
    let WriterArguments { path, target_columns, overwrite, create_partitions } = arguments;
    let writer = store.writer(&path, &WriteOptions { target_columns, overwrite, create_partitions })?;
    let types = columns.iter().map(|column| column.data_type.clone()).collect();
    let schema = arrow_schema(&Schema::new(columns, Vec::new()));
    let writing = Mutex::new(Writing { writer, kinds: Vec::new() });
    handle::insert_child::<OpenConnection>(OpenWriter { writing, types, schema }, parent)
}

/// Columns of a schema by name, in the order of the names.
///
/// # Errors
/// `NotFound` about `Column`.
pub fn named(schema: &Schema, names: &[String]) -> Result<Vec<Column>> {
    let find = |name: &String| {
        let column = schema.columns.iter().find(|column| column.name == *name);
        column.cloned().ok_or_else(|| Error::not_found(Subject::Column, format!("the table has no column '{name}'")))
    };
    names.iter().map(find).collect()
}

/// The kind behind Flink's byte.
fn change_kind(byte: u8) -> Result<ChangeKind> {
    match byte {
        0 => Ok(ChangeKind::Insert),
        1 => Ok(ChangeKind::UpdateBefore),
        2 => Ok(ChangeKind::UpdateAfter),
        3 => Ok(ChangeKind::Delete),
        _ => Err(Error::invalid(Subject::Row, format!("row kind {byte} is none of 0 (+I), 1 (-U), 2 (+U), 3 (-D)"))),
    }
}

impl Held for OpenWriter {
    fn noun() -> &'static str {
        "table writer"
    }
}

impl OpenWriter {
    /// What a batch must look like.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Hands a batch over; `kinds` holds Flink's byte for each row, or nothing when all are inserts.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn write(&self, batch: &RecordBatch, kinds: &[u8]) -> Result<()> {
        let mut writing = self.lock()?;
        let Writing { writer, kinds: changes } = &mut *writing;
        changes.clear();
        if kinds.iter().any(|kind| *kind != 0) {
            for kind in kinds {
                changes.push(change_kind(*kind)?);
            }
        }
        writer.write(batch, changes)
    }

    /// Waits until all rows handed over are durable.
    ///
    /// # Errors
    /// As [`Writer::flush`].
    pub fn flush(&self, timeout: Duration) -> Result<()> {
        self.lock()?.writer.flush(timeout)
    }

    /// Takes back what was written to a bucket since an offset.
    ///
    /// # Errors
    /// As [`Writer::undo`].
    pub fn undo(&self, bucket: &TableBucket, from: Offset) -> Result<()> {
        self.lock()?.writer.undo(bucket, from)
    }

    fn lock(&self) -> Result<MutexGuard<'_, Writing>> {
        self.writing
            .lock()
            .map_err(|_| Error::internal("an earlier call on this writer ended in a defect; open a new one"))
    }
}

export!(fn Java_io_sluice_store_NativeWriter_open(env, connection: jlong, json: JString<'local>) -> jlong {
    Ok(open(connection, &json.try_to_string(env)?)?)
});

export!(fn Java_io_sluice_store_NativeWriter_write(_env, writer: jlong, table: jlong, count: jint, kinds: jlong, rows: jint) -> () {
    let writer = handle::get::<OpenWriter>(writer)?;
    let to_batch = |columns: &[ColumnIn<'_>], rows: usize| columns_to_batch(&writer.schema, &writer.types, columns, rows);
    // SAFETY: `ColumnBuffers` keeps the addresses it hands over as they are until this call returns.
    let batch = unsafe { columns::with_columns(table, count, rows, writer.types.len(), to_batch) }?;
    // SAFETY: likewise.
    Ok(writer.write(&batch, unsafe { columns::kinds(kinds, rows) })?)
});

export!(fn Java_io_sluice_store_NativeWriter_flush(_env, writer: jlong, timeout_ms: jlong) -> () {
    Ok(handle::get::<OpenWriter>(writer)?.flush(timeout(timeout_ms))?)
});

export!(fn Java_io_sluice_store_NativeWriter_undo(env, writer: jlong, bucket: JString<'local>, from: jlong) -> () {
    let bucket: json::Bucket = json::parse("undo", &bucket.try_to_string(env)?)?;
    Ok(handle::get::<OpenWriter>(writer)?.undo(&bucket.into(), from)?)
});

export!(fn Java_io_sluice_store_NativeWriter_close(_env, writer: jlong) -> () {
    Ok(handle::close(writer)?)
});

/// A timeout that came as a number; a negative one is none at all.
pub fn timeout(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
