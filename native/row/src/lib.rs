//! Pure bytes and types: data types, schemas, row and key encodings, the bucket function, change kinds, Arrow <-> row.
//!
//! Owns every encoding constant of rows and keys. Knows no disk and no threads.

mod arrow;
mod binary;
mod binary_read;
mod bucket;
mod cells;
mod change;
mod columns;
mod compacted;
mod crossing;
mod data_type;
mod declared;
mod descriptor;
mod filter;
mod key;
mod layout;
mod partition;
mod predicate;
mod schema;
mod statistics;
mod time;
mod varint;

pub use arrow::{arrow_field, arrow_schema, arrow_type};
pub use binary::BinaryRowWriter;
pub use binary_read::columns_of_binary_row;
pub use bucket::BucketFunction;
pub use change::ChangeKind;
pub use compacted::{BoundRows, RowDecoder, RowEncoder, RowsBuilder};
pub use crossing::{ColumnIn, columns_to_batch};
pub use data_type::{DataType, RowField, TypeRoot};
pub use declared::{FIELDS, FUNCTION_SUFFIX, GROUP_SUFFIX, NUMBERED};
pub use descriptor::{DatabaseDescriptor, TableDescriptor, TablePath, ViewColumn, ViewDescriptor};
pub use filter::Filter;
pub use key::{BoundKeys, KeyEncoder, KeyFormat, columns_of_keys};
pub use partition::{BoundPartition, can_partition, partition_text};
pub use predicate::{Comparison, Literal, Predicate};
pub use schema::{AggFunction, Column, Schema};
pub use statistics::Statistics;
