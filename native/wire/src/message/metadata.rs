//! Where tables and their buckets are.

#![expect(missing_docs, reason = "the names are the protocol's")]

use super::path::{PhysicalTablePath, TablePath};

#[derive(Clone, PartialEq, prost::Message)]
pub struct MetadataRequest {
    #[prost(message, repeated, tag = "1")]
    pub table_path: Vec<TablePath>,
    #[prost(message, repeated, tag = "2")]
    pub partitions_path: Vec<PhysicalTablePath>,
    #[prost(int64, repeated, tag = "3")]
    pub partitions_id: Vec<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MetadataResponse {
    #[prost(message, optional, tag = "1")]
    pub coordinator_server: Option<ServerNode>,
    #[prost(message, repeated, tag = "2")]
    pub tablet_servers: Vec<ServerNode>,
    #[prost(message, repeated, tag = "3")]
    pub table_metadata: Vec<TableMetadata>,
    #[prost(message, repeated, tag = "4")]
    pub partition_metadata: Vec<PartitionMetadata>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ServerNode {
    #[prost(int32, required, tag = "1")]
    pub node_id: i32,
    #[prost(string, required, tag = "2")]
    pub host: String,
    #[prost(int32, required, tag = "3")]
    pub port: i32,
    #[prost(string, optional, tag = "4")]
    pub listeners: Option<String>,
    #[prost(string, optional, tag = "5")]
    pub rack: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TableMetadata {
    #[prost(message, required, tag = "1")]
    pub table_path: TablePath,
    #[prost(int64, required, tag = "2")]
    pub table_id: i64,
    #[prost(int32, required, tag = "3")]
    pub schema_id: i32,
    #[prost(bytes = "vec", required, tag = "4")]
    pub table_json: Vec<u8>,
    #[prost(message, repeated, tag = "5")]
    pub bucket_metadata: Vec<BucketMetadata>,
    #[prost(int64, required, tag = "6")]
    pub created_time: i64,
    #[prost(int64, required, tag = "7")]
    pub modified_time: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PartitionMetadata {
    #[prost(int64, required, tag = "1")]
    pub table_id: i64,
    #[prost(string, required, tag = "2")]
    pub partition_name: String,
    #[prost(int64, required, tag = "3")]
    pub partition_id: i64,
    #[prost(message, repeated, tag = "4")]
    pub bucket_metadata: Vec<BucketMetadata>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct BucketMetadata {
    #[prost(int32, required, tag = "1")]
    pub bucket_id: i32,
    #[prost(int32, optional, tag = "2")]
    pub leader_id: Option<i32>,
    #[prost(int32, repeated, tag = "3")]
    pub replica_id: Vec<i32>,
    #[prost(int32, optional, tag = "4")]
    pub leader_epoch: Option<i32>,
}
