//! Replay: the log from a bucket's mark on is applied to its rows.

use crate::codec::TableCodec;
use crate::live_meta::LiveMeta;
use crate::packed::Packed;
use sluice_base::{Result, SchemaId};
use sluice_kv::{Kv, Mark, Overlay};
use sluice_log::{BatchDecoder, Log, StoredBatch};
use sluice_row::ChangeKind;

/// Bytes read from the log at once.
const READ_BYTES: usize = 4 << 20;
/// Bytes of rows applied in one write.
const WRITE_BYTES: usize = 16 << 20;

/// Applies the log from the mark to its end. Returns the log bytes read.
///
/// # Errors
/// `Corrupt` naming file and position; `Io`; `Busy` about `Disk`. What was applied before stays, with its mark.
pub(crate) fn replay(log: &Log, kv: &Kv, meta: &LiveMeta) -> Result<u64> {
    let end = log.end_offset();
    let mut replay = Replay {
        mark: kv.mark(),
        meta,
        bytes: 0,
        rows: Overlay::default(),
        codec: None,
        keys: Packed::default(),
        values: Packed::default(),
    };
    while replay.mark.applied < end {
        let batches = log.read(replay.mark.applied, end, READ_BYTES)?;
        if batches.is_empty() {
            break;
        }
        for batch in &batches {
            replay.apply(batch)?;
        }
        if replay.rows.bytes() >= WRITE_BYTES || replay.mark.applied >= end {
            kv.write(replay.rows.freeze().iter(), replay.mark)?;
            replay.rows.drop_frozen();
        }
    }
    Ok(replay.bytes)
}

struct Replay<'a> {
    mark: Mark,
    meta: &'a LiveMeta,
    bytes: u64,
    rows: Overlay,
    codec: Option<(SchemaId, TableCodec, BatchDecoder)>,
    keys: Packed,
    values: Packed,
}

impl Replay<'_> {
    fn apply(&mut self, batch: &StoredBatch) -> Result<()> {
        let header = &batch.header;
        self.bytes += batch.bytes.len() as u64;
        if header.record_count > 0 {
            self.apply_rows(batch)?;
        }
        self.mark.applied = header.next_offset();
        Ok(())
    }

    fn apply_rows(&mut self, batch: &StoredBatch) -> Result<()> {
        let (codec, decoder) = Self::codec(&mut self.codec, self.meta, batch.header.schema_id)?;
        let (rows, kinds) = decoder.decode(&batch.bytes)?;
        let kinds = kinds.unwrap_or_default();
        codec.encode(rows.columns(), &kinds, rows.num_rows(), &mut self.keys, &mut self.values)?;
        for (row, kind) in kinds.iter().enumerate() {
            match kind {
                ChangeKind::Insert | ChangeKind::UpdateAfter | ChangeKind::Append => {
                    self.rows.put(self.keys.get(row), Some(self.values.get(row)));
                }
                ChangeKind::Delete => self.rows.put(self.keys.get(row), None),
                ChangeKind::UpdateBefore => {}
            }
            self.mark.rows += match kind {
                ChangeKind::Insert => 1,
                ChangeKind::Delete => -1,
                _ => 0,
            };
        }
        Ok(())
    }

    fn codec<'c>(
        kept: &'c mut Option<(SchemaId, TableCodec, BatchDecoder)>,
        meta: &LiveMeta,
        schema: SchemaId,
    ) -> Result<(&'c TableCodec, &'c BatchDecoder)> {
        if kept.as_ref().is_none_or(|(id, ..)| *id != schema) {
            let meta = meta.get();
            let codec = TableCodec::new(&meta, schema)?;
            let arrow =
                meta.arrow.get(&schema).cloned().unwrap_or_else(|| std::sync::Arc::new(arrow_schema::Schema::empty()));
            *kept = Some((schema, codec, BatchDecoder::new(arrow, None)));
        }
        match kept {
            Some((_, codec, decoder)) => Ok((codec, decoder)),
            None => Err(sluice_base::Error::internal("no codec")),
        }
    }
}
