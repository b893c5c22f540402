//! Taking back what a bucket's changelog holds from an offset on: every key becomes again what it was there.

use crate::TableMeta;
use crate::bucket::Bucket;
use crate::codec::TableCodec;
use crate::packed::Packed;
use crate::row_check;
use crate::values::{arrow_error, batch_of};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array, new_null_array};
use arrow_select::take::take;
use sluice_base::{Error, Offset, Result, SchemaId, Subject};
use sluice_log::{BatchDecoder, StoredBatch};
use sluice_row::ChangeKind;
use std::collections::HashSet;
use std::sync::Arc;

/// Bytes read from the log at once.
const READ_BYTES: usize = 4 << 20;

/// Hands over, part by part, the changes that lead back; the log is read up to where it ends now, so that what they append is not taken
/// back in turn. Only the first change of a key counts: it says what the key was before.
///
/// # Errors
/// `Invalid` about `Offset` when the log does not hold all from `from` on; `Corrupt`, `Io`; what `each` gives.
pub(crate) fn changes_back(
    bucket: &Bucket,
    meta: &Arc<TableMeta>,
    from: Offset,
    mut each: impl FnMut(&RecordBatch, &[ChangeKind]) -> Result<()>,
) -> Result<()> {
    let log = bucket.log()?;
    let (start, end) = (log.start_offset(), log.end_offset());
    if from < start || from > end {
        return Err(Error::invalid(
            Subject::Offset,
            format!(
                "what was written to {} since offset {from} cannot be taken back: its log holds offsets {start} to {end}",
                bucket.id
            ),
        ));
    }
    let mut seen = Seen::default();
    let mut next = from;
    while next < end {
        let batches = log.read(next, end, READ_BYTES)?;
        let Some(last) = batches.last() else { break };
        next = last.header.next_offset();
        for batch in batches.iter().filter(|b| b.header.record_count > 0) {
            if let Some((rows, kinds)) = seen.first_changes(batch, meta)? {
                each(&rows, &kinds)?;
            }
        }
    }
    Ok(())
}

/// Keys met so far, and what reads them.
#[derive(Default)]
struct Seen {
    keys: HashSet<Vec<u8>>,
    reader: Option<(SchemaId, TableCodec, BatchDecoder)>,
    encoded: Packed,
}

impl Seen {
    /// The rows of a batch that put keys back which were not met before, with all columns of the newest schema.
    fn first_changes(
        &mut self,
        batch: &StoredBatch,
        meta: &TableMeta,
    ) -> Result<Option<(RecordBatch, Vec<ChangeKind>)>> {
        let schema = batch.header.schema_id;
        if self.reader.as_ref().is_none_or(|(id, ..)| *id != schema) {
            let codec = TableCodec::new(meta, schema)?;
            let arrow = meta.arrow.get(&schema).cloned().ok_or_else(|| Error::internal("a schema without columns"))?;
            self.reader = Some((schema, codec, BatchDecoder::new(arrow, None)));
        }
        let Some((_, codec, decoder)) = &self.reader else { return Ok(None) };
        let (rows, kinds) = decoder.decode(&batch.bytes)?;
        let kinds = kinds.unwrap_or_default();
        codec.encode_keys(rows.columns(), &[], rows.num_rows(), &mut self.encoded)?;
        let (mut wanted, mut back) = (Vec::new(), Vec::new());
        for (row, kind) in (0_u32..).zip(&kinds) {
            if !self.keys.insert(self.encoded.get(row as usize).to_vec()) {
                continue;
            }
            let undone = match kind {
                ChangeKind::Insert => ChangeKind::Delete,
                ChangeKind::UpdateBefore => ChangeKind::UpdateAfter,
                ChangeKind::Delete => ChangeKind::Insert,
                ChangeKind::UpdateAfter | ChangeKind::Append => continue,
            };
            wanted.push(row);
            back.push(undone);
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        let count = wanted.len();
        let wanted = UInt32Array::from(wanted);
        let arrow = meta.arrow_schema()?;
        let mut columns = rows
            .columns()
            .iter()
            .map(|c| take(c, &wanted, None).map_err(arrow_error))
            .collect::<Result<Vec<ArrayRef>>>()?;
        columns.extend(
            arrow.fields().iter().skip(columns.len()).map(|f| new_null_array(f.data_type(), count)).collect::<Vec<_>>(),
        );
        Ok(Some((batch_of(&row_check::lenient(arrow), columns, count)?, back)))
    }
}
