//! The protocol as bytes: frames, messages, error codes, batches of keys and values.
//!
//! Owns what crosses a connection, except the log batch, which is stored as it is shipped and belongs to the log room. Pure: bytes in,
//! bytes or an error out; knows neither files nor sockets. Bytes from outside may be anything: they never make it panic or allocate
//! more than they are long.
//!
//! - [`RequestHeader`], [`ResponseHead`], [`frame_length`]: what stands around every message.
//! - [`ApiKey`]: which requests there are, and in which versions.
//! - [`message`]: the messages; [`Body`] reads and writes them.
//! - [`ErrorCode`]: what a client does about a failure, made from an [`sluice_base::Error`] in one place.
//! - [`KvBatch`], [`KvBatchWriter`], [`ValueBatch`]: rows by key on their way in and out.
//! - [`json`]: descriptions of databases and tables inside messages.

mod api_key;
mod body;
mod code;
mod frame;
pub mod json;
mod kv_batch;
pub mod message;
mod value_batch;

pub use api_key::{ApiKey, ApiVersions};
pub use body::Body;
pub use code::ErrorCode;
pub use frame::{
    FRAME_BYTES_MAX, FRAME_PREFIX_BYTES, REQUEST_HEADER_BYTES, RequestHeader, ResponseHead, answer_length, ending,
    failure, frame_length, request, success,
};
pub use kv_batch::{KvBatch, KvBatchWriter, KvRecord, KvRecords};
pub use value_batch::{ValueBatch, stored_values};
