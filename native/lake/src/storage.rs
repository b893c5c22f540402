//! Where a lake's files are: the seam between tables and the place that holds them, a local directory or an object store.
//!
//! Names are relative to the warehouse, with `/` between their parts. A file is never changed in place.

mod local;
mod object;
mod s3;

pub use local::LocalStorage;
pub(crate) use local::unwrap_io;
pub use object::ObjectStorage;
pub(crate) use s3::bucket;

use bytes::Bytes;
use sluice_base::Result;
use std::fmt::Debug;
use std::io::Write;

/// A place for files.
pub trait Storage: Send + Sync + Debug {
    /// The whole file.
    ///
    /// # Errors
    /// `NotFound` about `File`, `Io`.
    fn read(&self, name: &str) -> Result<Bytes>;
    /// Opens a file for reading parts of it.
    ///
    /// # Errors
    /// `NotFound` about `File`, `Io`.
    fn open(&self, name: &str) -> Result<Box<dyn Opened>>;
    /// Creates a file that nobody sees before it is whole, unless there is one of that name: then `false`. Durable when it returns.
    /// Of many callers with the same name exactly one gets `true`.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`. On an error the file may be there all the same.
    fn put_new(&self, name: &str, content: &[u8]) -> Result<bool>;
    /// Creates or replaces a file in one step. Durable when it returns.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    fn put(&self, name: &str, content: &[u8]) -> Result<()>;
    /// Begins a file whose name nobody else uses.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    fn create(&self, name: &str) -> Result<Box<dyn Upload>>;
    /// Names of what is directly in a directory, sorted, without its path; none when there is no such directory.
    ///
    /// # Errors
    /// `Io`.
    fn list(&self, directory: &str) -> Result<Vec<String>>;
    /// Whether there is such a file.
    ///
    /// # Errors
    /// `Io`.
    fn exists(&self, name: &str) -> Result<bool>;
    /// Removes a file; a missing one is no error.
    ///
    /// # Errors
    /// `Io`.
    fn remove(&self, name: &str) -> Result<()>;
}

/// An open file.
pub trait Opened: Send + Sync + Debug {
    /// `length` bytes from `start` on; fewer only at the end of the file.
    ///
    /// # Errors
    /// `Io`.
    fn read_range(&self, start: u64, length: usize) -> Result<Bytes>;
}

/// A file being written from its start to its end.
pub trait Upload: Write + Send + Debug {
    /// Makes the file whole and durable.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`; the file must then not be used.
    fn finish(self: Box<Self>) -> Result<()>;
}
