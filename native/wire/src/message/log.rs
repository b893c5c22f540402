//! Appending to logs, reading them, finding offsets.

#![expect(missing_docs, reason = "the names are the protocol's")]

use super::path::TablePath;
use bytes::Bytes;

#[derive(Clone, PartialEq, prost::Message)]
pub struct InitWriterRequest {
    #[prost(message, repeated, tag = "1")]
    pub table_path: Vec<TablePath>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct InitWriterResponse {
    #[prost(int64, required, tag = "1")]
    pub writer_id: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProduceLogRequest {
    #[prost(int32, required, tag = "1")]
    pub acks: i32,
    #[prost(int64, required, tag = "2")]
    pub table_id: i64,
    #[prost(int32, required, tag = "3")]
    pub timeout_ms: i32,
    #[prost(message, repeated, tag = "4")]
    pub buckets_req: Vec<ProduceLogBucketRequest>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProduceLogResponse {
    #[prost(message, repeated, tag = "1")]
    pub buckets_resp: Vec<ProduceLogBucketResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProduceLogBucketRequest {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
    #[prost(bytes = "vec", required, tag = "3")]
    pub records: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProduceLogBucketResponse {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
    #[prost(int32, optional, tag = "3")]
    pub error_code: Option<i32>,
    #[prost(string, optional, tag = "4")]
    pub error_message: Option<String>,
    #[prost(int64, optional, tag = "5")]
    pub base_offset: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FetchLogRequest {
    #[prost(int32, required, tag = "1")]
    pub follower_server_id: i32,
    #[prost(int32, required, tag = "2")]
    pub max_bytes: i32,
    #[prost(message, repeated, tag = "3")]
    pub tables_req: Vec<FetchLogTableRequest>,
    #[prost(int32, optional, tag = "4")]
    pub max_wait_ms: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub min_bytes: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FetchLogTableRequest {
    #[prost(int64, required, tag = "1")]
    pub table_id: i64,
    #[prost(bool, required, tag = "2")]
    pub projection_pushdown_enabled: bool,
    #[prost(int32, repeated, tag = "3")]
    pub projected_fields: Vec<i32>,
    #[prost(message, repeated, tag = "4")]
    pub buckets_req: Vec<FetchLogBucketRequest>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FetchLogBucketRequest {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
    #[prost(int64, required, tag = "3")]
    pub fetch_offset: i64,
    #[prost(int32, required, tag = "4")]
    pub max_fetch_bytes: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FetchLogResponse {
    #[prost(message, repeated, tag = "1")]
    pub tables_resp: Vec<FetchLogTableResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FetchLogTableResponse {
    #[prost(int64, required, tag = "1")]
    pub table_id: i64,
    #[prost(message, repeated, tag = "2")]
    pub buckets_resp: Vec<FetchLogBucketResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FetchLogBucketResponse {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
    #[prost(int32, optional, tag = "3")]
    pub error_code: Option<i32>,
    #[prost(string, optional, tag = "4")]
    pub error_message: Option<String>,
    #[prost(int64, optional, tag = "5")]
    pub high_watermark: Option<i64>,
    #[prost(int64, optional, tag = "6")]
    pub log_start_offset: Option<i64>,
    #[prost(message, optional, tag = "7")]
    pub remote_log_fetch_info: Option<RemoteLogFetchInfo>,
    #[prost(bytes = "bytes", optional, tag = "8")]
    pub records: Option<Bytes>,
}

/// Where the rows lie when the server has them no more itself.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RemoteLogFetchInfo {
    #[prost(string, required, tag = "1")]
    pub remote_log_tablet_dir: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ListOffsetsRequest {
    #[prost(int32, required, tag = "1")]
    pub follower_server_id: i32,
    #[prost(int32, required, tag = "2")]
    pub offset_type: i32,
    #[prost(int64, required, tag = "3")]
    pub table_id: i64,
    #[prost(int64, optional, tag = "4")]
    pub partition_id: Option<i64>,
    #[prost(int32, repeated, tag = "5")]
    pub bucket_id: Vec<i32>,
    #[prost(int64, optional, tag = "6")]
    pub start_timestamp: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ListOffsetsResponse {
    #[prost(message, repeated, tag = "1")]
    pub buckets_resp: Vec<ListOffsetsBucketResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ListOffsetsBucketResponse {
    #[prost(int32, required, tag = "1")]
    pub bucket_id: i32,
    #[prost(int32, optional, tag = "2")]
    pub error_code: Option<i32>,
    #[prost(string, optional, tag = "3")]
    pub error_message: Option<String>,
    #[prost(int64, optional, tag = "4")]
    pub offset: Option<i64>,
}
