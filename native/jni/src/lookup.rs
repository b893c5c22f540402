//! An open lookup, and the exports of `NativeLookup`.

use crate::block::BlockWriter;
use crate::connection::OpenConnection;
use crate::handle::{self, Handle, Held};
use crate::json::LookupArguments;
use crate::scanner::project;
use crate::writer::named;
use crate::{columns, export, json};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use jni::objects::{JByteArray, JString};
use jni::sys::{jint, jlong};
use sluice_api::{InsertingLookup, Lookup, LookupOptions, LookupRows};
use sluice_base::Result;
use sluice_row::{BinaryRowWriter, ColumnIn, DataType, Schema, arrow_schema, columns_to_batch};

/// A lookup that Java or C has opened; threads share it.
pub struct OpenLookup {
    lookup: Box<dyn Lookup>,
    key_types: Vec<DataType>,
    key_schema: SchemaRef,
    types: Vec<DataType>,
}

/// Opens a lookup of the connection `parent`.
///
/// # Errors
/// `Closed`; `Invalid` for wrong arguments or key columns; `NotFound` about `Table` or `Column`.
pub fn open(parent: Handle, json: &str) -> Result<Handle> {
    let arguments: LookupArguments = json::parse("lookup", json)?;
    let connection = handle::get::<OpenConnection>(parent)?;
    let store = connection.store();
    let schema = store.table(&arguments.path)?.descriptor.schema;
    let (projection, types) = project(&schema, arguments.projection)?;
    let mut key = named(&schema, &arguments.key_columns)?;
    // A key looked up may hold NULL (and finds nothing), whatever the table allows.
    key.iter_mut().for_each(|column| column.data_type.nullable = true);
    let options = LookupOptions { key_columns: arguments.key_columns, projection: Some(projection) };
    let lookup: Box<dyn Lookup> = match arguments.insert_missing {
        true => Box::new(InsertingLookup::open(store, &arguments.path, &options)?),
        false => store.lookup(&arguments.path, &options)?,
    };
    let key_types = key.iter().map(|column| column.data_type.clone()).collect();
    let key_schema = arrow_schema(&Schema::new(key, Vec::new()));
    let open = OpenLookup { lookup, key_types, key_schema, types };
    handle::insert_child::<OpenConnection>(open, parent)
}

impl Held for OpenLookup {
    fn noun() -> &'static str {
        "key lookup"
    }
}

impl OpenLookup {
    /// What a batch of keys must look like.
    pub fn key_schema(&self) -> &SchemaRef {
        &self.key_schema
    }

    /// Looks keys up.
    ///
    /// # Errors
    /// As [`Lookup::lookup`].
    pub fn lookup(&self, keys: &RecordBatch) -> Result<LookupRows> {
        self.lookup.lookup(keys)
    }
}

export!(fn Java_io_sluice_store_NativeLookup_open(env, connection: jlong, json: JString<'local>) -> jlong {
    Ok(open(connection, &json.try_to_string(env)?)?)
});

export!(fn Java_io_sluice_store_NativeLookup_lookup(env, lookup: jlong, table: jlong, count: jint, rows: jint) -> JByteArray<'local> {
    let lookup = handle::get::<OpenLookup>(lookup)?;
    let to_batch = |columns: &[ColumnIn<'_>], rows: usize| columns_to_batch(&lookup.key_schema, &lookup.key_types, columns, rows);
    // SAFETY: `ColumnBuffers` keeps the addresses it hands over as they are until this call returns.
    let keys = unsafe { columns::with_columns(table, count, rows, lookup.key_types.len(), to_batch) }?;
    let found = lookup.lookup(&keys)?;
    // A writer for each call: threads share the lookup, and a lock would make them wait for each other.
    Ok(env.byte_array_from_slice(BlockWriter::new(BinaryRowWriter::new(&lookup.types)).lookup(&found)?)?)
});

export!(fn Java_io_sluice_store_NativeLookup_close(_env, lookup: jlong) -> () {
    Ok(handle::close(lookup)?)
});
