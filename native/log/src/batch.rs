//! Encoding of a whole log batch: header, kinds of change, Arrow message.

use crate::header::{LENGTH_PREFIX_BYTES, open_header, seal};
use crate::{Compression, arrow_body};
use arrow_array::RecordBatch;
use sluice_base::{Error, Result, SchemaId, Subject};
use sluice_row::ChangeKind;

/// Appends one batch to `out`. `kinds` has one entry a row; `None` = all are appends. `rows` of `None` or without rows gives an
/// empty batch, which still takes one offset. `writer` is writer id and batch sequence, (-1, -1) for none.
/// On an error `out` is as before.
///
/// # Errors
/// `Invalid` about `Row` when the batch would exceed 2 GiB or the kinds do not match the rows.
pub fn encode_batch(
    rows: Option<&RecordBatch>,
    kinds: Option<&[ChangeKind]>,
    schema_id: SchemaId,
    writer: (i64, i32),
    compression: Compression,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    let encoded = append_encoded(rows.filter(|r| r.num_rows() > 0), kinds, schema_id, writer, compression, out);
    if encoded.is_err() {
        out.truncate(start);
    }
    encoded
}

fn append_encoded(
    rows: Option<&RecordBatch>,
    kinds: Option<&[ChangeKind]>,
    schema_id: SchemaId,
    writer: (i64, i32),
    compression: Compression,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    let count = rows.map_or(0, RecordBatch::num_rows);
    if let Some(kinds) = kinds
        && kinds.len() != count
    {
        return Err(Error::invalid(Subject::Row, format!("{} change kinds for {count} rows", kinds.len())));
    }
    let records = i32::try_from(count).map_err(|_| too_long())?;
    out.extend_from_slice(&open_header(schema_id, kinds.is_none(), records, writer));
    out.extend(kinds.unwrap_or_default().iter().map(|k| k.byte()));
    if let Some(rows) = rows {
        arrow_body::encode(rows, compression, out)?;
    }
    let length = i32::try_from(out.len() - start - LENGTH_PREFIX_BYTES).map_err(|_| too_long())?;
    seal(out.get_mut(start..).unwrap_or_default(), length);
    Ok(())
}

fn too_long() -> Error {
    Error::invalid(Subject::Row, "a log batch holds at most 2 GiB; write fewer or smaller rows at once")
}

#[cfg(test)]
mod tests;
