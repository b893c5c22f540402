//! Fetches: bytes out of logs, at once when there are enough, else when rows become visible or the client's patience is over.
//!
//! A waiting fetch holds neither a thread nor memory for its answer; a commit in any of its buckets wakes it.

use crate::answer::{Answer, Failed, Reply, answer, read};
use crate::caller::Caller;
use crate::gate::Gate;
use crate::limits::{FETCH_BYTES_MAX, FETCH_WAIT_MAX, kib};
use crate::node::Node;
use crate::stop::Stop;
use crate::writes::bucket;
use bytes::Bytes;
use sluice_api::Operation;
use sluice_base::TableBucket;
use sluice_store::{Bell, RawBucket};
use sluice_wire::ErrorCode;
use sluice_wire::message::{
    FetchLogBucketRequest, FetchLogBucketResponse, FetchLogRequest, FetchLogResponse, FetchLogTableRequest,
    FetchLogTableResponse,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::Instant;

/// A fetch from here reads the log from its beginning.
const FROM_EARLIEST: i64 = -2;

/// How long a fetch waits for rows while its client works on answers about other buckets.
const WAIT_BESIDE_OTHERS: Duration = Duration::from_millis(10);

/// Wakes a fetch.
#[derive(Debug, Default)]
struct Waker(Notify);

impl Bell for Waker {
    fn ring(&self) {
        self.0.notify_one();
    }
}

/// What one look at all buckets found.
struct Found {
    response: FetchLogResponse,
    bytes: usize,
    failed: bool,
}

/// The room that an answer takes in the server's memory.
type Room = Option<OwnedSemaphorePermit>;

/// The most bytes that a fetch is answered with, one large batch aside.
fn most(request: &FetchLogRequest) -> usize {
    usize::try_from(request.max_bytes).unwrap_or(0).clamp(1, FETCH_BYTES_MAX)
}

/// Room for the longest answer; what the answer does not need is given back.
async fn room(node: &Node, request: &FetchLogRequest) -> Room {
    let size = kib(most(request)).min(node.limits.memory_kib_max);
    node.memory.clone().acquire_many_owned(size).await.ok()
}

fn give_back(room: &mut Room, bytes: usize) {
    if let Some(permit) = room {
        let excess = permit.num_permits().saturating_sub(kib(bytes) as usize);
        drop(permit.split(excess));
    }
}

/// Answers a fetch. The room is to be kept until the answer is sent.
pub(crate) async fn fetch(
    node: Arc<Node>,
    caller: Arc<Caller>,
    request_id: i32,
    body: Bytes,
    mut stop: Stop,
) -> (Answer, Room) {
    let request = match read::<FetchLogRequest>(body) {
        Ok(request) => Arc::new(request),
        Err(failed) => return (answer(request_id, Reply::<FetchLogResponse>::Err(failed)), None),
    };
    let patience = Duration::from_millis(u64::try_from(request.max_wait_ms.unwrap_or(0)).unwrap_or(0));
    let asked_for = asked_for(&request);
    let longest = if caller.served.asked(&asked_for) { WAIT_BESIDE_OTHERS } else { FETCH_WAIT_MAX };
    let deadline = Instant::now() + patience.min(longest);
    let enough = usize::try_from(request.min_bytes.unwrap_or(1)).unwrap_or(0);
    let waker = Arc::new(Waker::default());
    let mut watches = false;
    loop {
        let over = stop.is_set() || Instant::now() >= deadline;
        let last = over || watches;
        let (shared, asked, asking) = (node.clone(), request.clone(), caller.clone());
        let bell = (!last).then(|| waker.clone());
        let mut room = room(&node, &request).await;
        let looked = tokio::task::spawn_blocking(move || {
            let found = look(&shared, &Gate::new(&shared, &asking), &asked);
            if let Some(bell) = bell.filter(|_| !found.failed && found.bytes < enough) {
                watch(&shared, &asked, &bell);
            }
            found
        });
        let Ok(found) = looked.await else {
            let failed = Failed::new(ErrorCode::Unknown, "a defect of the server stopped the fetch");
            return (answer(request_id, Reply::<FetchLogResponse>::Err(failed)), None);
        };
        give_back(&mut room, found.bytes);
        if over || found.failed || found.bytes >= enough {
            caller.served.answered(asked_for);
            return (answer(request_id, Ok(found.response)), room);
        }
        drop(room);
        if !std::mem::replace(&mut watches, true) {
            // Rows may have become visible between the look and the watch.
            continue;
        }
        tokio::select! {
            () = waker.0.notified() => {}
            () = tokio::time::sleep_until(deadline) => {}
            () = stop.wait() => {}
        }
    }
}

fn asked_for(request: &FetchLogRequest) -> Vec<TableBucket> {
    let parts =
        request.tables_req.iter().flat_map(|table| table.buckets_req.iter().map(move |part| (table.table_id, part)));
    parts.map(|(table_id, part)| bucket(table_id, part.partition_id, part.bucket_id)).collect()
}

fn raw(node: &Node, table: &FetchLogTableRequest, part: &FetchLogBucketRequest) -> sluice_base::Result<RawBucket> {
    node.store.raw_bucket(&bucket(table.table_id, part.partition_id, part.bucket_id))
}

fn watch(node: &Node, request: &FetchLogRequest, bell: &Arc<Waker>) {
    for table in &request.tables_req {
        for part in &table.buckets_req {
            // What is gone meanwhile is told by the next look.
            if let Ok(bucket) = raw(node, table, part) {
                bucket.watch(bell);
            }
        }
    }
}

fn look(node: &Node, gate: &Gate<'_>, request: &FetchLogRequest) -> Found {
    let most = most(request);
    let (mut bytes, mut failed) = (0, false);
    let mut tables_resp = Vec::with_capacity(request.tables_req.len());
    for table in &request.tables_req {
        let mut buckets_resp = Vec::with_capacity(table.buckets_req.len());
        for part in &table.buckets_req {
            let mut answer = FetchLogBucketResponse {
                partition_id: part.partition_id,
                bucket_id: part.bucket_id,
                ..FetchLogBucketResponse::default()
            };
            let allowed = gate.bucket_of(Operation::Read, table.table_id);
            match allowed.and_then(|()| look_at(node, table, part, most - most.min(bytes), &mut answer)) {
                Ok(found) => bytes += found,
                Err(why) => {
                    failed = true;
                    let why = without_partition(why);
                    (answer.error_code, answer.error_message) = why.fields(&node.troubles);
                }
            }
            buckets_resp.push(answer);
        }
        tables_resp.push(FetchLogTableResponse { table_id: table.table_id, buckets_resp });
    }
    Found { response: FetchLogResponse { tables_resp }, bytes, failed }
}

/// Readers of a partition that was dropped look for it anew and go on with the others; those that are told that it does not exist give up.
fn without_partition(why: Failed) -> Failed {
    match why.code {
        ErrorCode::PartitionNotExists => Failed { code: ErrorCode::UnknownTableOrBucket, ..why },
        _ => why,
    }
}

/// Reads one bucket as far as `left` allows; the number of bytes.
fn look_at(
    node: &Node,
    table: &FetchLogTableRequest,
    part: &FetchLogBucketRequest,
    left: usize,
    answer: &mut FetchLogBucketResponse,
) -> Reply<usize> {
    let bucket = raw(node, table, part)?;
    let wanted = projection(table, bucket.table().schema().columns.len())?;
    let (start, high) = bucket.readable()?;
    let from = if part.fetch_offset == FROM_EARLIEST { start } else { part.fetch_offset };
    let most = usize::try_from(part.max_fetch_bytes).unwrap_or(0).max(1).min(left);
    let mut records = Vec::new();
    // An offset outside the log is told of also when there is no room for rows.
    if most > 0 || !(start..=high).contains(&from) {
        bucket.read(from, most, wanted.as_deref(), &mut records)?;
    }
    answer.high_watermark = Some(high);
    answer.log_start_offset = Some(start);
    let bytes = records.len();
    answer.records = Some(Bytes::from(records));
    Ok(bytes)
}

/// Positions of the wanted columns; `None` for all.
fn projection(table: &FetchLogTableRequest, width: usize) -> Reply<Option<Vec<usize>>> {
    if !table.projection_pushdown_enabled {
        return Ok(None);
    }
    let fields = &table.projected_fields;
    let positions: Vec<usize> = fields.iter().filter_map(|f| usize::try_from(*f).ok()).filter(|f| *f < width).collect();
    let ascending = positions.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
    if positions.len() == fields.len() && ascending && !fields.is_empty() {
        return Ok(Some(positions));
    }
    let message = format!("the projected fields {fields:?} must be ascending positions of the table's {width} columns");
    Err(Failed::new(ErrorCode::InvalidColumnProjection, message))
}
