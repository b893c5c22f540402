//! Latest row per key of one bucket, over RocksDB without a write-ahead log: the bucket's log is the log.
//!
//! Owns: [`Kv`] (one RocksDB directory), [`Mark`] (up to which log offset the rows are applied, in the same atomic
//! write), [`KvSnapshot`] (read-only view of a checkpoint), its copy for other programs, [`Overlay`] (rows merged but not yet applied), and the
//! merge engines: decisions on rows and folds of columns. Only this room names the `rocksdb` crate. What is kept is opaque bytes here; never
//! knows log or lake.

mod error;
mod gathered;
mod iter;
mod kv;
mod mark;
mod merge;
mod overlay;
mod plain;
mod row_cache;
mod settings;
mod shared;
mod slots;
mod snapshot;
mod staging;
mod tuning;

pub use iter::KvIter;
pub use kv::Kv;
pub use mark::Mark;
pub use merge::{
    AggregateFunction, ColumnFold, DeleteBehavior, Effect, FUNCTION_NAMES, MergeEngine, Outcome, Prior, Step,
};
pub use overlay::{Layer, Overlay};
pub use plain::{copy_plain, files_of};
pub use settings::KvSettings;
pub use shared::KvShared;
pub use snapshot::{KvSnapshot, open_snapshot};
