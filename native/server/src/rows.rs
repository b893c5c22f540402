//! Requests about rows by key, and about the first or last few rows of a bucket.

use crate::answer::{Failed, Reply};
use crate::gate::Gate;
use crate::limits::FOUND_BYTES_MAX;
use crate::node::Node;
use crate::writes::{Write, bucket, patience};
use sluice_api::Operation;
use sluice_base::{ErrorKind, Subject, TableBucket};
use sluice_row::KeyFormat;
use sluice_store::{RawBucket, SentRows, TableMeta};
use sluice_wire::message::{
    GetTableStatsRequest, GetTableStatsResponse, LimitScanRequest, LimitScanResponse, LookupBucketResponse,
    LookupRequest, LookupResponse, PrefixLookupBucketResponse, PrefixLookupRequest, PrefixLookupResponse,
    PutKvBucketResponse, PutKvRequest, PutKvResponse, TableStatsBucketResponse, Value, ValueList,
};
use sluice_wire::{ErrorCode, KvBatch, ValueBatch};
use std::time::Duration;

/// How long a lookup that inserts waits when it does not say.
const INSERT_PATIENCE_MS: i32 = 30_000;

/// A bucket of a table with a primary key, for a client that knows its keys' encoding.
fn keyed(node: &Node, id: &TableBucket, api_version: i16) -> Reply<RawBucket> {
    let bucket = node.store.raw_bucket(id)?;
    let meta = bucket.table();
    if !meta.has_primary_key() {
        let message = format!("Table '{}' is not a primary key table.", meta.path);
        return Err(Failed::new(ErrorCode::NonPrimaryKeyTable, message));
    }
    if api_version == 0 && meta.key_format == KeyFormat::Compacted {
        let message =
            format!("Table '{}' has a key encoding that this client is too old for; use a newer one.", meta.path);
        return Err(Failed::new(ErrorCode::UnsupportedVersion, message));
    }
    Ok(bucket)
}

/// Puts rows into each bucket; the answers wait until they are safe.
pub(crate) fn put(node: &Node, request: &PutKvRequest, api_version: i16) -> Vec<Write> {
    let wait = patience(request.timeout_ms);
    let part = |part: &sluice_wire::message::PutKvBucketRequest| {
        let id = bucket(request.table_id, part.partition_id, part.bucket_id);
        let work = |then: Box<dyn FnOnce(sluice_base::Result<()>) + Send>| {
            let bucket = keyed(node, &id, api_version)?;
            let targets = targets(&bucket.table(), &request.target_columns)?;
            let overwrite = request.agg_mode == Some(PutKvRequest::OVERWRITE);
            let takes_back = request.agg_mode == Some(PutKvRequest::TAKE_BACK);
            put_batch(&bucket, &part.records, (targets, overwrite, takes_back), wait, then)
        };
        Write::begin(id, work, Some)
    };
    request.buckets_req.iter().map(part).collect()
}

fn put_batch(
    bucket: &RawBucket,
    records: &[u8],
    (targets, overwrite, takes_back): (Vec<usize>, bool, bool),
    wait: Duration,
    then: impl FnOnce(sluice_base::Result<()>) + Send + 'static,
) -> Reply<i64> {
    let batch = KvBatch::parse(records)?;
    let rows = batch.records().map(|r| r.map(|r| (r.key, r.row)));
    let sent = SentRows {
        schema_id: batch.schema_id,
        writer: batch.writer,
        targets,
        overwrite,
        takes_back,
        rows: rows.collect::<sluice_base::Result<_>>()?,
    };
    bucket.upsert(&sent, wait, then).map_err(|e| match (e.kind(), e.subject()) {
        (ErrorKind::Invalid, Subject::Column) => Failed::new(ErrorCode::InvalidTargetColumn, e.message()),
        _ => e.into(),
    })
}

/// Positions of the columns that a request writes; none for all.
fn targets(meta: &TableMeta, asked: &[i32]) -> Reply<Vec<usize>> {
    let width = meta.schema().columns.len();
    let mut targets: Vec<usize> =
        asked.iter().filter_map(|t| usize::try_from(*t).ok()).filter(|t| *t < width).collect();
    targets.sort_unstable();
    targets.dedup();
    if targets.len() == asked.len() {
        return Ok(targets);
    }
    let message = format!("the target columns {asked:?} must be different positions of the table's {width} columns");
    Err(Failed::new(ErrorCode::InvalidTargetColumn, message))
}

pub(crate) fn put_done(node: &Node, settled: Vec<(TableBucket, Reply<Option<i64>>)>) -> PutKvResponse {
    let part = |(bucket, outcome): (TableBucket, Reply<Option<i64>>)| {
        let mut answer = PutKvBucketResponse {
            partition_id: bucket.partition.map(|p| p.0),
            bucket_id: bucket.bucket,
            ..PutKvBucketResponse::default()
        };
        match outcome {
            Ok(end) => answer.log_end_offset = end,
            Err(failed) => (answer.error_code, answer.error_message) = failed.fields(&node.troubles),
        }
        answer
    };
    PutKvResponse { buckets_resp: settled.into_iter().map(part).collect() }
}

pub(crate) fn lookup(node: &Node, gate: &Gate<'_>, request: &LookupRequest, api_version: i16) -> Reply<LookupResponse> {
    let insert = request.insert_if_not_exists.unwrap_or(false);
    if insert {
        gate.table_id(Operation::Write, request.table_id)?;
    }
    let wait = insert.then(|| patience(request.timeout_ms.unwrap_or(INSERT_PATIENCE_MS)));
    let part = |part: &sluice_wire::message::LookupBucketRequest| {
        let mut answer = LookupBucketResponse {
            partition_id: part.partition_id,
            bucket_id: part.bucket_id,
            ..LookupBucketResponse::default()
        };
        let id = bucket(request.table_id, part.partition_id, part.bucket_id);
        let allowed = gate.bucket_of(Operation::Read, request.table_id);
        match allowed.and_then(|()| points(node, &id, &part.keys, wait, api_version)) {
            Ok(values) => answer.values = values,
            Err(failed) => (answer.error_code, answer.error_message) = failed.fields(&node.troubles),
        }
        answer
    };
    Ok(LookupResponse { buckets_resp: request.buckets_req.iter().map(part).collect() })
}

/// One value a key; an empty one where nothing is found. With `insert` a key without a row gets one first, which is waited for so long.
fn points(
    node: &Node,
    id: &TableBucket,
    keys: &[bytes::Bytes],
    insert: Option<Duration>,
    api_version: i16,
) -> Reply<Vec<Value>> {
    let bucket = keyed(node, id, api_version)?;
    let mut values = vec![Value::default(); keys.len()];
    let asked: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
    if let Some(wait) = insert {
        bucket.insert_missing(&asked, wait)?;
    }
    bucket.lookup(&asked, |i, value| {
        if let Some(place) = values.get_mut(i) {
            place.values = Some(bytes::Bytes::copy_from_slice(value));
        }
    })?;
    Ok(values)
}

pub(crate) fn prefix_lookup(
    node: &Node,
    gate: &Gate<'_>,
    request: &PrefixLookupRequest,
    api_version: i16,
) -> Reply<PrefixLookupResponse> {
    let part = |part: &sluice_wire::message::PrefixLookupBucketRequest| {
        let mut answer = PrefixLookupBucketResponse {
            partition_id: part.partition_id,
            bucket_id: part.bucket_id,
            ..PrefixLookupBucketResponse::default()
        };
        let id = bucket(request.table_id, part.partition_id, part.bucket_id);
        let allowed = gate.bucket_of(Operation::Read, request.table_id);
        match allowed.and_then(|()| prefixes(node, &id, &part.keys, api_version)) {
            Ok(lists) => answer.value_lists = lists,
            Err(failed) => (answer.error_code, answer.error_message) = failed.fields(&node.troubles),
        }
        answer
    };
    Ok(PrefixLookupResponse { buckets_resp: request.buckets_req.iter().map(part).collect() })
}

fn prefixes(node: &Node, id: &TableBucket, keys: &[bytes::Bytes], api_version: i16) -> Reply<Vec<ValueList>> {
    let bucket = keyed(node, id, api_version)?;
    let mut lists = vec![ValueList::default(); keys.len()];
    let asked: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
    let mut bytes = 0;
    bucket.prefix_lookup(&asked, |i, value| {
        bytes += value.len();
        if let Some(list) = lists.get_mut(i) {
            list.values.push(bytes::Bytes::copy_from_slice(value));
        }
        within_bounds(bytes)
    })?;
    Ok(lists)
}

fn within_bounds(bytes: usize) -> sluice_base::Result<()> {
    if bytes <= FOUND_BYTES_MAX {
        return Ok(());
    }
    let message = "the rows are more than 64 MiB; ask for fewer";
    Err(sluice_base::Error::invalid(sluice_base::Subject::Row, message))
}

pub(crate) fn limit_scan(node: &Node, request: &LimitScanRequest) -> LimitScanResponse {
    match scan_few(node, request) {
        Ok(answer) => answer,
        Err(failed) => {
            let (error_code, error_message) = failed.fields(&node.troubles);
            LimitScanResponse { error_code, error_message, ..LimitScanResponse::default() }
        }
    }
}

fn scan_few(node: &Node, request: &LimitScanRequest) -> Reply<LimitScanResponse> {
    let bucket = node.store.raw_bucket(&bucket(request.table_id, request.partition_id, request.bucket_id))?;
    let rows = u64::try_from(request.limit).unwrap_or(0);
    let is_log_table = !bucket.table().has_primary_key();
    let records = if is_log_table {
        let mut records = Vec::new();
        bucket.last_batches(rows, FOUND_BYTES_MAX, &mut records)?;
        records
    } else {
        let mut values = ValueBatch::default();
        bucket.first_rows(rows, |value| {
            values.push(value)?;
            within_bounds(values.bytes())
        })?;
        values.finish()
    };
    Ok(LimitScanResponse {
        is_log_table: Some(is_log_table),
        records: Some(records.into()),
        ..LimitScanResponse::default()
    })
}

pub(crate) fn stats(node: &Node, request: &GetTableStatsRequest) -> Reply<GetTableStatsResponse> {
    let part = |part: &sluice_wire::message::TableStatsBucketRequest| {
        let mut answer = TableStatsBucketResponse {
            partition_id: part.partition_id,
            bucket_id: part.bucket_id,
            ..TableStatsBucketResponse::default()
        };
        let id = bucket(request.table_id, part.partition_id, part.bucket_id);
        match node.store.raw_bucket(&id).and_then(|b| b.rows()) {
            Ok(rows) => answer.row_count = Some(rows),
            Err(e) => (answer.error_code, answer.error_message) = Failed::from(e).fields(&node.troubles),
        }
        answer
    };
    Ok(GetTableStatsResponse { buckets_resp: request.buckets_req.iter().map(part).collect() })
}
