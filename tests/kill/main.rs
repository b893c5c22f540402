//! `kill -9` of a process that writes, opens, flushes, snapshots or defines, over and over on one directory: nothing that it was promised is
//! lost, nothing is invented, and the next process can go on.
//!
//! `SLUICE_SEED` chooses what is written and how long each process lives; `SLUICE_LONG=1` makes ten times as many rounds. A failure prints
//! the seed and keeps the directory.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod book;
mod child;
mod define;
mod first_opening;
mod holder;
mod parent;
mod plan;
mod rounds;
mod tables;

use std::path::{Path, PathBuf};

/// What a run is made of.
fn seed() -> u64 {
    std::env::var("SLUICE_SEED").map_or(20_251_130, |s| s.parse().expect("SLUICE_SEED is a number"))
}

fn is_long() -> bool {
    std::env::var("SLUICE_LONG").is_ok_and(|v| v == "1")
}

/// A temporary directory that outlives a failed test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap().keep())
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}; the directory is kept: {}", seed(), self.0.display());
        } else {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
