//! Pure bytes and types: data types, schemas, row and key encodings, the bucket function, change kinds, Arrow <-> row.
//!
//! Owns every encoding constant of rows and keys. Knows no disk and no threads.

mod change;
mod data_type;
mod descriptor;
mod schema;

pub use change::ChangeKind;
pub use data_type::{DataType, RowField, TypeRoot};
pub use descriptor::{DatabaseDescriptor, TableDescriptor, TablePath};
pub use schema::{AggFunction, Column, Schema};
