//! A directory of the local file system.
//!
//! A new file is written under a name that begins with a dot and then linked to its own: readers that list snapshots and schemas
//! skip names without the prefix that they know, while `snapshot-7.tmp` would break them.

use super::{Opened, Storage, Upload};
use bytes::Bytes;
use sluice_base::{Error, Fs, FsFile, Result};
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use uuid::Uuid;

/// Bytes gathered before they are given to the file system.
const BLOCK_BYTES: usize = 1 << 20;

/// Files under a directory.
#[derive(Debug, Clone)]
pub struct LocalStorage {
    fs: Arc<dyn Fs>,
    root: PathBuf,
    /// Directories whose entries are known to be durable.
    durable: Arc<Mutex<HashSet<PathBuf>>>,
}

impl LocalStorage {
    /// Files under `root`, which is created with the first of them.
    #[must_use]
    pub fn new(fs: Arc<dyn Fs>, root: impl Into<PathBuf>) -> Self {
        Self { fs, root: root.into(), durable: Arc::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Makes the directory of a file durably, with all above it up to the root. One that is there already may have been made by
    /// a process that died before its entry was durable, so each is seen to once.
    fn make_parent(&self, path: &Path) -> Result<PathBuf> {
        let parent = path.parent().unwrap_or(&self.root).to_owned();
        let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if durable.contains(&parent) {
            if self.fs.exists(&parent) {
                return Ok(parent);
            }
            // Somebody has dropped the table.
            durable.clear();
        }
        self.fs.create_dir_all(&parent)?;
        let below_root = parent.ancestors().take_while(|a| a.starts_with(&self.root));
        for directory in below_root.filter(|d| !durable.contains(*d)).collect::<Vec<_>>().into_iter().rev() {
            if let Some(above) = directory.parent().filter(|a| !a.as_os_str().is_empty()) {
                self.fs.sync_dir(above)?;
            }
        }
        durable.extend(parent.ancestors().take_while(|a| a.starts_with(&self.root)).map(Path::to_owned));
        Ok(parent)
    }

    /// Writes a file under a name that no reader looks at.
    fn stage(&self, path: &Path, content: &[u8]) -> Result<(PathBuf, PathBuf)> {
        let parent = self.make_parent(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let staged = parent.join(format!(".{name}.{}.tmp", Uuid::new_v4()));
        let written = (|| {
            let file = self.fs.open(&staged)?;
            file.write_at(content, 0)?;
            file.sync()
        })();
        if let Err(e) = written {
            // What is left of it would only take space.
            let _ = self.fs.remove(&staged);
            return Err(e);
        }
        Ok((parent, staged))
    }
}

impl Storage for LocalStorage {
    fn read(&self, name: &str) -> Result<Bytes> {
        Ok(self.fs.read(&self.path(name))?.into())
    }

    fn open(&self, name: &str) -> Result<Box<dyn Opened>> {
        Ok(Box::new(LocalFile(self.fs.open_read(&self.path(name))?)))
    }

    fn put_new(&self, name: &str, content: &[u8]) -> Result<bool> {
        let path = self.path(name);
        let (parent, staged) = self.stage(&path, content)?;
        let linked = self.fs.link(&staged, &path);
        // The staged name has no meaning to anyone: leaving it behind wastes a few bytes.
        let _ = self.fs.remove(&staged);
        if linked? {
            self.fs.sync_dir(&parent)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<()> {
        let path = self.path(name);
        let (parent, staged) = self.stage(&path, content)?;
        if let Err(e) = self.fs.rename(&staged, &path) {
            let _ = self.fs.remove(&staged);
            return Err(e);
        }
        self.fs.sync_dir(&parent)
    }

    fn create(&self, name: &str) -> Result<Box<dyn Upload>> {
        let path = self.path(name);
        let parent = self.make_parent(&path)?;
        let file = self.fs.open(&path)?;
        file.set_len(0)?;
        let fs = Arc::clone(&self.fs);
        Ok(Box::new(LocalUpload { fs, file, parent, pending: Vec::new(), written: 0 }))
    }

    fn list(&self, directory: &str) -> Result<Vec<String>> {
        let path = self.path(directory);
        if !self.fs.exists(&path) {
            return Ok(Vec::new());
        }
        let entries = self.fs.list(&path)?;
        Ok(entries.iter().filter_map(|e| Some(e.file_name()?.to_str()?.to_owned())).collect())
    }

    fn exists(&self, name: &str) -> Result<bool> {
        Ok(self.fs.exists(&self.path(name)))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.fs.remove(&self.path(name))
    }
}

#[derive(Debug)]
struct LocalFile(Arc<dyn FsFile>);

impl Opened for LocalFile {
    fn read_range(&self, start: u64, length: usize) -> Result<Bytes> {
        let mut buffer = vec![0; length];
        let read = self.0.read_at(&mut buffer, start)?;
        buffer.truncate(read);
        Ok(buffer.into())
    }
}

#[derive(Debug)]
struct LocalUpload {
    fs: Arc<dyn Fs>,
    file: Arc<dyn FsFile>,
    parent: PathBuf,
    pending: Vec<u8>,
    written: u64,
}

impl LocalUpload {
    fn write_pending(&mut self) -> Result<()> {
        self.file.write_at(&self.pending, self.written)?;
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}

impl Write for LocalUpload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= BLOCK_BYTES {
            self.write_pending().map_err(io::Error::other)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_pending().map_err(io::Error::other)
    }
}

impl Upload for LocalUpload {
    fn finish(mut self: Box<Self>) -> Result<()> {
        self.write_pending()?;
        self.file.sync()?;
        self.fs.sync_dir(&self.parent)
    }
}

/// The error beneath an [`io::Error`] that a [`Upload`]'s `write` gave.
pub(crate) fn unwrap_io(what: &str, error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(own) => own,
        Err(other) => Error::io(what, other),
    }
}
