//! Requests that append to logs, and that ask where in them something is.

use crate::answer::{Failed, Reply};
use crate::node::Node;
use crate::writes::{Write, bucket, patience};
use sluice_api::{Connection, OffsetSpec};
use sluice_base::{Subject, TableBucket};
use sluice_wire::ErrorCode;
use sluice_wire::message::{
    InitWriterRequest, InitWriterResponse, ListOffsetsBucketResponse, ListOffsetsRequest, ListOffsetsResponse,
    ProduceLogBucketResponse, ProduceLogRequest, ProduceLogResponse,
};

const EARLIEST: i32 = 0;
const LATEST: i32 = 1;
const TIMESTAMP: i32 = 2;
/// What a client is told about a write without rows.
const NO_OFFSET: i64 = -1;

pub(crate) fn init_writer(node: &Node, _: &InitWriterRequest) -> Reply<InitWriterResponse> {
    Ok(InitWriterResponse { writer_id: node.store.new_writer_id()? })
}

/// Appends to each bucket; the answers wait until the rows are safe.
pub(crate) fn produce(node: &Node, request: ProduceLogRequest) -> Vec<Write> {
    let wait = patience(request.timeout_ms);
    let part = |mut part: sluice_wire::message::ProduceLogBucketRequest| {
        let id = bucket(request.table_id, part.partition_id, part.bucket_id);
        Write::begin(
            id,
            |then| Ok(node.store.raw_bucket(&id)?.append(&mut part.records, wait, then)?),
            |first| Some(first.unwrap_or(NO_OFFSET)),
        )
    };
    request.buckets_req.into_iter().map(part).collect()
}

pub(crate) fn produced(node: &Node, settled: Vec<(TableBucket, Reply<Option<i64>>)>) -> ProduceLogResponse {
    let part = |(bucket, outcome): (TableBucket, Reply<Option<i64>>)| {
        let mut answer = ProduceLogBucketResponse {
            partition_id: bucket.partition.map(|p| p.0),
            bucket_id: bucket.bucket,
            ..ProduceLogBucketResponse::default()
        };
        match outcome {
            Ok(offset) => answer.base_offset = offset,
            Err(failed) => (answer.error_code, answer.error_message) = failed.fields(&node.troubles),
        }
        answer
    };
    ProduceLogResponse { buckets_resp: settled.into_iter().map(part).collect() }
}

pub(crate) fn list_offsets(node: &Node, request: &ListOffsetsRequest) -> Reply<ListOffsetsResponse> {
    let spec = match (request.offset_type, request.start_timestamp) {
        (EARLIEST, _) => OffsetSpec::Earliest,
        (LATEST, _) => OffsetSpec::Latest,
        (TIMESTAMP, Some(ms)) => OffsetSpec::Timestamp(ms),
        (kind, _) => {
            let message =
                format!("offset type {kind} is none of {EARLIEST}, {LATEST} or, with a timestamp, {TIMESTAMP}");
            return Err(Failed::new(ErrorCode::UnsupportedVersion, message));
        }
    };
    let part = |bucket_id: &i32| {
        let id = bucket(request.table_id, request.partition_id, *bucket_id);
        let mut answer = ListOffsetsBucketResponse { bucket_id: *bucket_id, ..ListOffsetsBucketResponse::default() };
        match node.store.list_offsets(&[id], spec) {
            Ok(offsets) => answer.offset = offsets.first().copied(),
            Err(e) if matches!(spec, OffsetSpec::Timestamp(_)) && e.subject() == Subject::Offset => {
                (answer.error_code, answer.error_message) =
                    Failed::new(ErrorCode::InvalidTimestamp, e.message()).fields(&node.troubles);
            }
            Err(e) => (answer.error_code, answer.error_message) = Failed::from(e).fields(&node.troubles),
        }
        answer
    };
    Ok(ListOffsetsResponse { buckets_resp: request.bucket_id.iter().map(part).collect() })
}
