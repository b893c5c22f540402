//! The seam behind which the file system stands. Log and manifest speak only through it, so that a test can
//! make every call fail or tear once. RocksDB keeps its own files by itself.

use crate::{Error, Result};
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open file.
pub trait FsFile: Send + Sync + Debug {
    /// Writes all of `bytes` at `position`.
    ///
    /// # Errors
    /// `Io`, or `Busy` when the disk is full; a prefix of the bytes may have been written.
    fn write_at(&self, bytes: &[u8], position: u64) -> Result<()>;
    /// Reads up to `buf.len()` bytes at `position`; fewer only at the end of the file.
    ///
    /// # Errors
    /// `Io`.
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<usize>;
    /// Makes the content (and length) durable.
    ///
    /// # Errors
    /// `Io`; what was written since the last success may be lost.
    fn sync(&self) -> Result<()>;
    /// Cuts or extends the file.
    ///
    /// # Errors
    /// `Io`.
    fn set_len(&self, len: u64) -> Result<()>;
    /// Length in bytes.
    ///
    /// # Errors
    /// `Io`.
    fn len(&self) -> Result<u64>;
    /// Whether the file has no bytes.
    ///
    /// # Errors
    /// `Io`.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// What became of an attempt to lock a file.
#[derive(Debug)]
pub enum LockOutcome {
    /// Ours until the file is dropped or the process ends.
    Held(Arc<dyn FsFile>),
    /// Another process (or another opener in this one) has it; the file's text, which names the holder.
    Taken(String),
}

/// The file-system calls that the engine makes.
pub trait Fs: Send + Sync + Debug {
    /// Opens for reading and writing, creating the file when it is missing.
    ///
    /// # Errors
    /// `Io`, `Busy` (disk full).
    fn open(&self, path: &Path) -> Result<Arc<dyn FsFile>>;
    /// Opens for reading.
    ///
    /// # Errors
    /// `NotFound`, `Io`.
    fn open_read(&self, path: &Path) -> Result<Arc<dyn FsFile>>;
    /// The whole file.
    ///
    /// # Errors
    /// `NotFound`, `Io`.
    fn read(&self, path: &Path) -> Result<Vec<u8>>;
    /// Replaces `path` by `bytes` in one step, durably: temporary file, sync, rename, sync of the directory.
    ///
    /// # Errors
    /// `Io`, `Busy` (disk full); the old content is then untouched.
    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<()>;
    /// Renames within one file system.
    ///
    /// # Errors
    /// `NotFound`, `Io`.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Gives the file `from` a second name within one file system, unless there is something of that name: then `false`.
    /// Of many callers with the same `to` exactly one succeeds.
    ///
    /// # Errors
    /// `NotFound`, `Io`, `Busy` (disk full).
    fn link(&self, from: &Path, to: &Path) -> Result<bool>;
    /// Removes a file; a missing one is no error.
    ///
    /// # Errors
    /// `Io`.
    fn remove(&self, path: &Path) -> Result<()>;
    /// Removes a directory and all below it; a missing one is no error.
    ///
    /// # Errors
    /// `Io`.
    fn remove_dir_all(&self, path: &Path) -> Result<()>;
    /// Creates a directory and its parents.
    ///
    /// # Errors
    /// `Io`, `Busy` (disk full).
    fn create_dir_all(&self, path: &Path) -> Result<()>;
    /// Paths of the entries of a directory, sorted by name.
    ///
    /// # Errors
    /// `NotFound`, `Io`.
    fn list(&self, path: &Path) -> Result<Vec<PathBuf>>;
    /// Whether a file or directory is there.
    fn exists(&self, path: &Path) -> bool;
    /// Makes creations, renames and removals in a directory durable.
    ///
    /// # Errors
    /// `Io`.
    fn sync_dir(&self, path: &Path) -> Result<()>;
    /// Takes the exclusive lock on `path` (created when missing) and writes `holder` into it.
    ///
    /// # Errors
    /// `Io`.
    fn lock(&self, path: &Path, holder: &str) -> Result<LockOutcome>;
    /// Takes the lock on `path`, which must exist, together with others who want to read only; nothing is written.
    ///
    /// # Errors
    /// `NotFound`, `Io`.
    fn lock_shared(&self, path: &Path) -> Result<LockOutcome>;
}

/// The operating system's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsFs;

#[derive(Debug)]
struct OsFile {
    file: File,
    path: PathBuf,
}

impl OsFile {
    fn fail(&self, what: &str, e: std::io::Error) -> Error {
        Error::io(format_args!("{what} {}", self.path.display()), e)
    }
}

impl FsFile for OsFile {
    fn write_at(&self, bytes: &[u8], position: u64) -> Result<()> {
        self.file.write_all_at(bytes, position).map_err(|e| self.fail("write to", e))
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.file.read_at(&mut buf[done..], position + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.fail("read", e)),
            }
        }
        Ok(done)
    }

    fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|e| self.fail("sync", e))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.file.set_len(len).map_err(|e| self.fail("resize", e))
    }

    fn len(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(|e| self.fail("stat", e))?.size())
    }
}

/// A file whose lock is ours.
#[derive(Debug)]
struct LockedFile(OsFile);

impl FsFile for LockedFile {
    fn write_at(&self, bytes: &[u8], position: u64) -> Result<()> {
        self.0.write_at(bytes, position)
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<usize> {
        self.0.read_at(buf, position)
    }

    fn sync(&self) -> Result<()> {
        self.0.sync()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.0.set_len(len)
    }

    fn len(&self) -> Result<u64> {
        self.0.len()
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Closing is not enough: a process that is being started right now has the file too, until it runs its own program.
        let _ = self.0.file.unlock();
    }
}

fn at<'a>(what: &'a str, path: &'a Path) -> impl FnOnce(std::io::Error) -> Error + 'a {
    move |e| Error::io(format_args!("{what} {}", path.display()), e)
}

impl Fs for OsFs {
    fn open(&self, path: &Path) -> Result<Arc<dyn FsFile>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        Ok(Arc::new(OsFile { file: file.map_err(at("open", path))?, path: path.to_owned() }))
    }

    fn open_read(&self, path: &Path) -> Result<Arc<dyn FsFile>> {
        Ok(Arc::new(OsFile { file: File::open(path).map_err(at("open", path))?, path: path.to_owned() }))
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        std::fs::read(path).map_err(at("read", path))
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let temporary = path.with_extension("tmp");
        let written = (|| {
            let file = self.open(&temporary)?;
            file.set_len(0)?;
            file.write_at(bytes, 0)?;
            file.sync()
        })();
        if let Err(e) = written {
            // Best effort: the half-written temporary would only waste space.
            let _ = std::fs::remove_file(&temporary);
            return Err(e);
        }
        self.rename(&temporary, path)?;
        match path.parent() {
            Some(dir) => self.sync_dir(dir),
            None => Ok(()),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        std::fs::rename(from, to).map_err(at("rename", from))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<bool> {
        match std::fs::hard_link(from, to) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(e) => Err(at("link", from)(e)),
        }
    }

    fn remove(&self, path: &Path) -> Result<()> {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(at("remove", path)(e)),
            _ => Ok(()),
        }
    }

    fn remove_dir_all(&self, path: &Path) -> Result<()> {
        match std::fs::remove_dir_all(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(at("remove", path)(e)),
            _ => Ok(()),
        }
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        std::fs::create_dir_all(path).map_err(at("create directory", path))
    }

    fn list(&self, path: &Path) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path).map_err(at("list", path))? {
            found.push(entry.map_err(at("list", path))?.path());
        }
        found.sort();
        Ok(found)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        File::open(path).and_then(|d| d.sync_all()).map_err(at("sync directory", path))
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<LockOutcome> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(at("open", path))?;
        let tried = file.try_lock();
        let outcome = locked(file, path, tried)?;
        if let LockOutcome::Held(file) = &outcome {
            file.set_len(0)?;
            file.write_at(holder.as_bytes(), 0)?;
        }
        Ok(outcome)
    }

    fn lock_shared(&self, path: &Path) -> Result<LockOutcome> {
        let file = File::open(path).map_err(at("open", path))?;
        let tried = file.try_lock_shared();
        locked(file, path, tried)
    }
}

/// What came of trying to lock a file.
fn locked(file: File, path: &Path, tried: std::result::Result<(), std::fs::TryLockError>) -> Result<LockOutcome> {
    match tried {
        Ok(()) => Ok(LockOutcome::Held(Arc::new(LockedFile(OsFile { file, path: path.to_owned() })))),
        Err(std::fs::TryLockError::WouldBlock) => {
            let mut text = String::new();
            // The holder may be writing its name this very moment; an empty name is still an answer.
            let _ = (&file).read_to_string(&mut text);
            Ok(LockOutcome::Taken(text.trim().to_owned()))
        }
        Err(std::fs::TryLockError::Error(e)) => Err(at("lock", path)(e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::process::CommandExt;

    #[test]
    fn second_locker_learns_the_holder() {
        let path = std::env::temp_dir().join(format!("sluice-lock-{}", std::process::id()));
        let held = OsFs.lock(&path, "pid 1").unwrap();
        assert!(matches!(held, LockOutcome::Held(_)));
        match OsFs.lock(&path, "pid 2").unwrap() {
            LockOutcome::Taken(holder) => assert_eq!(holder, "pid 1"),
            LockOutcome::Held(_) => panic!("locked twice"),
        }
        drop(held);
        assert!(matches!(OsFs.lock(&path, "pid 3").unwrap(), LockOutcome::Held(_)));
        OsFs.remove(&path).unwrap();
    }

    /// Between fork and exec a child has all open files of this process, locks too.
    #[test]
    fn a_lock_given_back_is_free_although_a_process_is_being_started() {
        let path = std::env::temp_dir().join(format!("sluice-lock-fork-{}", std::process::id()));
        let held = OsFs.lock(&path, "pid 1").unwrap();
        let (mut told, tell) = std::io::pipe().unwrap();
        let starter = std::thread::spawn(move || {
            let mut command = std::process::Command::new("true");
            let start = move || {
                (&tell).write_all(b"!")?;
                std::thread::sleep(std::time::Duration::from_millis(500));
                Ok(())
            };
            // SAFETY: the closure only writes to a pipe and sleeps, which a forked child may do.
            unsafe { command.pre_exec(start) };
            command.status()
        });
        told.read_exact(&mut [0]).unwrap();
        drop(held);
        assert!(matches!(OsFs.lock(&path, "pid 2").unwrap(), LockOutcome::Held(_)));
        assert!(starter.join().unwrap().unwrap().success());
        OsFs.remove(&path).unwrap();
    }
}
