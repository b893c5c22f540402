//! Opening a log: only what lies behind the recovery point is checked, a torn end is cut off, damage is reported.
//!
//! A bad batch behind the recovery point is either a write that a crash tore, never acknowledged, or damage to data that was.
//! It counts as torn when nothing good follows it, or when a 512-byte sector in it reads as zeros: what a crash took back from
//! a file that only grows reads so. Then it and all behind it is cut off. Otherwise it is damage: it stays, reading it is
//! an error, and the batches behind it stay readable.

use crate::LogSettings;
use crate::file_header::FILE_HEADER_BYTES;
use crate::header::verify_crc;
use crate::index::{Entry, Index};
use crate::recovery_point::RecoveryPoint;
use crate::segment::{
    MOVED_EXTENSION, Segment, check_header, complete_index, index_path, log_path, statistics_path, write_header,
};
use crate::stretch::Stretches;
use crate::walk::{WHOLE_CHUNK_BYTES, Walk, damaged_at};
use crate::{BATCH_HEADER_BYTES, BatchHeader};
use sluice_base::{Error, ErrorKind, Fs, FsFile, Offset, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SECTOR_BYTES: u64 = 512;
/// A batch's offsets span less than this, so the batch behind a damaged one begins no further away.
const OFFSETS_IN_BATCH_MAX: i64 = 1 << 31;

/// What opening a log found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Bytes behind the recovery point, all of which were checked.
    pub checked_bytes: u64,
    /// Bytes of a torn end that were cut off.
    pub cut_bytes: u64,
    /// Where the cut was made: segment and position.
    pub cut: Option<(PathBuf, u64)>,
    /// Stretches that are damaged but followed by good batches: kept; reading them is an error.
    pub damaged: Vec<Damage>,
}

/// A stretch of a segment that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The segment.
    pub path: PathBuf,
    /// Where it begins.
    pub position: u64,
    /// How long it is.
    pub bytes: u64,
    /// First offset lost.
    pub offset: Offset,
}

/// An opened log.
#[derive(Debug)]
pub(crate) struct Opened {
    pub segments: Vec<Arc<Segment>>,
    /// Whether the last segment takes appends.
    pub appendable: bool,
    pub end: Offset,
    pub last_timestamp_ms: i64,
    /// The recovery point that was found.
    pub point: Option<RecoveryPoint>,
    pub report: Recovery,
}

/// How to open a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    /// Batches at this offset and behind are cut off, if they lie behind the recovery point.
    pub keep: Offset,
    /// Whether what a crash left is repaired. If not, it is passed over, nothing is written and the log takes no appends.
    pub repair: bool,
}

impl Mode {
    fn follows_failed_sync(self) -> bool {
        self.repair && self.keep < Offset::MAX
    }
}

/// Reads a directory of segments and makes it whole.
///
/// # Errors
/// `Unsupported` naming a file of a newer version; `Io`; `Busy` about `Disk`.
pub(crate) fn recover(fs: &dyn Fs, dir: &Path, settings: &LogSettings, mode: Mode) -> Result<Opened> {
    let (bases, moved) = list_segments(fs, dir, mode)?;
    let point = RecoveryPoint::load(fs, dir)?;
    // Retention may have passed the point; a segment behind it cannot have gone by itself.
    if let Some(lost) = point.filter(|p| bases.first().is_none_or(|first| *first < p.segment))
        && bases.binary_search(&lost.segment).is_err()
    {
        let path = log_path(dir, lost.segment);
        return Err(Error::corrupt(format!("{} is missing; put it back", path.display())));
    }
    let point = point.filter(|p| bases.binary_search(&p.segment).is_ok());
    // What lies elsewhere was durable and closed when it was copied there.
    let behind_moved = moved.last().map_or(0, |last| bases.partition_point(|base| base <= last));
    let first_checked = point.map_or(0, |p| bases.partition_point(|base| *base < p.segment)).max(behind_moved);
    let mut state = Recovering {
        fs,
        dir,
        settings,
        mode,
        segments: Vec::with_capacity(bases.len()),
        scanned: Vec::new(),
        offset: bases.first().copied().unwrap_or(0),
        timestamp_ms: i64::MIN,
        appendable: false,
        report: Recovery::default(),
    };
    for (base, end) in bases.iter().zip(bases.iter().skip(1)).take(first_checked) {
        let bytes = fs.open_read(&log_path(dir, *base))?.len()?;
        let segment = Segment::closed(dir, *base, *end, bytes, settings.index_interval_bytes);
        state.segments.push(Arc::new(segment));
        state.offset = *end;
    }
    for (i, base) in bases.iter().enumerate().skip(first_checked) {
        let start = point.filter(|p| p.segment == *base);
        if !state.check_segment(*base, start)? {
            state.drop_segments(bases.get(i..).unwrap_or_default())?;
            break;
        }
    }
    Ok(Opened { point, ..state.finish()? })
}

/// Base offsets of the segments, in order, and of those among them whose file lies elsewhere. Indexes and statistics without a segment are
/// removed.
fn list_segments(fs: &dyn Fs, dir: &Path, mode: Mode) -> Result<(Vec<Offset>, Vec<Offset>)> {
    let (mut bases, mut moved) = (Vec::new(), Vec::new());
    let mut hints = Vec::new();
    if !mode.repair && !fs.exists(dir) {
        return Ok((bases, moved));
    }
    for path in fs.list(dir)? {
        let stem = path.file_stem().and_then(|s| s.to_str()).filter(|s| s.len() == 20);
        let Some(base) = stem.and_then(|s| s.parse::<Offset>().ok()).filter(|base| *base >= 0) else { continue };
        match path.extension().and_then(|e| e.to_str()) {
            Some("log") => bases.push(base),
            Some(MOVED_EXTENSION) => moved.push(base),
            Some("index" | "stats") => hints.push((base, path)),
            _ => {}
        }
    }
    bases.sort_unstable();
    moved.retain(|base| bases.binary_search(base).is_err());
    moved.sort_unstable();
    bases.extend(&moved);
    bases.sort_unstable();
    for (base, path) in hints {
        if mode.repair && bases.binary_search(&base).is_err() {
            fs.remove(&path)?;
        }
    }
    Ok((bases, moved))
}

struct Recovering<'a> {
    fs: &'a dyn Fs,
    dir: &'a Path,
    settings: &'a LogSettings,
    mode: Mode,
    segments: Vec<Arc<Segment>>,
    /// Files that were checked; their bytes may still be in memory only.
    scanned: Vec<Arc<dyn FsFile>>,
    offset: Offset,
    timestamp_ms: i64,
    appendable: bool,
    report: Recovery,
}

impl Recovering<'_> {
    /// Checks one segment from `start` (or its beginning) on. False: it and all behind it was never durable and must go.
    fn check_segment(&mut self, base: Offset, start: Option<RecoveryPoint>) -> Result<bool> {
        let path = log_path(self.dir, base);
        let file = if self.mode.repair { self.fs.open(&path)? } else { self.fs.open_read(&path)? };
        let bytes = file.len()?;
        if self.offset != base && !self.segments.is_empty() && !self.explains_gap(base) {
            return Ok(false);
        }
        let header = check_header(file.as_ref(), &path, base);
        let damaged_header = match header {
            Err(e) if e.kind() == ErrorKind::Corrupt => {
                if start.is_none() && is_torn_header(file.as_ref(), bytes)? {
                    return Ok(false);
                }
                Some(e)
            }
            other => other.map(|()| None)?,
        };
        let scan = self.scan_segment(&file, base, bytes, start)?;
        let segment = Segment::closed(self.dir, base, scan.offset, scan.position, self.settings.index_interval_bytes);
        // Nothing is appended to a file whose header is damaged, or which lost bytes that were durable: the next batch begins a
        // new segment.
        self.appendable = damaged_header.is_none() && !scan.lost;
        let kept = damaged_header.is_none().then(|| Arc::clone(&file));
        if damaged_header.is_some() {
            self.note_damage(&path, 0, FILE_HEADER_BYTES, base);
        } else if self.mode.follows_failed_sync() && start.is_none() {
            // It may have been part of that sync: then it is read from memory only, and no later sync writes it.
            write_header(file.as_ref(), base)?;
        }
        self.segments.push(Arc::new(segment.with_open(kept, scan.index, scan.stretches)));
        (self.offset, self.timestamp_ms) = (scan.offset, scan.timestamp_ms);
        if let Some(position) = scan.cut {
            self.report.cut_bytes += bytes - position;
            self.report.cut.get_or_insert((path, position));
            if self.mode.repair {
                file.set_len(position)?;
            }
        }
        self.scanned.push(file);
        Ok(true)
    }

    /// Whether a segment may begin behind where the one before it ends: only when that one is known to be damaged, not torn.
    fn explains_gap(&self, base: Offset) -> bool {
        base > self.offset && self.report.cut.is_none() && !self.appendable
    }

    fn scan_segment(
        &mut self,
        file: &Arc<dyn FsFile>,
        base: Offset,
        bytes: u64,
        start: Option<RecoveryPoint>,
    ) -> Result<Scan> {
        let path = log_path(self.dir, base);
        let start = start.unwrap_or(RecoveryPoint {
            segment: base,
            position: FILE_HEADER_BYTES,
            offset: base,
            timestamp_ms: self.timestamp_ms,
        });
        // Entries behind the recovery point may speak of batches that a crash took back.
        let index = Index::load(self.fs, &index_path(self.dir, base), base, start.position)?;
        let stretches = Stretches::load(self.fs, &statistics_path(self.dir, base), base, start.offset)?;
        let lost = bytes < start.position;
        let mut scan = Scan {
            path,
            position: start.position.min(bytes),
            offset: start.offset,
            timestamp_ms: start.timestamp_ms,
            index,
            stretches,
            interval: self.settings.index_interval_bytes,
            keep: self.mode.keep,
            cut: None,
            lost,
            damaged: Vec::new(),
        };
        if start.position > FILE_HEADER_BYTES {
            let known = Segment::closed(self.dir, base, start.offset, scan.position, scan.interval);
            complete_index(&mut scan.index, file.as_ref(), &known, scan.position)?;
        }
        if lost {
            self.note_damage(&scan.path, bytes, start.position - bytes, start.offset);
        } else {
            scan.run(file.as_ref(), bytes)?;
            self.report.checked_bytes += bytes - start.position;
            self.report.damaged.append(&mut scan.damaged);
        }
        Ok(scan)
    }

    fn note_damage(&mut self, path: &Path, position: u64, bytes: u64, offset: Offset) {
        self.report.damaged.push(Damage { path: path.to_owned(), position, bytes, offset });
    }

    /// Removes segments that were never durable, the newest first, so that a crash in between leaves no gap.
    fn drop_segments(&mut self, bases: &[Offset]) -> Result<()> {
        for base in bases.iter().rev() {
            let path = log_path(self.dir, *base);
            let bytes = self.fs.open_read(&path)?.len()?;
            self.report.cut_bytes += bytes;
            self.report.checked_bytes += bytes;
            if self.mode.repair {
                self.fs.remove(&statistics_path(self.dir, *base))?;
                self.fs.remove(&index_path(self.dir, *base))?;
                self.fs.remove(&path)?;
            }
        }
        if let Some(base) = bases.first() {
            self.report.cut.get_or_insert((log_path(self.dir, *base), 0));
        }
        Ok(())
    }

    fn finish(self) -> Result<Opened> {
        // What was found may have been read from memory that never reached the disk; from here on it counts as durable.
        if self.mode.repair {
            self.scanned.iter().try_for_each(|file| file.sync())?;
            if !self.scanned.is_empty() || self.report.cut.is_some() {
                self.fs.sync_dir(self.dir)?;
            }
        }
        Ok(Opened {
            segments: self.segments,
            appendable: self.appendable && self.mode.repair,
            end: self.offset,
            last_timestamp_ms: self.timestamp_ms,
            point: None,
            report: self.report,
        })
    }
}

/// Whether a file header never reached the disk: the file is too short for it, or it reads as zeros.
fn is_torn_header(file: &dyn FsFile, bytes: u64) -> Result<bool> {
    let mut head = [0; FILE_HEADER_BYTES as usize];
    file.read_at(&mut head, 0)?;
    Ok(bytes < FILE_HEADER_BYTES || head.iter().all(|b| *b == 0))
}

/// One segment's check.
struct Scan {
    path: PathBuf,
    position: u64,
    offset: Offset,
    timestamp_ms: i64,
    index: Index,
    stretches: Stretches,
    interval: u64,
    keep: Offset,
    cut: Option<u64>,
    lost: bool,
    damaged: Vec<Damage>,
}

impl Scan {
    fn run(&mut self, file: &dyn FsFile, bytes: u64) -> Result<()> {
        let path = self.path.clone();
        let mut walk = Walk::new(file, &path, bytes, WHOLE_CHUNK_BYTES).starting(self.position, self.offset);
        let mut after_damage = false;
        loop {
            match next_good(&mut walk, &path) {
                Ok(None) => break,
                Ok(Some(header)) if header.base_offset >= self.keep => {
                    self.cut = Some(walk.position);
                    break;
                }
                Ok(Some(header)) => {
                    self.note(&walk, &header, after_damage);
                    after_damage = false;
                    walk.advance(&header);
                }
                Err(e) if matches!(e.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => {
                    let Some(resumed) = behind_damage(&mut walk, file, bytes)? else {
                        self.cut = Some(walk.position);
                        break;
                    };
                    let (position, offset) = (walk.position, walk.offset);
                    self.damaged.push(Damage { path: path.clone(), position, bytes: resumed.0 - position, offset });
                    (walk.position, walk.offset) = resumed;
                    after_damage = true;
                }
                Err(e) => return Err(e),
            }
        }
        (self.position, self.offset) = (walk.position, walk.offset);
        Ok(())
    }

    fn note(&mut self, walk: &Walk<'_>, header: &BatchHeader, after_damage: bool) {
        let entry = Entry { offset: header.base_offset, position: walk.position, timestamp_ms: header.timestamp_ms };
        if after_damage {
            self.index.force(entry);
        }
        self.index.note(entry, self.interval);
        self.timestamp_ms = header.timestamp_ms;
    }
}

/// The batch at the cursor, its checksum verified.
fn next_good(walk: &mut Walk<'_>, path: &Path) -> Result<Option<BatchHeader>> {
    let Some(header) = walk.peek()? else { return Ok(None) };
    let position = walk.position;
    match verify_crc(walk.bytes(position, header.total_bytes())?) {
        true => Ok(Some(header)),
        false => Err(damaged_at(path, position, "the batch's checksum is wrong")),
    }
}

/// Position and offset of the first good batch behind the bad one at the cursor, when that one is damaged rather than torn.
/// Only the lengths that batches state are followed: bytes within a batch are a user's and prove nothing.
fn behind_damage(walk: &mut Walk<'_>, file: &dyn FsFile, bytes: u64) -> Result<Option<(u64, Offset)>> {
    let (start, expected) = (walk.position, walk.offset);
    let mut at = start;
    loop {
        let Some(total) = stated_length(walk, at, bytes)? else { return Ok(None) };
        at += total;
        if bytes.saturating_sub(at) < BATCH_HEADER_BYTES as u64 {
            return Ok(None);
        }
        let header = match BatchHeader::parse(walk.bytes(at, BATCH_HEADER_BYTES)?) {
            Ok(header) if header.total_bytes() as u64 <= bytes - at => header,
            _ => continue,
        };
        let follows = (1..=OFFSETS_IN_BATCH_MAX).contains(&header.base_offset.saturating_sub(expected));
        if follows && verify_crc(walk.bytes(at, header.total_bytes())?) {
            let torn = has_zero_sector(file, (start, expected), at, bytes)?;
            return Ok((!torn).then_some((at, header.base_offset)));
        }
    }
}

/// The length that the bytes at `at` state for a batch there, if it lies within the file.
fn stated_length(walk: &mut Walk<'_>, at: u64, bytes: u64) -> Result<Option<u64>> {
    if bytes.saturating_sub(at) < BATCH_HEADER_BYTES as u64 {
        return Ok(None);
    }
    let prefix = walk.bytes(at, 12)?;
    let length = prefix.get(8..12).and_then(|b| b.try_into().ok()).map_or(-1, i32::from_le_bytes);
    let total = u64::try_from(length).ok().filter(|l| *l >= BATCH_HEADER_BYTES as u64 - 12).map(|l| l + 12);
    Ok(total.filter(|t| *t <= bytes - at))
}

/// Whether a sector that overlaps the batch at `start` reads as zeros, as far as it lies behind `start`. The first bytes of a
/// batch are its offset: where zeros are expected there, they tell nothing.
fn has_zero_sector(file: &dyn FsFile, start: (u64, Offset), end: u64, bytes: u64) -> Result<bool> {
    let expected = start.1.to_le_bytes();
    let mut sector = [0; SECTOR_BYTES as usize];
    let mut at = start.0;
    while at < end {
        let until = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;
        let wanted = usize::try_from(until.min(bytes) - at).unwrap_or(0);
        let part = sector.get_mut(..wanted).unwrap_or_default();
        let read = file.read_at(part, at)?;
        let part = part.get(..read).unwrap_or_default();
        let as_expected = at == start.0 && expected.starts_with(part);
        if !as_expected && part.iter().all(|b| *b == 0) {
            return Ok(true);
        }
        at = until;
    }
    Ok(false)
}
