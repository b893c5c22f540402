//! Scans of rows that the server keeps open for clients of ours: snapshots of rows by key, current rows, rows of a lake. The log behind
//! them is fetched like any other.

use crate::answer::Reply;
use crate::calls::told;
use crate::gate::Gate;
use crate::node::Node;
use crate::scans::RowScan;
use crate::tables::path;
use sluice_api::{Connection, Operation, ScanBatch, ScanOptions, ScanSplit, ScanStart};
use sluice_base::{Error, PartitionId, Result, SchemaId, Subject, TableBucket, TableId};
use sluice_log::{Compression, encode_batch};
use sluice_wire::message::{RowScanOpen, RowScanRequest, RowScanResponse};
use std::time::Duration;

/// How long one answer is waited for. Rows that are there come at once.
const POLL_WAIT: Duration = Duration::from_secs(10);

/// Opens, goes on with, or ends a scan.
///
/// # Errors
/// `Authorization`; whatever else is wrong stands in the answer.
pub(crate) fn scan(node: &Node, gate: &Gate<'_>, request: &RowScanRequest) -> Reply<RowScanResponse> {
    // Numbers of scans can be guessed: each step takes the right to read.
    match (request.scan_id, &request.open) {
        (Some(id), _) => {
            if let Ok(scan) = node.scans.get(id) {
                gate.table(Operation::Read, &scan.table)?;
            }
        }
        (None, Some(open)) => gate.table(Operation::Read, &open.table_path)?,
        (None, None) => {}
    }
    Ok(answer(node, request)
        .unwrap_or_else(|error| RowScanResponse { error: Some(told(&error)), ..RowScanResponse::default() }))
}

fn answer(node: &Node, request: &RowScanRequest) -> Result<RowScanResponse> {
    let (id, scan) = match (request.scan_id, &request.open) {
        (Some(id), _) if request.close == Some(true) => {
            node.scans.remove(id);
            return Ok(RowScanResponse::default());
        }
        (Some(id), _) => (id, node.scans.get(id)?),
        (None, Some(open)) => node.scans.add(opened(node, open)?)?,
        (None, None) => return Err(Error::invalid(Subject::None, "a scan needs its number or what to open")),
    };
    let batch = scan.scanner.poll(POLL_WAIT).inspect_err(|_| node.scans.remove(id))?;
    let Some(batch) = batch else {
        return Ok(RowScanResponse { scan_id: Some(id), ..RowScanResponse::default() });
    };
    if batch.finished {
        node.scans.remove(id);
    }
    response(id, &batch, scan.columns)
}

fn opened(node: &Node, open: &RowScanOpen) -> Result<RowScan> {
    let start: ScanStart = sluice_api::call::parse("a scan of rows", &open.start)?;
    let projection: Vec<usize> = open.projection.iter().map(|p| *p as usize).collect();
    let columns = projection.len();
    let options =
        ScanOptions { projection: Some(projection), batch_rows_max: open.batch_rows_max as usize, filter: None };
    let scanner = node.store.scanner(&path(&open.table_path), &options)?;
    let bucket = TableBucket {
        table: TableId(open.bucket.table_id),
        partition: open.bucket.partition_id.map(PartitionId),
        bucket: open.bucket.bucket_id,
    };
    // Nothing of the log: it ends before its first row.
    scanner.subscribe(ScanSplit { id: 0, bucket, start, stop: Some(0) })?;
    Ok(RowScan::new(scanner, columns, open.table_path.clone()))
}

fn response(id: i64, batch: &ScanBatch, columns: usize) -> Result<RowScanResponse> {
    let count = batch.rows.num_rows();
    let mut records = Vec::new();
    if count > 0 && columns > 0 {
        encode_batch(Some(&batch.rows), None, SchemaId(0), (-1, -1), Compression::None, &mut records)?;
    }
    let next = serde_json::to_string(&batch.next).map_err(|e| Error::internal(format!("a position: {e}")))?;
    Ok(RowScanResponse {
        error: None,
        scan_id: Some(id),
        records: Some(records.into()),
        rows: Some(u32::try_from(count).unwrap_or(u32::MAX)),
        next: Some(next),
        finished: Some(batch.finished),
        base_offset: Some(batch.base_offset),
        timestamp_ms: Some(batch.timestamp_ms),
    })
}
