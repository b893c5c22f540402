//! A round of tiering: what was written for some buckets becomes one snapshot, or none of it does.
//!
//! The snapshot records for each bucket where its log begins and ends in this round. A round is refused unless it begins where
//! the newest snapshot of ours ended, whoever wrote that: two rounds over the same rows cannot both be committed.

use crate::commit::{ATTEMPTS, Commit};
use crate::data_file::WrittenFiles;
use crate::manifest::Entry;
use crate::offsets::{LakeBucket, LakeOffsets, PROPERTY};
use crate::snapshot::{CommitKind, Snapshot, VERSION};
use crate::table::{LakeTable, Tiered};
use sluice_base::{Error, ErrorKind, Result, Subject};
use std::collections::BTreeMap;
use std::ops::Range;

/// A round being put together.
#[derive(Debug)]
pub struct Round<'t> {
    table: &'t LakeTable,
    user: String,
    commit: Commit<'t>,
    ranges: LakeOffsets,
    /// Where the round begins, by bucket; `None` where nothing is in the lake yet.
    starts: BTreeMap<LakeBucket, Option<i64>>,
    files: WrittenFiles,
}

/// The lists of a round that are the same in every attempt.
struct Delta {
    list: String,
    list_bytes: i64,
    changelog: Option<(String, i64)>,
}

impl<'t> Round<'t> {
    /// A round of the tiering worker `user`.
    pub fn new(table: &'t LakeTable, user: impl Into<String>) -> Self {
        Self {
            table,
            user: user.into(),
            commit: Commit::new(table),
            ranges: LakeOffsets::default(),
            starts: BTreeMap::new(),
            files: WrittenFiles::default(),
        }
    }

    /// Adds a bucket whose log from `start` up to `end` (exclusive) is in `files`. `None` as `start` says that nothing of the
    /// bucket is in the lake yet; the range then begins at `first`. `files` may be empty: offsets move on also over what has no rows.
    pub fn add(&mut self, bucket: LakeBucket, start: Option<i64>, range: Range<i64>, files: WrittenFiles) {
        self.starts.insert(bucket.clone(), start);
        self.ranges.set(bucket, range, files.sequence_base);
        self.files.data.extend(files.data);
        self.files.changelog.extend(files.changelog);
        self.files.names.extend(files.names);
    }

    /// Gives the round up: its files are removed.
    pub fn abandon(self) {
        for name in &self.files.names {
            // What stays only takes space.
            let _ = self.table.storage().remove(name);
        }
    }

    /// Publishes the round as one snapshot.
    ///
    /// # Errors
    /// `Fenced` about `Table` when somebody else has moved one of the buckets: nothing of this round is in the lake then, and its
    /// files are removed. `Io`, `Busy` about `Disk`: the round may be in the lake or not; [`LakeTable::tiered`] tells.
    pub fn commit(self) -> Result<Snapshot> {
        let delta = self.write_delta()?;
        for _ in 0..ATTEMPTS {
            let newest = self.table.newest()?;
            let tiered = self.table.tiered_before(newest.as_ref())?;
            if let Err(fenced) = self.check_starts(&tiered) {
                self.discard(&delta);
                return Err(fenced);
            }
            let base = self.commit.write_base(newest.as_ref())?;
            let snapshot = self.snapshot(newest.as_ref(), &tiered, &delta, base)?;
            if self.commit.publish(&snapshot)? {
                // Readers find the snapshot without the hints too.
                let _ = self.table.timeline().announce(&snapshot).and_then(|()| self.table.timeline().tag(&snapshot));
                return Ok(snapshot);
            }
            self.table.manifests().discard(&snapshot.base_manifest_list);
        }
        Err(self.commit.overtaken())
    }

    fn check_starts(&self, tiered: &Tiered) -> Result<()> {
        for (bucket, start) in &self.starts {
            let found = tiered.offsets.end(bucket);
            let base = tiered.offsets.sequence_base(bucket);
            if found != *start || base != self.ranges.sequence_base(bucket) {
                let at = |offset: Option<i64>| offset.map_or("its beginning".to_owned(), |o| format!("offset {o}"));
                let message = format!(
                    "lake table {}: {bucket} is at {} in the lake, but this round begins at {}: another tiering job works on the \
                     same table. Stop one of them; this one has written nothing",
                    self.table.path(),
                    at(found),
                    at(*start)
                );
                return Err(Error::new(ErrorKind::Fenced, Subject::Table, message));
            }
        }
        Ok(())
    }

    /// Writes what every attempt shares: the manifests of this round's files and the lists that name them.
    fn write_delta(&self) -> Result<Delta> {
        let (list, list_bytes) = self.commit.write("delta", &self.files.data)?;
        let changelog = match self.files.changelog.is_empty() {
            true => None,
            false => Some(self.commit.write("changelog", &self.files.changelog)?),
        };
        Ok(Delta { list, list_bytes, changelog })
    }

    fn snapshot(
        &self,
        newest: Option<&Snapshot>,
        tiered: &Tiered,
        delta: &Delta,
        base: (String, i64),
    ) -> Result<Snapshot> {
        let rows = |entries: &[Entry]| entries.iter().map(|e| e.file.row_count).sum::<i64>();
        let added = rows(&self.files.data);
        let offsets = tiered.offsets.moved_by(&self.ranges);
        let schema_id = newest.map_or(0, |s| s.schema_id).max(self.table.schema().id);
        let same_schema = newest.filter(|s| s.schema_id == schema_id);
        Ok(Snapshot {
            version: VERSION,
            id: newest.map_or(1, |s| s.id + 1),
            schema_id,
            base_manifest_list: base.0,
            base_manifest_list_size: Some(base.1),
            delta_manifest_list: delta.list.clone(),
            delta_manifest_list_size: Some(delta.list_bytes),
            changelog_manifest_list: delta.changelog.as_ref().map(|c| c.0.clone()),
            changelog_manifest_list_size: delta.changelog.as_ref().map(|c| c.1),
            index_manifest: newest.and_then(|s| s.index_manifest.clone()),
            commit_user: self.user.clone(),
            commit_identifier: tiered.identifier + 1,
            commit_kind: CommitKind::Append,
            time_millis: self.table.now_ms(),
            total_record_count: newest.map_or(0, |s| s.total_record_count) + added,
            delta_record_count: added,
            changelog_record_count: delta.changelog.as_ref().map(|_| rows(&self.files.changelog)),
            watermark: newest.and_then(|s| s.watermark),
            statistics: same_schema.and_then(|s| s.statistics.clone()),
            properties: Some(BTreeMap::from([(PROPERTY.to_owned(), offsets.to_json()?)])),
            next_row_id: newest.and_then(|s| s.next_row_id),
        })
    }

    /// Removes what this round wrote; only for a round that is certainly not in the lake.
    fn discard(&self, delta: &Delta) {
        self.commit.discard(&delta.list);
        if let Some((list, _)) = &delta.changelog {
            self.commit.discard(list);
        }
        for name in &self.files.names {
            // As above: it would only take space.
            let _ = self.table.storage().remove(name);
        }
    }
}
