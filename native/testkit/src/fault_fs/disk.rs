//! What the disk holds for certain, and what it was told since.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// One change of a file since its last sync.
#[derive(Debug)]
pub(super) enum Change {
    Write {
        position: usize,
        bytes: Vec<u8>,
    },
    SetLen(usize),
    /// Bytes up to here, which the disk does not get: only the length stays.
    Grow(usize),
}

/// One file, whatever its names.
#[derive(Debug, Default)]
pub(super) struct DiskFile {
    pub durable: Vec<u8>,
    pub changes: Vec<Change>,
}

impl DiskFile {
    pub(super) fn write(&mut self, bytes: &[u8], position: u64) {
        let position = usize::try_from(position).expect("test files are small");
        self.changes.push(Change::Write { position, bytes: bytes.to_vec() });
    }

    pub(super) fn set_len(&mut self, len: u64) {
        self.changes.push(Change::SetLen(usize::try_from(len).expect("test files are small")));
    }

    /// A sync that failed: the system takes the bytes for written and never tries again, though reads go on to give them.
    pub(super) fn fail_sync(&mut self) {
        for change in &mut self.changes {
            if let Change::Write { position, bytes } = change {
                *change = Change::Grow(*position + bytes.len());
            }
        }
    }

    pub(super) fn sync(&mut self) {
        for change in std::mem::take(&mut self.changes) {
            match change {
                Change::SetLen(len) => self.durable.resize(len, 0),
                Change::Grow(end) => self.durable.resize(self.durable.len().max(end), 0),
                Change::Write { position, bytes } => {
                    let end = position + bytes.len();
                    self.durable.resize(self.durable.len().max(end), 0);
                    self.durable[position..end].copy_from_slice(&bytes);
                }
            }
        }
    }
}

/// A change of a directory since its last sync.
#[derive(Debug)]
pub(super) enum EntryChange {
    Put(PathBuf, Arc<Mutex<DiskFile>>),
    Rename(PathBuf, PathBuf, Arc<Mutex<DiskFile>>),
    Remove(PathBuf),
}

/// All files that were touched.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// As the process sees them.
    pub current: HashMap<PathBuf, Arc<Mutex<DiskFile>>>,
    /// As the directories' durable content names them.
    pub durable: HashMap<PathBuf, Arc<Mutex<DiskFile>>>,
    /// Changes by directory, in order.
    pub changes: BTreeMap<PathBuf, Vec<EntryChange>>,
}

impl Disk {
    /// The file behind a path; one that was there before counts as durable.
    pub(super) fn opened(&mut self, path: &Path) -> io::Result<Arc<Mutex<DiskFile>>> {
        if let Some(file) = self.current.get(path) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(Mutex::new(DiskFile { durable: std::fs::read(path)?, changes: Vec::new() }));
        self.current.insert(path.to_owned(), Arc::clone(&file));
        self.durable.insert(path.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn note(&mut self, path: &Path, change: EntryChange) {
        let dir = path.parent().unwrap_or(Path::new("/")).to_owned();
        self.changes.entry(dir).or_default().push(change);
    }

    pub(super) fn created(&mut self, path: &Path) {
        let file = Arc::new(Mutex::new(DiskFile::default()));
        self.current.insert(path.to_owned(), Arc::clone(&file));
        self.note(path, EntryChange::Put(path.to_owned(), file));
    }

    /// A second name for a file.
    pub(super) fn linked(&mut self, to: &Path, file: Arc<Mutex<DiskFile>>) {
        self.current.insert(to.to_owned(), Arc::clone(&file));
        self.note(to, EntryChange::Put(to.to_owned(), file));
    }

    /// Within one directory: entries of two directories would not change in one step here.
    pub(super) fn renamed(&mut self, from: &Path, to: &Path) {
        if let Some(file) = self.current.remove(from) {
            self.current.insert(to.to_owned(), Arc::clone(&file));
            self.note(to, EntryChange::Rename(from.to_owned(), to.to_owned(), file));
        }
    }

    pub(super) fn removed(&mut self, path: &Path) {
        self.current.remove(path);
        self.note(path, EntryChange::Remove(path.to_owned()));
    }

    pub(super) fn removed_tree(&mut self, root: &Path) {
        self.current.retain(|path, _| !path.starts_with(root));
        self.durable.retain(|path, _| !path.starts_with(root));
        self.changes.retain(|dir, _| !dir.starts_with(root));
    }

    pub(super) fn sync_dir(&mut self, dir: &Path) {
        for change in self.changes.remove(dir).unwrap_or_default() {
            apply(&mut self.durable, &change);
        }
    }
}

/// Makes one change to a set of entries.
pub(super) fn apply(entries: &mut HashMap<PathBuf, Arc<Mutex<DiskFile>>>, change: &EntryChange) {
    match change {
        EntryChange::Put(path, file) => {
            entries.insert(path.clone(), Arc::clone(file));
        }
        EntryChange::Rename(from, to, file) => {
            entries.remove(from);
            entries.insert(to.clone(), Arc::clone(file));
        }
        EntryChange::Remove(path) => {
            entries.remove(path);
        }
    }
}

/// A file's state, whoever panicked before.
pub(super) fn peek(file: &Mutex<DiskFile>) -> std::sync::MutexGuard<'_, DiskFile> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}
