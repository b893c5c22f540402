//! RocksDB's errors as ours.

use rocksdb::ErrorKind as Rocks;
use sluice_base::{Error, ErrorKind, Subject};
use std::path::Path;

/// What went wrong in `dir` while doing `what`. A full or read-only disk is `Busy` about `Disk`: RocksDB resumes
/// by itself when space returns. Damage is `Corrupt` and names the directory.
pub(crate) fn convert(e: rocksdb::Error, what: &str, dir: &Path) -> Error {
    let text = e.to_string();
    let dir = dir.display();
    // RocksDB hands over a text only; these are the C library's words for ENOSPC, EDQUOT and EROFS.
    let no_space = ["No space left", "Disk quota exceeded", "Read-only file system", "Max allowed space"];
    let (kind, subject, hint) = if no_space.iter().any(|t| text.contains(t)) {
        (ErrorKind::Busy, Subject::Disk, "; free some space, reads go on meanwhile")
    } else {
        match e.kind() {
            Rocks::Corruption => (ErrorKind::Corrupt, Subject::File, ""),
            Rocks::IOError => (ErrorKind::Io, Subject::File, ""),
            Rocks::Busy | Rocks::TimedOut | Rocks::TryAgain => (ErrorKind::Busy, Subject::Disk, ""),
            _ => (ErrorKind::Internal, Subject::File, ""),
        }
    };
    Error::new(kind, subject, format!("cannot {what} key-value directory {dir}: {text}{hint}")).with_source(e)
}
