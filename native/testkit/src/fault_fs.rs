//! A file system that fails, tears and forgets.
//!
//! [`FaultFs`] works on real files and keeps beside them what a disk would have kept: for each file its content at the last
//! sync and the writes since, for each directory the entries at its last sync and the changes since. One call may be made to fail;
//! [`FaultFs::crash_into`] writes the tree that a power loss could have left.
//!
//! What is assumed of a disk: a 512-byte sector holds what some prefix of the writes left in it, each sector for itself; a file's
//! length follows its length changes in order; entries of one directory change in order; a sector that was never written reads
//! as zeros; bytes whose sync failed are not written by a later one, though reads give them. Syncing a file does not sync its directory
//! entry. Files that were not written through this file system (those of RocksDB) are copied as they are.

mod crash;
mod disk;

pub use crash::Crash;

use disk::{Disk, DiskFile};
use sluice_base::{Error, Fs, FsFile, LockOutcome, OsFs, Result};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An I/O error; nothing is done.
    Error,
    /// A write stores half of its bytes, then fails; other calls do nothing.
    Torn,
    /// No space: a write stores half of its bytes, then fails with a full disk; other calls do nothing.
    Full,
    /// The process dies there: the call is torn, and every later call fails too.
    Halt,
}

#[derive(Debug, Default)]
struct Plan {
    calls: u64,
    fault: Option<(u64, Fault)>,
    fired: bool,
    halted: bool,
    full: bool,
}

/// The faulty file system. Clones share one disk.
#[derive(Debug, Clone, Default)]
pub struct FaultFs {
    disk: Arc<Mutex<Disk>>,
    plan: Arc<Mutex<Plan>>,
    during_sync: Arc<Mutex<Option<Hook>>>,
}

/// What a test does while a file is being synced.
#[derive(Clone)]
struct Hook(Arc<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hook")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a call may do.
enum Verdict {
    Go,
    Fail(Error),
    Half(Error),
}

impl FaultFs {
    /// A file system without faults. What is on disk already counts as durable.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The `n`-th call from now on (the first is 1) fails, once.
    pub fn fail_call(&self, n: u64, fault: Fault) {
        let mut plan = lock(&self.plan);
        plan.fault = Some((plan.calls + n, fault));
        plan.fired = false;
    }

    /// A new process after a [`Fault::Halt`]: calls work again, and what was not synced still is not.
    pub fn restart(&self) {
        let mut plan = lock(&self.plan);
        (plan.halted, plan.fault, plan.full) = (false, None, false);
    }

    /// From now on `hook` runs in the middle of every sync of a file.
    pub fn during_sync(&self, hook: impl Fn() + Send + Sync + 'static) {
        *lock(&self.during_sync) = Some(Hook(Arc::new(hook)));
    }

    /// Whether the planned fault has struck.
    #[must_use]
    pub fn fired(&self) -> bool {
        lock(&self.plan).fired
    }

    /// Calls made so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        lock(&self.plan).calls
    }

    /// While full, whatever needs space fails as on a full disk, writes after half of their bytes.
    pub fn set_full(&self, full: bool) {
        lock(&self.plan).full = full;
    }

    /// Writes into `target` what a power loss now could leave of `root`.
    ///
    /// # Errors
    /// Whatever the real file system says.
    pub fn crash_into(&self, root: &Path, target: &Path, crash: Crash) -> io::Result<()> {
        crash::write_image(&mut lock(&self.disk), root, target, crash)
    }

    fn judge(&self, what: &str, path: &Path, needs_space: bool) -> Verdict {
        let mut plan = lock(&self.plan);
        plan.calls += 1;
        let error = |kind: io::ErrorKind, text: &str| {
            Error::io(format_args!("{what} {}", path.display()), io::Error::new(kind, text.to_owned()))
        };
        if plan.halted {
            return Verdict::Fail(error(io::ErrorKind::Other, "halted"));
        }
        if let Some((at, fault)) = plan.fault
            && plan.calls == at
        {
            plan.fired = true;
            plan.halted = fault == Fault::Halt;
            return match fault {
                Fault::Error => Verdict::Fail(error(io::ErrorKind::Other, "injected")),
                Fault::Torn | Fault::Halt => Verdict::Half(error(io::ErrorKind::Other, "injected, torn")),
                Fault::Full => Verdict::Half(error(io::ErrorKind::StorageFull, "injected, full")),
            };
        }
        match plan.full && needs_space {
            true => Verdict::Half(error(io::ErrorKind::StorageFull, "the disk is full")),
            false => Verdict::Go,
        }
    }

    /// For calls that are done whole or not at all.
    fn allow(&self, what: &str, path: &Path, needs_space: bool) -> Result<()> {
        match self.judge(what, path, needs_space) {
            Verdict::Go => Ok(()),
            Verdict::Fail(e) | Verdict::Half(e) => Err(e),
        }
    }

    fn wrap(&self, file: Arc<dyn FsFile>, path: &Path) -> Result<Arc<dyn FsFile>> {
        let tracked = lock(&self.disk).opened(path).map_err(|e| Error::io("read what is there", e))?;
        Ok(Arc::new(FaultFile { fs: self.clone(), file, path: path.to_owned(), tracked }))
    }
}

#[derive(Debug)]
struct FaultFile {
    fs: FaultFs,
    file: Arc<dyn FsFile>,
    path: PathBuf,
    tracked: Arc<Mutex<DiskFile>>,
}

impl FsFile for FaultFile {
    fn write_at(&self, bytes: &[u8], position: u64) -> Result<()> {
        let verdict = self.fs.judge("write to", &self.path, true);
        let stored = match &verdict {
            Verdict::Go => bytes,
            Verdict::Half(_) => &bytes[..bytes.len() / 2],
            Verdict::Fail(_) => &[],
        };
        if !stored.is_empty() {
            self.file.write_at(stored, position)?;
            lock(&self.tracked).write(stored, position);
        }
        match verdict {
            Verdict::Go => Ok(()),
            Verdict::Fail(e) | Verdict::Half(e) => Err(e),
        }
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<usize> {
        self.fs.allow("read", &self.path, false)?;
        self.file.read_at(buf, position)
    }

    fn sync(&self) -> Result<()> {
        let allowed = self.fs.allow("sync", &self.path, false);
        if allowed.is_err() && !lock(&self.fs.plan).halted {
            lock(&self.tracked).fail_sync();
        }
        allowed?;
        let hook = lock(&self.fs.during_sync).clone();
        if let Some(Hook(hook)) = hook {
            hook();
        }
        lock(&self.tracked).sync();
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let grows = len > self.file.len()?;
        self.fs.allow("resize", &self.path, grows)?;
        self.file.set_len(len)?;
        lock(&self.tracked).set_len(len);
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        self.fs.allow("stat", &self.path, false)?;
        self.file.len()
    }
}

impl Fs for FaultFs {
    fn open(&self, path: &Path) -> Result<Arc<dyn FsFile>> {
        let is_new = !path.exists();
        self.allow("open", path, is_new)?;
        if is_new {
            lock(&self.disk).created(path);
        }
        self.wrap(OsFs.open(path)?, path)
    }

    fn open_read(&self, path: &Path) -> Result<Arc<dyn FsFile>> {
        self.allow("open", path, false)?;
        self.wrap(OsFs.open_read(path)?, path)
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.allow("read", path, false)?;
        OsFs.read(path)
    }

    /// The same steps as on a real disk, each of which may fail.
    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let temporary = path.with_extension("tmp");
        let written = (|| {
            let file = self.open(&temporary)?;
            file.set_len(0)?;
            file.write_at(bytes, 0)?;
            file.sync()
        })();
        if let Err(e) = written {
            let _ = self.remove(&temporary);
            return Err(e);
        }
        self.rename(&temporary, path)?;
        path.parent().map_or(Ok(()), |dir| self.sync_dir(dir))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.allow("rename", from, false)?;
        let mut disk = lock(&self.disk);
        disk.opened(from).map_err(|e| Error::io("rename", e))?;
        if to.exists() {
            // What stands there comes back when the rename is lost.
            disk.opened(to).map_err(|e| Error::io("rename", e))?;
        }
        OsFs.rename(from, to)?;
        disk.renamed(from, to);
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> Result<bool> {
        self.allow("link", from, true)?;
        let mut disk = lock(&self.disk);
        let file = disk.opened(from).map_err(|e| Error::io("link", e))?;
        let linked = OsFs.link(from, to)?;
        if linked {
            disk.linked(to, file);
        }
        Ok(linked)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.allow("remove", path, false)?;
        let mut disk = lock(&self.disk);
        if path.exists() {
            disk.opened(path).map_err(|e| Error::io("remove", e))?;
            OsFs.remove(path)?;
            disk.removed(path);
        }
        Ok(())
    }

    /// Counts as durable at once: whole trees go only when nothing in them is wanted back.
    fn remove_dir_all(&self, path: &Path) -> Result<()> {
        self.allow("remove", path, false)?;
        OsFs.remove_dir_all(path)?;
        lock(&self.disk).removed_tree(path);
        Ok(())
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.allow("create directory", path, !path.exists())?;
        OsFs.create_dir_all(path)
    }

    fn list(&self, path: &Path) -> Result<Vec<PathBuf>> {
        self.allow("list", path, false)?;
        OsFs.list(path)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.allow("sync directory", path, false)?;
        lock(&self.disk).sync_dir(path);
        Ok(())
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<LockOutcome> {
        self.allow("lock", path, false)?;
        OsFs.lock(path, holder)
    }

    fn lock_shared(&self, path: &Path) -> Result<LockOutcome> {
        self.allow("lock", path, false)?;
        OsFs.lock_shared(path)
    }
}

#[cfg(test)]
mod tests;
