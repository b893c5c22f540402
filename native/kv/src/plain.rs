//! A copy of a checkpoint for other programs: rows only, without the mark, in files that RocksDB releases since 6.20 open.

use crate::error;
use crate::mark::MARK_KEY;
use crate::tuning::{flush_options, for_all_readers, write_options};
use rocksdb::{DB, LogLevel, Options};
use sluice_base::{Error, Fs, Result, Subject};
use std::path::{Path, PathBuf};

/// Copies the checkpoint in `checkpoint` to `dir` (row files as hard links), which must not exist yet, and takes the mark out of the copy. The
/// files are durable afterwards; their names are not before the directory is synced.
///
/// # Errors
/// `NotFound` about `Snapshot` when there is no checkpoint; `Busy` about `Disk` when the disk is full; `Corrupt`, `Io`.
pub fn copy_plain(fs: &dyn Fs, checkpoint: &Path, dir: &Path) -> Result<()> {
    if !checkpoint.is_dir() {
        return Err(Error::not_found(Subject::Snapshot, format!("snapshot {} does not exist", checkpoint.display())));
    }
    let files = fs.list(checkpoint)?;
    fs.create_dir_all(dir)?;
    for from in files.iter().filter(|path| path.is_file()) {
        let to = dir.join(from.file_name().unwrap_or_default());
        // Row files are never written again; the others are.
        if from.extension().is_some_and(|e| e == "sst") {
            fs.link(from, &to)?;
        } else {
            fs.replace(&to, &fs.read(from)?)?;
        }
    }
    let convert = |e| error::convert(e, "copy", dir);
    let mut options = Options::default();
    options.set_log_level(LogLevel::Fatal);
    options.set_disable_auto_compactions(true);
    options.set_block_based_table_factory(&for_all_readers());
    let db = DB::open(&options, dir).map_err(convert)?;
    db.delete_opt(MARK_KEY, &write_options()).map_err(convert)?;
    db.flush_opt(&flush_options(true)).map_err(convert)
}

/// The files of a checkpoint, or of such a copy, that its readers need, in the order of their names.
///
/// # Errors
/// `NotFound` about `Snapshot`, `Io`.
pub fn files_of(fs: &dyn Fs, dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = fs.list(dir)?;
    files.retain(|path| {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        name == "CURRENT" || name.starts_with("MANIFEST-") || name.starts_with("OPTIONS-") || name.ends_with(".sst")
    });
    files.sort();
    Ok(files)
}
