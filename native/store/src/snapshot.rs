//! Snapshots of a primary-key bucket's rows: made when a reader asks, kept while somebody holds a lease or as the newest.
//!
//! Owns `snapshots/<id>/` and the file `snapshots/INDEX`, which is the truth: a directory that it does not name is left
//! over from a crash and goes. Leases are durable, for a reader may be restored in another process.

use crate::bucket::Bucket;
use crate::snapshot_index::{Lease, Snapshot, SnapshotIndex};
use sluice_base::{Error, Offset, Result, Subject};
use sluice_kv::{KvSnapshot, copy_plain, files_of, open_snapshot};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

/// Under this name the store itself holds what it has told to clients.
const TOLD: &str = "\0told";

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl Bucket {
    fn snapshots_dir(&self) -> PathBuf {
        self.dir.join("snapshots")
    }

    pub(crate) fn snapshot_dir(&self, id: u64) -> PathBuf {
        self.snapshots_dir().join(id.to_string())
    }

    /// Works on the index; it is read on first use and written back (before anything is removed) when it changed.
    fn with_snapshots<R>(&self, work: impl FnOnce(&mut SnapshotIndex) -> Result<R>) -> Result<R> {
        self.progress.alive()?;
        // The index is replaced whole at the end; after a panic the old one is still true.
        let mut slot = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match slot.take() {
            Some(known) => known,
            None => self.load_index()?,
        };
        let mut index = before.clone();
        let result = work(&mut index);
        if index == before {
            *slot = Some(index);
            return result;
        }
        *slot = Some(before.clone());
        self.context.fs.create_dir_all(&self.snapshots_dir())?;
        self.context.fs.replace(&self.snapshots_dir().join("INDEX"), &index.to_bytes())?;
        for gone in before.snapshots.keys().filter(|id| !index.snapshots.contains_key(id)) {
            self.context.fs.remove_dir_all(&self.snapshot_dir(*gone))?;
        }
        *slot = Some(index);
        result
    }

    fn load_index(&self) -> Result<SnapshotIndex> {
        let (fs, dir) = (&self.context.fs, self.snapshots_dir());
        if !fs.exists(&dir) {
            return Ok(SnapshotIndex::default());
        }
        let path = dir.join("INDEX");
        let index = if fs.exists(&path) {
            SnapshotIndex::from_bytes(&fs.read(&path)?, &path)?
        } else {
            SnapshotIndex::default()
        };
        for entry in fs.list(&dir)?.into_iter().filter(|_| !self.context.read_only) {
            let id = entry.file_name().and_then(|n| n.to_str()).and_then(|n| n.parse::<u64>().ok());
            if entry != path && id.is_none_or(|id| !index.snapshots.contains_key(&id)) {
                fs.remove_dir_all(&entry).or_else(|_| fs.remove(&entry))?;
            }
        }
        Ok(index)
    }

    /// A snapshot with all rows that are visible now, held for `lease`; its id and the log offset it ends before.
    ///
    /// # Errors
    /// `Busy` about `Disk` when the disk is full.
    pub(crate) fn acquire_snapshot(&self, lease: &str, lease_ms: u64) -> Result<(u64, Offset)> {
        let now = self.context.clock.now_ms();
        let until_ms = now.saturating_add(i64::try_from(lease_ms).unwrap_or(i64::MAX));
        self.with_snapshots(|index| {
            let (id, offset) = self.current_snapshot(index)?;
            index.hold(id, lease, until_ms);
            index.drop_unheld();
            Ok((id, offset))
        })
    }

    /// The newest snapshot if nothing has changed since, else a new one.
    fn current_snapshot(&self, index: &mut SnapshotIndex) -> Result<(u64, Offset)> {
        let kv = self.kv()?;
        let newest = index.snapshots.last_key_value().map(|(id, s)| (*id, s.offset));
        if let Some(newest) = newest.filter(|(_, offset)| *offset == kv.mark().applied) {
            return Ok(newest);
        }
        let id = index.next_id;
        self.context.fs.create_dir_all(&self.snapshots_dir())?;
        // A crash may have left a directory that the index does not name.
        self.context.fs.remove_dir_all(&self.snapshot_dir(id))?;
        let mark = kv.checkpoint(&self.snapshot_dir(id))?;
        // A snapshot must not outlive the log that it ends in.
        self.log()?.sync()?;
        index.next_id += 1;
        index.snapshots.insert(id, Snapshot { offset: mark.applied, rows: mark.rows });
        Ok((id, mark.applied))
    }

    /// The snapshot of which clients are told that read row files themselves; `None` before the first row. It is the same one for
    /// `kv.snapshot.interval`, and stays for `kv.snapshot.num-retained` times that without a lease.
    ///
    /// # Errors
    /// `Busy` about `Disk` when the disk is full.
    pub(crate) fn told_snapshot(&self) -> Result<Option<(u64, Offset)>> {
        if self.kv()?.mark().applied == 0 {
            return Ok(None);
        }
        let (now, settings) = (self.context.clock.now_ms(), &self.context.settings);
        let interval = millis(settings.kv_snapshot_interval);
        let stays = interval.saturating_mul(i64::from(settings.kv_snapshots_retained));
        self.with_snapshots(|index| {
            let told =
                index.newest_of(TOLD).filter(|l| l.until_ms.saturating_sub(stays).saturating_add(interval) > now);
            if let Some((id, snapshot)) = told.and_then(|l| index.snapshots.get_key_value(&l.snapshot)) {
                return Ok(Some((*id, snapshot.offset)));
            }
            let (id, offset) = self.current_snapshot(index)?;
            // Those told before end when they were to end.
            index.leases.retain(|l| l.name != TOLD || l.snapshot != id);
            index.leases.push(Lease { snapshot: id, name: TOLD.to_owned(), until_ms: now.saturating_add(stays) });
            index.leases.retain(|l| l.name != TOLD || l.until_ms > now);
            index.drop_unheld();
            Ok(Some((id, offset)))
        })
    }

    /// Holds a snapshot that somebody knows by its id; false when it is not there (any more).
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn hold_snapshot(&self, id: u64, lease: &str, lease_ms: u64) -> Result<bool> {
        let until_ms = self.context.clock.now_ms().saturating_add(i64::try_from(lease_ms).unwrap_or(i64::MAX));
        if !self.may_have_snapshots() {
            return Ok(false);
        }
        self.with_snapshots(|index| {
            let there = index.snapshots.contains_key(&id);
            if there {
                index.hold(id, lease, until_ms);
            }
            Ok(there)
        })
    }

    /// The log offset that a snapshot ends before, and its files in a form that RocksDB in any program opens: rows only.
    ///
    /// # Errors
    /// `NotFound` about `Snapshot`; `Busy` about `Disk` when the disk is full; `Io`.
    pub(crate) fn snapshot_files(&self, id: u64) -> Result<(Offset, Vec<PathBuf>)> {
        if !self.may_have_snapshots() {
            return Err(gone(self, id));
        }
        // In one go, for else the snapshot could end in the middle, and two could make the copy.
        self.with_snapshots(|index| {
            let snapshot = index.snapshots.get(&id).ok_or_else(|| gone(self, id))?;
            let plain = self.snapshot_dir(id).join("plain");
            self.make_plain(&self.snapshot_dir(id), &plain)?;
            Ok((snapshot.offset, files_of(self.context.fs.as_ref(), &plain)?))
        })
    }

    /// The copy is whole if it is there under its name.
    fn make_plain(&self, checkpoint: &Path, plain: &Path) -> Result<()> {
        let fs = &self.context.fs;
        if fs.exists(plain) {
            return Ok(());
        }
        self.context.writable()?;
        let unfinished = checkpoint.join("plain.new");
        fs.remove_dir_all(&unfinished)?;
        copy_plain(fs.as_ref(), checkpoint, &unfinished)?;
        fs.sync_dir(&unfinished)?;
        fs.rename(&unfinished, plain)?;
        fs.sync_dir(checkpoint)
    }

    /// Whether the bucket has ever had a snapshot, told without reading anything.
    fn may_have_snapshots(&self) -> bool {
        let known = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        known || self.context.fs.exists(&self.snapshots_dir())
    }

    /// Gives the lease's snapshots of this bucket back.
    pub(crate) fn release_snapshot_if_any(&self, lease: &str) -> Result<()> {
        if !self.may_have_snapshots() {
            return Ok(());
        }
        self.with_snapshots(|index| {
            index.leases.retain(|l| l.name != lease);
            index.drop_unheld();
            Ok(())
        })
    }

    /// Keeps what the lease holds of this bucket for longer.
    pub(crate) fn renew_lease(&self, lease: &str, lease_ms: u64) -> Result<()> {
        if !self.may_have_snapshots() {
            return Ok(());
        }
        let until_ms = self.context.clock.now_ms().saturating_add(i64::try_from(lease_ms).unwrap_or(i64::MAX));
        self.with_snapshots(|index| {
            index.renew(lease, until_ms);
            Ok(())
        })
    }

    /// Ends leases whose time is over and drops what nobody holds.
    pub(crate) fn expire_leases(&self) -> Result<()> {
        if !self.may_have_snapshots() {
            return Ok(());
        }
        let now = self.context.clock.now_ms();
        self.with_snapshots(|index| {
            index.leases.retain(|l| l.until_ms > now);
            index.drop_unheld();
            Ok(())
        })
    }

    /// The lowest log offset from which a holder of a snapshot goes on.
    pub(crate) fn leased_from(&self) -> Result<Option<Offset>> {
        self.with_snapshots(|index| {
            let held = index.leases.iter().filter_map(|l| index.snapshots.get(&l.snapshot));
            Ok(held.map(|s| s.offset).min())
        })
    }
}

/// Opens a snapshot for reading.
///
/// # Errors
/// `NotFound` about `Snapshot` when it is not there (any more).
pub(crate) fn open(bucket: &Bucket, id: u64) -> Result<KvSnapshot> {
    let known = bucket.with_snapshots(|index| Ok(index.snapshots.contains_key(&id)))?;
    if known {
        return open_snapshot(&bucket.snapshot_dir(id));
    }
    Err(gone(bucket, id))
}

fn gone(bucket: &Bucket, id: u64) -> Error {
    let message = format!(
        "snapshot {id} of {} is not there any more; its lease was given back or has run out, start the reader afresh",
        bucket.id
    );
    Error::not_found(Subject::Snapshot, message)
}
