//! Keys: the bytes under which a primary-key row is kept and from which its bucket follows (protocol, keys).

use crate::DataType;
use arrow_array::ArrayRef;
use sluice_base::{Error, Result};
use std::marker::PhantomData;

/// How a table writes its keys; fixed when the table is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyFormat {
    /// The values of a compacted row without its null bits.
    Compacted,
    /// Paimon's BinaryRow.
    Paimon,
}

/// Encodes keys of fixed types.
#[derive(Debug)]
pub struct KeyEncoder;

impl KeyEncoder {
    /// An encoder for keys of these types, in key order.
    ///
    /// # Errors
    /// `Invalid` for ARRAY, MAP and ROW.
    pub fn new(_format: KeyFormat, _types: &[DataType]) -> Result<Self> {
        Ok(Self)
    }

    /// Looks at the key columns of one batch, in key order.
    ///
    /// # Errors
    /// `Internal` when the arrays are not of the encoder's types.
    pub fn bind<'a>(&self, _columns: &'a [ArrayRef]) -> Result<BoundKeys<'a>> {
        Err(Error::internal("not written yet"))
    }
}

/// The key columns of one batch.
#[derive(Debug)]
pub struct BoundKeys<'a>(PhantomData<&'a ()>);

impl BoundKeys<'_> {
    /// Appends the key of row number `row`.
    ///
    /// # Errors
    /// `Invalid` for a NULL in a compacted key; a Paimon key may hold NULL.
    pub fn encode(&self, _row: usize, _out: &mut Vec<u8>) -> Result<()> {
        Err(Error::internal("not written yet"))
    }

    /// Whether a column of the key is NULL in row number `row`.
    #[must_use]
    pub fn has_null(&self, _row: usize) -> bool {
        false
    }
}
