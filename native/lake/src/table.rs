//! A lake table: where it is, its newest schema, what its snapshots say.

use crate::manifest::Manifests;
use crate::offsets::LakeOffsets;
use crate::partition;
use crate::snapshot::{Snapshot, Timeline};
use crate::storage::Storage;
use crate::table_schema::TableSchema;
use sluice_base::{Clock, Error, ErrorKind, Result, Subject};
use sluice_row::TablePath;
use std::sync::Arc;

/// An open lake table. Holds no state of the lake but the schema that it was opened with.
#[derive(Debug, Clone)]
pub struct LakeTable {
    path: TablePath,
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    directory: String,
    schema: Arc<TableSchema>,
}

/// How far the lake is, and which snapshot says so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tiered {
    /// The newest snapshot that records offsets; `None` before the first round.
    pub snapshot: Option<i64>,
    /// The number of that round.
    pub(crate) identifier: i64,
    /// The offsets.
    pub offsets: LakeOffsets,
}

impl LakeTable {
    /// Creates the lake table, or takes over an empty one with the same columns, keys and buckets.
    ///
    /// # Errors
    /// `AlreadyExists` about `Table` when there is a table that differs or has data, saying in what; `Io`, `Busy` about `Disk`.
    pub fn create(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        path: &TablePath,
        schema: TableSchema,
    ) -> Result<Self> {
        let directory = directory(path);
        let published = match TableSchema::newest(storage.as_ref(), &directory)? {
            Some(_) => false,
            None => schema.publish(storage.as_ref(), &directory)?,
        };
        if published {
            let schema = Arc::new(schema);
            return Ok(Self { path: path.clone(), storage, clock, directory, schema });
        }
        let found = Self::open(storage, clock, path)?.ok_or_else(|| {
            Error::not_found(Subject::Table, format!("lake table {path} vanished while it was created"))
        })?;
        let refuse = |why: String| {
            let message =
                format!("lake table {path} exists already and {why}; drop or rename it, or choose another name");
            Err(Error::new(ErrorKind::AlreadyExists, Subject::Table, message))
        };
        if let Some(difference) = difference(&found.schema, &schema) {
            return refuse(difference);
        }
        if found.newest()?.is_some() {
            return refuse("is not empty".to_owned());
        }
        Ok(found)
    }

    /// Opens the lake table of `path`, `None` when there is none.
    ///
    /// # Errors
    /// `Unsupported` for a table that cannot be read here, saying why; `Corrupt`, `Io`.
    pub fn open(storage: Arc<dyn Storage>, clock: Arc<dyn Clock>, path: &TablePath) -> Result<Option<Self>> {
        let directory = directory(path);
        let naming = |e: Error| e.context(format_args!("lake table {path}"));
        let Some(schema) = TableSchema::newest(storage.as_ref(), &directory).map_err(naming)? else { return Ok(None) };
        check_readable(&schema).map_err(naming)?;
        Ok(Some(Self { path: path.clone(), storage, clock, directory, schema: Arc::new(schema) }))
    }

    /// The same table with the schema that is the newest now.
    pub(crate) fn reopened(&self) -> Result<Self> {
        let opened = Self::open(Arc::clone(&self.storage), Arc::clone(&self.clock), &self.path)?;
        opened.ok_or_else(|| Error::not_found(Subject::Table, format!("lake table {} was dropped", self.path)))
    }

    /// Its database and name.
    #[must_use]
    pub const fn path(&self) -> &TablePath {
        &self.path
    }

    /// The schema that was the newest when the table was opened.
    #[must_use]
    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// The newest snapshot, `None` before the first.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn newest(&self) -> Result<Option<Snapshot>> {
        self.timeline().newest()
    }

    /// Snapshot `id`, `None` when it has expired or does not exist yet.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn snapshot(&self, id: i64) -> Result<Option<Snapshot>> {
        self.timeline().read(id)
    }

    /// How far the lake is, by the newest snapshot that records it.
    ///
    /// # Errors
    /// `Conflict` about `Table` when nothing tells any more how far it is; `Corrupt`, `Io`.
    pub fn tiered(&self) -> Result<Tiered> {
        let newest = self.newest()?;
        self.tiered_before(newest.as_ref())
    }

    /// As [`LakeTable::tiered`], seen from a snapshot: how far the lake was when it was the newest.
    ///
    /// # Errors
    /// As [`LakeTable::tiered`].
    pub fn tiered_before(&self, newest: Option<&Snapshot>) -> Result<Tiered> {
        let Some(newest) = newest else { return Ok(Tiered::default()) };
        if let Some(found) = recorded(newest)? {
            return Ok(found);
        }
        let timeline = self.timeline();
        let ids = timeline.ids()?;
        for id in ids.iter().rev().filter(|id| **id < newest.id) {
            if let Some(snapshot) = timeline.read(*id)?
                && let Some(found) = recorded(&snapshot)?
            {
                return Ok(found);
            }
        }
        // All of ours have expired, but the tag kept the last of them.
        if let Some(tagged) = timeline.tagged()?.filter(|t| t.id <= newest.id)
            && let Some(found) = recorded(&tagged)?
        {
            return Ok(found);
        }
        if ids.first().is_some_and(|first| *first > 1) {
            let message = format!(
                "lake table {}: none of its snapshots {} to {} says how far it has come, and older ones have expired; somebody removed \
                 the tag 'sluice-tiered'. Drop the lake table and tier anew",
                self.path,
                ids.first().unwrap_or(&0),
                newest.id
            );
            return Err(Error::new(ErrorKind::Conflict, Subject::Table, message));
        }
        Ok(Tiered::default())
    }

    pub(crate) fn timeline(&self) -> Timeline<'_> {
        Timeline { storage: self.storage.as_ref(), directory: &self.directory }
    }

    pub(crate) fn manifests(&self) -> Manifests<'_> {
        Manifests {
            storage: self.storage.as_ref(),
            directory: &self.directory,
            schema_id: self.schema.id,
            partition_columns: self.schema.partition_keys.len(),
        }
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    pub(crate) fn directory(&self) -> &str {
        &self.directory
    }

    /// The directory of a bucket's files, its partition as manifests have it.
    pub(crate) fn bucket_directory(&self, partition: &[u8], bucket: i32) -> Result<String> {
        let within = partition::directory_of_row(&self.schema, partition)?;
        Ok(format!("{}/{within}bucket-{bucket}", self.directory))
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }
}

/// What a snapshot records of us.
fn recorded(snapshot: &Snapshot) -> Result<Option<Tiered>> {
    let offsets = LakeOffsets::of(snapshot)?;
    Ok(offsets.map(|offsets| Tiered { snapshot: Some(snapshot.id), identifier: snapshot.commit_identifier, offsets }))
}

/// The directory of a table, relative to the warehouse.
fn directory(path: &TablePath) -> String {
    format!("{}.db/{}", path.database, path.table)
}

fn check_readable(schema: &TableSchema) -> Result<()> {
    const KEYED_ONLY: &[(&str, &str)] = &[("merge-engine", "deduplicate")];
    const ALL: &[(&str, &str)] =
        &[("file.format", "parquet"), ("deletion-vectors.enabled", "false"), ("row-tracking.enabled", "false")];
    let keyed = !schema.schema.primary_key.is_empty();
    let rules = ALL.iter().chain(KEYED_ONLY.iter().filter(|_| keyed));
    for (key, works) in rules {
        if let Some(value) = schema.option(key).filter(|v| v != works) {
            let message = format!("its option '{key}' = '{value}' is not supported here, only '{works}' is");
            return Err(Error::unsupported(Subject::Table, message));
        }
    }
    if keyed && schema.option("sequence.field").is_some() {
        return Err(Error::unsupported(Subject::Table, "its option 'sequence.field' is not supported here"));
    }
    if keyed && schema.bucket_count().is_none() {
        let message = "it has a primary key and no fixed number of buckets ('bucket'), which is not supported here";
        return Err(Error::unsupported(Subject::Table, message));
    }
    Ok(())
}

/// In what a table that is there differs from the one wanted, beyond options that do not matter to its files.
fn difference(found: &TableSchema, wanted: &TableSchema) -> Option<String> {
    let columns = |s: &TableSchema| {
        s.schema.columns.iter().map(|c| format!("{} {}", c.name, c.data_type)).collect::<Vec<_>>().join(", ")
    };
    let option = |s: &TableSchema, key: &str| s.option(key).unwrap_or("unset").to_owned();
    let pairs = [
        ("columns", columns(found), columns(wanted)),
        ("primary key", found.schema.primary_key.join(", "), wanted.schema.primary_key.join(", ")),
        ("partition columns", found.partition_keys.join(", "), wanted.partition_keys.join(", ")),
        ("'bucket'", option(found, "bucket"), option(wanted, "bucket")),
        ("'bucket-key'", option(found, "bucket-key"), option(wanted, "bucket-key")),
        ("'partition.legacy-name'", option(found, "partition.legacy-name"), option(wanted, "partition.legacy-name")),
        ("'changelog-producer'", option(found, "changelog-producer"), option(wanted, "changelog-producer")),
    ];
    let differs = pairs.into_iter().find(|(_, found, wanted)| found != wanted);
    differs.map(|(what, found, wanted)| format!("its {what} ({found}) are not those of the new table ({wanted})"))
}
