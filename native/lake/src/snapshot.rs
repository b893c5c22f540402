//! Snapshots: one JSON file for each state of a table, `snapshot/snapshot-<id>`, and the hints that spare readers a listing.

use crate::storage::Storage;
use serde::{Deserialize, Serialize};
use sluice_base::{Error, ErrorKind, Result};
use std::collections::BTreeMap;

const PREFIX: &str = "snapshot-";
/// The tag that keeps the newest snapshot of ours from being expired.
const TAG: &str = "tag/tag-sluice-tiered";

/// What a snapshot came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "each name is the format's word")]
pub enum CommitKind {
    Append,
    Compact,
    Overwrite,
    Analyze,
}

/// One state of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of the format")]
pub struct Snapshot {
    #[serde(default)]
    pub version: i32,
    pub id: i64,
    pub schema_id: i64,
    pub base_manifest_list: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_manifest_list_size: Option<i64>,
    pub delta_manifest_list: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_manifest_list_size: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changelog_manifest_list: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changelog_manifest_list_size: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_manifest: Option<String>,
    pub commit_user: String,
    pub commit_identifier: i64,
    pub commit_kind: CommitKind,
    pub time_millis: i64,
    #[serde(default)]
    pub total_record_count: i64,
    #[serde(default)]
    pub delta_record_count: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changelog_record_count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watermark: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_row_id: Option<i64>,
}

/// The form of snapshots that this version writes.
pub(crate) const VERSION: i32 = 3;

impl Snapshot {
    fn decode(content: &[u8], name: &str) -> Result<Self> {
        let snapshot: Self =
            serde_json::from_slice(content).map_err(|e| Error::corrupt(format!("lake snapshot {name}: {e}")))?;
        Ok(snapshot)
    }

    fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec_pretty(self).map_err(|e| Error::internal(format!("a lake snapshot has no JSON form: {e}")))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Consumer {
    next_snapshot: i64,
}

/// The snapshots of one table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeline<'a> {
    pub(crate) storage: &'a dyn Storage,
    /// The table's directory.
    pub(crate) directory: &'a str,
}

impl Timeline<'_> {
    fn name(&self, id: i64) -> String {
        format!("{}/snapshot/{PREFIX}{id}", self.directory)
    }

    /// Snapshot `id`, `None` when it has expired or does not exist yet.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn read(&self, id: i64) -> Result<Option<Snapshot>> {
        let name = self.name(id);
        match self.storage.read(&name) {
            Ok(content) => Snapshot::decode(&content, &name).map(Some),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Ids of all snapshots that there are, in order.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn ids(&self) -> Result<Vec<i64>> {
        let names = self.storage.list(&format!("{}/snapshot", self.directory))?;
        let mut ids: Vec<i64> = names.iter().filter_map(|n| n.strip_prefix(PREFIX)?.parse().ok()).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// The newest snapshot, `None` for a table without one.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn newest(&self) -> Result<Option<Snapshot>> {
        // The hint may lag: it counts only when there is nothing behind it.
        if let Some(hinted) = self.hint("LATEST")?
            && !self.storage.exists(&self.name(hinted + 1))?
            && let Some(snapshot) = self.read(hinted)?
        {
            return Ok(Some(snapshot));
        }
        match self.ids()?.last() {
            Some(id) => self.read(*id),
            None => Ok(None),
        }
    }

    fn hint(&self, name: &str) -> Result<Option<i64>> {
        match self.storage.read(&format!("{}/snapshot/{name}", self.directory)) {
            Ok(content) => Ok(std::str::from_utf8(&content).ok().and_then(|t| t.trim().parse().ok())),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Publishes a snapshot, unless there is one of that id: then `false`.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`; the snapshot may be there all the same.
    pub(crate) fn publish(&self, snapshot: &Snapshot) -> Result<bool> {
        self.storage.put_new(&self.name(snapshot.id), &snapshot.encode()?)
    }

    /// Tells readers where the newest snapshot is. Readers do without, and the next commit makes good what fails here.
    pub(crate) fn announce(&self, snapshot: &Snapshot) -> Result<()> {
        self.set_hint("LATEST", snapshot.id)?;
        if snapshot.id == 1 {
            self.begin_at(snapshot.id)?;
        }
        Ok(())
    }

    /// Keeps a snapshot that says how far we are from being expired; the next round makes good what fails here.
    pub(crate) fn tag(&self, snapshot: &Snapshot) -> Result<()> {
        self.storage.put(&format!("{}/{TAG}", self.directory), &snapshot.encode()?)
    }

    /// Where readers that look for the oldest snapshot are told that it is.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn earliest(&self) -> Result<Option<i64>> {
        self.hint("EARLIEST")
    }

    /// Tells readers that look for the oldest snapshot where it is.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn begin_at(&self, id: i64) -> Result<()> {
        self.set_hint("EARLIEST", id)
    }

    fn set_hint(&self, name: &str, id: i64) -> Result<()> {
        self.storage.put(&format!("{}/snapshot/{name}", self.directory), id.to_string().as_bytes())
    }

    /// Takes a snapshot's file away.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn remove(&self, id: i64) -> Result<()> {
        self.storage.remove(&self.name(id))
    }

    /// The snapshots of all tags.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn tags(&self) -> Result<Vec<Snapshot>> {
        let directory = format!("{}/tag", self.directory);
        let mut tags = Vec::new();
        for name in self.storage.list(&directory)?.into_iter().filter(|name| name.starts_with("tag-")) {
            let name = format!("{directory}/{name}");
            tags.push(Snapshot::decode(&self.storage.read(&name)?, &name)?);
        }
        Ok(tags)
    }

    /// The snapshots that readers with a name of their own read next.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn consumers(&self) -> Result<Vec<i64>> {
        let directory = format!("{}/consumer", self.directory);
        let mut next = Vec::new();
        for name in self.storage.list(&directory)?.into_iter().filter(|name| name.starts_with("consumer-")) {
            let name = format!("{directory}/{name}");
            let consumer: Consumer = serde_json::from_slice(&self.storage.read(&name)?)
                .map_err(|e| Error::corrupt(format!("lake consumer {name}: {e}")))?;
            next.push(consumer.next_snapshot);
        }
        Ok(next)
    }

    /// The newest snapshot of ours as the tag has it: at least as old as the newest that there is.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn tagged(&self) -> Result<Option<Snapshot>> {
        let name = format!("{}/{TAG}", self.directory);
        match self.storage.read(&name) {
            Ok(content) => Snapshot::decode(&content, &name).map(Some),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }
}
