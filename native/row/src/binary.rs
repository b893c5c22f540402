//! Rows in Flink's BinaryRowData layout, byte for byte as Flink's own serializer writes them.

use crate::DataType;
use arrow_array::RecordBatch;
use sluice_base::{Error, Result};

/// Writes batches of fixed types as BinaryRowData.
#[derive(Debug)]
pub struct BinaryRowWriter;

impl BinaryRowWriter {
    /// A writer for rows of these types.
    #[must_use]
    pub fn new(_types: &[DataType]) -> Self {
        Self
    }

    /// Appends all rows to `out`, each at a multiple of 8 bytes from the start of `out`, and their positions from the start of `out`
    /// to `starts`: one a row, and the end of the last.
    ///
    /// # Errors
    /// `Internal` when the columns are not of the writer's types; `Invalid` when the rows pass 4 GiB.
    pub fn write(&self, _rows: &RecordBatch, _out: &mut Vec<u8>, _starts: &mut Vec<u32>) -> Result<()> {
        Err(Error::internal("not written yet"))
    }
}
