//! Names and ids that many messages hold.

#![expect(missing_docs, reason = "the names are the protocol's")]

#[derive(Clone, PartialEq, prost::Message)]
pub struct TablePath {
    #[prost(string, required, tag = "1")]
    pub database_name: String,
    #[prost(string, required, tag = "2")]
    pub table_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PhysicalTablePath {
    #[prost(string, required, tag = "1")]
    pub database_name: String,
    #[prost(string, required, tag = "2")]
    pub table_name: String,
    #[prost(string, optional, tag = "3")]
    pub partition_name: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TableBucket {
    #[prost(int64, required, tag = "1")]
    pub table_id: i64,
    #[prost(int64, optional, tag = "2")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "3")]
    pub bucket_id: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct KeyValue {
    #[prost(string, required, tag = "1")]
    pub key: String,
    #[prost(string, required, tag = "2")]
    pub value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PartitionSpec {
    #[prost(message, repeated, tag = "1")]
    pub partition_key_values: Vec<KeyValue>,
}
