//! An object store, behind the blocking face of [`Storage`].
//!
//! A new file is a conditional put: the store itself refuses a name that is taken. Calls run on a small runtime of their own, so that they may
//! come from any thread, one of another runtime included.

use super::{Opened, Storage, Upload};
use bytes::Bytes;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use sluice_base::{Error, ErrorKind, Result, Subject};
use std::fmt;
use std::future::Future;
use std::io::{self, Write};
use std::sync::{Arc, mpsc};
use tokio::runtime::{Builder, Runtime};

/// Bytes of one part of a large file; what is smaller is put at once.
const PART_BYTES: usize = 8 << 20;
/// Threads that drive requests: they only wait.
const THREADS: usize = 2;

/// Files under a prefix of an object store.
#[derive(Debug, Clone)]
pub struct ObjectStorage {
    store: Arc<dyn ObjectStore>,
    requests: Arc<Requests>,
    prefix: String,
}

impl ObjectStorage {
    /// Files of `store` below `prefix`, which may be empty.
    ///
    /// # Errors
    /// `Io` when the threads that drive requests cannot be started.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: &str) -> Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(THREADS).thread_name("sluice-object").enable_all().build();
        let runtime = runtime.map_err(|e| Error::io("start the threads for the object store", e))?;
        Ok(Self { store, requests: Arc::new(Requests(Some(runtime))), prefix: prefix.trim_matches('/').to_owned() })
    }

    /// Names are taken as they are: partition values are escaped already.
    fn path(&self, name: &str) -> Result<Path> {
        let full = if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) };
        Path::parse(&full)
            .map_err(|e| Error::invalid(Subject::File, format!("{full} cannot be a name in an object store: {e}")))
    }

    fn put_with(&self, name: &str, content: &[u8], mode: PutMode) -> Result<bool> {
        let (store, path) = (Arc::clone(&self.store), self.path(name)?);
        let payload = PutPayload::from(Bytes::copy_from_slice(content));
        let options = PutOptions { mode, ..PutOptions::default() };
        let outcome = wait(&self.requests, async move { store.put_opts(&path, payload, options).await })?;
        match outcome {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(e) => Err(failed("write", name, e)),
        }
    }
}

/// The threads that drive requests.
#[derive(Debug)]
struct Requests(Option<Runtime>);

impl Drop for Requests {
    fn drop(&mut self) {
        // A thread of another runtime may drop this one and must not wait for its end; no request is under way then.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Runs a request to its end, whatever thread asks.
fn wait<T: Send + 'static>(requests: &Requests, request: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let dropped = || Error::internal("a request to the object store was dropped");
    let (sender, receiver) = mpsc::sync_channel(1);
    requests.0.as_ref().ok_or_else(dropped)?.spawn(async move {
        // Nobody hears the answer only when the asking thread is gone.
        let _ = sender.send(request.await);
    });
    receiver.recv().map_err(|_| dropped())
}

fn failed(what: &str, name: &str, e: object_store::Error) -> Error {
    let kind = match &e {
        object_store::Error::NotFound { .. } => ErrorKind::NotFound,
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            ErrorKind::Unauthorized
        }
        object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. } => ErrorKind::Unsupported,
        _ => ErrorKind::Io,
    };
    Error::new(kind, Subject::File, format!("cannot {what} {name} in the object store: {e}")).with_source(e)
}

impl Storage for ObjectStorage {
    fn read(&self, name: &str) -> Result<Bytes> {
        let (store, path) = (Arc::clone(&self.store), self.path(name)?);
        let outcome = wait(&self.requests, async move { store.get(&path).await?.bytes().await })?;
        outcome.map_err(|e| failed("read", name, e))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Opened>> {
        Ok(Box::new(ObjectFile { storage: self.clone(), path: self.path(name)? }))
    }

    fn put_new(&self, name: &str, content: &[u8]) -> Result<bool> {
        self.put_with(name, content, PutMode::Create)
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<()> {
        self.put_with(name, content, PutMode::Overwrite).map(|_| ())
    }

    fn create(&self, name: &str) -> Result<Box<dyn Upload>> {
        let path = self.path(name)?;
        Ok(Box::new(ObjectUpload { storage: self.clone(), path, parts: None, pending: Vec::new() }))
    }

    fn list(&self, directory: &str) -> Result<Vec<String>> {
        let (store, path) = (Arc::clone(&self.store), self.path(directory)?);
        let outcome = wait(&self.requests, async move { store.list_with_delimiter(Some(&path)).await })?;
        let listed = outcome.map_err(|e| failed("list", directory, e))?;
        let all = listed.objects.into_iter().map(|o| o.location).chain(listed.common_prefixes);
        let mut names: Vec<String> = all.filter_map(|path| path.filename().map(str::to_owned)).collect();
        names.sort();
        Ok(names)
    }

    fn exists(&self, name: &str) -> Result<bool> {
        let (store, path) = (Arc::clone(&self.store), self.path(name)?);
        match wait(&self.requests, async move { store.head(&path).await })? {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(e) => Err(failed("look for", name, e)),
        }
    }

    fn remove(&self, name: &str) -> Result<()> {
        let (store, path) = (Arc::clone(&self.store), self.path(name)?);
        match wait(&self.requests, async move { store.delete(&path).await })? {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(e) => Err(failed("remove", name, e)),
        }
    }
}

#[derive(Debug)]
struct ObjectFile {
    storage: ObjectStorage,
    path: Path,
}

impl Opened for ObjectFile {
    fn read_range(&self, start: u64, length: usize) -> Result<Bytes> {
        let (store, path) = (Arc::clone(&self.storage.store), self.path.clone());
        let range = start..start.saturating_add(length as u64);
        let outcome = wait(&self.storage.requests, async move { store.get_range(&path, range).await })?;
        outcome.map_err(|e| failed("read", self.path.as_ref(), e))
    }
}

/// A file on its way: put at once when it stays small, else part by part.
struct ObjectUpload {
    storage: ObjectStorage,
    path: Path,
    parts: Option<Box<dyn MultipartUpload>>,
    pending: Vec<u8>,
}

impl fmt::Debug for ObjectUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectUpload").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ObjectUpload {
    fn put_part(&mut self) -> Result<()> {
        let name = self.path.to_string();
        let requests = &self.storage.requests;
        let parts = match &mut self.parts {
            Some(parts) => parts,
            None => {
                let (store, path) = (Arc::clone(&self.storage.store), self.path.clone());
                let begun = wait(requests, async move { store.put_multipart(&path).await })?;
                self.parts.insert(begun.map_err(|e| failed("begin", &name, e))?)
            }
        };
        let part = parts.put_part(std::mem::take(&mut self.pending).into());
        wait(requests, part)?.map_err(|e| failed("write", &name, e))
    }
}

impl Write for ObjectUpload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= PART_BYTES {
            self.put_part().map_err(io::Error::other)?;
        }
        Ok(bytes.len())
    }

    /// Parts have a least size: nothing leaves before one is full.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Upload for ObjectUpload {
    fn finish(mut self: Box<Self>) -> Result<()> {
        let name = self.path.to_string();
        if self.parts.is_none() {
            let (store, path) = (Arc::clone(&self.storage.store), self.path.clone());
            let payload = PutPayload::from(std::mem::take(&mut self.pending));
            let outcome = wait(&self.storage.requests, async move { store.put(&path, payload).await })?;
            return outcome.map(|_| ()).map_err(|e| failed("write", &name, e));
        }
        if !self.pending.is_empty() {
            self.put_part()?;
        }
        let Some(mut parts) = self.parts.take() else { return Ok(()) };
        let outcome = wait(&self.storage.requests, async move { parts.complete().await })?;
        outcome.map(|_| ()).map_err(|e| failed("finish", &name, e))
    }
}
