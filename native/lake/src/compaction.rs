//! Compaction: files of a bucket are merged or put together into fewer, as one snapshot that changes no row.
//!
//! Rounds and Paimon's own compaction may go on meanwhile. A commit is refused unless all the files that it replaces are still there.
//! Memory: a batch of each run that is merged, of which there are at most 64.

use crate::commit::{ATTEMPTS, Commit};
use crate::compaction_rule::{CompactionRule, RunSize};
use crate::data_file::Place;
use crate::file_meta::{FileMeta, SOURCE_COMPACT, Statistics};
use crate::keyed_writer::{key_rows, retracts};
use crate::manifest::Entry;
use crate::merge::Changes;
use crate::parquet_writer::ParquetWriter;
use crate::scan::{LakeScan, LakeSplit, ScanOptions};
use crate::snapshot::{CommitKind, Snapshot, VERSION};
use crate::stored_row::{StoredRows, decode};
use crate::system_column::{append_columns, keyed_columns};
use crate::table::LakeTable;
use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use sluice_base::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Rows of a run that are read at a time, and bytes of them as files hold them: wide rows come fewer at a time.
const BATCH_ROWS: i64 = 1 << 10;
const BATCH_BYTES: i64 = 1 << 20;
/// Bytes of files after which a compaction takes no further bucket: so much is lost when others come first.
const COMPACTION_BYTES: i64 = 1 << 30;

/// What a compaction has done so far: whoever drops it uncommitted removes the files.
struct Compaction<'t> {
    table: &'t LakeTable,
    removed: Vec<Entry>,
    added: Vec<Entry>,
    names: Vec<String>,
    committed: bool,
}

impl Drop for Compaction<'_> {
    fn drop(&mut self) {
        for name in self.names.iter().filter(|_| !self.committed) {
            // What stays only takes space.
            let _ = self.table.storage().remove(name);
        }
    }
}

impl LakeTable {
    /// Merges files of buckets that have many, under the name `user`; the new snapshot, behind which there may be more to do, or `None` where
    /// nothing was due, `stopped` said so meanwhile, or somebody else has replaced some of the files first. Tables with deletion vectors or
    /// `ignore-delete`, or whose changelog comes from compaction, are left to Paimon's own job.
    ///
    /// # Errors
    /// `Invalid` about `Option`; `Unsupported` for files that cannot be read here; `Busy`, `Corrupt`, `Io`: the lake is as it was, or the compaction is in it.
    pub fn compact(&self, user: &str, stopped: &dyn Fn() -> bool) -> Result<Option<Snapshot>> {
        let rule = CompactionRule::of(self.schema())?;
        let other = |key: &str, known: &[&str]| self.schema().option(key).is_some_and(|p| !known.contains(&p.trim()));
        let left_to_paimon = other("changelog-producer", &["none", "input"]) || other("ignore-delete", &["false"]);
        let Some(newest) = self.newest()?.filter(|s| s.index_manifest.is_none() && !left_to_paimon) else {
            return Ok(None);
        };
        let mut buckets: BTreeMap<(Vec<u8>, i32), Vec<Entry>> = BTreeMap::new();
        for entry in self.manifests().files(&newest)? {
            buckets.entry((entry.partition.clone(), entry.bucket)).or_default().push(entry);
        }
        let mut scan = None;
        let mut work =
            Compaction { table: self, removed: Vec::new(), added: Vec::new(), names: Vec::new(), committed: false };
        for files in buckets.into_values() {
            if size_of(&work.removed) >= COMPACTION_BYTES {
                break;
            }
            for job in jobs(self, &rule, files)? {
                if scan.is_none() {
                    scan = Some(LakeScan::new(self, &newest)?);
                }
                let Some(scan) = &scan else { continue };
                if !work.run(scan, job, rule.target_bytes, stopped)? {
                    return Ok(None);
                }
            }
        }
        if work.removed.is_empty() {
            return Ok(None);
        }
        work.commit(user)
    }
}

/// Files to replace.
struct Job {
    files: Vec<Entry>,
    /// The same as runs, of each of which one file is open at a time.
    runs: Vec<Vec<FileMeta>>,
    /// The level of the new ones.
    level: i32,
    /// Whether changes that take rows away are kept: older rows lie elsewhere.
    deletes: bool,
}

fn jobs(table: &LakeTable, rule: &CompactionRule, mut files: Vec<Entry>) -> Result<Vec<Job>> {
    if table.schema().schema.primary_key.is_empty() {
        files.sort_by_key(|e| (e.file.min_sequence, e.file.max_sequence));
        let metas: Vec<FileMeta> = files.iter().map(|e| e.file.clone()).collect();
        let job = |group: Range<usize>| Job {
            runs: vec![metas[group.clone()].to_vec()],
            files: files[group].to_vec(),
            level: 0,
            deletes: false,
        };
        return Ok(rule.groups(&metas).into_iter().map(job).collect());
    }
    let runs = runs(files);
    let sizes: Vec<RunSize> =
        runs.iter().map(|(level, files)| RunSize { level: *level, bytes: size_of(files) }).collect();
    let Some(pick) = rule.pick(&sizes) else { return Ok(Vec::new()) };
    let deletes = pick.runs.end < runs.len();
    let mut job = Job { files: Vec::new(), runs: Vec::new(), level: pick.level, deletes };
    for (_, files) in runs.into_iter().skip(pick.runs.start).take(pick.runs.len()) {
        job.runs.extend(in_key_order(table, &files)?);
        job.files.extend(files);
    }
    Ok(vec![job])
}

/// The files of a run in the order of their keys; one by one, should they overlap after all.
fn in_key_order(table: &LakeTable, files: &[Entry]) -> Result<Vec<Vec<FileMeta>>> {
    if let [one] = files {
        return Ok(vec![vec![one.file.clone()]]);
    }
    let types = table.schema().key_types();
    let key = |stored: &[u8]| -> Result<Vec<u8>> { Ok(key_rows(&decode(&types, stored)?)?.row(0).as_ref().to_vec()) };
    let bounded = |e: &Entry| Ok((key(&e.file.min_key)?, key(&e.file.max_key)?, e.file.clone()));
    let mut files = files.iter().map(bounded).collect::<Result<Vec<_>>>()?;
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let overlap = files.windows(2).any(|pair| pair[0].1 >= pair[1].0);
    let files = files.into_iter().map(|(_, _, file)| file);
    Ok(if overlap { files.map(|file| vec![file]).collect() } else { vec![files.collect()] })
}

/// How many rows of each file to read at a time, where files of `target_bytes` are written.
fn batch_rows(files: &[Entry], target_bytes: i64) -> usize {
    let rows: i64 = files.iter().map(|e| e.file.row_count).sum();
    let of_row = (size_of(files) / rows.max(1)).max(1);
    // A file ends between two batches, so many of them make one.
    let batch = BATCH_BYTES.min(target_bytes / 8) / of_row;
    usize::try_from(batch.clamp(1, BATCH_ROWS)).unwrap_or(1)
}

fn size_of(files: &[Entry]) -> i64 {
    files.iter().map(|e| e.file.file_size).sum()
}

/// The sorted runs of a bucket, newest first: each file of level 0, then each other level.
fn runs(files: Vec<Entry>) -> Vec<(i32, Vec<Entry>)> {
    let mut levels: BTreeMap<i32, Vec<Entry>> = BTreeMap::new();
    for entry in files {
        levels.entry(entry.file.level).or_default().push(entry);
    }
    let mut fresh = levels.remove(&0).unwrap_or_default();
    fresh.sort_by_key(|e| std::cmp::Reverse((e.file.max_sequence, e.file.min_sequence)));
    fresh.into_iter().map(|entry| (0, vec![entry])).chain(levels).collect()
}

impl Compaction<'_> {
    /// False: stopped.
    fn run(&mut self, scan: &LakeScan, job: Job, target_bytes: i64, stopped: &dyn Fn() -> bool) -> Result<bool> {
        let Some(first) = job.files.first() else { return Ok(true) };
        let files = job.files.iter().map(|e| e.file.clone()).collect();
        let split = LakeScan::part_of(first.partition.clone(), first.bucket, files);
        let place = Place::of(self.table, first)?;
        let output = Output { table: self.table, place, level: job.level, target_bytes, file: None, added: Vec::new() };
        let written = match self.table.schema().schema.primary_key.is_empty() {
            true => append(output, scan, &split, &job, stopped)?,
            false => merge(output, scan, &split, &job, stopped)?,
        };
        let Some((added, names)) = written else { return Ok(false) };
        self.added.extend(added);
        self.names.extend(names);
        self.removed.extend(job.files);
        Ok(true)
    }

    fn commit(mut self, user: &str) -> Result<Option<Snapshot>> {
        let table = self.table;
        let commit = Commit::new(table);
        let entries: Vec<Entry> = self.removed.iter().map(Entry::removal).chain(self.added.iter().cloned()).collect();
        let delta = commit.write("delta", &entries)?;
        // From here on an error may have left the commit in the lake.
        for _ in 0..ATTEMPTS {
            let newest = table.newest()?.filter(|newest| newest.index_manifest.is_none());
            let still_there = newest.as_ref().map_or(Ok(false), |newest| self.all_there(newest))?;
            let Some(newest) = newest.filter(|_| still_there) else {
                commit.discard(&delta.0);
                return Ok(None);
            };
            let base = commit.write_base(Some(&newest))?;
            let snapshot = self.snapshot(&newest, user, &delta, base);
            // Whatever the answer is lost to, files that a snapshot may name stay.
            self.committed = true;
            if commit.publish(&snapshot)? {
                // Readers find the snapshot without the hint too.
                let _ = table.timeline().announce(&snapshot);
                return Ok(Some(snapshot));
            }
            self.committed = false;
            table.manifests().discard(&snapshot.base_manifest_list);
        }
        commit.discard(&delta.0);
        Err(commit.overtaken())
    }

    fn all_there(&self, newest: &Snapshot) -> Result<bool> {
        let key = |e: &Entry| (e.partition.clone(), e.bucket, e.file.level, e.file.file_name.clone());
        let there: BTreeSet<_> = self.table.manifests().files(newest)?.iter().map(key).collect();
        Ok(self.removed.iter().all(|e| there.contains(&key(e))))
    }

    fn snapshot(&self, newest: &Snapshot, user: &str, delta: &(String, i64), base: (String, i64)) -> Snapshot {
        let rows = |entries: &[Entry]| entries.iter().map(|e| e.file.row_count).sum::<i64>();
        let difference = rows(&self.added) - rows(&self.removed);
        let schema_id = newest.schema_id.max(self.table.schema().id);
        Snapshot {
            version: VERSION,
            id: newest.id + 1,
            schema_id,
            base_manifest_list: base.0,
            base_manifest_list_size: Some(base.1),
            delta_manifest_list: delta.0.clone(),
            delta_manifest_list_size: Some(delta.1),
            changelog_manifest_list: None,
            changelog_manifest_list_size: None,
            index_manifest: None,
            commit_user: user.to_owned(),
            commit_identifier: i64::MAX,
            commit_kind: CommitKind::Compact,
            time_millis: self.table.now_ms(),
            total_record_count: newest.total_record_count + difference,
            delta_record_count: difference,
            changelog_record_count: None,
            watermark: newest.watermark,
            statistics: newest.statistics.clone().filter(|_| schema_id == newest.schema_id),
            properties: None,
            next_row_id: newest.next_row_id,
        }
    }
}

/// Files being written.
struct Output<'t> {
    table: &'t LakeTable,
    place: Place,
    level: i32,
    target_bytes: i64,
    file: Option<OpenFile>,
    added: Vec<Entry>,
}

struct OpenFile {
    name: String,
    writer: ParquetWriter,
    meta: FileMeta,
}

type Written = Option<(Vec<Entry>, Vec<String>)>;

/// Merges the files of a job; `None` when stopped.
fn merge(
    mut output: Output<'_>,
    scan: &LakeScan,
    split: &LakeSplit,
    job: &Job,
    stopped: &dyn Fn() -> bool,
) -> Result<Written> {
    let mut merge = scan.merge(split, &job.runs, batch_rows(&job.files, output.target_bytes))?;
    while let Some(changes) = merge.next_changes(job.deletes)? {
        if stopped() {
            return Ok(None);
        }
        output.write_changes(changes)?;
    }
    output.end_file()?;
    Ok(Some(output.finish()))
}

/// Puts the files of a job together in their order; `None` when stopped.
fn append(
    mut output: Output<'_>,
    scan: &LakeScan,
    split: &LakeSplit,
    job: &Job,
    stopped: &dyn Fn() -> bool,
) -> Result<Written> {
    let batch_rows_max = batch_rows(&job.files, output.target_bytes);
    let mut rows = scan.read(split, &ScanOptions { projection: None, predicate: None, batch_rows_max })?;
    while let Some(batch) = rows.next_batch()? {
        if stopped() {
            return Ok(None);
        }
        output.open()?.writer.write(batch.columns())?;
    }
    if let Some(file) = &mut output.file {
        // One file for all: neighbours are put together up to about the size of one.
        let metas = || job.files.iter().map(|e| &e.file);
        file.meta.min_sequence = metas().map(|m| m.min_sequence).min().unwrap_or(0);
        file.meta.max_sequence = metas().map(|m| m.max_sequence).max().unwrap_or(0);
    }
    output.end_file()?;
    Ok(Some(output.finish()))
}

impl Output<'_> {
    fn open(&mut self) -> Result<&mut OpenFile> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let schema = self.table.schema();
                let keyed = !schema.schema.primary_key.is_empty();
                let columns = if keyed { keyed_columns(schema) } else { append_columns(schema) };
                let (name, writer) = self.place.begin("data", columns)?;
                let meta = FileMeta {
                    level: self.level,
                    source: Some(SOURCE_COMPACT),
                    min_sequence: i64::MAX,
                    max_sequence: i64::MIN,
                    ..FileMeta::append(name.clone(), schema.id)
                };
                OpenFile { name, writer, meta }
            }
        };
        Ok(self.file.insert(file))
    }

    fn write_changes(&mut self, changes: Changes) -> Result<()> {
        let schema = self.table.schema();
        let keys: Vec<usize> = schema.key_indexes();
        let stored = StoredRows::new(&schema.key_types())?;
        let key_columns: Vec<ArrayRef> = keys.iter().map(|i| ArrayRef::clone(&changes.columns[*i])).collect();
        let (first, last) = (stored.encode(&key_columns, 0)?, stored.encode(&key_columns, changes.rows - 1)?);
        let kinds = changes.kinds.as_primitive::<Int8Type>().values();
        let retracting = kinds.iter().filter(|kind| retracts(**kind)).count();
        let sequences = changes.sequences.as_primitive::<Int64Type>().clone();
        let mut arrays = key_columns;
        arrays.extend([changes.sequences, changes.kinds]);
        arrays.extend(changes.columns);
        let target = self.target_bytes;
        let file = self.open()?;
        file.writer.write(&arrays)?;
        let meta = &mut file.meta;
        if meta.row_count == 0 {
            meta.min_key = first;
        }
        meta.max_key = last;
        // Until the file ends only whether there are rows counts.
        meta.row_count = i64::try_from(file.writer.rows()).unwrap_or(i64::MAX);
        meta.delete_row_count = meta.delete_row_count.map(|n| n + i64::try_from(retracting).unwrap_or(i64::MAX));
        for sequence in sequences.values() {
            meta.min_sequence = meta.min_sequence.min(*sequence);
            meta.max_sequence = meta.max_sequence.max(*sequence);
        }
        let full = i64::try_from(file.writer.bytes()).unwrap_or(i64::MAX) >= target;
        if full { self.end_file() } else { Ok(()) }
    }

    fn end_file(&mut self) -> Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let mut meta = FileMeta { file_name: file.name, ..file.meta };
        let keys = self.table.schema().key_indexes().len();
        if keys > 0 {
            // The first and last of several columns say nothing of the smallest and largest of the later ones.
            meta.key_statistics = match keys {
                1 => Statistics::of_keys(meta.min_key.clone(), meta.max_key.clone(), 1),
                several => Statistics::unknown(several),
            };
        }
        meta.row_count = i64::try_from(file.writer.rows()).unwrap_or(i64::MAX);
        meta.creation_time = Some(self.table.now_ms());
        meta.file_size = i64::try_from(file.writer.finish()?).unwrap_or(i64::MAX);
        self.added.push(self.place.entry(meta));
        Ok(())
    }

    fn finish(self) -> (Vec<Entry>, Vec<String>) {
        (self.added, self.place.take_names())
    }
}
