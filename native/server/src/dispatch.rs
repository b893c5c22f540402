//! Which request is what. Writes and changes of the catalog keep the order in which they came on their connection; all else need not.

use crate::answer::{Answer, Failed, Reply, answer, read, run};
use crate::caller::Caller;
use crate::node::Node;
use crate::writes::{Acks, patience, settle};
use crate::{calls, cluster, databases, logs, metadata, partitions, row_scans, rows, snapshots, tables};
use bytes::Bytes;
use sluice_wire::message::{ErrorResponse, ProduceLogRequest, ProduceLogResponse, PutKvRequest, PutKvResponse};
use sluice_wire::{ApiKey, ErrorCode, RequestHeader};
use std::pin::Pin;
use std::sync::Arc;
use tokio::time::Instant;

/// The rest of a request, whose place in the order is settled.
pub(crate) type Later = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// A request that was read.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) key: Option<ApiKey>,
    pub(crate) header: RequestHeader,
    pub(crate) body: Bytes,
    pub(crate) caller: Arc<Caller>,
}

impl Request {
    /// Whether it must wait for those before it.
    pub(crate) fn is_ordered(&self) -> bool {
        use ApiKey as K;
        matches!(
            self.key,
            Some(
                K::ProduceLog
                    | K::PutKv
                    | K::CreateDatabase
                    | K::DropDatabase
                    | K::CreateTable
                    | K::DropTable
                    | K::AlterTable
                    | K::CreatePartition
                    | K::DropPartition
            )
        )
    }
}

fn ready(answer: Answer) -> Later {
    Box::pin(std::future::ready(answer))
}

/// Does work that may wait for a disk; a panic in it is answered.
async fn blocking(request_id: i32, work: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| defect(request_id))
}

fn defect(request_id: i32) -> Answer {
    let failed = Failed::new(ErrorCode::Unknown, "a defect of the server stopped the request; it goes on with others");
    answer(request_id, Reply::<ErrorResponse>::Err(failed))
}

/// Begins a request that keeps its place; the next one may begin when this returns.
pub(crate) async fn begin(node: Arc<Node>, request: Request) -> Later {
    let id = request.header.request_id;
    match request.key {
        Some(ApiKey::ProduceLog) => produce(node, id, request.body).await,
        Some(ApiKey::PutKv) => put(node, request).await,
        Some(key) => ready(blocking(id, move || change(&node, key, id, request.body)).await),
        None => ready(unknown(&request.header)),
    }
}

async fn produce(node: Arc<Node>, id: i32, body: Bytes) -> Later {
    let fail = |failed| ready(answer(id, Reply::<ProduceLogResponse>::Err(failed)));
    let request = match read::<ProduceLogRequest>(body) {
        Ok(request) => request,
        Err(failed) => return fail(failed),
    };
    let acks = match Acks::from_number(request.acks) {
        Ok(acks) => acks,
        Err(failed) => return fail(failed),
    };
    let deadline = Instant::now() + patience(request.timeout_ms);
    let shared = node.clone();
    match tokio::task::spawn_blocking(move || logs::produce(&shared, request)).await {
        Ok(writes) => {
            Box::pin(async move { answer(id, Ok(logs::produced(&node, settle(writes, acks, deadline).await))) })
        }
        Err(_) => ready(defect(id)),
    }
}

async fn put(node: Arc<Node>, request: Request) -> Later {
    let (id, version) = (request.header.request_id, request.header.api_version);
    let fail = |failed| ready(answer(id, Reply::<PutKvResponse>::Err(failed)));
    let request = match read::<PutKvRequest>(request.body) {
        Ok(request) => request,
        Err(failed) => return fail(failed),
    };
    let acks = match Acks::from_number(request.acks) {
        Ok(acks) => acks,
        Err(failed) => return fail(failed),
    };
    let deadline = Instant::now() + patience(request.timeout_ms);
    let shared = node.clone();
    match tokio::task::spawn_blocking(move || rows::put(&shared, &request, version)).await {
        Ok(writes) => {
            Box::pin(async move { answer(id, Ok(rows::put_done(&node, settle(writes, acks, deadline).await))) })
        }
        Err(_) => ready(defect(id)),
    }
}

/// Answers a question: a request that needs no place in the order, fetches aside.
pub(crate) async fn question(node: Arc<Node>, request: Request) -> Answer {
    let (id, version) = (request.header.request_id, request.header.api_version);
    let Some(key) = request.key else { return unknown(&request.header) };
    let (body, caller) = (request.body, request.caller);
    match key {
        ApiKey::ApiVersions => run(id, body, |r| cluster::versions(&caller, &r)),
        ApiKey::Authenticate => run(id, body, |r| cluster::authenticate(&caller.door, &r)),
        ApiKey::GetFileSystemSecurityToken => run(id, body, |r| cluster::token(&r)),
        ApiKey::CreateAcls | ApiKey::ListAcls | ApiKey::DropAcls => {
            answer(id, Reply::<ErrorResponse>::Err(cluster::no_authorizer()))
        }
        _ => blocking(id, move || look(&node, &caller, key, (id, version), body)).await,
    }
}

/// Changes of the catalog.
fn change(node: &Node, key: ApiKey, id: i32, body: Bytes) -> Answer {
    match key {
        ApiKey::CreateDatabase => run(id, body, |r| databases::create(node, &r)),
        ApiKey::DropDatabase => run(id, body, |r| databases::drop(node, &r)),
        ApiKey::CreateTable => run(id, body, |r| tables::create(node, &r)),
        ApiKey::DropTable => run(id, body, |r| tables::drop(node, &r)),
        ApiKey::AlterTable => run(id, body, |r| tables::alter(node, &r)),
        ApiKey::CreatePartition => run(id, body, |r| partitions::create(node, &r)),
        ApiKey::DropPartition => run(id, body, |r| partitions::drop(node, &r)),
        _ => defect(id),
    }
}

/// Questions.
fn look(node: &Node, caller: &Caller, key: ApiKey, (id, version): (i32, i16), body: Bytes) -> Answer {
    match key {
        ApiKey::ListDatabases => run(id, body, |r| databases::list(node, &r)),
        ApiKey::DatabaseExists => run(id, body, |r| databases::exists(node, &r)),
        ApiKey::GetDatabaseInfo => run(id, body, |r| databases::info(node, &r)),
        ApiKey::ListTables => run(id, body, |r| tables::list(node, &r)),
        ApiKey::TableExists => run(id, body, |r| tables::exists(node, &r)),
        ApiKey::GetTableInfo => run(id, body, |r| tables::info(node, &r)),
        ApiKey::GetTableSchema => run(id, body, |r| tables::schema(node, &r)),
        ApiKey::GetMetadata => run(id, body, |r| metadata::get(node, &caller.door, &r)),
        ApiKey::InitWriter => run(id, body, |r| logs::init_writer(node, &r)),
        ApiKey::ListOffsets => run(id, body, |r| logs::list_offsets(node, &r)),
        ApiKey::Lookup => run(id, body, |r| rows::lookup(node, &r, version)),
        ApiKey::PrefixLookup => run(id, body, |r| rows::prefix_lookup(node, &r, version)),
        ApiKey::LimitScan => run(id, body, |r| Ok(rows::limit_scan(node, &r))),
        ApiKey::GetTableStats => run(id, body, |r| rows::stats(node, &r)),
        ApiKey::ListPartitionInfos => run(id, body, |r| partitions::list(node, &r)),
        ApiKey::GetLatestKvSnapshots => run(id, body, |r| snapshots::latest(node, &r)),
        ApiKey::GetKvSnapshotMetadata => run(id, body, |r| snapshots::metadata(&r)),
        ApiKey::AcquireKvSnapshotLease => run(id, body, snapshots::acquire),
        ApiKey::ReleaseKvSnapshotLease => run(id, body, |r| snapshots::release(&r)),
        ApiKey::DropKvSnapshotLease => run(id, body, |r| snapshots::drop_lease(&r)),
        ApiKey::GetLakeSnapshot => run(id, body, |r| snapshots::lake(node, &r)),
        ApiKey::DescribeClusterConfigs => run(id, body, |r| cluster::settings(node, &r)),
        ApiKey::Call => run(id, body, |r| calls::call(node, &r)),
        ApiKey::RowScan => run(id, body, |r| row_scans::scan(node, &r)),
        _ => defect(id),
    }
}

/// A request that this server does not know; a client that gets no answer would wait for ever.
fn unknown(header: &RequestHeader) -> Answer {
    let message = format!("request {} is not known to this server", header.api_key);
    answer(header.request_id, Reply::<ErrorResponse>::Err(Failed::new(ErrorCode::UnsupportedVersion, message)))
}
