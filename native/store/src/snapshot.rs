//! Snapshots of a primary-key bucket's rows: made when a reader asks, kept while somebody holds a lease or as the newest.
//!
//! Owns `snapshots/<id>/` and the file `snapshots/INDEX`, which is the truth: a directory that it does not name is left
//! over from a crash and goes. Leases are durable, for a reader may be restored in another process.

use crate::bucket::Bucket;
use crate::snapshot_index::{Snapshot, SnapshotIndex};
use sluice_base::{Error, Offset, Result, Subject};
use sluice_kv::{KvSnapshot, open_snapshot};
use std::path::PathBuf;
use std::sync::PoisonError;

impl Bucket {
    fn snapshots_dir(&self) -> PathBuf {
        self.dir.join("snapshots")
    }

    fn snapshot_dir(&self, id: u64) -> PathBuf {
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
        let kv = self.kv()?;
        let now = self.context.clock.now_ms();
        self.with_snapshots(|index| {
            let newest = index.snapshots.last_key_value().map(|(id, s)| (*id, s.offset));
            let (id, offset) = match newest {
                Some((id, offset)) if offset == kv.mark().applied => (id, offset),
                _ => {
                    let id = index.next_id;
                    self.context.fs.create_dir_all(&self.snapshots_dir())?;
                    // A crash may have left a directory that the index does not name.
                    self.context.fs.remove_dir_all(&self.snapshot_dir(id))?;
                    let mark = kv.checkpoint(&self.snapshot_dir(id))?;
                    // A snapshot must not outlive the log that it ends in.
                    self.log()?.sync()?;
                    index.next_id += 1;
                    index.snapshots.insert(id, Snapshot { offset: mark.applied, rows: mark.rows });
                    (id, mark.applied)
                }
            };
            index.hold(id, lease, now.saturating_add(i64::try_from(lease_ms).unwrap_or(i64::MAX)));
            index.drop_unheld();
            Ok((id, offset))
        })
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
    Err(Error::not_found(
        Subject::Snapshot,
        format!(
            "snapshot {id} of {} is not there any more; its lease was given back or has run out, start the reader afresh",
            bucket.id
        ),
    ))
}
