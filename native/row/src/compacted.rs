//! Compacted rows: the values of the KV store and, without the null bits, its keys (protocol, row encodings).

use crate::DataType;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use sluice_base::{Error, Result};
use std::marker::PhantomData;

/// Encodes rows of fixed types.
#[derive(Debug)]
pub struct RowEncoder;

impl RowEncoder {
    /// An encoder for rows of these types.
    #[must_use]
    pub fn new(_types: &[DataType]) -> Self {
        Self
    }

    /// Looks at the arrays of one batch, once, so that each row then needs no type test.
    ///
    /// # Errors
    /// `Internal` when the arrays are not of the encoder's types.
    pub fn bind<'a>(&self, _columns: &'a [ArrayRef]) -> Result<BoundRows<'a>> {
        Err(Error::internal("not written yet"))
    }
}

/// One batch, ready to be encoded row by row.
#[derive(Debug)]
pub struct BoundRows<'a>(PhantomData<&'a ()>);

impl BoundRows<'_> {
    /// Appends the compacted bytes of row number `row`.
    pub fn encode(&self, _row: usize, _out: &mut Vec<u8>) {}
}

/// Decodes compacted rows into columns.
#[derive(Debug)]
pub struct RowDecoder;

impl RowDecoder {
    /// A decoder for stored rows of these types; `projection` names the wanted columns in output order, `None` means all.
    #[must_use]
    pub fn new(_types: &[DataType], _projection: Option<&[usize]>) -> Self {
        Self
    }

    /// The stored rows have only the first `columns` columns (an older schema); the others read as NULL.
    #[must_use]
    pub fn with_stored_width(self, _columns: usize) -> Self {
        self
    }

    /// Batches get this schema (names); without it the columns are called `f0`, `f1`, ...
    #[must_use]
    pub fn with_schema(self, _schema: SchemaRef) -> Self {
        self
    }

    /// An empty builder with room for `capacity` rows.
    #[must_use]
    pub fn builder(&self, _capacity: usize) -> RowsBuilder {
        RowsBuilder
    }
}

/// Columns under construction.
#[derive(Debug)]
pub struct RowsBuilder;

impl RowsBuilder {
    /// Decodes one row and appends it.
    ///
    /// # Errors
    /// `Corrupt`; the builder is then unusable and `finish` fails.
    pub fn push(&mut self, _row: &[u8]) -> Result<()> {
        Err(Error::internal("not written yet"))
    }

    /// Appends a row of NULLs (a lookup that found nothing); the projected columns must be nullable.
    pub fn push_nulls(&mut self) {}

    /// The rows pushed since the last call, as a batch; the builder is empty afterwards.
    ///
    /// # Errors
    /// `Corrupt` when text is not UTF-8 or a NULL stands where none may be.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        Err(Error::internal("not written yet"))
    }

    /// Number of rows pushed.
    #[must_use]
    pub fn len(&self) -> usize {
        0
    }

    /// Whether no row was pushed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
