//! Partitions over the protocol: made, listed, found by name and id, written to and read by id, dropped.

use crate::client::Client;
use crate::fixture::{Running, create, fetch, info, key, path, produce, put};
use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use bytes::Bytes;
use sluice_base::SchemaId;
use sluice_log::{BatchHeader, Compression, encode_batch};
use sluice_row::{Column, DataType, RowEncoder, Schema, TableDescriptor, TypeRoot, arrow_schema};
use sluice_wire::message::{
    CreatePartitionRequest, CreatePartitionResponse, CreateTableRequest, CreateTableResponse, DropPartitionRequest,
    DropPartitionResponse, FetchLogResponse, KeyValue, ListPartitionInfosRequest, ListPartitionInfosResponse,
    LookupBucketRequest, LookupRequest, LookupResponse, MetadataRequest, MetadataResponse, PartitionSpec,
    PhysicalTablePath, ProduceLogResponse, PutKvResponse,
};
use sluice_wire::{ApiKey, ErrorCode, KvBatchWriter, json};
use std::collections::BTreeMap;
use std::sync::Arc;

fn schema(keyed: bool) -> Schema {
    let column = |name: &str, root| {
        let data_type = DataType::new(root);
        let data_type = if keyed { data_type.not_null() } else { data_type };
        Column { name: name.to_owned(), data_type, comment: None, id: None, agg_function: None }
    };
    let key = if keyed { vec!["id".to_owned(), "name".to_owned()] } else { Vec::new() };
    Schema::new(vec![column("id", TypeRoot::Int), column("name", TypeRoot::String)], key)
}

/// Creates a table of `id INT, name STRING`, cut by name, of two buckets a partition; its id.
fn create_cut(client: &mut Client, table: &str, keyed: bool) -> i64 {
    let descriptor = TableDescriptor {
        version: 1,
        schema: schema(keyed),
        comment: None,
        partition_key: vec!["name".to_owned()],
        bucket_key: Vec::new(),
        bucket_count: Some(2),
        properties: BTreeMap::new(),
        custom_properties: BTreeMap::new(),
    };
    let table_json = json::of_table(&descriptor).unwrap();
    let request = CreateTableRequest { table_path: path(table), table_json, ignore_if_exists: false };
    client.ask::<CreateTableResponse>(ApiKey::CreateTable, &request).unwrap();
    info(client, table).table_id
}

fn spec(key: &str, value: &str) -> PartitionSpec {
    PartitionSpec { partition_key_values: vec![KeyValue { key: key.to_owned(), value: value.to_owned() }] }
}

fn add(client: &mut Client, table: &str, spec: PartitionSpec, ignore_if_not_exists: bool) -> Result<(), ErrorCode> {
    let request = CreatePartitionRequest { table_path: path(table), partition_spec: spec, ignore_if_not_exists };
    client.ask::<CreatePartitionResponse>(ApiKey::CreatePartition, &request).map(drop).map_err(|e| e.0)
}

fn remove(client: &mut Client, table: &str, spec: PartitionSpec, ignore_if_not_exists: bool) -> Result<(), ErrorCode> {
    let request = DropPartitionRequest { table_path: path(table), partition_spec: spec, ignore_if_not_exists };
    client.ask::<DropPartitionResponse>(ApiKey::DropPartition, &request).map(drop).map_err(|e| e.0)
}

/// Values and ids.
fn listed(client: &mut Client, table: &str, wanted: Option<PartitionSpec>) -> Result<Vec<(String, i64)>, ErrorCode> {
    let request = ListPartitionInfosRequest { table_path: path(table), partial_partition_spec: wanted };
    let answer = client.ask::<ListPartitionInfosResponse>(ApiKey::ListPartitionInfos, &request).map_err(|e| e.0)?;
    let one = |p: sluice_wire::message::PartitionInfo| {
        let [pair] = &p.partition_spec.partition_key_values[..] else { panic!("one partition column") };
        assert_eq!(pair.key, "name");
        (pair.value.clone(), p.partition_id)
    };
    Ok(answer.partitions_info.into_iter().map(one).collect())
}

fn metadata(client: &mut Client, request: &MetadataRequest) -> Result<MetadataResponse, ErrorCode> {
    client.ask(ApiKey::GetMetadata, request).map_err(|e| e.0)
}

fn named(table: &str, name: &str) -> MetadataRequest {
    let path = PhysicalTablePath {
        database_name: "fluss".to_owned(),
        table_name: table.to_owned(),
        partition_name: Some(name.to_owned()),
    };
    MetadataRequest { partitions_path: vec![path], ..MetadataRequest::default() }
}

fn columns(id: i32, name: &str) -> [ArrayRef; 2] {
    [Arc::new(Int32Array::from(vec![id])), Arc::new(StringArray::from(vec![name]))]
}

fn row(id: i32, name: &str) -> Vec<u8> {
    let types: Vec<DataType> = schema(true).columns.into_iter().map(|c| c.data_type).collect();
    let mut out = Vec::new();
    RowEncoder::new(&types).bind(&columns(id, name)).unwrap().encode(0, &mut out);
    out
}

fn append(client: &mut Client, table: i64, partition: Option<i64>, id: i32, name: &str) -> Option<i32> {
    let batch = RecordBatch::try_new(arrow_schema(&schema(false)), columns(id, name).to_vec()).unwrap();
    let mut records = Vec::new();
    encode_batch(Some(&batch), None, SchemaId(1), (-1, -1), Compression::default(), &mut records).unwrap();
    let mut request = produce(table, records);
    request.buckets_req[0].partition_id = partition;
    let answer: ProduceLogResponse = client.ask(ApiKey::ProduceLog, &request).unwrap();
    assert_eq!(answer.buckets_resp[0].partition_id, partition);
    answer.buckets_resp[0].error_code
}

/// How many rows the first bucket of a partition has, or what a fetch is answered.
fn fetched(client: &mut Client, table: i64, partition: Option<i64>) -> Result<i32, i32> {
    let mut request = fetch(table, 0, 0, None);
    request.tables_req[0].buckets_req[0].partition_id = partition;
    let answer: FetchLogResponse = client.ask(ApiKey::FetchLog, &request).unwrap();
    let bucket = &answer.tables_resp[0].buckets_resp[0];
    assert_eq!(bucket.partition_id, partition);
    match bucket.error_code {
        Some(code) => Err(code),
        None => {
            let records = bucket.records.as_ref().filter(|r| !r.is_empty());
            Ok(records.map_or(0, |r| BatchHeader::parse(r).unwrap().record_count))
        }
    }
}

fn put_row(client: &mut Client, table: i64, partition: i64, id: i32, name: &str) -> Option<i32> {
    let mut batch = KvBatchWriter::new(SchemaId(1), (-1, -1));
    batch.push(&key(id), Some(&row(id, name))).unwrap();
    let mut request = put(table, batch.finish());
    request.buckets_req[0].partition_id = Some(partition);
    let answer: PutKvResponse = client.ask(ApiKey::PutKv, &request).unwrap();
    answer.buckets_resp[0].error_code
}

fn look_up(client: &mut Client, table_id: i64, partition: i64, id: i32) -> Option<Vec<u8>> {
    let bucket = LookupBucketRequest { partition_id: Some(partition), bucket_id: 0, keys: vec![Bytes::from(key(id))] };
    let request = LookupRequest { table_id, buckets_req: vec![bucket], ..LookupRequest::default() };
    let answer: LookupResponse = client.ask(ApiKey::Lookup, &request).unwrap();
    answer.buckets_resp[0].values[0].values.as_ref().map(|b| b.to_vec())
}

#[test]
fn they_are_made_listed_found_and_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    create(&mut client, "plain", false);
    let table = create_cut(&mut client, "cut", false);
    for (table, wanted, code) in [
        ("plain", spec("name", "eu"), ErrorCode::TableNotPartitioned),
        ("nowhere", spec("name", "eu"), ErrorCode::TableNotExist),
        ("cut", spec("id", "1"), ErrorCode::PartitionSpecInvalid),
        ("cut", PartitionSpec::default(), ErrorCode::PartitionSpecInvalid),
        ("cut", spec("name", "a b"), ErrorCode::PartitionSpecInvalid),
    ] {
        assert_eq!(add(&mut client, table, wanted, true), Err(code));
    }
    assert_eq!(listed(&mut client, "plain", None), Err(ErrorCode::TableNotPartitioned));
    assert_eq!(listed(&mut client, "cut", None), Ok(Vec::new()));
    for name in ["us", "eu"] {
        add(&mut client, "cut", spec("name", name), false).unwrap();
    }
    assert_eq!(add(&mut client, "cut", spec("name", "eu"), false), Err(ErrorCode::PartitionAlreadyExists));
    add(&mut client, "cut", spec("name", "eu"), true).unwrap();
    let found = listed(&mut client, "cut", None).unwrap();
    let [(eu, eu_id), (us, us_id)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((eu.as_str(), us.as_str()), ("eu", "us"));
    assert_eq!(listed(&mut client, "cut", Some(spec("name", "us"))), Ok(vec![("us".to_owned(), *us_id)]));

    let of_table = MetadataRequest { table_path: vec![path("cut")], ..MetadataRequest::default() };
    assert!(metadata(&mut client, &of_table).unwrap().table_metadata[0].bucket_metadata.is_empty());
    let by_id = MetadataRequest { partitions_id: vec![*eu_id], ..MetadataRequest::default() };
    for request in [named("cut", "eu"), by_id.clone()] {
        let answer = metadata(&mut client, &request).unwrap().partition_metadata.remove(0);
        assert_eq!((answer.table_id, answer.partition_id, answer.partition_name.as_str()), (table, *eu_id, "eu"));
        assert_eq!(answer.bucket_metadata.iter().map(|b| b.bucket_id).collect::<Vec<_>>(), [0, 1]);
        assert!(answer.bucket_metadata.iter().all(|b| b.leader_id.is_some()));
    }
    assert_eq!(metadata(&mut client, &named("cut", "asia")), Err(ErrorCode::PartitionNotExists));

    remove(&mut client, "cut", spec("name", "eu"), false).unwrap();
    assert_eq!(remove(&mut client, "cut", spec("name", "eu"), false), Err(ErrorCode::PartitionNotExists));
    remove(&mut client, "cut", spec("name", "eu"), true).unwrap();
    assert_eq!(metadata(&mut client, &by_id), Err(ErrorCode::PartitionNotExists));
    drop((client, server));
    let server = Running::start(dir.path(), &[]);
    assert_eq!(listed(&mut server.client(), "cut", None), Ok(vec![("us".to_owned(), *us_id)]));
}

#[test]
fn rows_go_to_the_partition_that_is_named_and_come_from_there() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let (log, keyed) = (create_cut(&mut client, "log", false), create_cut(&mut client, "keyed", true));
    let [ids, keyed_ids] = ["log", "keyed"].map(|table| {
        for name in ["eu", "us"] {
            add(&mut client, table, spec("name", name), false).unwrap();
        }
        listed(&mut client, table, None).unwrap().into_iter().map(|p| p.1).collect::<Vec<_>>()
    });
    let gone = Some(ErrorCode::PartitionNotExists.number());
    assert_eq!(append(&mut client, log, Some(ids[0]), 1, "eu"), None);
    assert_eq!(fetched(&mut client, log, Some(ids[0])), Ok(1));
    assert_eq!(fetched(&mut client, log, Some(ids[1])), Ok(0));
    assert_eq!(append(&mut client, log, None, 1, "eu"), gone);
    assert_eq!(append(&mut client, log, Some(keyed_ids[0]), 1, "eu"), gone, "a partition of another table");

    assert_eq!(put_row(&mut client, keyed, keyed_ids[0], 1, "eu"), None);
    assert!(put_row(&mut client, keyed, keyed_ids[0], 2, "us").is_some(), "a row of another partition");
    let value = [&[1, 0][..], &row(1, "eu")].concat();
    assert_eq!(look_up(&mut client, keyed, keyed_ids[0], 1), Some(value));
    assert_eq!(look_up(&mut client, keyed, keyed_ids[0], 2), None);
    assert_eq!(look_up(&mut client, keyed, keyed_ids[1], 1), None);

    remove(&mut client, "log", spec("name", "eu"), false).unwrap();
    assert_eq!(append(&mut client, log, Some(ids[0]), 2, "eu"), gone);
    // To readers a bucket that is gone: they look for it anew, and go on with those that are there.
    assert_eq!(
        fetched(&mut client, log, Some(ids[0])).err(),
        Some(Some(ErrorCode::UnknownTableOrBucket.number())).flatten()
    );
    assert_eq!(fetched(&mut client, log, Some(ids[1])), Ok(0));
}
