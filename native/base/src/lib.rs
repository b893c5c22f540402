//! Ground floor: errors with kinds, ids, units, and the seams behind which disk and clock stand.
//!
//! Owns: [`Error`], ids, [`Fs`], [`Clock`], byte-size and duration parsing, dates. Knows neither Arrow nor RocksDB.
//! Only this room names `std::fs` and the wall clock in production code.

mod civil;
mod clock;
mod error;
mod fs;
mod id;
mod unit;

pub use civil::CivilDate;
pub use clock::{Clock, SystemClock};
pub use error::{Error, ErrorKind, Result, Subject};
pub use fs::{Fs, FsFile, LockOutcome, OsFs};
pub use id::{Offset, PartitionId, SchemaId, TableBucket, TableId};
pub use unit::{parse_bytes, parse_duration};
