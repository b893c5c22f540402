//! Offsets that a producer leaves with the server, so that whoever goes on in its name knows where it began.

#![expect(missing_docs, reason = "the names are the protocol's")]

#[derive(Clone, PartialEq, prost::Message)]
pub struct RegisterProducerOffsetsRequest {
    #[prost(string, required, tag = "1")]
    pub producer_id: String,
    #[prost(message, repeated, tag = "2")]
    pub table_offsets: Vec<ProducerTableOffsets>,
    #[prost(int64, optional, tag = "3")]
    pub ttl_ms: Option<i64>,
}

/// 0 = they are kept now, 1 = there were some, which stay.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RegisterProducerOffsetsResponse {
    #[prost(int32, optional, tag = "1")]
    pub result: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetProducerOffsetsRequest {
    #[prost(string, required, tag = "1")]
    pub producer_id: String,
}

/// Without an id when there are none.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetProducerOffsetsResponse {
    #[prost(string, optional, tag = "1")]
    pub producer_id: Option<String>,
    /// Ms since 1970.
    #[prost(int64, optional, tag = "2")]
    pub expiration_time: Option<i64>,
    #[prost(message, repeated, tag = "3")]
    pub table_offsets: Vec<ProducerTableOffsets>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DeleteProducerOffsetsRequest {
    #[prost(string, required, tag = "1")]
    pub producer_id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DeleteProducerOffsetsResponse {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProducerTableOffsets {
    #[prost(int64, required, tag = "1")]
    pub table_id: i64,
    #[prost(message, repeated, tag = "2")]
    pub bucket_offsets: Vec<ProducerBucketOffset>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProducerBucketOffset {
    #[prost(int64, optional, tag = "1")]
    pub partition_id: Option<i64>,
    #[prost(int32, required, tag = "2")]
    pub bucket_id: i32,
    #[prost(int64, optional, tag = "4")]
    pub log_end_offset: Option<i64>,
}
