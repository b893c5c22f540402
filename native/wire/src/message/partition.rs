//! Partitions.

#![expect(missing_docs, reason = "the names are the protocol's")]

use super::path::{PartitionSpec, TablePath};

#[derive(Clone, PartialEq, prost::Message)]
pub struct ListPartitionInfosRequest {
    #[prost(message, required, tag = "1")]
    pub table_path: TablePath,
    #[prost(message, optional, tag = "2")]
    pub partial_partition_spec: Option<PartitionSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ListPartitionInfosResponse {
    #[prost(message, repeated, tag = "1")]
    pub partitions_info: Vec<PartitionInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PartitionInfo {
    #[prost(int64, required, tag = "1")]
    pub partition_id: i64,
    #[prost(message, required, tag = "2")]
    pub partition_spec: PartitionSpec,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CreatePartitionRequest {
    #[prost(message, required, tag = "1")]
    pub table_path: TablePath,
    #[prost(message, required, tag = "2")]
    pub partition_spec: PartitionSpec,
    #[prost(bool, required, tag = "3")]
    pub ignore_if_not_exists: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CreatePartitionResponse {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DropPartitionRequest {
    #[prost(message, required, tag = "1")]
    pub table_path: TablePath,
    #[prost(message, required, tag = "2")]
    pub partition_spec: PartitionSpec,
    #[prost(bool, required, tag = "3")]
    pub ignore_if_not_exists: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DropPartitionResponse {}
