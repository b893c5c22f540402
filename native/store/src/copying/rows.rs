//! Copying rows by key: a snapshot's files, those that are new, then the list that makes them count.

use crate::bucket::Bucket;
use crate::remote::{CopiedFile, CopiedRows, Remote, rows_directory, rows_list};
use sluice_base::{Offset, Result};
use sluice_log::Log;
use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use uuid::Uuid;

/// Holds the snapshot while its files are copied.
const LEASE: &str = "\0remote";
const LEASE_MS: u64 = 24 * 3_600_000;

impl Bucket {
    /// Copies the rows by key, if some have changed and it is time.
    ///
    /// # Errors
    /// What rows, disk and remote storage say; the copy that was there is still whole then.
    pub(super) fn copy_rows(&self, remote: &Remote, log: &Log, stopped: &dyn Fn() -> bool) -> Result<()> {
        if !self.meta.get().has_primary_key() {
            return Ok(());
        }
        let name = remote.name_of(&self.dir).unwrap_or_default();
        let mut slot = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match slot.rows.clone() {
            Some(known) => known,
            None => CopiedRows::load(remote.storage.as_ref(), &name, remote.owners.tag())?.unwrap_or_default(),
        };
        slot.rows = Some(known.clone());
        self.rows_copied.store(known.offset, Ordering::Release);
        let interval = i64::try_from(self.context.settings.kv_snapshot_interval.as_millis()).unwrap_or(i64::MAX);
        let now = self.context.clock.now_ms();
        let due = !known.made_here || now >= known.made_ms.saturating_add(interval);
        if !due || known.offset >= self.progress.high().max(log.start_offset()) || stopped() {
            return Ok(());
        }
        let (id, offset) = self.acquire_snapshot(LEASE, LEASE_MS)?;
        let copied = self.copy_snapshot(remote, log, &name, (id, offset), &known, stopped);
        self.release_snapshot_if_any(LEASE)?;
        if let Some(files) = copied? {
            slot.rows = Some(CopiedRows::made(offset, files, now));
            self.rows_copied.store(offset, Ordering::Release);
        }
        Ok(())
    }

    /// `None`: not done, for the store or the bucket ends.
    fn copy_snapshot(
        &self,
        remote: &Remote,
        log: &Log,
        bucket: &str,
        (id, offset): (u64, Offset),
        before: &CopiedRows,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<CopiedFile>>> {
        // Rows that the log does not explain would be of no use.
        if log.closed_segments().last().is_none_or(|last| last.end < offset) {
            log.close_active()?;
        }
        if !self.copy_log(remote, log, usize::MAX, stopped)? {
            return Ok(None);
        }
        let dir = rows_directory(bucket);
        let mut files = Vec::new();
        for path in sluice_kv::files_of(remote.disk.as_ref(), &self.snapshot_dir(id))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let bytes = remote.disk.open_read(&path)?.len()?;
            let same =
                |f: &&CopiedFile| before.made_here && f.name == name && f.bytes == bytes && name.ends_with(".sst");
            if let Some(there) = before.files.iter().find(same) {
                files.push(there.clone());
                continue;
            }
            let copy = format!("{}-{}-{name}", remote.owners.tag(), Uuid::new_v4().simple());
            if !remote.copy_file(&path, &format!("{dir}/{copy}"), bytes, stopped)? {
                return Ok(None);
            }
            files.push(CopiedFile { name, copy, bytes });
        }
        let list = CopiedRows::made(offset, files, 0);
        if stopped() || self.progress.has_ended() {
            return Ok(None);
        }
        let own = rows_list(remote.owners.tag());
        remote.storage.put(&format!("{dir}/{own}"), &list.to_bytes()?)?;
        let named: BTreeSet<&str> = list.files.iter().map(|f| f.copy.as_str()).chain([own.as_str()]).collect();
        // Whoever has the place by now has files here that are not known to us.
        remote.still_ours()?;
        for old in remote.storage.list(&dir)?.iter().filter(|name| !named.contains(name.as_str())) {
            let tag = old.strip_prefix("ROWS-").or_else(|| old.split('-').next()).unwrap_or_default();
            if remote.owners.rank(tag).is_some() {
                remote.storage.remove(&format!("{dir}/{old}"))?;
            }
        }
        Ok(Some(list.files))
    }
}
