//! Expiry: old snapshots go, and with them the files that they alone have.
//!
//! A snapshot is kept for `snapshot.time-retained` from the moment on in which the next one took its place, not from its own: a reader that
//! planned on the newest has that long to read it, however old it was. Kept as well are the last `snapshot.num-retained.min`, the newest of
//! ours, what a consumer still reads and the files of tags.

use crate::manifest::Entry;
use crate::snapshot::Snapshot;
use crate::table::LakeTable;
use crate::table_schema::TableSchema;
use sluice_base::{Error, ErrorKind, Result, Subject, parse_duration};
use std::collections::BTreeSet;
use std::ops::Range;

/// What Paimon does when the table's options say nothing.
const MIN_RETAINED: i64 = 10;
const TIME_RETAINED_MS: i64 = 60 * 60 * 1000;
const LIMIT: i64 = 50;

/// Options by which changelogs have a life of their own.
const OF_CHANGELOGS: &[&str] = &["changelog.num-retained.min", "changelog.num-retained.max", "changelog.time-retained"];

struct Retention {
    min: i64,
    max: i64,
    time_ms: i64,
    limit: i64,
}

impl Retention {
    fn of(schema: &TableSchema) -> Result<Self> {
        let bad = |key: &str, value: &str, what: &str| {
            let message = format!("option 'paimon.{key}' = '{value}' is not {what}");
            Error::invalid(Subject::Option, message)
        };
        let number = |key: &str, default: i64| match schema.option(key) {
            None => Ok(default),
            Some(value) => {
                let number = value.trim().parse().ok().filter(|n| *n > 0);
                number.ok_or_else(|| bad(key, value, "a number above 0"))
            }
        };
        let time_ms = match schema.option("snapshot.time-retained") {
            None => TIME_RETAINED_MS,
            Some(value) => {
                let time = parse_duration(value).map_err(|_| bad("snapshot.time-retained", value, "a time"))?;
                i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
            }
        };
        Ok(Self {
            min: number("snapshot.num-retained.min", MIN_RETAINED)?,
            max: number("snapshot.num-retained.max", i64::MAX)?,
            time_ms,
            limit: number("snapshot.expire.limit", LIMIT)?,
        })
    }
}

/// Files that stay, by their names within the table.
#[derive(Default)]
struct Kept {
    data: BTreeSet<String>,
    manifests: BTreeSet<String>,
}

impl LakeTable {
    /// Takes away the snapshots whose time is over, and the files that no other snapshot and no tag has; returns the number of snapshots.
    /// Whoever is killed in between leaves what the next expiry takes away; nothing that stays lacks a file. Others may expire snapshots at
    /// the same time.
    ///
    /// # Errors
    /// `Invalid` about `Option` for an option of the table that says no number or time; `Corrupt`, `Io`.
    pub fn expire_snapshots(&self) -> Result<usize> {
        let ids = self.timeline().ids()?;
        let due = match (ids.first(), ids.last()) {
            (Some(first), Some(newest)) => self.due(&Retention::of(self.schema())?, *first, *newest)?,
            _ => return Ok(0),
        };
        if due.is_empty() {
            return Ok(0);
        }
        let Some(stays) = self.snapshot(due.end)? else { return Ok(0) };
        let mut snapshots = Vec::new();
        for id in due.clone() {
            // One that is missing was taken away by somebody else.
            snapshots.extend(self.snapshot(id)?);
        }
        // Index files are of deletion vectors, which this version does not understand.
        if snapshots.iter().chain([&stays]).any(|s| s.index_manifest.is_some()) {
            return Ok(0);
        }
        let mut kept = Kept::default();
        self.keep(&stays, &mut kept)?;
        for tagged in self.timeline().tags()?.iter().filter(|tag| tag.id < due.end) {
            self.keep(tagged, &mut kept)?;
        }
        // From here on readers that look for the oldest begin behind what goes.
        self.timeline().begin_at(due.end)?;
        for name in self.unused(&snapshots, &stays, &kept)? {
            self.storage().remove(&name)?;
        }
        // Last of all, for the next expiry begins where there is one, and the oldest first, so that those that are left have no gap.
        for snapshot in &snapshots {
            self.timeline().remove(snapshot.id)?;
        }
        Ok(snapshots.len())
    }

    /// The snapshots that may go: `end` is the first that stays.
    fn due(&self, rule: &Retention, first: i64, newest: i64) -> Result<Range<i64>> {
        let none = first..first;
        let timeline = self.timeline();
        // Without a tag of ours nobody has made rounds here; files of branches, and changelogs that outlive their snapshots, are not known.
        let Some(ours) = timeline.tagged()? else { return Ok(none) };
        let has_branches = !self.storage().list(&format!("{}/branch", self.directory()))?.is_empty();
        if has_branches || OF_CHANGELOGS.iter().any(|key| self.schema().option(key).is_some()) {
            return Ok(none);
        }
        let mut last = (newest - rule.min + 1).min(ours.id).min(first.saturating_add(rule.limit));
        for next in timeline.consumers()? {
            last = last.min(next);
        }
        // What an expiry that was cut off has begun with may lack files: it goes, whatever the rule is now.
        let mut end = timeline.earliest()?.unwrap_or(first).clamp(first, ours.id.max(first));
        while end < last {
            let Some(next) = timeline.read(end + 1)? else { break };
            let over = next.time_millis.saturating_add(rule.time_ms) <= self.now_ms();
            if !over && newest - end < rule.max {
                break;
            }
            end += 1;
        }
        Ok(first..end)
    }

    fn keep(&self, snapshot: &Snapshot, kept: &mut Kept) -> Result<()> {
        for list in lists_of(snapshot) {
            kept.manifests.insert(list.clone());
            kept.manifests.extend(self.manifests().read_list(list)?.into_iter().map(|m| m.file_name));
        }
        for entry in self.manifests().files(snapshot)? {
            kept.data.extend(self.files_of(&entry)?);
        }
        Ok(())
    }

    /// Names of all files that go with these snapshots: data and changelog files first, then manifests, then lists of manifests, so that
    /// what tells of a file goes after it.
    fn unused(&self, snapshots: &[Snapshot], stays: &Snapshot, kept: &Kept) -> Result<Vec<String>> {
        let mut data = BTreeSet::new();
        // A file that a snapshot removes was of those before it.
        for snapshot in snapshots.iter().skip(1).chain([stays]) {
            let entries = there(self.manifests().entries(&snapshot.delta_manifest_list))?;
            for entry in entries.iter().filter(|e| !e.adds()) {
                data.extend(self.files_of(entry)?);
            }
        }
        data.retain(|name| !kept.data.contains(name));
        let mut manifests = BTreeSet::new();
        let mut lists = BTreeSet::new();
        for snapshot in snapshots {
            if let Some(list) = &snapshot.changelog_manifest_list {
                for entry in there(self.manifests().entries(list))? {
                    data.extend(self.files_of(&entry)?);
                }
            }
            for list in lists_of(snapshot) {
                manifests.extend(there(self.manifests().read_list(list))?.into_iter().map(|m| m.file_name));
                lists.insert(list.clone());
            }
        }
        let path = |name: &String| format!("{}/manifest/{name}", self.directory());
        let of_metadata = manifests.difference(&kept.manifests).chain(lists.difference(&kept.manifests)).map(path);
        Ok(data.into_iter().chain(of_metadata).collect())
    }

    /// A data file and those that go with it; none for one that lies outside of the table.
    fn files_of(&self, entry: &Entry) -> Result<Vec<String>> {
        if entry.file.external_path.is_some() {
            return Ok(Vec::new());
        }
        let directory = self.bucket_directory(&entry.partition, entry.bucket)?;
        let names = std::iter::once(&entry.file.file_name).chain(&entry.file.extra_files);
        Ok(names.map(|name| format!("{directory}/{name}")).collect())
    }
}

fn lists_of(snapshot: &Snapshot) -> impl Iterator<Item = &String> {
    [&snapshot.base_manifest_list, &snapshot.delta_manifest_list].into_iter().chain(&snapshot.changelog_manifest_list)
}

/// Nothing for what an expiry before has taken away. Manifests go after the files that they tell of, so when one of a list is missing, those
/// files are gone.
fn there<T: Default>(read: Result<T>) -> Result<T> {
    match read {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(T::default()),
        read => read,
    }
}
