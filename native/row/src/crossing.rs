//! Columns as Java hands them over (docs/jni.md, "Columns in") to Arrow.

use crate::DataType;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use sluice_base::{Error, Result};

/// One column of a block. Little-endian; no alignment is asked of `data` and `extra`.
#[derive(Debug, Clone, Copy)]
pub struct ColumnIn<'a> {
    /// Arrow validity bitmap; absent when nothing is NULL.
    pub validity: Option<&'a [u8]>,
    /// The values.
    pub data: &'a [u8],
    /// For values of varying length: where each starts in `data`, and where the last ends.
    pub offsets: Option<&'a [i32]>,
    /// For TIMESTAMP with precision above 3: nanoseconds within the millisecond, 4 bytes a row.
    pub extra: Option<&'a [u8]>,
}

/// Copies and checks `rows` rows. Times are cut to the declared precision, towards the past.
///
/// # Errors
/// `Invalid` about `Column`, naming it: NULL in a NOT NULL column, text that is not UTF-8, a decimal or timestamp out of range, buffers shorter
/// than `rows` needs. `Corrupt` for damaged ARRAY, MAP or ROW memory.
pub fn columns_to_batch(
    _schema: &SchemaRef,
    _types: &[DataType],
    _columns: &[ColumnIn<'_>],
    _rows: usize,
) -> Result<RecordBatch> {
    Err(Error::internal("not written yet"))
}
