//! The tree that a power loss leaves.

use super::disk::{Change, Disk, DiskFile, apply, peek};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

const SECTOR_BYTES: usize = 512;

/// What becomes of everything that was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// It is lost.
    LoseUnsynced,
    /// It happens to be on disk all the same (as when only the process dies).
    KeepAll,
    /// Sector by sector, length by length, entry by entry some of it is kept, by this seed.
    Torn(u64),
}

/// Of `n` changes in order, how many reached the disk.
struct Luck {
    crash: Crash,
    random: StdRng,
}

impl Luck {
    fn of(&mut self, n: usize) -> usize {
        match self.crash {
            Crash::LoseUnsynced => 0,
            Crash::KeepAll => n,
            // Whole loss and no loss are likelier than their share: they are what mostly happens.
            Crash::Torn(_) => match self.random.random_range(0..4) {
                0 => 0,
                1 => n,
                _ => self.random.random_range(0..=n),
            },
        }
    }
}

pub(super) fn write_image(disk: &mut Disk, root: &Path, target: &Path, crash: Crash) -> io::Result<()> {
    let seed = if let Crash::Torn(seed) = crash { seed } else { 0 };
    let mut luck = Luck { crash, random: StdRng::seed_from_u64(seed) };
    let mut entries = disk.durable.clone();
    for changes in disk.changes.values() {
        let kept = luck.of(changes.len());
        changes.iter().take(kept).for_each(|change| apply(&mut entries, change));
    }
    let known: HashSet<PathBuf> = disk.current.keys().cloned().collect();
    copy_untouched(root, root, target, &known)?;
    let mut paths: Vec<_> = entries.into_iter().filter(|(path, _)| path.starts_with(root)).collect();
    paths.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, file) in paths {
        let place = target.join(path.strip_prefix(root).unwrap_or(&path));
        if let Some(dir) = place.parent() {
            std::fs::create_dir_all(dir)?;
        }
        std::fs::write(place, survivor(&peek(&file), &mut luck))?;
    }
    Ok(())
}

/// Files that never went through the faulty file system are taken as they are.
fn copy_untouched(dir: &Path, root: &Path, target: &Path, known: &HashSet<PathBuf>) -> io::Result<()> {
    std::fs::create_dir_all(target.join(dir.strip_prefix(root).unwrap_or(dir)))?;
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            copy_untouched(&path, root, target, known)?;
        } else if !known.contains(&path) {
            std::fs::copy(&path, target.join(path.strip_prefix(root).unwrap_or(&path)))?;
        }
    }
    Ok(())
}

/// A file's content after the crash.
fn survivor(file: &DiskFile, luck: &mut Luck) -> Vec<u8> {
    let changes = file.changes.len();
    let mut content = file.durable.clone();
    let mut length = content.len();
    let length_changes = luck.of(changes);
    let mut kept_in_sector = HashMap::new();
    for (i, change) in file.changes.iter().enumerate() {
        match change {
            Change::SetLen(len) if i < length_changes => {
                // What was cut off is gone, also when the file grows again.
                content.truncate(*len);
                length = *len;
            }
            Change::Grow(end) if i < length_changes => length = length.max(*end),
            Change::SetLen(_) | Change::Grow(_) => {}
            Change::Write { position, bytes } => {
                let end = position + bytes.len();
                content.resize(content.len().max(end), 0);
                for (sector, range) in sectors(*position, end) {
                    let kept = *kept_in_sector.entry(sector).or_insert_with(|| luck.of(changes));
                    if i < kept {
                        content[range.clone()].copy_from_slice(&bytes[range.start - position..range.end - position]);
                    }
                }
                if i < length_changes {
                    length = length.max(end);
                }
            }
        }
    }
    content.resize(length, 0);
    content
}

fn sectors(start: usize, end: usize) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
    (start / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES)).map(move |sector| {
        let from = (sector * SECTOR_BYTES).max(start);
        (sector, from..((sector + 1) * SECTOR_BYTES).min(end))
    })
}
