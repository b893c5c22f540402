//! Settings of the server.

#![expect(missing_docs, reason = "the names are the protocol's")]

#[derive(Clone, PartialEq, prost::Message)]
pub struct DescribeClusterConfigsRequest {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DescribeClusterConfigsResponse {
    #[prost(message, repeated, tag = "1")]
    pub configs: Vec<DescribeConfig>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DescribeConfig {
    #[prost(string, required, tag = "1")]
    pub config_key: String,
    #[prost(string, optional, tag = "2")]
    pub config_value: Option<String>,
    #[prost(string, required, tag = "3")]
    pub config_source: String,
}
