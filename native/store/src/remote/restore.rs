//! Bringing a store back whose disk is lost, from what its remote place has.
//!
//! The catalog is written last: as long as it is missing and the marker is there, the next opening begins anew.

use super::rows::{self, CopiedRows};
use super::stub::Stub;
use super::{Owners, place, stub_path};
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
    let owners = place::owners(storage.as_ref()).map_err(restoring)?.unwrap_or_default();
    let restore = Restore { disk: disk.as_ref(), storage: storage.as_ref(), root, owners };
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
    owners: Owners,
}

/// A whole copy of a segment.
struct Copy {
    base: Offset,
    /// How new the store is that made it.
    rank: usize,
    stub: Stub,
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
        // The newest list that the log explains.
        for tag in self.owners.tags() {
            if let Some(copied) = CopiedRows::load(self.storage, name, tag)?.filter(|copied| copied.offset <= end) {
                return rows::fetch(self.disk, self.storage, name, &copied, &dir.join("kv"));
            }
        }
        Ok(())
    }

    /// Base offset, end, length and the store's rank as a copy's name has them.
    fn parts(&self, name: &str) -> Option<(Offset, Offset, u64, usize)> {
        let mut parts = name.strip_suffix(".log")?.split('-');
        let (base, end) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let (bytes, rank) = (parts.next()?.parse().ok()?, self.owners.rank(parts.next()?)?);
        parts.next().is_none().then_some((base, end, bytes, rank))
    }

    /// Writes the stubs of the newest segments that follow each other without a gap, and an empty segment behind them. Returns the log's end.
    fn log(&self, name: &str, dir: &Path) -> Result<Offset> {
        self.disk.create_dir_all(dir)?;
        let mut copies = Vec::new();
        for copy in self.storage.list(name)? {
            let Some((base, end, bytes, rank)) = self.parts(&copy) else { continue };
            let full = format!("{name}/{copy}");
            // A copy that was cut off is shorter than its name says.
            if !self.storage.open(&full)?.read_range(bytes.saturating_sub(1), 1)?.is_empty() {
                copies.push(Copy { base, rank, stub: Stub { name: full, bytes, end } });
            }
        }
        let whole = chain(&copies);
        for copy in &whole {
            let segment = dir.join(format!("{:020}.log", copy.base));
            self.disk.replace(&stub_path(&segment), &copy.stub.to_bytes())?;
        }
        let end = whole.last().map_or(0, |copy| copy.stub.end);
        Log::begin_at(self.disk, dir, end)?;
        Ok(end)
    }
}

/// The copies that follow each other without a gap up to the end, in order: the end is that of the newest store that has any, and among copies that end
/// where the next begins those of the newer store count. A store that lost its place may have copied more since, which nobody wrote into the log that went on.
fn chain(copies: &[Copy]) -> Vec<&Copy> {
    let mut chain: Vec<&Copy> = copies.iter().max_by_key(|copy| (copy.rank, copy.stub.end)).into_iter().collect();
    while let Some(before) = chain
        .last()
        .and_then(|next| copies.iter().filter(|c| c.stub.end == next.base && c.base < next.base).max_by_key(|c| c.rank))
    {
        chain.push(before);
    }
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_store_and_no_gap() {
        let copy = |base, end, rank| Copy { base, rank, stub: Stub { name: String::new(), bytes: 1, end } };
        for (copies, chain_is) in [
            (vec![], vec![]),
            (vec![copy(0, 5, 0), copy(5, 9, 0)], vec![(0, 5), (5, 9)]),
            (vec![copy(0, 5, 0), copy(6, 9, 0), copy(9, 12, 0)], vec![(6, 9), (9, 12)]),
            // The first store went on to 90 after the second had taken the place over at 9.
            (vec![copy(0, 5, 0), copy(5, 9, 0), copy(9, 90, 0), copy(9, 10, 1)], vec![(0, 5), (5, 9), (9, 10)]),
            (vec![copy(0, 5, 0), copy(2, 5, 1), copy(5, 7, 1), copy(0, 2, 0)], vec![(0, 2), (2, 5), (5, 7)]),
            (vec![copy(3, 3, 0)], vec![(3, 3)]),
        ] {
            let found: Vec<_> = chain(&copies).iter().map(|c| (c.base, c.stub.end)).collect();
            assert_eq!(found, chain_is);
        }
    }
}
