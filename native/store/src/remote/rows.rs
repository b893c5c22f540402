//! Rows by key in remote storage: one snapshot a bucket, the files of a checkpoint and a list of them that is replaced as a whole. Each store that has
//! had the place has a list of its own.
//!
//! Invariant: the list names whole files only, and the log is there at least up to the snapshot's offset.

use serde::{Deserialize, Serialize};
use sluice_base::{Error, ErrorKind, Offset, Result};
use std::path::Path;

const VERSION: u32 = 1;

/// A bucket's snapshot in remote storage.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct CopiedRows {
    version: u32,
    /// The log offset that it ends before.
    pub(crate) offset: Offset,
    pub(crate) files: Vec<CopiedFile>,
    /// Files of this process's own RocksDB are known by their names: it gives none twice.
    #[serde(skip)]
    pub(crate) made_here: bool,
    #[serde(skip)]
    pub(crate) made_ms: i64,
}

/// One file of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CopiedFile {
    pub(crate) name: String,
    /// Its name in the directory of the copies.
    pub(crate) copy: String,
    pub(crate) bytes: u64,
}

/// The directory of a bucket's copied rows.
pub(crate) fn directory(bucket: &str) -> String {
    format!("{bucket}/rows")
}

/// The list of the store whose copies have `tag` in their names.
pub(crate) fn list(tag: &str) -> String {
    format!("ROWS-{tag}")
}

impl CopiedRows {
    /// The rows before `offset`, as this process copied them.
    pub(crate) fn made(offset: Offset, files: Vec<CopiedFile>, made_ms: i64) -> Self {
        Self { version: VERSION, offset, files, made_here: true, made_ms }
    }

    /// The bytes of the list.
    ///
    /// # Errors
    /// None that is known.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|e| Error::internal(format!("the list of copied rows: {e}")))
    }

    /// What is there of a bucket by one store's list, `None` if nothing.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported` naming the list; `Io`.
    pub(crate) fn load(remote: &dyn sluice_lake::Storage, bucket: &str, tag: &str) -> Result<Option<Self>> {
        let name = format!("{}/{}", directory(bucket), list(tag));
        let bytes = match remote.read(&name) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let list: Self =
            serde_json::from_slice(&bytes).map_err(|e| Error::corrupt(format!("{name} lists no files: {e}")))?;
        if list.version != VERSION {
            let message = format!("{name} has version {}, this release reads {VERSION}", list.version);
            return Err(Error::unsupported(sluice_base::Subject::File, message));
        }
        Ok(Some(list))
    }
}

/// Fetches the rows of a bucket into its empty directory of rows.
///
/// # Errors
/// `Corrupt` when a file is shorter than it was; `Io`, `Busy` about `Disk`.
pub(crate) fn fetch(
    disk: &dyn sluice_base::Fs,
    storage: &dyn sluice_lake::Storage,
    bucket: &str,
    rows: &CopiedRows,
    to: &Path,
) -> Result<()> {
    disk.create_dir_all(to)?;
    for file in &rows.files {
        let name = format!("{}/{}", directory(bucket), file.copy);
        let there = storage.open(&name)?;
        let local = disk.open(&to.join(&file.name))?;
        let mut position = 0;
        while position < file.bytes {
            let wanted = usize::try_from(file.bytes - position).unwrap_or(usize::MAX).min(super::CHUNK_BYTES);
            let part = there.read_range(position, wanted)?;
            if part.is_empty() {
                return Err(Error::corrupt(format!("the remote copy {name} ends at {position}, not {}", file.bytes)));
            }
            local.write_at(&part, position)?;
            position += part.len() as u64;
        }
        local.sync()?;
    }
    disk.sync_dir(to)
}
