//! One bucket's ordered batches on disk: segments, offset and time index, recovery, retention.
//!
//! Owns the segment and index formats (`docs/format.md`) and the batch form of the protocol. A batch is stored byte for byte
//! as the protocol ships it, so reading copies bytes and decodes nothing. Knows neither keys nor merging nor the lake.
//!
//! - [`encode_batch`], [`BatchDecoder`]: Arrow record batch to and from batch bytes.
//! - [`BatchProjector`]: some columns of a batch, as bytes.
//! - [`Log`]: append, sync, read, find by time, find what a writer sent before, expire; statistics of its rows beside it, so that
//!   a reader can leave rows out.

mod arrow_body;
mod batch;
mod chunk;
mod file_header;
mod header;
mod index;
mod lock;
mod log;
mod packing;
mod project;
mod recover;
mod recovery_point;
mod retention;
mod segment;
mod settings;
mod stretch;
mod walk;
mod writers;

pub use arrow_body::BatchDecoder;
pub use batch::encode_batch;
pub use header::{BATCH_HEADER_BYTES, BatchHeader, verify_crc};
pub use log::{Appended, ClosedSegment, Log};
pub use project::BatchProjector;
pub use recover::{Damage, Recovery};
pub use segment::{MOVED_EXTENSION, StoredBatch};
pub use settings::{Compression, LogSettings, ZstdLevel};
pub use stretch::{Ahead, Keep};
