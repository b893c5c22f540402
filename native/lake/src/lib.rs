//! Apache Paimon tables: schema, files, manifests, commit, scan.
//!
//! Owns the lake's format (`docs/lake.md`) and is the only room that names `parquet`. Knows neither log segments nor RocksDB: rows come in
//! and go out as Arrow batches, log offsets as numbers.
//!
//! - [`define`], [`LakeTable`]: from a table of ours to its lake table; what the lake says of itself.
//! - [`AppendWriter`], [`KeyedWriter`]: rows into data files.
//! - [`Round`]: data files into one snapshot, exactly once.
//! - [`LakeScan`]: the rows of one snapshot, by bucket.

mod append_writer;
mod avro;
mod commit;
mod compaction;
mod compaction_rule;
mod data_file;
mod definition;
mod evolution;
mod expiry;
mod file_columns;
mod file_meta;
mod file_series;
mod keyed_writer;
mod location;
mod manifest;
mod merge;
mod offsets;
mod parquet_reader;
mod parquet_schema;
mod parquet_writer;
mod partition;
mod predicate;
mod pruning;
mod round;
mod scan;
mod snapshot;
mod storage;
mod stored_row;
mod system_column;
mod table;
mod table_schema;
mod type_text;

pub use append_writer::AppendWriter;
pub use data_file::WrittenFiles;
pub use definition::{SystemColumns, define};
pub use keyed_writer::KeyedWriter;
pub use location::Location;
pub use offsets::{LakeBucket, LakeOffsets, LakePartition};
pub use predicate::{Comparison, Predicate};
pub use round::Round;
pub use scan::{LakeScan, LakeSplit, Rows, ScanOptions};
pub use snapshot::{CommitKind, Snapshot};
pub use storage::{LocalStorage, ObjectStorage, Opened, Storage, Upload};
pub use system_column::{OFFSET, TIMESTAMP};
pub use table::{LakeTable, Tiered};
pub use table_schema::TableSchema;
