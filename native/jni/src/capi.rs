//! The C door: `include/sluice.h` is generated from this file. Status codes instead of exceptions, the message beside them per thread.
//!
//! Every function runs inside [`guard`], so a panic ends as a status too. Rows cross as Arrow C data; ownership of a structure that comes
//! in moves before anything is checked.

use crate::arrow_c::{ArrowIn, export_bytes, export_rows};
use crate::block::row_kind;
use crate::connection::{self, OpenConnection};
use crate::handle::{self, Handle};
use crate::lookup::{self, OpenLookup};
use crate::scanner::{self, OpenScanner};
use crate::writer::{self, OpenWriter, timeout};
use crate::{json, panic};
use arrow_array::ffi::FFI_ArrowArray;
use arrow_schema::ffi::FFI_ArrowSchema;
use sluice_api::{ScanBatch, ScanStart};
use sluice_base::{Error, Result, Subject};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

/// How a call ended. The errors are the kinds of error of the engine.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SluiceStatus {
    /// It did what was asked.
    Ok = 0,
    /// The request is wrong; change it.
    Invalid = 1,
    /// The named thing does not exist.
    NotFound = 2,
    /// The named thing exists already.
    AlreadyExists = 3,
    /// The request does not fit the present state.
    Conflict = 4,
    /// Not now; the same call may succeed later.
    Busy = 5,
    /// The caller may not do this.
    Unauthorized = 6,
    /// Somebody newer has taken over; stop.
    Fenced = 7,
    /// Stored bytes are damaged.
    Corrupt = 8,
    /// The operating system refused.
    Io = 9,
    /// This version cannot do it.
    Unsupported = 10,
    /// A defect of the engine.
    Internal = 11,
    /// The handle was closed.
    Closed = 12,
}

/// What was polled besides the rows themselves.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SluiceBatch {
    /// Number of rows.
    pub rows: i64,
    /// Log offset of the first row, the others follow it one by one; -1 for rows of a snapshot.
    pub base_offset: i64,
    /// Where to go on: a log offset, or with `next_is_snapshot` the number of snapshot rows read so far.
    pub next: i64,
    /// Commit time in ms since 1970; -1 for rows of a snapshot.
    pub timestamp_ms: i64,
    /// The split's number.
    pub split: u32,
    /// Whether anything was polled. If not, nothing else here means anything and no structure was written.
    pub present: bool,
    /// Whether the split ends with this batch, which may have no rows.
    pub finished: bool,
    /// What `next` counts.
    pub next_is_snapshot: bool,
}

thread_local! {
    /// Message and subject of the last failure.
    static LAST: RefCell<Option<(CString, i32)>> = const { RefCell::new(None) };
}

fn status(error: &Error) -> SluiceStatus {
    use SluiceStatus as S;
    use sluice_base::ErrorKind as K;
    match error.kind() {
        K::Invalid => S::Invalid,
        K::NotFound => S::NotFound,
        K::AlreadyExists => S::AlreadyExists,
        K::Conflict => S::Conflict,
        K::Busy => S::Busy,
        K::Unauthorized => S::Unauthorized,
        K::Fenced => S::Fenced,
        K::Corrupt => S::Corrupt,
        K::Io => S::Io,
        K::Unsupported => S::Unsupported,
        K::Internal => S::Internal,
        K::Closed => S::Closed,
    }
}

/// The one way in.
fn guard(call: impl FnOnce() -> Result<()>) -> SluiceStatus {
    panic::install_hook();
    let error = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return SluiceStatus::Ok,
        Ok(Err(error)) => error,
        Err(payload) => panic::to_error(payload),
    };
    let message = error.message().replace('\0', " ");
    let last = (CString::new(message).unwrap_or_default(), error.subject().code());
    // A thread that is ending has nowhere to keep the text.
    let _ = LAST.try_with(|place| place.replace(Some(last)));
    status(&error)
}

fn null(what: &str) -> Error {
    Error::invalid(Subject::None, format!("{what} is a null pointer"))
}

/// # Safety
/// `text` is null or a string that ends in a zero byte.
unsafe fn text<'a>(what: &str, text: *const c_char) -> Result<&'a str> {
    if text.is_null() {
        return Err(null(what));
    }
    // SAFETY: by this function's contract.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Error::invalid(Subject::None, format!("{what} is not UTF-8")))
}

/// Writes the result of a call.
///
/// # Safety
/// `place` is null or good for writing a `T`.
unsafe fn put<T>(what: &str, place: *mut T, value: T) -> Result<()> {
    if place.is_null() {
        return Err(null(what));
    }
    // SAFETY: by this function's contract. What was there is not dropped: it is uninitialised or released.
    unsafe { place.write(value) };
    Ok(())
}

/// Message of this thread's last failed call; good until its next failed call. Never null.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_last_error() -> *const c_char {
    let pointer = LAST.try_with(|last| last.borrow().as_ref().map(|(message, _)| message.as_ptr()));
    pointer.ok().flatten().unwrap_or(c"".as_ptr())
}

/// What this thread's last failed call was about, as a number: 0 nothing in particular, 1 store, 2 database, 3 table, 4 partition, 5 bucket,
/// 6 column, 7 option, 8 row, 9 offset, 10 snapshot, 11 writer, 12 file, 13 disk.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_last_error_subject() -> i32 {
    LAST.try_with(|last| last.borrow().as_ref().map_or(0, |(_, subject)| *subject)).unwrap_or(0)
}

/// Opens a store; give the handle back with `sluice_close`. `options` is JSON: {"bootstrap.servers":"embedded:/directory", ...}.
///
/// # Safety
/// `options` is a string that ends in a zero byte, `connection` good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_open(options: *const c_char, connection: *mut i64) -> SluiceStatus {
    guard(|| {
        // SAFETY: by this function's contract.
        let handle = connection::open(unsafe { text("options", options) }?)?;
        // SAFETY: likewise.
        unsafe { put("connection", connection, handle) }.inspect_err(|_| drop(handle::close(handle)))
    })
}

/// Gives any handle back; with a connection all that was made from it. Zero and a handle already given back are no errors.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_close(handle: i64) -> SluiceStatus {
    guard(|| handle::close(handle))
}

/// Runs an admin operation of docs/jni.md. Its answer is JSON; free it with `sluice_string_free`.
///
/// # Safety
/// `operation` and `arguments` are strings that end in a zero byte, `answer` is good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_admin(
    connection: i64,
    operation: *const c_char,
    arguments: *const c_char,
    answer: *mut *mut c_char,
) -> SluiceStatus {
    guard(|| {
        // SAFETY: by this function's contract.
        let (operation, arguments) = unsafe { (text("operation", operation)?, text("arguments", arguments)?) };
        if answer.is_null() {
            return Err(null("answer"));
        }
        let json = json::admin(handle::get::<OpenConnection>(connection)?.store(), operation, arguments)?;
        let json = CString::new(json).map_err(|_| Error::internal("an answer with a zero byte"))?;
        // SAFETY: by this function's contract.
        unsafe { put("answer", answer, json.into_raw()) }
    })
}

/// Frees a string that the library gave; null is no error.
///
/// # Safety
/// `string` is null or came from this library and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_string_free(string: *mut c_char) {
    if !string.is_null() {
        guard(|| {
            // SAFETY: by this function's contract it came from `CString::into_raw`.
            drop(unsafe { CString::from_raw(string) });
            Ok(())
        });
    }
}

/// Opens something from a connection and JSON.
///
/// # Safety
/// `arguments` is a string that ends in a zero byte, `place` good for writing.
unsafe fn open(arguments: *const c_char, place: *mut i64, open: impl FnOnce(&str) -> Result<Handle>) -> SluiceStatus {
    guard(|| {
        // SAFETY: by this function's contract.
        let handle = open(unsafe { text("arguments", arguments) }?)?;
        // SAFETY: likewise.
        unsafe { put("the place for the handle", place, handle) }.inspect_err(|_| drop(handle::close(handle)))
    })
}

/// Opens a writer: {"path":{"database","table"},"target_columns":[names],"overwrite":bool}.
///
/// # Safety
/// `arguments` is a string that ends in a zero byte, `writer` good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_writer_open(
    connection: i64,
    arguments: *const c_char,
    writer: *mut i64,
) -> SluiceStatus {
    // SAFETY: by this function's contract.
    unsafe { open(arguments, writer, |json| writer::open(connection, json)) }
}

/// Hands rows over: a struct array with one child for each column to be written, in order. `kinds` is null when all rows are inserts, else
/// one byte a row: 0 insert, 1 update before, 2 update after, 3 delete. Both structures are taken, whatever the outcome.
///
/// # Safety
/// `array` and `schema` are valid structures of the Arrow C data interface; `kinds` is null or as long as the array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_writer_append(
    writer: i64,
    array: *mut FFI_ArrowArray,
    schema: *mut FFI_ArrowSchema,
    kinds: *const u8,
) -> SluiceStatus {
    guard(|| {
        // SAFETY: by this function's contract.
        let taken = unsafe { ArrowIn::take(array, schema) }?;
        let writer = handle::get::<OpenWriter>(writer)?;
        let batch = taken.import(writer.schema())?;
        // SAFETY: by this function's contract.
        let kinds = if kinds.is_null() { &[] } else { unsafe { slice::from_raw_parts(kinds, batch.num_rows()) } };
        writer.write(&batch, kinds)
    })
}

/// Waits until all rows handed over are durable and visible. `SLUICE_STATUS_BUSY` when the time passes first.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_writer_flush(writer: i64, timeout_ms: i64) -> SluiceStatus {
    guard(|| handle::get::<OpenWriter>(writer)?.flush(timeout(timeout_ms)))
}

/// Opens a scanner without splits: {"path","projection":[int]|null,"batch_rows_max":n}.
///
/// # Safety
/// `arguments` is a string that ends in a zero byte, `scanner` good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scanner_open(
    connection: i64,
    arguments: *const c_char,
    scanner: *mut i64,
) -> SluiceStatus {
    // SAFETY: by this function's contract.
    unsafe { open(arguments, scanner, |json| scanner::open(connection, json)) }
}

/// Adds a split: {"id","bucket":{"table_id","partition_id":null,"bucket"},"start":START,"stop":n|null}, see docs/jni.md.
///
/// # Safety
/// `split` is a string that ends in a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scanner_subscribe(scanner: i64, split: *const c_char) -> SluiceStatus {
    guard(|| {
        // SAFETY: by this function's contract.
        let json = unsafe { text("split", split) }?;
        handle::get::<OpenScanner>(scanner)?.subscribe(json)
    })
}

/// Removes a split; an unknown one is no error.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_scanner_unsubscribe(scanner: i64, split: u32) -> SluiceStatus {
    guard(|| {
        handle::get::<OpenScanner>(scanner)?.unsubscribe(split);
        Ok(())
    })
}

/// Waits up to `timeout_ms` for rows. If `batch->present` becomes true, `array` and `schema` hold a struct array of the wanted columns, and `kinds` a uint8
/// array with the kind of each row; its `release` is null when all rows are inserts. The caller releases all three.
///
/// # Safety
/// All pointers are good for writing; the structures behind them are uninitialised or released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scanner_poll(
    scanner: i64,
    timeout_ms: i64,
    batch: *mut SluiceBatch,
    array: *mut FFI_ArrowArray,
    schema: *mut FFI_ArrowSchema,
    kinds: *mut FFI_ArrowArray,
) -> SluiceStatus {
    guard(|| {
        if batch.is_null() || array.is_null() || schema.is_null() || kinds.is_null() {
            return Err(null("batch, array, schema or kinds"));
        }
        let Some(polled) = handle::get::<OpenScanner>(scanner)?.poll(timeout(timeout_ms))? else {
            // SAFETY: by this function's contract.
            return unsafe { put("batch", batch, SluiceBatch::default()) };
        };
        let changes = match &polled.kinds {
            Some(changes) => export_bytes(changes.iter().map(|kind| row_kind(*kind)).collect()),
            None => FFI_ArrowArray::empty(),
        };
        let (rows, types) = export_rows(&polled.rows)?;
        // SAFETY: by this function's contract, and none is null.
        unsafe {
            ptr::write(kinds, changes);
            ptr::write(array, rows);
            ptr::write(schema, types);
            put("batch", batch, describe(&polled))
        }
    })
}

fn describe(polled: &ScanBatch) -> SluiceBatch {
    let (next, next_is_snapshot) = match polled.next {
        ScanStart::Log { offset } => (offset, false),
        ScanStart::Snapshot { skip_rows, .. } => (i64::try_from(skip_rows).unwrap_or(i64::MAX), true),
        ScanStart::Current | ScanStart::Limit { .. } => (0, true),
    };
    SluiceBatch {
        rows: i64::try_from(polled.rows.num_rows()).unwrap_or(i64::MAX),
        base_offset: polled.base_offset,
        next,
        timestamp_ms: polled.timestamp_ms,
        split: polled.split,
        present: true,
        finished: polled.finished,
        next_is_snapshot,
    }
}

/// Makes the running or the next poll return at once.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_scanner_wake(scanner: i64) -> SluiceStatus {
    guard(|| {
        handle::get::<OpenScanner>(scanner)?.wake();
        Ok(())
    })
}

/// Opens a lookup: {"path","key_columns":[names],"projection":[int]|null}.
///
/// # Safety
/// `arguments` is a string that ends in a zero byte, `lookup` good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_lookup_open(
    connection: i64,
    arguments: *const c_char,
    lookup: *mut i64,
) -> SluiceStatus {
    // SAFETY: by this function's contract.
    unsafe { open(arguments, lookup, |json| lookup::open(connection, json)) }
}

/// Looks keys up: `keys` and `keys_schema` are a struct array of the key columns and are taken; `array` and `schema` receive the rows found, those of the
/// first key first; `ends` receives for each key the end (exclusive) of its rows and has room for as many as there are keys.
///
/// # Safety
/// The first two are valid structures; the others are good for writing, their structures uninitialised or released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_lookup(
    lookup: i64,
    keys: *mut FFI_ArrowArray,
    keys_schema: *mut FFI_ArrowSchema,
    array: *mut FFI_ArrowArray,
    schema: *mut FFI_ArrowSchema,
    ends: *mut u32,
) -> SluiceStatus {
    guard(|| {
        // SAFETY: by this function's contract.
        let taken = unsafe { ArrowIn::take(keys, keys_schema) }?;
        if array.is_null() || schema.is_null() || ends.is_null() {
            return Err(null("array, schema or ends"));
        }
        let lookup = handle::get::<OpenLookup>(lookup)?;
        let keys = taken.import(lookup.key_schema())?;
        let found = lookup.lookup(&keys)?;
        if found.ends.len() != keys.num_rows() {
            return Err(Error::internal("a lookup answered another number of keys"));
        }
        let (rows, types) = export_rows(&found.rows)?;
        // SAFETY: by this function's contract, and none is null.
        unsafe {
            ptr::copy_nonoverlapping(found.ends.as_ptr(), ends, found.ends.len());
            ptr::write(array, rows);
            ptr::write(schema, types);
        }
        Ok(())
    })
}

/// Bytes that the engine has allocated in this process. RocksDB's own memory is not in it.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_allocated_bytes() -> i64 {
    crate::memory::allocated_bytes()
}

/// How many handles are open in this process.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_live_handles() -> i64 {
    i64::try_from(handle::live()).unwrap_or(i64::MAX)
}
