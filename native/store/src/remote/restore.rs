//! Bringing a store back whose disk is lost, from what its remote place has.
//!
//! The catalog is written last: as long as it is missing and the marker is there, the next opening begins anew.

use super::rows::{self, CopiedRows};
use super::stub::Stub;
use super::{place, stub_path};
use crate::access_rules;
use crate::directory::{CATALOG_FILE, DATA_DIR, ROW_NUMBERS_FILE, id_of};
use crate::settings::Settings;
use sluice_base::{ErrorKind, Fs, Offset, Result};
use sluice_lake::Storage;
use sluice_log::Log;
use std::path::Path;
use std::sync::Arc;

const MARKER: &str = "RESTORING";

/// Fills the directory of a store that has nothing yet from its remote place, if a store has copied itself there. The place belongs to this store
/// from then on. Returns whether it was so.
///
/// # Errors
/// `Invalid` about `Option`; `Corrupt` naming a copy; `Io`, `Busy` about `Disk`: the next opening begins anew.
pub(crate) fn restore_if_lost(disk: &Arc<dyn Fs>, root: &Path, settings: &Settings) -> Result<bool> {
    let Some((storage, name)) = settings.remote.storage(disk)? else { return Ok(false) };
    let (marker, catalog, data) = (root.join(MARKER), root.join(CATALOG_FILE), root.join(DATA_DIR));
    if disk.exists(&catalog) {
        disk.remove(&marker)?;
        return Ok(false);
    }
    let is_new = !place::has_taken(disk.as_ref(), root) && !disk.exists(&data);
    if !is_new && !disk.exists(&marker) {
        return Ok(false);
    }
    if !settings.remote_restore {
        // Before the store has a catalog: then the advice can be followed.
        return place::need_free(storage.as_ref(), &name).map(|()| false);
    }
    let restoring = |e: sluice_base::Error| e.context(format_args!("cannot bring the store back from '{name}'"));
    let tables = match storage.read(CATALOG_FILE) {
        Ok(tables) => tables,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            // Lost before its first copies: the place is free.
            return place::take_over(disk.as_ref(), root, storage.as_ref()).map_err(restoring).map(|()| false);
        }
        Err(e) => return Err(restoring(e)),
    };
    disk.replace(&marker, b"")?;
    disk.remove_dir_all(&data)?;
    disk.create_dir_all(&data)?;
    let restore = Restore { disk: disk.as_ref(), storage: storage.as_ref(), root };
    restore.directory(DATA_DIR).map_err(restoring)?;
    restore.small(access_rules::FILE).map_err(restoring)?;
    place::take_over(disk.as_ref(), root, storage.as_ref()).map_err(restoring)?;
    disk.replace(&catalog, &tables)?;
    disk.remove(&marker)?;
    Ok(true)
}

struct Restore<'a> {
    disk: &'a dyn Fs,
    storage: &'a dyn Storage,
    root: &'a Path,
}

impl Restore<'_> {
    /// What is in a directory of tables, partitions or buckets.
    fn directory(&self, name: &str) -> Result<()> {
        let inner = self.storage.list(name)?;
        if inner.iter().any(|entry| entry == "log" || entry == "rows") {
            return self.bucket(name);
        }
        for entry in inner {
            let path = format!("{name}/{entry}");
            if entry == ROW_NUMBERS_FILE {
                self.small(&path)?;
            } else if id_of(Path::new(&entry), "").is_some() || id_of(Path::new(&entry), "p").is_some() {
                self.directory(&path)?;
            }
        }
        Ok(())
    }

    fn small(&self, name: &str) -> Result<()> {
        let path = self.root.join(name);
        match self.storage.read(name) {
            Ok(bytes) => {
                path.parent().map_or(Ok(()), |parent| self.disk.create_dir_all(parent))?;
                self.disk.replace(&path, &bytes)
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
        }
    }

    fn bucket(&self, name: &str) -> Result<()> {
        let dir = self.root.join(name);
        let end = self.log(&format!("{name}/log"), &dir.join("log"))?;
        match CopiedRows::load(self.storage, name)? {
            // The list is written after the log that explains it.
            Some(copied) if copied.offset <= end => {
                rows::fetch(self.disk, self.storage, name, &copied, &dir.join("kv"))
            }
            _ => Ok(()),
        }
    }

    /// Writes the stubs of the newest segments that follow each other without a gap, and an empty segment behind them. Returns the log's end.
    fn log(&self, name: &str, dir: &Path) -> Result<Offset> {
        self.disk.create_dir_all(dir)?;
        let mut segments = Vec::new();
        for copy in self.storage.list(name)? {
            let Some((base, end, bytes)) = parts(&copy) else { continue };
            let full = format!("{name}/{copy}");
            // A copy that was cut off is shorter than its name says.
            if !self.storage.open(&full)?.read_range(bytes.saturating_sub(1), 1)?.is_empty() {
                segments.push((base, Stub { name: full, bytes, end }));
            }
        }
        segments.sort_by_key(|(base, _)| *base);
        let gap = segments.iter().zip(segments.iter().skip(1)).rposition(|((_, stub), (next, _))| stub.end != *next);
        let whole = segments.get(gap.map_or(0, |i| i + 1)..).unwrap_or_default();
        for (base, stub) in whole {
            let segment = dir.join(format!("{base:020}.log"));
            self.disk.replace(&stub_path(&segment), &stub.to_bytes())?;
        }
        let end = whole.last().map_or(0, |(_, stub)| stub.end);
        Log::begin_at(self.disk, dir, end)?;
        Ok(end)
    }
}

/// Base offset, end and length as a copy's name has them.
fn parts(name: &str) -> Option<(Offset, Offset, u64)> {
    let mut parts = name.strip_suffix(".log")?.split('-');
    let found = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some(found)
}
