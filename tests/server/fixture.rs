//! A server in this process, its tables, and batches for them.

use crate::client::Client;
use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use sluice_base::SchemaId;
use sluice_log::{Compression, encode_batch};
use sluice_row::{
    Column, DataType, KeyEncoder, KeyFormat, RowEncoder, Schema, TableDescriptor, TypeRoot, arrow_schema,
};
use sluice_server::{Config, Server};
use sluice_wire::message::{
    CreateTableRequest, CreateTableResponse, FetchLogBucketRequest, FetchLogRequest, FetchLogTableRequest,
    GetTableInfoRequest, GetTableInfoResponse, ProduceLogBucketRequest, ProduceLogRequest, PutKvBucketRequest,
    PutKvRequest, TablePath,
};
use sluice_wire::{ApiKey, KvBatchWriter, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// A running server. Dropping it stops it as SIGTERM would.
pub struct Running {
    pub address: SocketAddr,
    /// Of all listeners.
    pub addresses: Vec<SocketAddr>,
    pub http: Option<SocketAddr>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub fn start(dir: &Path, settings: &[(&str, &str)]) -> Self {
        let mut given: BTreeMap<String, String> =
            settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        given.insert("data.dir".to_owned(), dir.join("store").display().to_string());
        given.entry("bind.listeners".to_owned()).or_insert_with(|| "FLUSS://127.0.0.1:0".to_owned());
        let config = Config::from_settings(given).unwrap();
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let server = Server::bind(&config).await.unwrap();
                tell.send((server.addresses(), server.http_address())).unwrap();
                server.run(async { drop(stopped.await) }).await.unwrap();
            });
        });
        let (addresses, http) = told.recv().unwrap();
        Self { address: addresses[0], addresses, http, stop: Some(stop), thread: Some(thread) }
    }

    pub fn client(&self) -> Client {
        Client::connect(self.address)
    }

    /// What is answered over HTTP, its head too.
    pub fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.http.unwrap()).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
    }
}

pub fn path(table: &str) -> TablePath {
    TablePath { database_name: "fluss".to_owned(), table_name: table.to_owned() }
}

/// `id INT, name STRING`, with or without `id` as primary key.
pub fn schema(keyed: bool) -> Schema {
    let column = |name: &str, data_type| Column {
        name: name.to_owned(),
        data_type,
        comment: None,
        id: None,
        agg_function: None,
    };
    let id = DataType::new(TypeRoot::Int);
    let columns =
        vec![column("id", if keyed { id.not_null() } else { id }), column("name", DataType::new(TypeRoot::String))];
    Schema::new(columns, if keyed { vec!["id".to_owned()] } else { Vec::new() })
}

/// Creates a table of one bucket; its id.
pub fn create(client: &mut Client, table: &str, keyed: bool) -> i64 {
    let descriptor = TableDescriptor {
        version: 1,
        schema: schema(keyed),
        comment: None,
        partition_key: Vec::new(),
        bucket_key: Vec::new(),
        bucket_count: Some(1),
        properties: BTreeMap::new(),
        custom_properties: BTreeMap::new(),
    };
    let table_json = json::of_table(&descriptor).unwrap();
    let request = CreateTableRequest { table_path: path(table), table_json, ignore_if_exists: false };
    client.ask::<CreateTableResponse>(ApiKey::CreateTable, &request).unwrap();
    info(client, table).table_id
}

pub fn info(client: &mut Client, table: &str) -> GetTableInfoResponse {
    client.ask(ApiKey::GetTableInfo, &GetTableInfoRequest { table_path: path(table) }).unwrap()
}

pub fn rows(ids: &[i32], keyed: bool) -> RecordBatch {
    let names: Vec<String> = ids.iter().map(|id| format!("name {id}")).collect();
    let columns: [ArrayRef; 2] = [Arc::new(Int32Array::from(ids.to_vec())), Arc::new(StringArray::from(names))];
    RecordBatch::try_new(arrow_schema(&schema(keyed)), columns.to_vec()).unwrap()
}

/// A log batch as a client encodes it.
pub fn log_batch(ids: &[i32], writer: (i64, i32)) -> Vec<u8> {
    let mut out = Vec::new();
    encode_batch(Some(&rows(ids, false)), None, SchemaId(1), writer, Compression::default(), &mut out).unwrap();
    out
}

/// The encoded key of a row.
pub fn key(id: i32) -> Vec<u8> {
    let columns: [ArrayRef; 1] = [Arc::new(Int32Array::from(vec![id]))];
    let mut out = Vec::new();
    let encoder = KeyEncoder::new(KeyFormat::Paimon, &[DataType::new(TypeRoot::Int).not_null()]).unwrap();
    encoder.bind(&columns).unwrap().encode(0, &mut out).unwrap();
    out
}

/// The encoded row of an id.
pub fn row(id: i32) -> Vec<u8> {
    let types: Vec<DataType> = schema(true).columns.into_iter().map(|c| c.data_type).collect();
    let mut out = Vec::new();
    RowEncoder::new(&types).bind(rows(&[id], true).columns()).unwrap().encode(0, &mut out);
    out
}

/// A batch of upserts and, after them, deletes.
pub fn kv_batch(puts: &[i32], deletes: &[i32], writer: (i64, i32)) -> Vec<u8> {
    let mut batch = KvBatchWriter::new(SchemaId(1), writer);
    for id in puts {
        batch.push(&key(*id), Some(&row(*id))).unwrap();
    }
    for id in deletes {
        batch.push(&key(*id), None).unwrap();
    }
    batch.finish()
}

pub fn produce(table_id: i64, records: Vec<u8>) -> ProduceLogRequest {
    let bucket = ProduceLogBucketRequest { partition_id: None, bucket_id: 0, records };
    ProduceLogRequest { acks: -1, table_id, timeout_ms: 30_000, buckets_req: vec![bucket] }
}

pub fn put(table_id: i64, records: Vec<u8>) -> PutKvRequest {
    let bucket = PutKvBucketRequest { partition_id: None, bucket_id: 0, records: records.into() };
    PutKvRequest { acks: -1, table_id, timeout_ms: 30_000, buckets_req: vec![bucket], ..PutKvRequest::default() }
}

pub fn fetch(table_id: i64, fetch_offset: i64, max_wait_ms: i32, fields: Option<Vec<i32>>) -> FetchLogRequest {
    let bucket = FetchLogBucketRequest { partition_id: None, bucket_id: 0, fetch_offset, max_fetch_bytes: 1 << 20 };
    let table = FetchLogTableRequest {
        table_id,
        projection_pushdown_enabled: fields.is_some(),
        projected_fields: fields.unwrap_or_default(),
        buckets_req: vec![bucket],
    };
    FetchLogRequest {
        follower_server_id: -1,
        max_bytes: 16 << 20,
        tables_req: vec![table],
        max_wait_ms: Some(max_wait_ms),
        min_bytes: Some(1),
    }
}
