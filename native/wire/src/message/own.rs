//! Requests of our own, which only our server announces: what the protocol has no words for.

#![expect(missing_docs, reason = "the fields are explained by the calls that they carry")]

use super::path::{TableBucket, TablePath};
use bytes::Bytes;

/// A call by name; name and JSON are those of `sluice_api::call`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CallRequest {
    #[prost(string, required, tag = "1")]
    pub operation: String,
    #[prost(string, required, tag = "2")]
    pub arguments: String,
}

/// What the call gave: JSON, or an error with our own numbers.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CallResponse {
    #[prost(string, optional, tag = "1")]
    pub answer: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<CallError>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CallError {
    #[prost(int32, required, tag = "1")]
    pub kind: i32,
    #[prost(int32, required, tag = "2")]
    pub subject: i32,
    #[prost(string, required, tag = "3")]
    pub message: String,
}

/// Asks for the next rows of a scan that the server keeps open, or opens one.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RowScanRequest {
    /// The scan to go on with; without it one is opened.
    #[prost(int64, optional, tag = "1")]
    pub scan_id: Option<i64>,
    #[prost(message, optional, tag = "2")]
    pub open: Option<RowScanOpen>,
    /// Ends the scan.
    #[prost(bool, optional, tag = "3")]
    pub close: Option<bool>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RowScanOpen {
    #[prost(message, required, tag = "1")]
    pub table_path: TablePath,
    #[prost(message, required, tag = "2")]
    pub bucket: TableBucket,
    /// Where it starts, as JSON. Its log is not read.
    #[prost(string, required, tag = "3")]
    pub start: String,
    /// Positions of the wanted columns.
    #[prost(uint32, repeated, tag = "4")]
    pub projection: Vec<u32>,
    #[prost(uint32, required, tag = "5")]
    pub batch_rows_max: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RowScanResponse {
    #[prost(message, optional, tag = "1")]
    pub error: Option<CallError>,
    #[prost(int64, optional, tag = "2")]
    pub scan_id: Option<i64>,
    /// The rows as a log batch of the wanted columns; none when there are no rows.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub records: Option<Bytes>,
    /// How many rows there are, for those without columns.
    #[prost(uint32, optional, tag = "4")]
    pub rows: Option<u32>,
    /// Where a reader goes on behind them, as JSON.
    #[prost(string, optional, tag = "5")]
    pub next: Option<String>,
    #[prost(bool, optional, tag = "6")]
    pub finished: Option<bool>,
    /// Offset and commit time of the first row; -1 for rows of a snapshot.
    #[prost(int64, optional, tag = "7")]
    pub base_offset: Option<i64>,
    #[prost(int64, optional, tag = "8")]
    pub timestamp_ms: Option<i64>,
}
