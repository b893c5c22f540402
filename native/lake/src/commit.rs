//! Making a snapshot of what was written: the manifests that name it, then the one step after which it is there.

use crate::manifest::{Entry, ManifestMeta, settle};
use crate::snapshot::Snapshot;
use crate::table::LakeTable;
use sluice_base::{Error, ErrorKind, Result, Subject};
use uuid::Uuid;

/// Manifests below this size are put together.
const MANIFEST_BYTES: i64 = 8 << 20;
/// As soon as there are so many of them.
const SMALL_MANIFESTS_MAX: usize = 30;
/// Entries of one manifest that was put together: some 8 MB.
const MANIFEST_ENTRIES: usize = 32 << 10;
/// How often another commit may come in between.
pub(crate) const ATTEMPTS: usize = 100;

/// A commit under way.
#[derive(Debug)]
pub(crate) struct Commit<'t> {
    table: &'t LakeTable,
    /// Begins the names of its manifests.
    id: Uuid,
}

impl<'t> Commit<'t> {
    pub(crate) fn new(table: &'t LakeTable) -> Self {
        Self { table, id: Uuid::new_v4() }
    }

    /// Writes entries as manifests, and the list that names those; the list's name and size.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn write(&self, what: &str, entries: &[Entry]) -> Result<(String, i64)> {
        let manifests = self.table.manifests();
        let mut metas = Vec::new();
        for (number, part) in entries.chunks(MANIFEST_ENTRIES).enumerate() {
            metas.push(manifests.write_manifest(&format!("manifest-{}-{what}-{number}", self.id), part)?);
        }
        let list = format!("manifest-list-{}-{what}", self.id);
        let bytes = manifests.write_list(&list, &metas)?;
        Ok((list, bytes))
    }

    /// Writes the list of all that the newest snapshot has; its name and size.
    ///
    /// # Errors
    /// As [`Commit::write`]; `Corrupt`.
    pub(crate) fn write_base(&self, newest: Option<&Snapshot>) -> Result<(String, i64)> {
        let base = self.base_manifests(newest)?;
        let list = format!("manifest-list-{}-{}", self.id, Uuid::new_v4());
        let bytes = self.table.manifests().write_list(&list, &base)?;
        Ok((list, bytes))
    }

    /// Whether the snapshot is there and ours. An error that left it there is none.
    pub(crate) fn publish(&self, snapshot: &Snapshot) -> Result<bool> {
        let timeline = self.table.timeline();
        match timeline.publish(snapshot) {
            Ok(published) => Ok(published || timeline.read(snapshot.id)?.as_ref() == Some(snapshot)),
            Err(e) => match timeline.read(snapshot.id) {
                Ok(Some(found)) if found == *snapshot => Ok(true),
                Ok(Some(_)) => Ok(false),
                _ => Err(e),
            },
        }
    }

    /// All manifests of the newest snapshot, small ones put together when there are many.
    fn base_manifests(&self, newest: Option<&Snapshot>) -> Result<Vec<ManifestMeta>> {
        let Some(newest) = newest else { return Ok(Vec::new()) };
        let manifests = self.table.manifests();
        let mut all = manifests.read_list(&newest.base_manifest_list)?;
        all.extend(manifests.read_list(&newest.delta_manifest_list)?);
        let is_small = |m: &ManifestMeta| m.file_size < MANIFEST_BYTES;
        if all.iter().filter(|m| is_small(m)).count() < SMALL_MANIFESTS_MAX {
            return Ok(all);
        }
        // From the first small one on, so that removals stay behind what they remove.
        let first = all.iter().position(is_small).unwrap_or(all.len());
        let mut entries = Vec::new();
        for meta in &all[first..] {
            entries.extend(manifests.read_manifest(&meta.file_name)?);
        }
        all.truncate(first);
        for part in settle(entries).chunks(MANIFEST_ENTRIES) {
            all.push(manifests.write_manifest(&format!("manifest-{}-{}", self.id, Uuid::new_v4()), part)?);
        }
        Ok(all)
    }

    /// Removes a list of this commit and its manifests; only for a commit that is certainly not in the lake.
    pub(crate) fn discard(&self, list: &str) {
        let manifests = self.table.manifests();
        for meta in manifests.read_list(list).unwrap_or_default() {
            manifests.discard(&meta.file_name);
        }
        manifests.discard(list);
    }

    /// The error of a commit that others were always faster than.
    pub(crate) fn overtaken(&self) -> Error {
        let message = format!("lake table {}: {ATTEMPTS} other commits came first; try again", self.table.path());
        Error::new(ErrorKind::Busy, Subject::Table, message)
    }
}
