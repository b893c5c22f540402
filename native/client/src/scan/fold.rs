//! The rows that a changelog comes to, for servers that hand out no snapshots: all of it is read and the newest row of each key kept.
//!
//! The number of such a snapshot is the offset that it ends before, and its rows come in the order of their keys, so that a reader can go on in
//! the middle: the same changelog comes to the same rows.

use super::piece::whole_batches;
use super::rows::{Sink, Told};
use crate::cluster::To;
use crate::offsets;
use crate::refusal::part;
use crate::table::pick;
use crate::values::decode;
use arrow_buffer::Buffer;
use bytes::Bytes;
use sluice_api::{OffsetSpec, ScanStart};
use sluice_base::{Error, Offset, Result, Subject};
use sluice_log::{BatchDecoder, BatchHeader};
use sluice_row::{ChangeKind, KeyEncoder, RowEncoder};
use sluice_wire::ApiKey;
use sluice_wire::message::{FetchLogBucketRequest, FetchLogRequest, FetchLogResponse, FetchLogTableRequest};
use std::collections::BTreeMap;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Reads the rows as of an offset, then goes on in the log.
pub(crate) fn snapshot(sink: &Sink, until: Offset, skip_rows: u64) -> Result<()> {
    let rows = fold(sink, until)?;
    let number = until.unsigned_abs();
    let next = |given: u64| ScanStart::Snapshot { snapshot: number, skip_rows: given };
    give(sink, &rows, skip_rows, next)?;
    sink.then_log(until);
    Ok(())
}

/// Reads the rows as of now, then ends the split.
pub(crate) fn current(sink: &Sink) -> Result<()> {
    let shared = &sink.shared;
    let until = offsets::one(&shared.cluster, shared.table.path(), sink.bucket, OffsetSpec::Latest)?;
    give(sink, &fold(sink, until)?, 0, |_| ScanStart::Current)?;
    sink.shared.push(sink.token, super::piece::Piece::End(ScanStart::Current));
    Ok(())
}

fn give(sink: &Sink, rows: &Rows, skip_rows: u64, next: impl Fn(u64) -> ScanStart) -> Result<()> {
    let skip = usize::try_from(skip_rows).unwrap_or(usize::MAX);
    let mut given = skip_rows;
    let mut values = rows.values().skip(skip).map(Vec::as_slice).peekable();
    while values.peek().is_some() {
        let some: Vec<&[u8]> = values.by_ref().take(sink.shared.rows_max).collect();
        given += some.len() as u64;
        let shared = &sink.shared;
        let batch = decode(&shared.cluster, &shared.table, shared.columns.wanted(), some.into_iter())?;
        sink.give(Told::snapshot(batch, next(given), false))?;
    }
    Ok(())
}

fn fold(sink: &Sink, until: Offset) -> Result<Rows> {
    let shared = &sink.shared;
    let path = shared.table.path();
    let start = offsets::one(&shared.cluster, path, sink.bucket, OffsetSpec::Earliest)?;
    if start > 0 && until > 0 {
        let message = format!(
            "the changelog of {} of table {path} begins at offset {start}, for what lay before is older than 'table.log.ttl'; without \
             it the rows of this server cannot be read whole: look rows up by key, or use Apache Fluss's own connector",
            sink.bucket
        );
        return Err(Error::unsupported(Subject::Offset, message));
    }
    let key = shared.table.key_encoder(shared.table.key_format, &shared.table.row_key)?;
    let mut rows = Rows::new();
    let mut from = 0;
    while from < until {
        if sink.places.is_closed() {
            return Err(super::rows::left());
        }
        let records = fetch(sink, from)?;
        let Some((length, _)) = whole_batches(&records)? else { continue };
        let bytes = Buffer::from(records.slice(..length));
        let mut at = 0;
        while at < length && from < until {
            let header = BatchHeader::parse(bytes.get(at..).unwrap_or_default())?;
            apply(sink, &key, &header, &bytes.slice_with_length(at, header.total_bytes()), until, &mut rows)?;
            at += header.total_bytes();
            from = header.next_offset();
        }
    }
    Ok(rows)
}

/// Applies the changes of a batch that stand before `until`.
fn apply(
    sink: &Sink,
    key: &KeyEncoder,
    header: &BatchHeader,
    batch: &Buffer,
    until: Offset,
    rows: &mut Rows,
) -> Result<()> {
    if header.record_count == 0 {
        return Ok(());
    }
    let stored = sink.shared.table.stored(&sink.shared.cluster, header.schema_id)?;
    let (changes, kinds) = BatchDecoder::new(stored.arrow.clone(), None).decode(batch)?;
    let key_columns = pick(changes.columns(), &sink.shared.table.row_key)?;
    let keys = key.bind(&key_columns)?;
    let encoder = RowEncoder::new(&stored.types);
    let values = encoder.bind(changes.columns())?;
    let count = usize::try_from(until - header.base_offset).unwrap_or(0).min(changes.num_rows());
    for row in 0..count {
        let kind = kinds.as_ref().and_then(|k| k.get(row)).copied().unwrap_or(ChangeKind::Insert);
        if kind == ChangeKind::UpdateBefore {
            continue;
        }
        let mut encoded = Vec::new();
        keys.encode(row, &mut encoded)?;
        if kind == ChangeKind::Delete {
            rows.remove(&encoded);
            continue;
        }
        let mut value = header.schema_id.0.to_le_bytes().to_vec();
        values.encode(row, &mut value);
        rows.insert(encoded, value);
    }
    Ok(())
}

fn fetch(sink: &Sink, from: Offset) -> Result<Bytes> {
    let cluster = &sink.shared.cluster;
    let bucket = FetchLogBucketRequest {
        partition_id: sink.bucket.partition.map(|p| p.0),
        bucket_id: sink.bucket.bucket,
        fetch_offset: from,
        max_fetch_bytes: cluster.settings.fetch_bytes,
    };
    let table = FetchLogTableRequest {
        table_id: sink.bucket.table.0,
        projection_pushdown_enabled: false,
        projected_fields: Vec::new(),
        buckets_req: vec![bucket],
    };
    let request = FetchLogRequest {
        follower_server_id: -1,
        max_bytes: cluster.settings.fetch_bytes,
        tables_req: vec![table],
        max_wait_ms: Some(i32::try_from(cluster.settings.fetch_wait.as_millis()).unwrap_or(i32::MAX)),
        min_bytes: Some(1),
    };
    let check = |answer: FetchLogResponse| {
        let told = answer.tables_resp.into_iter().flat_map(|t| t.buckets_resp).next().unwrap_or_default();
        part(told.error_code, told.error_message)?;
        let records = told.records.unwrap_or_default();
        if records.is_empty() && told.remote_log_fetch_info.is_some() {
            let message = "the beginning of the changelog lies in the cluster's remote storage, which is not read here; look rows up \
                           by key, or use Apache Fluss's own connector";
            return Err(Error::unsupported(Subject::Offset, message).into());
        }
        Ok(records)
    };
    let to = To::Leader(sink.shared.table.path(), sink.bucket);
    Ok(cluster.block_on(cluster.ask_checked(to, ApiKey::FetchLog, &request, check))?)
}
