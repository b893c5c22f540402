//! The first rows by key or the last rows of a log, in one request.

use super::columns::Columns;
use super::piece::{LogPiece, whole_batches};
use super::rows::{Sink, Told};
use crate::cluster::To;
use crate::refusal::part;
use crate::values::decode;
use arrow_array::RecordBatch;
use sluice_api::ScanStart;
use sluice_base::Result;
use sluice_wire::message::{LimitScanRequest, LimitScanResponse};
use sluice_wire::{ApiKey, stored_values};

/// Reads at most `rows` rows, then ends the split.
pub(crate) fn read(sink: &Sink, rows: u64) -> Result<()> {
    let table = &sink.shared.table;
    let request = LimitScanRequest {
        table_id: sink.bucket.table.0,
        partition_id: sink.bucket.partition.map(|p| p.0),
        bucket_id: sink.bucket.bucket,
        limit: i32::try_from(rows).unwrap_or(i32::MAX),
    };
    let check = |answer: LimitScanResponse| {
        part(answer.error_code, answer.error_message.clone())?;
        Ok(answer)
    };
    let cluster = &sink.shared.cluster;
    let to = To::Leader(table.path(), sink.bucket);
    let answer = cluster.block_on(cluster.ask_checked(to, ApiKey::LimitScan, &request, check))?;
    let records = answer.records.unwrap_or_default();
    let again = ScanStart::Limit { rows };
    if table.has_primary_key() {
        let values = if records.is_empty() { Vec::new() } else { stored_values(&records)? };
        let most = usize::try_from(rows).unwrap_or(usize::MAX);
        let found = decode(cluster, table, sink.shared.columns.wanted(), values.into_iter().take(most))?;
        return slices(sink, &found, &again);
    }
    let Some((length, end)) = whole_batches(&records)? else { return nothing(sink, &again) };
    let mut piece = LogPiece::new(&records, length);
    let mut from = end.saturating_sub(i64::try_from(rows).unwrap_or(i64::MAX)).max(0);
    // The request names no columns, so all of them come.
    let columns = Columns::new(table, sink.shared.columns.wanted().clone(), false);
    let context = (cluster.as_ref(), table.as_ref(), &columns);
    while let Some(log) = piece.next(context, &mut from, None, sink.shared.rows_max)? {
        let (base_offset, timestamp_ms) = (log.base_offset, log.timestamp_ms);
        sink.give(Told { rows: log.rows, base_offset, timestamp_ms, next: again.clone(), finished: false })?;
    }
    nothing(sink, &again)
}

/// The end, without rows.
fn nothing(sink: &Sink, again: &ScanStart) -> Result<()> {
    sink.shared.push(sink.token, super::piece::Piece::End(again.clone()));
    Ok(())
}

/// Rows in batches of the size that the reader wants.
fn slices(sink: &Sink, rows: &RecordBatch, again: &ScanStart) -> Result<()> {
    let mut at = 0;
    while at < rows.num_rows() {
        let count = sink.shared.rows_max.min(rows.num_rows() - at);
        sink.give(Told::snapshot(rows.slice(at, count), again.clone(), false))?;
        at += count;
    }
    nothing(sink, again)
}
