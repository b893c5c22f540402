//! The disk as the log sees it when segments may lie elsewhere: a segment whose file is gone is read from its copy, and goes with it.

use super::{Remote, stub_path};
use crate::remote::stub::Stub;
use sluice_base::{Error, ErrorKind, Fs, FsFile, LockOutcome, Result, Subject};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A local disk with copies of closed log segments behind it.
#[derive(Debug)]
pub(crate) struct RemoteDisk(pub(crate) Arc<Remote>);

fn is_segment(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "log")
}

impl RemoteDisk {
    fn disk(&self) -> &dyn Fs {
        self.0.disk.as_ref()
    }
}

impl Fs for RemoteDisk {
    fn open(&self, path: &Path) -> Result<Arc<dyn FsFile>> {
        self.disk().open(path)
    }

    fn open_read(&self, path: &Path) -> Result<Arc<dyn FsFile>> {
        match self.disk().open_read(path) {
            Err(e) if e.kind() == ErrorKind::NotFound && is_segment(path) => match self.0.stub(path)? {
                Some(stub) => Ok(Arc::new(RemoteFile::new(Arc::clone(&self.0), stub))),
                None => Err(e),
            },
            opened => opened,
        }
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.disk().read(path)
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.disk().replace(path, bytes)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.disk().rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> Result<bool> {
        self.disk().link(from, to)
    }

    /// The stub goes last: as long as it is there, what is left of the segment can be found.
    fn remove(&self, path: &Path) -> Result<()> {
        self.disk().remove(path)?;
        if is_segment(path)
            && let Some(stub) = self.0.stub(path)?
        {
            self.0.remove(&stub.name)?;
            self.disk().remove(&stub_path(path))?;
        }
        Ok(())
    }

    fn remove_dir_all(&self, path: &Path) -> Result<()> {
        self.0.remove_below(path)?;
        self.disk().remove_dir_all(path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.disk().create_dir_all(path)
    }

    fn list(&self, path: &Path) -> Result<Vec<PathBuf>> {
        self.disk().list(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.disk().exists(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.disk().sync_dir(path)
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<LockOutcome> {
        self.disk().lock(path, holder)
    }

    fn lock_shared(&self, path: &Path) -> Result<LockOutcome> {
        self.disk().lock_shared(path)
    }
}

/// A copied segment, open for reading.
#[derive(Debug)]
struct RemoteFile {
    remote: Arc<Remote>,
    name: Arc<str>,
    bytes: u64,
}

impl RemoteFile {
    fn new(remote: Arc<Remote>, stub: Stub) -> Self {
        Self { remote, name: stub.name.into(), bytes: stub.bytes }
    }

    fn refuse(&self) -> Error {
        Error::unsupported(Subject::File, format!("{} is a remote copy, which is never written", self.name))
    }
}

impl FsFile for RemoteFile {
    fn write_at(&self, _: &[u8], _: u64) -> Result<()> {
        Err(self.refuse())
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<usize> {
        let remote = &self.remote;
        let read = remote.blocks.read(remote.storage.as_ref(), &self.name, self.bytes, buf, position);
        // A copy that is not there is no segment that retention took: the list of segments knows those.
        read.map_err(|e| match e.kind() {
            ErrorKind::NotFound => Error::corrupt(format!("{e}; put it back into {}", remote.place)),
            _ => e.context(format_args!("remote storage {}", remote.place)),
        })
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn set_len(&self, _: u64) -> Result<()> {
        Err(self.refuse())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.bytes)
    }
}
