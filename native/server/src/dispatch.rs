//! Which request is what, and which rights it takes. Writes and changes of the catalog keep the order in which they came on their connection; all else need not.

use crate::answer::{Answer, Failed, Reply, answer, read, run};
use crate::caller::Caller;
use crate::gate::Gate;
use crate::node::Node;
use crate::writes::{Acks, patience, settle};
use crate::{
    acls, calls, cluster, databases, logs, metadata, partitions, producers, row_scans, rows, snapshots, tables,
};
use bytes::Bytes;
use sluice_api::Operation as O;
use sluice_wire::message::{
    AlterTableRequest, CreatePartitionRequest, CreateTableRequest, DropDatabaseRequest, DropPartitionRequest,
    DropTableRequest, ErrorResponse, GetDatabaseInfoRequest, GetKvSnapshotMetadataRequest, GetLakeSnapshotRequest,
    GetLatestKvSnapshotsRequest, GetTableInfoRequest, GetTableSchemaRequest, GetTableStatsRequest, InitWriterRequest,
    LimitScanRequest, ListOffsetsRequest, ListPartitionInfosRequest, ProduceLogRequest, ProduceLogResponse,
    PutKvRequest, PutKvResponse,
};
use sluice_wire::{ApiKey, Body, ErrorCode, RequestHeader};
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
                    | K::CreateAcls
                    | K::DropAcls
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
        Some(ApiKey::ProduceLog) => produce(node, request).await,
        Some(ApiKey::PutKv) => put(node, request).await,
        Some(key) => ready(blocking(id, move || change(&node, &request.caller, key, id, request.body)).await),
        None => ready(unknown(&request.header)),
    }
}

async fn produce(node: Arc<Node>, request: Request) -> Later {
    let Request { header, body, caller, .. } = request;
    let id = header.request_id;
    let fail = |failed| ready(answer(id, Reply::<ProduceLogResponse>::Err(failed)));
    let request = match read::<ProduceLogRequest>(body) {
        Ok(request) => request,
        Err(failed) => return fail(failed),
    };
    let acks = match Acks::from_number(request.acks) {
        Ok(acks) => acks,
        Err(failed) => return fail(failed),
    };
    if let Err(failed) = Gate::new(&node, &caller).table_id(O::Write, request.table_id) {
        return fail(failed);
    }
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
    let Request { header, body, caller, .. } = request;
    let (id, version) = (header.request_id, header.api_version);
    let fail = |failed| ready(answer(id, Reply::<PutKvResponse>::Err(failed)));
    let request = match read::<PutKvRequest>(body) {
        Ok(request) => request,
        Err(failed) => return fail(failed),
    };
    let acks = match Acks::from_number(request.acks) {
        Ok(acks) => acks,
        Err(failed) => return fail(failed),
    };
    if let Err(failed) = Gate::new(&node, &caller).table_id(O::Write, request.table_id) {
        return fail(failed);
    }
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
        _ => blocking(id, move || look(&node, &caller, key, (id, version), body)).await,
    }
}

/// Reads a request, asks for the rights that it takes, has it done, makes the frame of its answer.
fn allowed<Q: Body, A: Body>(
    id: i32,
    body: Bytes,
    judge: impl FnOnce(&Q) -> Reply<()>,
    work: impl FnOnce(&Q) -> Reply<A>,
) -> Answer {
    run(id, body, |request: Q| judge(&request).and_then(|()| work(&request)))
}

/// Changes of the catalog and of rules.
fn change(node: &Node, caller: &Caller, key: ApiKey, id: i32, body: Bytes) -> Answer {
    let gate = Gate::new(node, caller);
    match key {
        ApiKey::CreateDatabase => allowed(id, body, |_| gate.cluster(O::Create), |r| databases::create(node, r)),
        ApiKey::DropDatabase => allowed(
            id,
            body,
            |r: &DropDatabaseRequest| gate.database(O::Drop, &r.database_name),
            |r| databases::drop(node, r),
        ),
        ApiKey::CreateTable => {
            let judge = |r: &CreateTableRequest| gate.database(O::Create, &r.table_path.database_name);
            allowed(id, body, judge, |r| tables::create(node, r))
        }
        ApiKey::DropTable => {
            allowed(id, body, |r: &DropTableRequest| gate.table(O::Drop, &r.table_path), |r| tables::drop(node, r))
        }
        ApiKey::AlterTable => {
            allowed(id, body, |r: &AlterTableRequest| gate.table(O::Alter, &r.table_path), |r| tables::alter(node, r))
        }
        ApiKey::CreatePartition => {
            let judge = |r: &CreatePartitionRequest| gate.table(O::Write, &r.table_path);
            allowed(id, body, judge, |r| partitions::create(node, r))
        }
        ApiKey::DropPartition => {
            let judge = |r: &DropPartitionRequest| gate.table(O::Write, &r.table_path);
            allowed(id, body, judge, |r| partitions::drop(node, r))
        }
        ApiKey::CreateAcls => run(id, body, |r| acls::create(node, &gate, &r)),
        ApiKey::DropAcls => run(id, body, |r| acls::drop(node, &gate, &r)),
        _ => defect(id),
    }
}

/// Questions about the catalog. That a database or table of a name exists is no secret, as in other servers of the protocol.
fn look(node: &Node, caller: &Caller, key: ApiKey, (id, version): (i32, i16), body: Bytes) -> Answer {
    let gate = Gate::new(node, caller);
    match key {
        ApiKey::ListDatabases => run(id, body, |r| databases::list(node, &gate, &r)),
        ApiKey::DatabaseExists => run(id, body, |r| databases::exists(node, &r)),
        ApiKey::GetDatabaseInfo => {
            let judge = |r: &GetDatabaseInfoRequest| gate.database(O::Describe, &r.database_name);
            allowed(id, body, judge, |r| databases::info(node, r))
        }
        ApiKey::ListTables => run(id, body, |r| tables::list(node, &gate, &r)),
        ApiKey::TableExists => run(id, body, |r| tables::exists(node, &r)),
        ApiKey::GetTableInfo => allowed(
            id,
            body,
            |r: &GetTableInfoRequest| gate.table(O::Describe, &r.table_path),
            |r| tables::info(node, r),
        ),
        ApiKey::GetTableSchema => {
            let judge = |r: &GetTableSchemaRequest| gate.table(O::Describe, &r.table_path);
            allowed(id, body, judge, |r| tables::schema(node, r))
        }
        ApiKey::GetMetadata => run(id, body, |r| metadata::get(node, &gate, &caller.door, r)),
        ApiKey::ListPartitionInfos => {
            let judge = |r: &ListPartitionInfosRequest| gate.table(O::Describe, &r.table_path);
            allowed(id, body, judge, |r| partitions::list(node, r))
        }
        ApiKey::DescribeClusterConfigs => {
            allowed(id, body, |_| gate.cluster(O::Describe), |r| cluster::settings(node, r))
        }
        ApiKey::ListAcls => run(id, body, |r| acls::list(node, &gate, &r)),
        ApiKey::Call => run(id, body, |r| calls::call(node, &gate, &r)),
        _ => look_at_rows(node, &gate, key, (id, version), body),
    }
}

/// Questions about rows. Lookups by key judge each bucket's part by itself.
fn look_at_rows(node: &Node, gate: &Gate<'_>, key: ApiKey, (id, version): (i32, i16), body: Bytes) -> Answer {
    match key {
        ApiKey::InitWriter => allowed(
            id,
            body,
            |r: &InitWriterRequest| gate.any_table(O::Write, &r.table_path),
            |r| logs::init_writer(node, r),
        ),
        ApiKey::ListOffsets => {
            let judge = |r: &ListOffsetsRequest| gate.table_id(O::Describe, r.table_id);
            allowed(id, body, judge, |r| logs::list_offsets(node, r))
        }
        ApiKey::Lookup => run(id, body, |r| rows::lookup(node, gate, &r, version)),
        ApiKey::PrefixLookup => run(id, body, |r| rows::prefix_lookup(node, gate, &r, version)),
        ApiKey::LimitScan => {
            let judge = |r: &LimitScanRequest| gate.table_id(O::Read, r.table_id);
            allowed(id, body, judge, |r| Ok(rows::limit_scan(node, r)))
        }
        ApiKey::GetTableStats => {
            allowed(id, body, |r: &GetTableStatsRequest| gate.table_id(O::Read, r.table_id), |r| rows::stats(node, r))
        }
        ApiKey::GetLatestKvSnapshots => {
            let judge = |r: &GetLatestKvSnapshotsRequest| gate.table(O::Describe, &r.table_path);
            allowed(id, body, judge, |r| snapshots::latest(node, r))
        }
        ApiKey::GetKvSnapshotMetadata => {
            let judge = |r: &GetKvSnapshotMetadataRequest| gate.table_id(O::Describe, r.table_id);
            allowed(id, body, judge, |r| snapshots::metadata(node, r))
        }
        ApiKey::RegisterProducerOffsets => run(id, body, |r| producers::register(node, gate, &r)),
        ApiKey::GetProducerOffsets => run(id, body, |r| producers::get(node, gate, &r)),
        ApiKey::DeleteProducerOffsets => run(id, body, |r| producers::delete(node, gate, &r)),
        ApiKey::AcquireKvSnapshotLease => run(id, body, |r| snapshots::acquire(node, gate, r)),
        ApiKey::ReleaseKvSnapshotLease => run(id, body, |r| snapshots::release(node, gate, &r)),
        ApiKey::DropKvSnapshotLease => run(id, body, |r| snapshots::drop_lease(node, &r)),
        ApiKey::GetLakeSnapshot => {
            let judge = |r: &GetLakeSnapshotRequest| gate.table(O::Describe, &r.table_path);
            allowed(id, body, judge, |r| snapshots::lake(node, r))
        }
        ApiKey::RowScan => run(id, body, |r| row_scans::scan(node, gate, &r)),
        _ => defect(id),
    }
}

/// A request that this server does not know; a client that gets no answer would wait for ever.
fn unknown(header: &RequestHeader) -> Answer {
    let message = format!("request {} is not known to this server", header.api_key);
    answer(header.request_id, Reply::<ErrorResponse>::Err(Failed::new(ErrorCode::UnsupportedVersion, message)))
}
