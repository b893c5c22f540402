//! RocksDB's errors as ours.

use rocksdb::ErrorKind as Rocks;
use sluice_base::{Error, ErrorKind, Subject};
use std::path::Path;

/// What went wrong in `dir` while doing `what`. A full or read-only disk is `Busy` about `Disk`; RocksDB resumes by itself when
/// space returns, but not after a quota or a read-only disk stopped it. Damage is `Corrupt` and names the directory.
pub(crate) fn convert(e: rocksdb::Error, what: &str, dir: &Path) -> Error {
    let text = e.to_string();
    let dir = dir.display();
    // RocksDB hands over a text only; these are the C library's words for ENOSPC, EDQUOT and EROFS.
    let says = |words: &str| text.contains(words);
    let (kind, subject, hint) = if says("No space left") || says("Max allowed space") {
        // RocksDB does not begin again with less.
        let hint = "; free some space, at least as much as kv.write-buffer-size, reads go on meanwhile";
        (ErrorKind::Busy, Subject::Disk, hint)
    } else if says("Disk quota exceeded") {
        (
            ErrorKind::Busy,
            Subject::Disk,
            "; free some space, then close the store and open it again, reads go on meanwhile",
        )
    } else if says("Read-only file system") {
        let hint = "; the disk is read-only, remount it for writing, then close the store and open it again";
        (ErrorKind::Busy, Subject::Disk, hint)
    } else {
        match e.kind() {
            Rocks::Corruption => (ErrorKind::Corrupt, Subject::File, ""),
            Rocks::IOError => (ErrorKind::Io, Subject::File, ""),
            Rocks::Busy | Rocks::TimedOut | Rocks::TryAgain => (ErrorKind::Busy, Subject::Disk, ""),
            Rocks::Incomplete => {
                (ErrorKind::Busy, Subject::Disk, "; its files are written more slowly than rows come, or not at all")
            }
            _ => (ErrorKind::Internal, Subject::File, ""),
        }
    };
    Error::new(kind, subject, format!("cannot {what} key-value directory {dir}: {text}{hint}")).with_source(e)
}
