//! Versions, authentication, and what a failed request is answered.

#![expect(missing_docs, reason = "the names are the protocol's")]

#[derive(Clone, PartialEq, prost::Message)]
pub struct ApiVersionsRequest {
    #[prost(string, required, tag = "1")]
    pub client_software_name: String,
    #[prost(string, required, tag = "2")]
    pub client_software_version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ApiVersionsResponse {
    #[prost(message, repeated, tag = "1")]
    pub api_versions: Vec<ApiVersion>,
    #[prost(int32, optional, tag = "2")]
    pub server_type: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ApiVersion {
    #[prost(int32, required, tag = "1")]
    pub api_key: i32,
    #[prost(int32, required, tag = "2")]
    pub min_version: i32,
    #[prost(int32, required, tag = "3")]
    pub max_version: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AuthenticateRequest {
    #[prost(string, required, tag = "1")]
    pub protocol: String,
    #[prost(bytes = "vec", required, tag = "2")]
    pub token: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AuthenticateResponse {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub challenge: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ErrorResponse {
    #[prost(int32, required, tag = "1")]
    pub error_code: i32,
    #[prost(string, optional, tag = "2")]
    pub error_message: Option<String>,
}
