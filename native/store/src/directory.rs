//! The store's directory: what makes a directory a store, who owns it, what lies in it.
//!
//! `STORE` holds magic and format version, `LOCK` the name of the process that has it open, `catalog` the tables, and `data/<table
//! id>/` their buckets, those of partitions in `p<partition id>/`. Invariant: while a [`Directory`] lives, no other process (and no
//! other opener in this one) has the store open.

use sluice_base::{CivilDate, Clock, Error, ErrorKind, Fs, FsFile, LockOutcome, Result, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const STORE_FILE: &str = "STORE";
const LOCK_FILE: &str = "LOCK";
pub(crate) const CATALOG_FILE: &str = "catalog";
pub(crate) const DATA_DIR: &str = "data";
/// In the directory of a table that has an auto-increment column.
pub(crate) const ROW_NUMBERS_FILE: &str = "row-numbers";
const MAGIC: &str = "SLUICE-STORE";
const FORMAT: u32 = 1;
/// What a first opening that was cut off may leave behind before `STORE` is there.
const BEGINNINGS: &[&str] = &[LOCK_FILE, "STORE.tmp"];

/// An owned store directory. Dropping it gives the lock back.
#[derive(Debug)]
pub(crate) struct Directory {
    root: PathBuf,
    read_only: bool,
    _lock: Arc<dyn FsFile>,
}

impl Directory {
    /// Takes a directory over, making it a store when it is missing or empty. A store on a read-only disk is shared with others who read.
    ///
    /// # Errors
    /// `Busy` about `Store` naming the process that has it; `Invalid` about `Store` when it is something else than a store;
    /// `Unsupported` about `Store` when a newer version wrote it; `Corrupt`; `Io` or `Busy` about `Disk` when it cannot be written.
    pub(crate) fn open(fs: &dyn Fs, clock: &dyn Clock, root: &Path) -> Result<Self> {
        // Looked at before anything is written: a directory that is not ours stays untouched.
        let is_store = inspect(fs, root)?;
        let opening = |e: Error| {
            e.context(format_args!(
                "cannot open the store in {}, its directory must exist or be creatable, and be writable",
                root.display()
            ))
        };
        create(fs, root).map_err(opening)?;
        let lock = match lock(fs, clock, root) {
            Err(e) if is_store && e.is_read_only_disk() => {
                let lock = taken(fs.lock_shared(&root.join(LOCK_FILE)).map_err(opening)?, root)?;
                return Ok(Self { root: root.to_owned(), read_only: true, _lock: lock });
            }
            lock => lock.map_err(|e| if e.subject() == Subject::Store { e } else { opening(e) })?,
        };
        // Whoever had the lock before may have made it a store meanwhile.
        if !is_store && !inspect(fs, root)? {
            fs.replace(&root.join(STORE_FILE), format!("{MAGIC} {FORMAT}\n").as_bytes()).map_err(opening)?;
        }
        Ok(Self { root: root.to_owned(), read_only: false, _lock: lock })
    }

    /// Whether somebody has made a store here.
    pub(crate) fn is_at(fs: &dyn Fs, root: &Path) -> bool {
        fs.exists(&root.join(STORE_FILE))
    }

    /// Whether nothing can be written here.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Where the catalog is.
    pub(crate) fn catalog(&self) -> PathBuf {
        self.root.join(CATALOG_FILE)
    }

    /// Whether no table has left data here, so that a missing catalog is no loss.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn is_without_data(&self, fs: &dyn Fs) -> Result<bool> {
        let data = self.root.join(DATA_DIR);
        Ok(!fs.exists(&data) || fs.list(&data)?.is_empty())
    }

    /// Removes the data of tables and partitions that the catalog does not know: what a CREATE or DROP left behind that was cut off. Only
    /// directories named by an id are touched.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn clean(&self, fs: &dyn Fs, known: &BTreeMap<i64, BTreeSet<i64>>) -> Result<()> {
        let data = self.root.join(DATA_DIR);
        if !fs.exists(&data) {
            return Ok(());
        }
        for entry in fs.list(&data)? {
            match id_of(&entry, "").map(|id| known.get(&id)) {
                None => {}
                Some(None) => fs.remove_dir_all(&entry)?,
                Some(Some(partitions)) => clean_partitions(fs, &entry, partitions)?,
            }
        }
        Ok(())
    }
}

fn clean_partitions(fs: &dyn Fs, table: &Path, known: &BTreeSet<i64>) -> Result<()> {
    for entry in fs.list(table)? {
        if id_of(&entry, "p").is_some_and(|id| !known.contains(&id)) {
            fs.remove_dir_all(&entry)?;
        }
    }
    Ok(())
}

/// The id behind a prefix that names a directory.
pub(crate) fn id_of(entry: &Path, prefix: &str) -> Option<i64> {
    let name = entry.file_name()?.to_str()?.strip_prefix(prefix)?;
    name.parse::<i64>().ok().filter(|id| *id >= 0)
}

/// Creates a directory with its parents, durably.
fn create(fs: &dyn Fs, dir: &Path) -> Result<()> {
    if fs.exists(dir) {
        return Ok(());
    }
    let missing: Vec<&Path> = dir.ancestors().take_while(|d| !d.as_os_str().is_empty() && !fs.exists(d)).collect();
    fs.create_dir_all(dir)?;
    for parent in missing.iter().filter_map(|d| d.parent()).filter(|p| !p.as_os_str().is_empty()) {
        fs.sync_dir(parent)?;
    }
    Ok(())
}

/// Whether a store is there; `false` for what may become one.
fn inspect(fs: &dyn Fs, root: &Path) -> Result<bool> {
    if !fs.exists(root) {
        return Ok(false);
    }
    let about_store = |e: Error| e.context(format_args!("cannot open the store in {}", root.display()));
    let file = root.join(STORE_FILE);
    if fs.exists(&file) {
        return check_format(&file, &fs.read(&file).map_err(about_store)?).map(|()| true);
    }
    let entries = fs.list(root).map_err(about_store)?;
    match entries.iter().find(|e| !BEGINNINGS.iter().any(|b| e.file_name().is_some_and(|n| n == *b))) {
        None => Ok(false),
        Some(found) => {
            let message = format!(
                "{} is not a Sluice store: it holds {} but no {STORE_FILE} file; name an empty or a new directory",
                root.display(),
                found.file_name().map_or_else(String::new, |n| format!("'{}'", n.to_string_lossy()))
            );
            Err(Error::invalid(Subject::Store, message))
        }
    }
}

fn check_format(file: &Path, bytes: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(bytes).unwrap_or("").trim_end_matches('\n');
    match text.split_once(' ').map(|(magic, version)| (magic, version.parse::<u32>())) {
        Some((MAGIC, Ok(FORMAT))) => Ok(()),
        Some((MAGIC, Ok(version))) if version > FORMAT => Err(Error::unsupported(
            Subject::Store,
            format!(
                "{} says format {version}, this Sluice reads formats up to {FORMAT}; open the store with the newer Sluice that wrote it",
                file.display()
            ),
        )),
        _ => Err(Error::corrupt(format!(
            "{} does not read '{MAGIC} {FORMAT}': the file is damaged, or the directory is not a Sluice store",
            file.display()
        ))),
    }
}

fn lock(fs: &dyn Fs, clock: &dyn Clock, root: &Path) -> Result<Arc<dyn FsFile>> {
    let holder = format!("process {} on {} since {}", std::process::id(), host(fs), utc(clock.now_ms()));
    taken(fs.lock(&root.join(LOCK_FILE), &holder)?, root)
}

/// The lock, or who has it.
fn taken(outcome: LockOutcome, root: &Path) -> Result<Arc<dyn FsFile>> {
    match outcome {
        LockOutcome::Held(file) => Ok(file),
        LockOutcome::Taken(by) => {
            let own = std::process::id();
            let by = if by.is_empty() { "another process".to_owned() } else { by };
            let ours = if by.starts_with(&format!("process {own} ")) { " (this very process)" } else { "" };
            let message = format!(
                "the store in {} is in use by {by}{ours}; one process at a time can have it open, so close it there first",
                root.display()
            );
            Err(Error::new(ErrorKind::Busy, Subject::Store, message))
        }
    }
}

/// The machine's name, for people who share a directory between machines.
fn host(fs: &dyn Fs) -> String {
    let name = fs.read(Path::new("/proc/sys/kernel/hostname")).unwrap_or_default();
    match String::from_utf8_lossy(&name).trim() {
        "" => "an unnamed host".to_owned(),
        name => name.to_owned(),
    }
}

/// `2025-11-30 14:58:00 UTC`.
fn utc(ms: i64) -> String {
    let seconds = ms.div_euclid(1000);
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let date = CivilDate::from_days(days);
    format!("{date} {:02}:{:02}:{:02} UTC", of_day / 3_600, of_day / 60 % 60, of_day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (ms, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399_999, "2000-02-28 23:59:59 UTC"),
            (951_782_400_000, "2000-02-29 00:00:00 UTC"),
            (1_735_689_599_000, "2024-12-31 23:59:59 UTC"),
            (1_764_514_680_000, "2025-11-30 14:58:00 UTC"),
            (-1_000, "1969-12-31 23:59:59 UTC"),
        ] {
            assert_eq!(utc(ms), text);
        }
    }

    #[test]
    fn formats() {
        let file = Path::new("/d/STORE");
        check_format(file, b"SLUICE-STORE 1\n").unwrap();
        let e = check_format(file, b"SLUICE-STORE 2\n").unwrap_err();
        assert_eq!((e.kind(), e.subject()), (ErrorKind::Unsupported, Subject::Store));
        assert!(e.message().contains("/d/STORE") && e.message().contains("format 2"), "{e}");
        for bad in [&b""[..], b"SLUICE-STORE", b"SLUICE-STORE 0", b"SLUICE-STORE x", b"\xff\xfe", b"OTHER 1"] {
            assert_eq!(check_format(file, bad).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }
}
