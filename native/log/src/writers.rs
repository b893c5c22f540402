//! Which batches each idempotent writer has appended last, so that one that is sent again is not appended again.
//!
//! Known from the headers of the log itself; a file beside it spares reading headers that it covers. The file never speaks of what is not
//! durable: a batch that a crash took back must be taken again.

use crate::BatchHeader;
use crate::file_header::{self, BODY_BYTES, FILE_HEADER_BYTES, WRITERS_MAGIC};
use sluice_base::{Error, ErrorKind, Fs, Offset, Result, Subject};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

/// A client has at most so many batches for one bucket on their way.
const BATCHES_KEPT: usize = 5;
/// A writer that appended nothing for so long is forgotten.
const FORGOTTEN_AFTER_MS: i64 = 7 * 86_400_000;
const ENTRY_BYTES: usize = 40;

/// One batch of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Batch {
    sequence: i32,
    base_offset: Offset,
    next_offset: Offset,
    timestamp_ms: i64,
}

/// The last batches of all writers of one log.
#[derive(Debug, Default)]
pub(crate) struct Writers {
    by_id: BTreeMap<i64, VecDeque<Batch>>,
    /// All batches below this offset are known.
    pub covered: Offset,
}

/// Name of the file.
pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join("writers")
}

impl Writers {
    pub(crate) fn starting(covered: Offset) -> Self {
        Self { by_id: BTreeMap::new(), covered }
    }

    /// Where the batch is if it was appended before (base offset, offset behind it); `None` when it is the writer's next one.
    ///
    /// # Errors
    /// `Conflict` about `Writer` when it is neither.
    pub(crate) fn check(&self, id: i64, sequence: i32, now_ms: i64) -> Result<Option<(Offset, Offset)>> {
        let known = self.by_id.get(&id).filter(|batches| batches.back().is_some_and(|b| !is_old(b, now_ms)));
        let last = known.and_then(|batches| batches.back());
        if let Some(same) = known.and_then(|batches| batches.iter().find(|b| b.sequence == sequence)) {
            return Ok(Some((same.base_offset, same.next_offset)));
        }
        let expected = last.map_or(0, |b| b.sequence.checked_add(1).unwrap_or(0));
        if sequence == expected {
            return Ok(None);
        }
        let message = format!(
            "batch {sequence} of writer {id} is out of order, {expected} is expected; open a new writer and write again what was not acknowledged"
        );
        Err(Error::new(ErrorKind::Conflict, Subject::Writer, message))
    }

    /// Notes an appended batch; one that is known already is passed over.
    pub(crate) fn note(&mut self, header: &BatchHeader) {
        if header.base_offset < self.covered {
            return;
        }
        self.covered = header.next_offset();
        if header.writer_id < 0 || header.batch_sequence < 0 {
            return;
        }
        let batches = self.by_id.entry(header.writer_id).or_default();
        if batches.len() == BATCHES_KEPT {
            batches.pop_front();
        }
        batches.push_back(Batch {
            sequence: header.batch_sequence,
            base_offset: header.base_offset,
            next_offset: header.next_offset(),
            timestamp_ms: header.timestamp_ms,
        });
    }

    fn drop_old(&mut self, now_ms: i64) {
        self.by_id.retain(|_, batches| batches.back().is_some_and(|b| !is_old(b, now_ms)));
    }

    /// The file: what is known of the log below `durable`.
    pub(crate) fn render(&mut self, durable: Offset, now_ms: i64) -> Vec<u8> {
        self.drop_old(now_ms);
        let mut entries = Vec::new();
        for (id, batches) in &self.by_id {
            for batch in batches.iter().filter(|b| b.next_offset <= durable) {
                entries.extend_from_slice(&id.to_le_bytes());
                entries.extend_from_slice(&i64::from(batch.sequence).to_le_bytes());
                entries.extend_from_slice(&batch.base_offset.to_le_bytes());
                entries.extend_from_slice(&batch.next_offset.to_le_bytes());
                entries.extend_from_slice(&batch.timestamp_ms.to_le_bytes());
            }
        }
        let mut body = [0; BODY_BYTES];
        body[..8].copy_from_slice(&(entries.len() as u64).to_le_bytes());
        body[8..12].copy_from_slice(&crc32c::crc32c(&entries).to_le_bytes());
        let covered = self.covered.min(durable);
        let mut bytes = file_header::encode(WRITERS_MAGIC, covered, &body).to_vec();
        bytes.append(&mut entries);
        bytes
    }

    /// Reads the file. `None` when it is missing, damaged, or speaks of more than the log holds: then headers tell everything.
    ///
    /// # Errors
    /// `Unsupported` when a newer version wrote it; `Io`.
    pub(crate) fn load(fs: &dyn Fs, dir: &Path, end: Offset) -> Result<Option<Self>> {
        let path = path(dir);
        let bytes = match fs.read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let (covered, body) = match file_header::decode(WRITERS_MAGIC, &bytes, &path) {
            Err(e) if e.kind() == ErrorKind::Corrupt => return Ok(None),
            decoded => decoded?,
        };
        let entries = bytes.get(FILE_HEADER_BYTES as usize..).unwrap_or_default();
        let length = u64::from_le_bytes(word(&body, 0));
        let crc = crc32c::crc32c(entries).to_le_bytes();
        if length != entries.len() as u64 || body.get(8..12) != Some(&crc[..]) || covered > end {
            return Ok(None);
        }
        let mut writers = Self::starting(covered);
        for entry in entries.chunks_exact(ENTRY_BYTES) {
            let number = |at: usize| i64::from_le_bytes(word(entry, at * 8));
            let Ok(sequence) = i32::try_from(number(1)) else { return Ok(None) };
            let batch = Batch { sequence, base_offset: number(2), next_offset: number(3), timestamp_ms: number(4) };
            writers.by_id.entry(number(0)).or_default().push_back(batch);
        }
        Ok(Some(writers))
    }
}

fn is_old(batch: &Batch, now_ms: i64) -> bool {
    batch.timestamp_ms < now_ms.saturating_sub(FORGOTTEN_AFTER_MS)
}

fn word(bytes: &[u8], at: usize) -> [u8; 8] {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).unwrap_or([0; 8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_base::{OsFs, SchemaId};

    fn batch(base_offset: Offset, writer_id: i64, batch_sequence: i32) -> BatchHeader {
        BatchHeader {
            base_offset,
            length: 36,
            timestamp_ms: 1,
            crc: 0,
            schema_id: SchemaId(1),
            append_only: true,
            last_offset_delta: 0,
            writer_id,
            batch_sequence,
            record_count: 1,
        }
    }

    #[test]
    fn the_next_one_is_taken_an_old_one_is_known_others_are_refused() {
        let mut writers = Writers::default();
        assert_eq!(writers.check(7, 0, 1).unwrap(), None);
        assert_eq!(writers.check(7, 1, 1).unwrap_err().kind(), ErrorKind::Conflict, "unknown writers begin with 0");
        for i in 0..7 {
            writers.note(&batch(i, 7, i32::try_from(i).unwrap()));
        }
        assert_eq!(writers.check(7, 7, 1).unwrap(), None);
        assert_eq!(writers.check(7, 6, 1).unwrap(), Some((6, 7)));
        assert_eq!(writers.check(7, 2, 1).unwrap(), Some((2, 3)));
        assert!(writers.check(7, 1, 1).is_err(), "too long ago");
        assert!(writers.check(7, 8, 1).is_err());
        assert_eq!(writers.check(8, 0, 1).unwrap(), None, "another writer");
        assert_eq!(writers.check(7, 0, 2 + FORGOTTEN_AFTER_MS).unwrap(), None, "forgotten");
    }

    #[test]
    fn sequences_begin_again_behind_the_highest() {
        let mut writers = Writers::default();
        writers.note(&batch(0, 7, i32::MAX));
        assert_eq!(writers.check(7, 0, 1).unwrap(), None);
        assert!(writers.check(7, 1, 1).is_err());
    }

    #[test]
    fn the_file_speaks_only_of_what_is_durable() {
        let dir = tempfile::tempdir().unwrap();
        let mut writers = Writers::default();
        for i in 0..4 {
            writers.note(&batch(i, 7, i32::try_from(i).unwrap()));
        }
        OsFs.replace(&path(dir.path()), &writers.render(3, 1)).unwrap();
        let loaded = Writers::load(&OsFs, dir.path(), 9).unwrap().unwrap();
        assert_eq!(loaded.covered, 3);
        assert_eq!(loaded.check(7, 2, 1).unwrap(), Some((2, 3)));
        assert_eq!(loaded.check(7, 3, 1).unwrap(), None);
        assert!(Writers::load(&OsFs, dir.path(), 2).unwrap().is_none(), "the log is shorter than the file says");
        let file = path(dir.path());
        let bytes = OsFs.read(&file).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            OsFs.replace(&file, &damaged).unwrap();
            assert!(Writers::load(&OsFs, dir.path(), 9).unwrap_or(None).is_none(), "bit {bit}");
        }
    }
}
