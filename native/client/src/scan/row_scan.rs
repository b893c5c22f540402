//! Rows of a snapshot that our own server reads out: of rows by key, of the current ones, of a lake.

use super::rows::{Sink, Told};
use crate::cluster::{To, wire_path};
use crate::refusal::{Answer, error_of_call};
use crate::table::batch_of;
use arrow_array::{RecordBatch, new_empty_array};
use arrow_buffer::Buffer;
use sluice_api::ScanStart;
use sluice_base::{Error, Offset, Result};
use sluice_log::BatchDecoder;
use sluice_wire::ApiKey;
use sluice_wire::message::{RowScanOpen, RowScanRequest, RowScanResponse, TableBucket as WireBucket};
use std::time::Instant;

/// Reads rows from `start` on to their end.
pub(crate) fn read(sink: &Sink, start: ScanStart) -> Result<()> {
    let decoder = BatchDecoder::new(sink.shared.columns.wanted().output.clone(), None);
    let mut position = start;
    let mut scan_id = None;
    let mut failing: Option<Instant> = None;
    let mut given = false;
    loop {
        let answer = match ask(sink, scan_id, &position) {
            Ok(answer) => answer,
            Err(refusal) => {
                let since = *failing.get_or_insert_with(Instant::now);
                let again = matches!(position, ScanStart::Snapshot { .. }) || !given;
                if refusal.heals() && again && since.elapsed() < sink.shared.cluster.settings.request_timeout {
                    // The server may have gone on; another scan begins where this one was.
                    scan_id = None;
                    let bucket = To::Leader(sink.shared.table.path(), sink.bucket);
                    let pause = std::time::Duration::from_millis(100);
                    sink.shared.cluster.block_on(async {
                        sink.shared.cluster.doubt(bucket, &refusal).await;
                        tokio::time::sleep(pause).await;
                    });
                    continue;
                }
                return Err(refusal.error.context("rows were being read; run the query again"));
            }
        };
        failing = None;
        if let Some(error) = answer.error {
            return Err(error_of_call(error));
        }
        scan_id = answer.scan_id;
        let Some(next) = &answer.next else { continue };
        let next: ScanStart = sluice_api::call::parse("a scan of rows", next)?;
        let finished = answer.finished == Some(true);
        let rows = rows(sink, &decoder, &answer)?;
        let told = Told {
            base_offset: answer.base_offset.unwrap_or(-1),
            timestamp_ms: answer.timestamp_ms.unwrap_or(-1),
            next: next.clone(),
            finished: false,
            rows,
        };
        match (finished, &next) {
            // A snapshot is over where its log begins.
            (true, ScanStart::Log { offset }) => {
                // Also without rows: a reader that is restored must not ask for a snapshot that it has read and given back.
                sink.give(told)?;
                return ends_in_log(sink, &position, *offset);
            }
            (true, _) => return sink.give(Told { finished: true, ..told }),
            (false, _) => {
                position = next;
                if told.rows.num_rows() > 0 {
                    given = true;
                    sink.give(told)?;
                }
            }
        }
    }
}

fn ends_in_log(sink: &Sink, before: &ScanStart, offset: Offset) -> Result<()> {
    match before {
        ScanStart::Snapshot { .. } => sink.then_log(offset),
        // A few rows: the server has read them to their end.
        _ => {
            sink.shared.push(sink.token, super::piece::Piece::End(ScanStart::Log { offset }));
        }
    }
    Ok(())
}

fn rows(sink: &Sink, decoder: &BatchDecoder, answer: &RowScanResponse) -> Result<RecordBatch> {
    let output = &sink.shared.columns.wanted().output;
    let count = answer.rows.unwrap_or(0) as usize;
    match &answer.records {
        Some(records) if !records.is_empty() => {
            let (rows, _) = decoder.decode(&Buffer::from(records.clone()))?;
            match rows.num_rows() == count {
                true => Ok(rows),
                false => Err(Error::corrupt(format!("{} rows came instead of {count}", rows.num_rows()))),
            }
        }
        _ => {
            let columns = output.fields().iter().map(|f| new_empty_array(f.data_type())).collect::<Vec<_>>();
            batch_of(output, columns, count)
        }
    }
}

fn ask(sink: &Sink, scan_id: Option<i64>, position: &ScanStart) -> Answer<RowScanResponse> {
    let table = &sink.shared.table;
    let start = serde_json::to_string(position).map_err(|e| Error::internal(format!("a position: {e}")))?;
    let bucket = WireBucket {
        table_id: sink.bucket.table.0,
        partition_id: sink.bucket.partition.map(|p| p.0),
        bucket_id: sink.bucket.bucket,
    };
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let open = RowScanOpen {
        table_path: wire_path(table.path()),
        bucket,
        start,
        projection: sink.shared.columns.wanted().positions.iter().map(|p| number(*p)).collect(),
        batch_rows_max: number(sink.shared.rows_max),
    };
    let request = RowScanRequest { scan_id, open: scan_id.is_none().then_some(open), close: None };
    let cluster = &sink.shared.cluster;
    cluster.block_on(cluster.try_ask(To::Leader(table.path(), sink.bucket), ApiKey::RowScan, &request))
}
