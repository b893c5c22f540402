//! What every row must keep before anything of its batch is written.

use crate::TableMeta;
use crate::codec::TableCodec;
use crate::packed::Packed;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType as ArrowType, Schema as ArrowSchema, SchemaRef};
use sluice_base::{Error, Result, Subject};
use sluice_row::ChangeKind;
use std::sync::Arc;

/// The same schema with every column nullable: deletes carry NULL beside their key.
pub(crate) fn lenient(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true));
    Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()))
}

/// NULL only where the table allows it, among the columns that are written. A delete needs its key only, an old image nothing, unless
/// the writer takes it back.
pub(crate) fn not_null(
    meta: &TableMeta,
    columns: &[ArrayRef],
    written: &[usize],
    kinds: &[ChangeKind],
    takes_back: bool,
) -> Result<()> {
    for (i, (column, declared)) in columns.iter().zip(&meta.schema().columns).enumerate() {
        let is_key = meta.primary_key.contains(&i);
        if !written.contains(&i) || (declared.data_type.nullable && !is_key) || column.null_count() == 0 {
            continue;
        }
        let matters = |row: usize| match kinds.get(row) {
            Some(ChangeKind::UpdateBefore) => is_key && takes_back,
            Some(ChangeKind::Delete) => is_key,
            _ => true,
        };
        if let Some(row) = (0..column.len()).find(|row| column.is_null(*row) && matters(*row)) {
            let what = if is_key { "is part of the primary key" } else { "is NOT NULL" };
            return Err(Error::invalid(
                Subject::Row,
                format!(
                    "row {row} of the batch has NULL in column '{}', which {what}; nothing of the batch is written",
                    declared.name
                ),
            ));
        }
    }
    Ok(())
}

/// A log table knows neither updates nor deletes.
pub(crate) fn appends_only(meta: &TableMeta, kinds: &[ChangeKind]) -> Result<()> {
    match kinds.iter().position(|k| !matches!(k, ChangeKind::Append | ChangeKind::Insert)) {
        Some(row) => Err(Error::invalid(
            Subject::Row,
            format!(
                "row {row} of the batch is an update or delete, but table {} has no primary key and takes inserts only",
                meta.path
            ),
        )),
        None => Ok(()),
    }
}

fn too_large(row: usize, bytes: usize, bytes_max: usize) -> Error {
    Error::invalid(
        Subject::Row,
        format!(
            "row {row} of the batch has {bytes} bytes, the limit is {bytes_max} (setting 'write.row-size-max'); nothing of the batch is written"
        ),
    )
}

/// Sizes of encoded rows.
pub(crate) fn encoded_sizes(keys: &Packed, values: &Packed, bytes_max: usize) -> Result<()> {
    if keys.bytes() + values.bytes() <= bytes_max {
        return Ok(());
    }
    let size = |row: usize| keys.get(row).len() + values.get(row).len();
    match (0..keys.len()).find(|row| size(*row) > bytes_max) {
        Some(row) => Err(too_large(row, size(row), bytes_max)),
        None => Ok(()),
    }
}

/// The size of a row that a merge made, which came of row number `row` among others.
pub(crate) fn merged_size(bytes: usize, bytes_max: usize, row: u32) -> Result<()> {
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(Error::invalid(
        Subject::Row,
        format!(
            "the row into which row {row} of the batch is merged would have {bytes} bytes, the limit is {bytes_max} (setting 'write.row-size-max')"
        ),
    ))
}

/// Sizes of rows that are not encoded one by one: columns tell cheaply when no row can be too large.
pub(crate) fn column_sizes(codec: &TableCodec, rows: &RecordBatch, bytes_max: usize) -> Result<()> {
    let bound: usize = rows.columns().iter().map(largest).fold(0, usize::saturating_add);
    if bound <= bytes_max {
        return Ok(());
    }
    match codec.oversized(rows.columns(), rows.num_rows(), bytes_max)? {
        Some((row, bytes)) => Err(too_large(row, bytes, bytes_max)),
        None => Ok(()),
    }
}

/// An upper bound of one cell's bytes.
fn largest(column: &ArrayRef) -> usize {
    let widest = |offsets: &[i32]| {
        offsets
            .windows(2)
            .map(|w| if let [a, b] = w { usize::try_from(b - a).unwrap_or(0) } else { 0 })
            .max()
            .unwrap_or(0)
    };
    match column.data_type() {
        ArrowType::Utf8 => widest(arrow_array::cast::AsArray::as_string::<i32>(column).value_offsets()),
        ArrowType::Binary => widest(arrow_array::cast::AsArray::as_binary::<i32>(column).value_offsets()),
        ArrowType::FixedSizeBinary(n) => usize::try_from(*n).unwrap_or(0),
        ArrowType::List(_) | ArrowType::Map(..) | ArrowType::Struct(_) => column.get_array_memory_size(),
        _ => 16,
    }
}
