//! Snapshots of rows by key, their leases, snapshots in the lake, and the way to files.

#![expect(missing_docs, reason = "the names are the protocol's")]

use super::path::{KeyValue, TableBucket, TablePath};

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetLatestKvSnapshotsRequest {
    #[prost(message, required, tag = "1")]
    pub table_path: TablePath,
    #[prost(string, optional, tag = "2")]
    pub partition_name: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetLatestKvSnapshotsResponse {
    #[prost(int64, required, tag = "1")]
    pub table_id: i64,
    #[prost(int64, optional, tag = "2")]
    pub partition_id: Option<i64>,
    #[prost(message, repeated, tag = "3")]
    pub latest_snapshots: Vec<KvSnapshot>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct KvSnapshot {
    #[prost(int32, required, tag = "1")]
    pub bucket_id: i32,
    #[prost(int64, optional, tag = "2")]
    pub snapshot_id: Option<i64>,
    #[prost(int64, optional, tag = "3")]
    pub log_offset: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetKvSnapshotMetadataRequest {
    #[prost(int64, required, tag = "1")]
    pub table_id: i64,
    #[prost(int64, optional, tag = "2")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "3")]
    pub bucket_id: i32,
    #[prost(int64, required, tag = "4")]
    pub snapshot_id: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetKvSnapshotMetadataResponse {
    #[prost(int64, required, tag = "1")]
    pub log_offset: i64,
    #[prost(message, repeated, tag = "2")]
    pub snapshot_files: Vec<RemotePathAndLocalFile>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RemotePathAndLocalFile {
    #[prost(string, required, tag = "1")]
    pub remote_path: String,
    #[prost(string, required, tag = "2")]
    pub local_file_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AcquireKvSnapshotLeaseRequest {
    #[prost(string, required, tag = "1")]
    pub lease_id: String,
    #[prost(int64, required, tag = "2")]
    pub lease_duration_ms: i64,
    #[prost(message, repeated, tag = "3")]
    pub snapshots_to_lease: Vec<KvSnapshotLeaseForTable>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AcquireKvSnapshotLeaseResponse {
    #[prost(message, repeated, tag = "1")]
    pub unavailable_snapshots: Vec<KvSnapshotLeaseForTable>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct KvSnapshotLeaseForTable {
    #[prost(int64, required, tag = "1")]
    pub table_id: i64,
    #[prost(message, repeated, tag = "2")]
    pub bucket_snapshots: Vec<KvSnapshotLeaseForBucket>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct KvSnapshotLeaseForBucket {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
    #[prost(int64, required, tag = "3")]
    pub snapshot_id: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ReleaseKvSnapshotLeaseRequest {
    #[prost(string, required, tag = "1")]
    pub lease_id: String,
    #[prost(message, repeated, tag = "2")]
    pub buckets_to_release: Vec<TableBucket>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ReleaseKvSnapshotLeaseResponse {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DropKvSnapshotLeaseRequest {
    #[prost(string, required, tag = "1")]
    pub lease_id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DropKvSnapshotLeaseResponse {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetLakeSnapshotRequest {
    #[prost(message, required, tag = "1")]
    pub table_path: TablePath,
    #[prost(int64, optional, tag = "2")]
    pub snapshot_id: Option<i64>,
    #[prost(bool, optional, tag = "3")]
    pub readable: Option<bool>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetLakeSnapshotResponse {
    #[prost(int64, required, tag = "1")]
    pub table_id: i64,
    #[prost(int64, required, tag = "2")]
    pub snapshot_id: i64,
    #[prost(message, repeated, tag = "3")]
    pub bucket_snapshots: Vec<LakeSnapshotForBucket>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LakeSnapshotForBucket {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
    #[prost(int64, optional, tag = "3")]
    pub log_offset: Option<i64>,
    #[prost(string, optional, tag = "4")]
    pub partition_name: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetFileSystemSecurityTokenRequest {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetFileSystemSecurityTokenResponse {
    #[prost(string, required, tag = "1")]
    pub schema: String,
    #[prost(bytes = "vec", required, tag = "2")]
    pub token: Vec<u8>,
    #[prost(int64, optional, tag = "3")]
    pub expiration_time: Option<i64>,
    #[prost(message, repeated, tag = "4")]
    pub addition_info: Vec<KeyValue>,
}
