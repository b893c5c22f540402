//! Tables and their schemas.

#![expect(missing_docs, reason = "the names are the protocol's")]

use super::path::TablePath;

#[derive(Clone, PartialEq, prost::Message)]
pub struct CreateTableRequest {
    #[prost(message, required, tag = "1")]
    pub table_path: TablePath,
    #[prost(bytes = "vec", required, tag = "2")]
    pub table_json: Vec<u8>,
    #[prost(bool, required, tag = "3")]
    pub ignore_if_exists: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CreateTableResponse {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DropTableRequest {
    #[prost(message, required, tag = "1")]
    pub table_path: TablePath,
    #[prost(bool, required, tag = "2")]
    pub ignore_if_not_exists: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DropTableResponse {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AlterTableRequest {
    #[prost(message, required, tag = "1")]
    pub table_path: TablePath,
    #[prost(bool, required, tag = "2")]
    pub ignore_if_not_exists: bool,
    #[prost(message, repeated, tag = "3")]
    pub config_changes: Vec<AlterConfig>,
    #[prost(message, repeated, tag = "4")]
    pub add_columns: Vec<AddColumn>,
    #[prost(message, repeated, tag = "5")]
    pub drop_columns: Vec<DropColumn>,
    #[prost(message, repeated, tag = "6")]
    pub rename_columns: Vec<RenameColumn>,
    #[prost(message, repeated, tag = "7")]
    pub modify_columns: Vec<ModifyColumn>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AlterTableResponse {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AlterConfig {
    #[prost(string, required, tag = "1")]
    pub config_key: String,
    #[prost(string, optional, tag = "2")]
    pub config_value: Option<String>,
    #[prost(int32, required, tag = "3")]
    pub op_type: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AddColumn {
    #[prost(string, required, tag = "1")]
    pub column_name: String,
    #[prost(bytes = "vec", required, tag = "2")]
    pub data_type_json: Vec<u8>,
    #[prost(string, optional, tag = "3")]
    pub comment: Option<String>,
    #[prost(int32, required, tag = "4")]
    pub column_position_type: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DropColumn {
    #[prost(string, required, tag = "1")]
    pub column_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RenameColumn {
    #[prost(string, required, tag = "1")]
    pub old_column_name: String,
    #[prost(string, required, tag = "2")]
    pub new_column_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ModifyColumn {
    #[prost(string, required, tag = "1")]
    pub column_name: String,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub data_type_json: Option<Vec<u8>>,
    #[prost(string, optional, tag = "3")]
    pub comment: Option<String>,
    #[prost(int32, optional, tag = "4")]
    pub column_position_type: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetTableInfoRequest {
    #[prost(message, required, tag = "1")]
    pub table_path: TablePath,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetTableInfoResponse {
    #[prost(int64, required, tag = "1")]
    pub table_id: i64,
    #[prost(int32, required, tag = "2")]
    pub schema_id: i32,
    #[prost(bytes = "vec", required, tag = "3")]
    pub table_json: Vec<u8>,
    #[prost(int64, required, tag = "4")]
    pub created_time: i64,
    #[prost(int64, required, tag = "5")]
    pub modified_time: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetTableSchemaRequest {
    #[prost(message, required, tag = "1")]
    pub table_path: TablePath,
    #[prost(int32, optional, tag = "2")]
    pub schema_id: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetTableSchemaResponse {
    #[prost(int32, required, tag = "1")]
    pub schema_id: i32,
    #[prost(bytes = "vec", required, tag = "2")]
    pub schema_json: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ListTablesRequest {
    #[prost(string, required, tag = "1")]
    pub database_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ListTablesResponse {
    #[prost(string, repeated, tag = "1")]
    pub table_name: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TableExistsRequest {
    #[prost(message, required, tag = "1")]
    pub table_path: TablePath,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TableExistsResponse {
    #[prost(bool, required, tag = "1")]
    pub exists: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetTableStatsRequest {
    #[prost(int64, required, tag = "1")]
    pub table_id: i64,
    #[prost(message, repeated, tag = "2")]
    pub buckets_req: Vec<TableStatsBucketRequest>,
    #[prost(int32, repeated, tag = "3")]
    pub target_columns: Vec<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetTableStatsResponse {
    #[prost(message, repeated, tag = "1")]
    pub buckets_resp: Vec<TableStatsBucketResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TableStatsBucketRequest {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TableStatsBucketResponse {
    #[prost(int32, optional, tag = "1")]
    pub error_code: Option<i32>,
    #[prost(string, optional, tag = "2")]
    pub error_message: Option<String>,
    #[prost(int64, optional, tag = "3")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "4")]
    pub bucket_id: i32,
    #[prost(int64, optional, tag = "5")]
    pub row_count: Option<i64>,
}
