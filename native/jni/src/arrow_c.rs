//! Arrow C data in and out: every move of ownership over that interface.

use arrow_array::ffi::{FFI_ArrowArray, from_ffi};
use arrow_array::{Array, RecordBatch, RecordBatchOptions, StructArray, UInt8Array};
use arrow_schema::SchemaRef;
use arrow_schema::ffi::FFI_ArrowSchema;
use sluice_base::{Error, Result, Subject};

/// Structures that came in and are ours to release.
pub struct ArrowIn {
    array: FFI_ArrowArray,
    schema: FFI_ArrowSchema,
}

fn bad(what: impl std::fmt::Display) -> Error {
    Error::invalid(Subject::Row, format!("Arrow C data: {what}"))
}

impl ArrowIn {
    /// Takes both structures over; what is left behind is released.
    ///
    /// # Errors
    /// `Invalid` for a null pointer or a released structure; the other one is then released all the same.
    ///
    /// # Safety
    /// Each is null, released, or a valid structure that nobody else uses.
    pub unsafe fn take(array: *mut FFI_ArrowArray, schema: *mut FFI_ArrowSchema) -> Result<Self> {
        // SAFETY: by this function's contract.
        let array = (!array.is_null()).then(|| unsafe { FFI_ArrowArray::from_raw(array) });
        // SAFETY: likewise.
        let schema = (!schema.is_null()).then(|| unsafe { FFI_ArrowSchema::from_raw(schema) });
        match (array, schema) {
            (Some(array), Some(schema)) if !array.is_released() => Ok(Self { array, schema }),
            _ => Err(bad("array or schema is null or was released")),
        }
    }

    /// The rows as a batch of exactly the columns `wanted`, every value checked.
    ///
    /// # Errors
    /// `Invalid` about `Row` for other columns, broken buffers or NULL where the schema allows none.
    pub fn import(self, wanted: &SchemaRef) -> Result<RecordBatch> {
        // SAFETY: `take`'s caller vouches that the structures are valid.
        let mut data = unsafe { from_ffi(self.array, &self.schema) }.map_err(bad)?;
        if !matches!(data.data_type(), arrow_schema::DataType::Struct(_))
            || data.nulls().is_some_and(|n| n.null_count() > 0)
        {
            return Err(bad("rows must be a struct array without NULL, one child a column"));
        }
        data.align_buffers();
        data.validate_full().map_err(bad)?;
        let rows = StructArray::from(data);
        for (at, field) in wanted.fields().iter().enumerate() {
            let found = rows.fields().get(at).map(|f| f.data_type());
            if found != Some(field.data_type()) {
                let found = found.map_or("nothing".to_owned(), ToString::to_string);
                return Err(bad(format!(
                    "column {at}, '{}', must be {}, not {found}",
                    field.name(),
                    field.data_type()
                )));
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(wanted.clone(), rows.columns().to_vec(), &options).map_err(bad)
    }
}

/// A batch as a struct array.
///
/// # Errors
/// `Internal` for a type that the interface has no name for.
pub fn export_rows(rows: &RecordBatch) -> Result<(FFI_ArrowArray, FFI_ArrowSchema)> {
    let schema =
        FFI_ArrowSchema::try_from(rows.schema().as_ref()).map_err(|e| Error::internal(format!("export: {e}")))?;
    let rows = StructArray::from(rows.clone());
    Ok((FFI_ArrowArray::new(&rows.into_data()), schema))
}

/// Bytes as a uint8 array.
pub fn export_bytes(bytes: Vec<u8>) -> FFI_ArrowArray {
    FFI_ArrowArray::new(&UInt8Array::from(bytes).into_data())
}
