//! Requests of every kind, each with the right that it takes and on what.

use crate::client::{Client, Refused};
use crate::fixture::{fetch, key, kv_batch, log_batch, path, produce, put};
use serde_json::json;
use sluice_api::{Operation, Resource};
use sluice_wire::message::*;
use sluice_wire::{ApiKey, Body, ErrorCode};

/// What stands in the way of a request, as code and sentence; a bucket's part too.
pub type Outcome = Result<(), (ErrorCode, String)>;

fn ask<A: Body>(client: &mut Client, key: ApiKey, request: &impl Body, part: impl Fn(&A) -> Part) -> Outcome {
    match client.ask::<A>(key, request) {
        Err(Refused(code, why)) => Err((code, why)),
        Ok(answer) => match part(&answer) {
            (Some(code), why) => Err((ErrorCode::from_number(code), why.unwrap_or_default())),
            (None, _) => Ok(()),
        },
    }
}

type Part = (Option<i32>, Option<String>);

fn whole<A>(_: &A) -> Part {
    (None, None)
}

/// A request, the right that it takes, and on what.
pub struct Action {
    pub name: &'static str,
    pub right: Operation,
    pub on: Resource,
    pub run: Box<dyn Fn(&mut Client) -> Outcome>,
}

fn action(
    name: &'static str,
    right: Operation,
    on: Resource,
    run: impl Fn(&mut Client) -> Outcome + 'static,
) -> Action {
    Action { name, right, on, run: Box::new(run) }
}

pub fn table(name: &str) -> Resource {
    Resource::table("fluss", name)
}

pub fn changes() -> Vec<Action> {
    use ApiKey as K;
    let (database, partition) = (Resource::database("fluss"), PartitionSpec::default());
    let (created, dropped) = (partition.clone(), partition);
    vec![
        action("CreateDatabase", Operation::Create, Resource::cluster(), |c| {
            let r = CreateDatabaseRequest {
                database_name: "fluss".to_owned(),
                ignore_if_exists: true,
                database_json: None,
            };
            ask::<CreateDatabaseResponse>(c, K::CreateDatabase, &r, whole)
        }),
        action("DropDatabase", Operation::Drop, Resource::database("ghost"), |c| {
            let r =
                DropDatabaseRequest { database_name: "ghost".to_owned(), ignore_if_not_exists: true, cascade: true };
            ask::<DropDatabaseResponse>(c, K::DropDatabase, &r, whole)
        }),
        action("CreateTable", Operation::Create, database, |c| {
            let r = CreateTableRequest { table_path: path("t"), table_json: b"{}".to_vec(), ignore_if_exists: true };
            ask::<CreateTableResponse>(c, K::CreateTable, &r, whole)
        }),
        action("DropTable", Operation::Drop, table("ghost"), |c| {
            let r = DropTableRequest { table_path: path("ghost"), ignore_if_not_exists: true };
            ask::<DropTableResponse>(c, K::DropTable, &r, whole)
        }),
        action("AlterTable", Operation::Alter, table("ghost"), |c| {
            let r = AlterTableRequest {
                table_path: path("ghost"),
                ignore_if_not_exists: true,
                ..AlterTableRequest::default()
            };
            ask::<AlterTableResponse>(c, K::AlterTable, &r, whole)
        }),
        action("CreatePartition", Operation::Write, table("t"), move |c| {
            let r = CreatePartitionRequest {
                table_path: path("t"),
                partition_spec: created.clone(),
                ignore_if_not_exists: true,
            };
            ask::<CreatePartitionResponse>(c, K::CreatePartition, &r, whole)
        }),
        action("DropPartition", Operation::Write, table("t"), move |c| {
            let r = DropPartitionRequest {
                table_path: path("t"),
                partition_spec: dropped.clone(),
                ignore_if_not_exists: true,
            };
            ask::<DropPartitionResponse>(c, K::DropPartition, &r, whole)
        }),
    ]
}

pub fn looks(id: i64) -> Vec<Action> {
    use ApiKey as K;
    vec![
        action("GetDatabaseInfo", Operation::Describe, Resource::database("fluss"), |c| {
            let r = GetDatabaseInfoRequest { database_name: "fluss".to_owned() };
            ask::<GetDatabaseInfoResponse>(c, K::GetDatabaseInfo, &r, whole)
        }),
        action("DescribeClusterConfigs", Operation::Describe, Resource::cluster(), |c| {
            ask::<DescribeClusterConfigsResponse>(
                c,
                K::DescribeClusterConfigs,
                &DescribeClusterConfigsRequest {},
                whole,
            )
        }),
        action("GetTableInfo", Operation::Describe, table("t"), |c| {
            ask::<GetTableInfoResponse>(c, K::GetTableInfo, &GetTableInfoRequest { table_path: path("t") }, whole)
        }),
        action("GetTableSchema", Operation::Describe, table("t"), |c| {
            let r = GetTableSchemaRequest { table_path: path("t"), schema_id: None };
            ask::<GetTableSchemaResponse>(c, K::GetTableSchema, &r, whole)
        }),
        action("ListPartitionInfos", Operation::Describe, table("t"), |c| {
            let r = ListPartitionInfosRequest { table_path: path("t"), partial_partition_spec: None };
            ask::<ListPartitionInfosResponse>(c, K::ListPartitionInfos, &r, whole)
        }),
        action("GetLatestKvSnapshots", Operation::Describe, table("t"), |c| {
            let r = GetLatestKvSnapshotsRequest { table_path: path("t"), partition_name: None };
            ask::<GetLatestKvSnapshotsResponse>(c, K::GetLatestKvSnapshots, &r, whole)
        }),
        action("GetKvSnapshotMetadata", Operation::Describe, table("t"), move |c| {
            let r = GetKvSnapshotMetadataRequest { table_id: id, ..GetKvSnapshotMetadataRequest::default() };
            ask::<GetKvSnapshotMetadataResponse>(c, K::GetKvSnapshotMetadata, &r, whole)
        }),
        action("GetLakeSnapshot", Operation::Describe, table("t"), |c| {
            let r = GetLakeSnapshotRequest { table_path: path("t"), ..GetLakeSnapshotRequest::default() };
            ask::<GetLakeSnapshotResponse>(c, K::GetLakeSnapshot, &r, whole)
        }),
        action("ListOffsets", Operation::Describe, table("t"), move |c| {
            let r = ListOffsetsRequest { table_id: id, bucket_id: vec![0], ..ListOffsetsRequest::default() };
            ask::<ListOffsetsResponse>(c, K::ListOffsets, &r, whole)
        }),
        // What is not seen is left out.
        action("GetMetadata", Operation::Describe, table("t"), |c| {
            let r = MetadataRequest { table_path: vec![path("t")], ..MetadataRequest::default() };
            ask::<MetadataResponse>(c, K::GetMetadata, &r, |told| {
                (told.table_metadata.is_empty().then_some(ErrorCode::Authorization.number()), None)
            })
        }),
    ]
}

pub fn writes(keyed: i64, log: i64) -> Vec<Action> {
    use ApiKey as K;
    vec![
        action("ProduceLog", Operation::Write, table("l"), move |c| {
            let r = produce(log, log_batch(&[1], (-1, -1)));
            ask::<ProduceLogResponse>(c, K::ProduceLog, &r, |a| (a.buckets_resp[0].error_code, None))
        }),
        action("PutKv", Operation::Write, table("t"), move |c| {
            let r = put(keyed, kv_batch(&[1], &[], (-1, -1)));
            ask::<PutKvResponse>(c, K::PutKv, &r, |a| (a.buckets_resp[0].error_code, None))
        }),
        action("InitWriter", Operation::Write, table("t"), |c| {
            let r = InitWriterRequest { table_path: vec![path("other"), path("t")] };
            ask::<InitWriterResponse>(c, K::InitWriter, &r, whole)
        }),
        action("Lookup that inserts", Operation::Write, table("t"), move |c| {
            let r = LookupRequest { table_id: keyed, insert_if_not_exists: Some(true), ..LookupRequest::default() };
            ask::<LookupResponse>(c, K::Lookup, &r, whole)
        }),
    ]
}

pub fn reads(keyed: i64, log: i64) -> Vec<Action> {
    use ApiKey as K;
    vec![
        action("FetchLog", Operation::Read, table("l"), move |c| {
            ask::<FetchLogResponse>(c, K::FetchLog, &fetch(log, 0, 0, None), |a| {
                let bucket = &a.tables_resp[0].buckets_resp[0];
                (bucket.error_code, bucket.error_message.clone())
            })
        }),
        action("Lookup", Operation::Read, table("t"), move |c| {
            let bucket = LookupBucketRequest { partition_id: None, bucket_id: 0, keys: vec![key(1).into()] };
            let r = LookupRequest { table_id: keyed, buckets_req: vec![bucket], ..LookupRequest::default() };
            ask::<LookupResponse>(c, K::Lookup, &r, |a| {
                (a.buckets_resp[0].error_code, a.buckets_resp[0].error_message.clone())
            })
        }),
        action("PrefixLookup", Operation::Read, table("t"), move |c| {
            let bucket = PrefixLookupBucketRequest { bucket_id: 0, ..PrefixLookupBucketRequest::default() };
            let r = PrefixLookupRequest { table_id: keyed, buckets_req: vec![bucket] };
            ask::<PrefixLookupResponse>(c, K::PrefixLookup, &r, |a| {
                (a.buckets_resp[0].error_code, a.buckets_resp[0].error_message.clone())
            })
        }),
        action("LimitScan", Operation::Read, table("t"), move |c| {
            let r = LimitScanRequest { table_id: keyed, partition_id: None, bucket_id: 0, limit: 1 };
            ask::<LimitScanResponse>(c, K::LimitScan, &r, |a| (a.error_code, a.error_message.clone()))
        }),
        action("GetTableStats", Operation::Read, table("t"), move |c| {
            let r = GetTableStatsRequest { table_id: keyed, ..GetTableStatsRequest::default() };
            ask::<GetTableStatsResponse>(c, K::GetTableStats, &r, whole)
        }),
        action("RegisterProducerOffsets", Operation::Write, table("t"), move |c| {
            let of_table = ProducerTableOffsets { table_id: keyed, ..ProducerTableOffsets::default() };
            let r = RegisterProducerOffsetsRequest {
                producer_id: "x".to_owned(),
                table_offsets: vec![of_table],
                ttl_ms: Some(1),
            };
            ask::<RegisterProducerOffsetsResponse>(c, K::RegisterProducerOffsets, &r, whole)
        }),
        action("AcquireKvSnapshotLease", Operation::Read, table("t"), move |c| {
            let of_table = KvSnapshotLeaseForTable { table_id: keyed, ..KvSnapshotLeaseForTable::default() };
            let r = AcquireKvSnapshotLeaseRequest {
                lease_id: "x".to_owned(),
                lease_duration_ms: 1,
                snapshots_to_lease: vec![of_table],
            };
            ask::<AcquireKvSnapshotLeaseResponse>(c, K::AcquireKvSnapshotLease, &r, whole)
        }),
        action("RowScan", Operation::Read, table("t"), move |c| {
            let bucket = TableBucket { table_id: keyed, partition_id: None, bucket_id: 0 };
            let open = RowScanOpen {
                table_path: path("t"),
                bucket,
                start: "\"current\"".to_owned(),
                projection: vec![0],
                batch_rows_max: 9,
            };
            ask::<RowScanResponse>(
                c,
                K::RowScan,
                &RowScanRequest { open: Some(open), ..RowScanRequest::default() },
                whole,
            )
        }),
    ]
}

/// Calls of our own requests.
pub fn calls(keyed: i64) -> Vec<Action> {
    let of_table = json!({"path": {"database": "fluss", "table": "t"}});
    let with = |more: serde_json::Value| {
        let mut all = of_table.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let bucket = json!([{"table_id": keyed, "bucket": 0}]);
    let writer = json!({"writer": of_table, "bucket": bucket[0], "from": 99});
    let work = json!({"table_id": keyed, "bucket": 0, "end": 1});
    let database = || Resource::database("fluss");
    [
        ("create_database", Operation::Create, Resource::cluster(), json!({"name": "fluss"})),
        ("alter_database", Operation::Alter, database(), json!({"name": "fluss", "changes": {}})),
        ("database", Operation::Describe, database(), json!({"name": "fluss"})),
        ("create_table", Operation::Create, database(), of_table.clone()),
        ("create_view", Operation::Create, database(), of_table.clone()),
        ("drop_view", Operation::Drop, table("t"), with(json!({"ignore_if_missing": true}))),
        ("rename_view", Operation::Alter, table("t"), of_table.clone()),
        ("view", Operation::Describe, table("t"), of_table.clone()),
        ("table", Operation::Describe, table("t"), of_table.clone()),
        ("lake_snapshot", Operation::Describe, table("t"), of_table.clone()),
        ("list_offsets", Operation::Describe, table("t"), json!({"buckets": bucket, "spec": "latest"})),
        ("table_stats", Operation::Read, table("t"), of_table.clone()),
        ("acquire_snapshots", Operation::Read, table("t"), json!({"buckets": bucket, "lease": "x", "lease_ms": 1})),
        ("tier", Operation::Write, table("t"), with(json!({"timeout_ms": 1}))),
        ("lake_partitions", Operation::Describe, table("t"), of_table.clone()),
        ("tier_work", Operation::Describe, table("t"), of_table.clone()),
        ("tier_write", Operation::Write, table("t"), json!({"work": work, "timeout_ms": 1})),
        ("tier_commit", Operation::Write, table("t"), with(json!({"parts": [7]}))),
        ("producer_offsets", Operation::Write, table("t"), with(json!({"producer": "p"}))),
        ("undo", Operation::Write, table("t"), writer),
        ("lake_options", Operation::Describe, Resource::cluster(), json!({})),
        ("of tomorrow", Operation::All, Resource::cluster(), json!({})),
    ]
    .into_iter()
    .map(|(name, right, on, arguments)| {
        action(name, right, on, move |c| {
            let r = CallRequest { operation: name.to_owned(), arguments: arguments.to_string() };
            ask::<CallResponse>(c, ApiKey::Call, &r, whole)
        })
    })
    .collect()
}
