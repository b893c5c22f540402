//! Where batches begin: a sparse index of one segment by offset and by time.
//!
//! One file serves both questions, for timestamps never go backwards within a log. Entries are hints that can be made again
//! from the segment; each carries its own checksum, and a file is believed up to its first bad entry.

use crate::file_header::{self, BODY_BYTES, FILE_HEADER_BYTES, INDEX_MAGIC};
use sluice_base::{Error, ErrorKind, Fs, Offset, Result};
use std::path::Path;

const ENTRY_BYTES: usize = 32;
const CRC_AT: usize = 24;

/// A batch that begins at `position`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub offset: Offset,
    pub position: u64,
    pub timestamp_ms: i64,
}

impl Entry {
    fn encode(self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.position.to_le_bytes());
        out.extend_from_slice(&self.timestamp_ms.to_le_bytes());
        let crc = crc32c::crc32c(out.get(start..).unwrap_or_default());
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| bytes.get(at..at + 8)?.try_into().ok();
        let crc = u32::from_le_bytes(bytes.get(CRC_AT..CRC_AT + 4)?.try_into().ok()?);
        let entry = Self {
            offset: i64::from_le_bytes(word(0)?),
            position: u64::from_le_bytes(word(8)?),
            timestamp_ms: i64::from_le_bytes(word(16)?),
        };
        (crc32c::crc32c(bytes.get(..CRC_AT)?) == crc).then_some(entry)
    }
}

/// Entries in order of offset, position and time.
#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: Vec<Entry>,
    /// How many entries stand safely in the file; 0 also when the whole file must be written anew.
    saved: usize,
    /// Whether the file holds more than that, which must not be believed later.
    stale: bool,
    /// Timestamp of the segment's last batch, `None` for a segment without batches.
    pub last_timestamp_ms: Option<i64>,
}

impl Index {
    /// Reads the entries below `position_limit`, as far as they are believable. A missing file has none.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn load(fs: &dyn Fs, path: &Path, base: Offset, position_limit: u64) -> Result<Self> {
        let bytes = match fs.read(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            read => read?,
        };
        // Damage and unknown versions alike only mean that the index is made again.
        if file_header::decode(INDEX_MAGIC, &bytes, path).ok().map(|(offset, _)| offset) != Some(base) {
            return Ok(Self { stale: true, ..Self::default() });
        }
        let body = bytes.get(FILE_HEADER_BYTES as usize..).unwrap_or_default();
        let mut entries: Vec<Entry> = Vec::with_capacity(body.len() / ENTRY_BYTES);
        for entry in body.chunks_exact(ENTRY_BYTES).map_while(Entry::decode) {
            let first = Entry { offset: base, position: FILE_HEADER_BYTES, timestamp_ms: i64::MIN };
            let ordered = match entries.last() {
                None => entry.offset >= first.offset && entry.position >= first.position,
                Some(last) => entry.offset > last.offset && entry.position > last.position,
            };
            if !ordered || entry.position >= position_limit {
                break;
            }
            entries.push(entry);
        }
        let saved = entries.len();
        let stale = body.len() != saved * ENTRY_BYTES;
        Ok(Self { entries, saved, stale, last_timestamp_ms: None })
    }

    /// Notes a batch; keeps an entry when it begins at least `interval` bytes behind the last one kept.
    pub(crate) fn note(&mut self, entry: Entry, interval: u64) {
        let due = self.entries.last().is_none_or(|last| entry.position >= last.position.saturating_add(interval));
        if due {
            self.entries.push(entry);
        }
        self.last_timestamp_ms = Some(entry.timestamp_ms);
    }

    /// Keeps an entry in any case: the batch before it cannot be stepped over.
    pub(crate) fn force(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    pub(crate) fn last(&self) -> Option<Entry> {
        self.entries.last().copied()
    }

    /// The last entry at or below `offset`.
    pub(crate) fn floor(&self, offset: Offset) -> Option<Entry> {
        let after = self.entries.partition_point(|e| e.offset <= offset);
        self.entries.get(after.checked_sub(1)?).copied()
    }

    /// The last entry older than `timestamp_ms`.
    pub(crate) fn floor_by_time(&self, timestamp_ms: i64) -> Option<Entry> {
        let after = self.entries.partition_point(|e| e.timestamp_ms < timestamp_ms);
        self.entries.get(after.checked_sub(1)?).copied()
    }

    /// Entries within `start..end` of the file, in order.
    pub(crate) fn between(&self, start: u64, end: u64) -> Vec<Entry> {
        let from = self.entries.partition_point(|e| e.position < start);
        let to = self.entries.partition_point(|e| e.position < end);
        self.entries.get(from..to).unwrap_or_default().to_vec()
    }

    /// Whether the file holds all entries and nothing else.
    pub(crate) fn is_saved(&self) -> bool {
        self.saved == self.entries.len() && !self.stale
    }

    /// What must be written so that the file holds all entries below `position_limit`, if anything.
    pub(crate) fn unsaved(&self, position_limit: u64) -> Option<Unsaved> {
        let upto = self.entries.partition_point(|e| e.position < position_limit);
        let from = self.saved.min(upto);
        let entries = self.entries.get(from..upto).unwrap_or_default().to_vec();
        (self.stale || !entries.is_empty()).then_some(Unsaved { from, entries })
    }

    /// Takes note of what became of a write: how many entries the file holds, `None` when it failed.
    pub(crate) fn set_saved(&mut self, entries: Option<usize>) {
        self.saved = entries.unwrap_or(0);
        self.stale = entries.is_none();
    }
}

/// Entries that are not in the file yet; the first is number `from`.
#[derive(Debug)]
pub(crate) struct Unsaved {
    from: usize,
    entries: Vec<Entry>,
}

impl Unsaved {
    /// How many entries the file holds afterwards.
    pub(crate) fn upto(&self) -> usize {
        self.from + self.entries.len()
    }

    /// Writes the entries and makes the file durable. What stood behind them is cut off: it may stem from batches that a
    /// crash took back.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`; the file must then be written anew from its first entry.
    pub(crate) fn write(&self, fs: &dyn Fs, path: &Path, base: Offset) -> Result<()> {
        let mut bytes = Vec::with_capacity(FILE_HEADER_BYTES as usize + self.entries.len() * ENTRY_BYTES);
        let mut position = FILE_HEADER_BYTES + (self.from * ENTRY_BYTES) as u64;
        if self.from == 0 {
            bytes.extend_from_slice(&file_header::encode(INDEX_MAGIC, base, &[0; BODY_BYTES]));
            position = 0;
        }
        for entry in &self.entries {
            entry.encode(&mut bytes);
        }
        let file = fs.open(path)?;
        file.write_at(&bytes, position)?;
        file.set_len(position + bytes.len() as u64)?;
        file.sync().map_err(|e: Error| e.context("while saving an index"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_base::OsFs;

    fn entry(i: i64) -> Entry {
        Entry { offset: 100 + i * 10, position: 64 + i.unsigned_abs() * 5000, timestamp_ms: 1000 + i / 2 }
    }

    fn saved(dir: &Path, count: i64) -> (std::path::PathBuf, Index) {
        let path = dir.join("x.index");
        let mut index = Index::default();
        (0..count).for_each(|i| index.note(entry(i), 4096));
        let unsaved = index.unsaved(u64::MAX).unwrap();
        unsaved.write(&OsFs, &path, 100).unwrap();
        index.set_saved(Some(unsaved.upto()));
        (path, index)
    }

    #[test]
    fn answers_by_offset_and_by_time() {
        let dir = tempfile::tempdir().unwrap();
        let (path, index) = saved(dir.path(), 10);
        let loaded = Index::load(&OsFs, &path, 100, u64::MAX).unwrap();
        assert_eq!(loaded.entries, index.entries);
        for index in [index, loaded] {
            assert_eq!(index.floor(99), None);
            assert_eq!(index.floor(100), Some(entry(0)));
            assert_eq!(index.floor(119), Some(entry(1)));
            assert_eq!(index.floor(1 << 40), Some(entry(9)));
            assert_eq!(index.floor_by_time(1000), None);
            assert_eq!(index.floor_by_time(1001), Some(entry(1)));
            assert_eq!(index.between(5000, 11_000), [entry(1), entry(2)]);
        }
    }

    #[test]
    fn small_batches_share_an_entry() {
        let mut index = Index::default();
        for i in 0..100 {
            index.note(Entry { offset: i, position: 64 + i.unsigned_abs() * 100, timestamp_ms: i }, 4096);
        }
        assert_eq!(index.entries.iter().map(|e| e.offset).collect::<Vec<_>>(), [0, 41, 82]);
        assert_eq!(index.last_timestamp_ms, Some(99));
    }

    #[test]
    fn a_file_is_believed_up_to_its_first_flipped_bit() {
        let dir = tempfile::tempdir().unwrap();
        let (path, index) = saved(dir.path(), 6);
        let good = std::fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 4;
            std::fs::write(&path, &bad).unwrap();
            let loaded = Index::load(&OsFs, &path, 100, u64::MAX).unwrap();
            let believed = (at / ENTRY_BYTES).saturating_sub(2);
            let in_zeros = at >= 64 && at % ENTRY_BYTES >= CRC_AT + 4;
            let expected = if in_zeros { 6 } else { believed };
            assert_eq!(loaded.entries, index.entries[..expected], "bit flipped in byte {at}");
        }
    }

    #[test]
    fn entries_behind_the_recovery_point_are_not_believed_and_vanish_with_the_next_save() {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = saved(dir.path(), 6);
        let mut loaded = Index::load(&OsFs, &path, 100, entry(2).position).unwrap();
        assert_eq!(loaded.entries, [entry(0), entry(1)]);
        let other = Entry { offset: 125, position: entry(2).position, timestamp_ms: 1002 };
        loaded.note(other, 4096);
        loaded.unsaved(u64::MAX).unwrap().write(&OsFs, &path, 100).unwrap();
        assert_eq!(Index::load(&OsFs, &path, 100, u64::MAX).unwrap().entries, [entry(0), entry(1), other]);
    }

    #[test]
    fn an_index_of_another_segment_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = saved(dir.path(), 6);
        assert!(Index::load(&OsFs, &path, 101, u64::MAX).unwrap().entries.is_empty());
    }
}
