//! Rows by key: writing, looking up, the first few.

#![expect(missing_docs, reason = "the names are the protocol's")]

use bytes::Bytes;

#[derive(Clone, PartialEq, prost::Message)]
pub struct PutKvRequest {
    #[prost(int32, required, tag = "1")]
    pub acks: i32,
    #[prost(int64, required, tag = "2")]
    pub table_id: i64,
    #[prost(int32, required, tag = "3")]
    pub timeout_ms: i32,
    #[prost(int32, repeated, tag = "4")]
    pub target_columns: Vec<i32>,
    #[prost(message, repeated, tag = "5")]
    pub buckets_req: Vec<PutKvBucketRequest>,
    #[prost(int32, optional, tag = "6")]
    pub agg_mode: Option<i32>,
}

impl PutKvRequest {
    /// `agg_mode`: an aggregating table takes values as they are.
    pub const OVERWRITE: i32 = 1;
    /// `agg_mode` of our own: an aggregating table takes the rows back, each of which is whole.
    pub const TAKE_BACK: i32 = 100;
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PutKvResponse {
    #[prost(message, repeated, tag = "1")]
    pub buckets_resp: Vec<PutKvBucketResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PutKvBucketRequest {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
    #[prost(bytes = "bytes", required, tag = "3")]
    pub records: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PutKvBucketResponse {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
    #[prost(int32, optional, tag = "3")]
    pub error_code: Option<i32>,
    #[prost(string, optional, tag = "4")]
    pub error_message: Option<String>,
    #[prost(int64, optional, tag = "5")]
    pub log_end_offset: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LookupRequest {
    #[prost(int64, required, tag = "1")]
    pub table_id: i64,
    #[prost(message, repeated, tag = "2")]
    pub buckets_req: Vec<LookupBucketRequest>,
    #[prost(bool, optional, tag = "3")]
    pub insert_if_not_exists: Option<bool>,
    #[prost(int32, optional, tag = "4")]
    pub acks: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub timeout_ms: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LookupResponse {
    #[prost(message, repeated, tag = "1")]
    pub buckets_resp: Vec<LookupBucketResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LookupBucketRequest {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
    #[prost(bytes = "bytes", repeated, tag = "3")]
    pub keys: Vec<Bytes>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LookupBucketResponse {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
    #[prost(int32, optional, tag = "3")]
    pub error_code: Option<i32>,
    #[prost(string, optional, tag = "4")]
    pub error_message: Option<String>,
    #[prost(message, repeated, tag = "5")]
    pub values: Vec<Value>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Value {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub values: Option<Bytes>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PrefixLookupRequest {
    #[prost(int64, required, tag = "1")]
    pub table_id: i64,
    #[prost(message, repeated, tag = "2")]
    pub buckets_req: Vec<PrefixLookupBucketRequest>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PrefixLookupResponse {
    #[prost(message, repeated, tag = "1")]
    pub buckets_resp: Vec<PrefixLookupBucketResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PrefixLookupBucketRequest {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
    #[prost(bytes = "bytes", repeated, tag = "3")]
    pub keys: Vec<Bytes>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PrefixLookupBucketResponse {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
    #[prost(int32, optional, tag = "3")]
    pub error_code: Option<i32>,
    #[prost(string, optional, tag = "4")]
    pub error_message: Option<String>,
    #[prost(message, repeated, tag = "5")]
    pub value_lists: Vec<ValueList>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueList {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub values: Vec<Bytes>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LimitScanRequest {
    #[prost(int64, required, tag = "2")]
    pub table_id: i64,
    #[prost(int64, optional, tag = "3")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "4")]
    pub bucket_id: i32,
    #[prost(int32, required, tag = "5")]
    pub limit: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LimitScanResponse {
    #[prost(int32, optional, tag = "1")]
    pub error_code: Option<i32>,
    #[prost(string, optional, tag = "2")]
    pub error_message: Option<String>,
    #[prost(bool, optional, tag = "3")]
    pub is_log_table: Option<bool>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub records: Option<Bytes>,
}
