//! Copies of closed log segments in `remote.data.dir`: where they are, how they get there, and how they are read and removed.
//!
//! A segment is copied byte for byte; then its stub is written beside it (`<base offset>.remote`), and from then on the local file may go.
//! Index and statistics of a segment stay on the local disk. Invariants: a stub is there only when its copy is whole; a copy without a stub
//! counts for nothing and is written again under the same name.

mod blocks;
mod disk;
mod place;
mod restore;
mod rows;
mod stub;

pub(crate) use disk::RemoteDisk;
pub(crate) use place::Owners;
pub(crate) use restore::restore_if_lost;
pub(crate) use rows::{CopiedFile, CopiedRows, directory as rows_directory, list as rows_list};

use crate::access_rules;
use crate::directory::{CATALOG_FILE, DATA_DIR, ROW_NUMBERS_FILE, id_of};
use crate::settings::Settings;
use blocks::Blocks;
use sluice_base::{Error, ErrorKind, Fs, Offset, Result, TableId};
use sluice_lake::Storage;
use sluice_log::{ClosedSegment, MOVED_EXTENSION};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use stub::Stub;

/// Copied at once.
const CHUNK_BYTES: usize = 4 << 20;

/// The place of a store's copies.
#[derive(Debug)]
pub(crate) struct Remote {
    /// The local disk itself.
    pub(crate) disk: Arc<dyn Fs>,
    root: PathBuf,
    pub(crate) storage: Arc<dyn Storage>,
    /// Its name, for people.
    place: String,
    /// Whom the place belongs to, and has belonged to.
    pub(crate) owners: Owners,
    blocks: Blocks,
    /// What was last copied of small files that change.
    small: Mutex<BTreeMap<PathBuf, Vec<u8>>>,
}

/// What the copier knows of one bucket.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// The segment that takes appends, and since when it has been seen with rows.
    pub(crate) open: Option<(Offset, i64)>,
    /// The rows by key that are there.
    pub(crate) rows: Option<CopiedRows>,
}

/// The file that tells where a segment was copied.
pub(crate) fn stub_path(segment: &Path) -> PathBuf {
    segment.with_extension(MOVED_EXTENSION)
}

/// An error of a writer is our own as a rule.
fn unwrapped(name: &str, e: std::io::Error) -> Error {
    e.downcast::<Error>().unwrap_or_else(|other| Error::io(format_args!("cannot write {name}"), other))
}

impl Remote {
    /// Takes the place that the settings name for the store in `root`; `None` when they name none.
    ///
    /// # Errors
    /// `Invalid` about `Option` when the place belongs to another store, or the store has copies and the settings name no place; `Io`.
    pub(crate) fn open(
        root: &Path,
        disk: &Arc<dyn Fs>,
        settings: &Settings,
        read_only: bool,
    ) -> Result<Option<Arc<Self>>> {
        let Some((storage, place)) = settings.remote.storage(disk)? else {
            return place::need_none(disk.as_ref(), root).map(|()| None);
        };
        let owners = place::take(disk.as_ref(), root, storage.as_ref(), &place, read_only)?;
        let (blocks, small) = (Blocks::default(), Mutex::default());
        let (disk, root) = (Arc::clone(disk), root.to_owned());
        Ok(Some(Arc::new(Self { disk, root, storage, place, owners, blocks, small })))
    }

    /// Whether the place still belongs to this store.
    ///
    /// # Errors
    /// `Conflict` about `Store` if not; `Io`.
    pub(crate) fn still_ours(&self) -> Result<()> {
        place::still_ours(self.storage.as_ref(), &self.owners, &self.place)
    }

    /// The copy of a segment, `None` when there is none.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported` naming the stub; `Io`.
    pub(crate) fn stub(&self, segment: &Path) -> Result<Option<Stub>> {
        let path = stub_path(segment);
        match self.disk.read(&path) {
            Ok(bytes) => Stub::from_bytes(&bytes, &path).map(Some),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The name that a directory of the store has among the copies.
    pub(crate) fn name_of(&self, dir: &Path) -> Option<String> {
        let parts = dir.strip_prefix(&self.root).ok()?.iter().map(|part| part.to_str());
        Some(parts.collect::<Option<Vec<_>>>()?.join("/"))
    }

    /// Copies a segment; `None` when `stopped` says so meanwhile. The copy is durable afterwards and counts once its stub is there.
    ///
    /// # Errors
    /// `Io`, `NotFound` when retention took the segment.
    pub(crate) fn copy(&self, segment: &ClosedSegment, stopped: &dyn Fn() -> bool) -> Result<Option<Stub>> {
        let dir = segment.path.parent().and_then(|dir| self.name_of(dir));
        let dir = dir.ok_or_else(|| Error::internal(format!("{} is not in the store", segment.path.display())))?;
        let name =
            format!("{dir}/{:020}-{:020}-{}-{}.log", segment.base, segment.end, segment.bytes, self.owners.tag());
        let done = self.copy_file(&segment.path, &name, segment.bytes, stopped)?;
        self.blocks.forget(&name);
        Ok(done.then_some(Stub { name, bytes: segment.bytes, end: segment.end }))
    }

    /// Copies the first `bytes` of a file, durably; false when `stopped` says so meanwhile.
    pub(crate) fn copy_file(&self, path: &Path, name: &str, bytes: u64, stopped: &dyn Fn() -> bool) -> Result<bool> {
        let file = self.disk.open_read(path)?;
        let mut upload = self.storage.create(name)?;
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut position = 0;
        while position < bytes {
            if stopped() {
                return Ok(false);
            }
            let wanted = usize::try_from(bytes - position).unwrap_or(usize::MAX).min(CHUNK_BYTES);
            let part = buffer.get_mut(..wanted).unwrap_or_default();
            let read = file.read_at(part, position)?;
            if read == 0 {
                let path = path.display();
                return Err(Error::corrupt(format!("{path} ends at {position}, before its {bytes} bytes")));
            }
            upload.write_all(part.get(..read).unwrap_or_default()).map_err(|e| unwrapped(name, e))?;
            position += read as u64;
        }
        upload.finish()?;
        Ok(true)
    }

    /// Copies what a table's segments need to be understood: how far its numbers are given, then the catalog, and the rules of access.
    pub(crate) fn keep_up(&self, table: TableId) -> Result<()> {
        let numbers = self.root.join(DATA_DIR).join(table.0.to_string()).join(ROW_NUMBERS_FILE);
        [numbers, self.root.join(access_rules::FILE), self.root.join(CATALOG_FILE)]
            .iter()
            .try_for_each(|path| self.copy_small(path))
    }

    fn copy_small(&self, path: &Path) -> Result<()> {
        let bytes = match self.disk.read(path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(e),
        };
        let mut small = self.small.lock().unwrap_or_else(PoisonError::into_inner);
        if small.get(path) != Some(&bytes) {
            let name = self.name_of(path).unwrap_or_default();
            self.storage.put(&name, &bytes)?;
            small.insert(path.to_owned(), bytes);
        }
        Ok(())
    }

    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        self.storage.remove(name)?;
        self.blocks.forget(name);
        Ok(())
    }

    /// Removes the copies of all logs at or below a directory of tables, partitions or buckets.
    fn remove_below(&self, dir: &Path) -> Result<()> {
        if !dir.starts_with(&self.root) || !self.disk.exists(dir) {
            return Ok(());
        }
        let Some(name) = self.name_of(dir) else { return Ok(()) };
        if self.disk.exists(&dir.join("log")) {
            return [format!("{name}/log"), rows::directory(&name)].iter().try_for_each(|inner| {
                let copies = self.storage.list(inner)?;
                copies.iter().try_for_each(|copy| self.remove(&format!("{inner}/{copy}")))
            });
        }
        self.storage.remove(&format!("{name}/{}", ROW_NUMBERS_FILE))?;
        let inner = self.disk.list(dir)?;
        let inner = inner.iter().filter(|path| id_of(path, "").is_some() || id_of(path, "p").is_some());
        inner.filter(|path| path.is_dir()).try_for_each(|path| self.remove_below(path))
    }
}
