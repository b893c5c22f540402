//! Manifests (which data files a commit added and removed) and manifest lists (which manifests make up a snapshot).

use crate::avro::{self, AvroRecord};
use crate::file_meta::{FileMeta, Statistics};
use crate::snapshot::Snapshot;
use crate::storage::Storage;
use serde::{Deserialize, Serialize};
use sluice_base::Result;
use std::collections::BTreeMap;

/// The form of entries of both kinds of file.
const VERSION: i32 = 2;

/// Whether an entry adds or removes its file.
const KIND_ADD: i32 = 0;
const KIND_DELETE: i32 = 1;

/// One file added or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    #[serde(rename = "_VERSION")]
    version: i32,
    #[serde(rename = "_KIND")]
    kind: i32,
    /// The partition's values as a row.
    #[serde(rename = "_PARTITION", with = "apache_avro::serde_avro_bytes")]
    pub partition: Vec<u8>,
    #[serde(rename = "_BUCKET")]
    pub bucket: i32,
    #[serde(rename = "_TOTAL_BUCKETS")]
    pub total_buckets: i32,
    #[serde(rename = "_FILE")]
    pub file: FileMeta,
}

/// What tells files of one table apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Identity(Vec<u8>, i32, i32, String);

impl Entry {
    /// An entry that adds `file`.
    pub(crate) fn add(partition: Vec<u8>, bucket: i32, total_buckets: i32, file: FileMeta) -> Self {
        Self { version: VERSION, kind: KIND_ADD, partition, bucket, total_buckets, file }
    }

    /// The entry that takes the file of this one away.
    pub(crate) fn removal(&self) -> Self {
        Self { kind: KIND_DELETE, ..self.clone() }
    }

    /// Whether it adds its file.
    pub(crate) const fn adds(&self) -> bool {
        self.kind != KIND_DELETE
    }

    fn identity(&self) -> Identity {
        Identity(self.partition.clone(), self.bucket, self.file.level, self.file.file_name.clone())
    }
}

/// What is left when removals cancel what they remove: files in the order in which they came, and removals of files that
/// are added elsewhere.
pub(crate) fn settle(entries: impl IntoIterator<Item = Entry>) -> Vec<Entry> {
    let mut order: Vec<Option<Entry>> = Vec::new();
    let mut added: BTreeMap<Identity, usize> = BTreeMap::new();
    for entry in entries {
        let identity = entry.identity();
        if entry.adds() {
            added.insert(identity, order.len());
            order.push(Some(entry));
        } else if let Some(at) = added.remove(&identity) {
            order[at] = None;
        } else {
            order.push(Some(entry));
        }
    }
    order.into_iter().flatten().collect()
}

impl AvroRecord for Entry {
    const SCHEMA: &'static str = include_str!("manifest/entry.avsc");
    const WHAT: &'static str = "lake manifest";
}

/// A manifest as its list describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ManifestMeta {
    #[serde(rename = "_VERSION")]
    version: i32,
    #[serde(rename = "_FILE_NAME")]
    pub file_name: String,
    #[serde(rename = "_FILE_SIZE")]
    pub file_size: i64,
    #[serde(rename = "_NUM_ADDED_FILES")]
    pub added_files: i64,
    #[serde(rename = "_NUM_DELETED_FILES")]
    pub deleted_files: i64,
    #[serde(rename = "_PARTITION_STATS")]
    partitions: Statistics,
    #[serde(rename = "_SCHEMA_ID")]
    schema_id: i64,
    #[serde(rename = "_MIN_BUCKET", default)]
    min_bucket: Option<i32>,
    #[serde(rename = "_MAX_BUCKET", default)]
    max_bucket: Option<i32>,
    #[serde(rename = "_MIN_LEVEL", default)]
    min_level: Option<i32>,
    #[serde(rename = "_MAX_LEVEL", default)]
    max_level: Option<i32>,
    #[serde(rename = "_MIN_ROW_ID", default)]
    min_row_id: Option<i64>,
    #[serde(rename = "_MAX_ROW_ID", default)]
    max_row_id: Option<i64>,
}

impl AvroRecord for ManifestMeta {
    const SCHEMA: &'static str = include_str!("manifest/list.avsc");
    const WHAT: &'static str = "lake manifest list";
}

/// Where a table's manifests are, and what their descriptions need to know of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manifests<'a> {
    pub(crate) storage: &'a dyn Storage,
    /// The table's directory.
    pub(crate) directory: &'a str,
    pub(crate) schema_id: i64,
    pub(crate) partition_columns: usize,
}

impl Manifests<'_> {
    fn path(&self, name: &str) -> String {
        format!("{}/manifest/{name}", self.directory)
    }

    /// Writes a file that nobody else names, and returns its size.
    fn write(&self, name: &str, content: &[u8]) -> Result<i64> {
        let mut upload = self.storage.create(&self.path(name))?;
        upload.write_all(content).map_err(|e| crate::storage::unwrap_io("write a lake manifest", e))?;
        upload.finish()?;
        Ok(i64::try_from(content.len()).unwrap_or(i64::MAX))
    }

    /// Writes entries as one manifest.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn write_manifest(&self, name: &str, entries: &[Entry]) -> Result<ManifestMeta> {
        let file_size = self.write(name, &avro::encode(entries)?)?;
        let added = entries.iter().filter(|e| e.adds()).count();
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let of_level = |pick: fn(&Entry) -> i32| (entries.iter().map(pick).min(), entries.iter().map(pick).max());
        let (min_bucket, max_bucket) = of_level(|e| e.bucket);
        let (min_level, max_level) = of_level(|e| e.file.level);
        Ok(ManifestMeta {
            version: VERSION,
            file_name: name.to_owned(),
            file_size,
            added_files: count(added),
            deleted_files: count(entries.len() - added),
            // A reader that filters by partition then looks into every manifest.
            partitions: Statistics::unknown(self.partition_columns),
            schema_id: self.schema_id,
            min_bucket,
            max_bucket,
            min_level,
            max_level,
            min_row_id: None,
            max_row_id: None,
        })
    }

    /// Writes a list of manifests and returns its size.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn write_list(&self, name: &str, manifests: &[ManifestMeta]) -> Result<i64> {
        self.write(name, &avro::encode(manifests)?)
    }

    /// The manifests of a list.
    ///
    /// # Errors
    /// `Corrupt`, `Io`; `NotFound` when it has expired.
    pub(crate) fn read_list(&self, name: &str) -> Result<Vec<ManifestMeta>> {
        avro::decode(&self.storage.read(&self.path(name))?, name)
    }

    /// The entries of a manifest.
    ///
    /// # Errors
    /// As [`Manifests::read_list`].
    pub(crate) fn read_manifest(&self, name: &str) -> Result<Vec<Entry>> {
        avro::decode(&self.storage.read(&self.path(name))?, name)
    }

    /// The entries of all manifests of a list, in order.
    ///
    /// # Errors
    /// As [`Manifests::read_list`].
    pub(crate) fn entries(&self, list: &str) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for meta in self.read_list(list)? {
            entries.extend(self.read_manifest(&meta.file_name)?);
        }
        Ok(entries)
    }

    /// What a snapshot has: the entries that nothing behind them takes back.
    ///
    /// # Errors
    /// As [`Manifests::read_list`].
    pub(crate) fn files(&self, snapshot: &Snapshot) -> Result<Vec<Entry>> {
        let mut entries = self.entries(&snapshot.base_manifest_list)?;
        entries.extend(self.entries(&snapshot.delta_manifest_list)?);
        Ok(settle(entries))
    }

    /// Removes a file of ours that no snapshot names.
    pub(crate) fn discard(&self, name: &str) {
        // It would only take space.
        let _ = self.storage.remove(&self.path(name));
    }
}
