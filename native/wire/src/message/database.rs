//! Databases.

#![expect(missing_docs, reason = "the names are the protocol's")]

#[derive(Clone, PartialEq, prost::Message)]
pub struct CreateDatabaseRequest {
    #[prost(string, required, tag = "1")]
    pub database_name: String,
    #[prost(bool, required, tag = "2")]
    pub ignore_if_exists: bool,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub database_json: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CreateDatabaseResponse {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DropDatabaseRequest {
    #[prost(string, required, tag = "1")]
    pub database_name: String,
    #[prost(bool, required, tag = "2")]
    pub ignore_if_not_exists: bool,
    #[prost(bool, required, tag = "3")]
    pub cascade: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DropDatabaseResponse {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DatabaseExistsRequest {
    #[prost(string, required, tag = "1")]
    pub database_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DatabaseExistsResponse {
    #[prost(bool, required, tag = "1")]
    pub exists: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ListDatabasesRequest {
    #[prost(bool, optional, tag = "1")]
    pub include_summary: Option<bool>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ListDatabasesResponse {
    #[prost(string, repeated, tag = "1")]
    pub database_name: Vec<String>,
    #[prost(message, repeated, tag = "2")]
    pub database_summary: Vec<DatabaseSummary>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DatabaseSummary {
    #[prost(string, required, tag = "1")]
    pub database_name: String,
    #[prost(int64, required, tag = "2")]
    pub created_time: i64,
    #[prost(int32, required, tag = "3")]
    pub table_count: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetDatabaseInfoRequest {
    #[prost(string, required, tag = "1")]
    pub database_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetDatabaseInfoResponse {
    #[prost(bytes = "vec", required, tag = "3")]
    pub database_json: Vec<u8>,
    #[prost(int64, required, tag = "4")]
    pub created_time: i64,
    #[prost(int64, required, tag = "5")]
    pub modified_time: i64,
}
