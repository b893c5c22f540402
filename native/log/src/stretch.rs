//! Statistics of the rows of one segment: in memory by stretches of consecutive batches, and in one file beside the segment.
//!
//! They are hints that can be made again from the rows. Each carries its own checksum; a file is believed up to its first bad entry and up
//! to the recovery point, for behind that a crash may have put other rows.

use crate::file_header::{self, BODY_BYTES, FILE_HEADER_BYTES, STATISTICS_MAGIC};
use sluice_base::{Error, ErrorKind, Fs, Offset, Result, SchemaId};
use sluice_row::Statistics;
use std::path::Path;

/// Batches share an entry until they have so many bytes together: few enough to skip finely, enough that entries stay small beside them.
const STRETCH_BYTES: u64 = 64 << 10;
/// Offsets, bytes, schema id, zeros, length of the statistics, CRC.
const HEAD_BYTES: usize = 36;
const CRC_AT: usize = 32;
/// So many stretches are judged before others may have the list.
const JUDGED_MAX: usize = 1024;
/// A run of wanted stretches ends when it has so many bytes.
const RUN_BYTES: u64 = 1 << 20;

/// Which rows of a segment, of which schema, and what is known of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub base: Offset,
    pub end: Offset,
    /// Bytes of their batches.
    pub bytes: u64,
    pub schema: SchemaId,
    /// Encoded [`Statistics`].
    pub statistics: Vec<u8>,
}

/// The next rows that a reader has to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// Nothing wanted lies before it.
    pub from: Offset,
    /// What lies from there on must be read up to here; the same as `from` when nothing must.
    pub until: Offset,
    /// Whether there are statistics of those rows.
    pub known: bool,
}

/// What tells from statistics whether rows of a schema are wanted.
pub type Keep<'a> = &'a dyn Fn(SchemaId, &Statistics) -> bool;

impl Stretch {
    fn encoded_bytes(&self) -> u64 {
        (HEAD_BYTES + self.statistics.len()) as u64
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.base.to_le_bytes());
        out.extend_from_slice(&self.end.to_le_bytes());
        out.extend_from_slice(&self.bytes.to_le_bytes());
        out.extend_from_slice(&self.schema.0.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&u32::try_from(self.statistics.len()).unwrap_or(u32::MAX).to_le_bytes());
        let crc = crc32c::crc32c_append(crc32c::crc32c(out.get(start..).unwrap_or_default()), &self.statistics);
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&self.statistics);
    }

    /// The entry at the start of `bytes`; `None` when it is damaged or cut off.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let head = bytes.get(..HEAD_BYTES)?;
        let word = |at: usize| head.get(at..at + 8)?.try_into().ok();
        let short = |at: usize| head.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
        let length = usize::try_from(short(28)?).ok()?;
        let statistics = bytes.get(HEAD_BYTES..HEAD_BYTES.checked_add(length)?)?;
        let crc = crc32c::crc32c_append(crc32c::crc32c(head.get(..CRC_AT)?), statistics);
        let stretch = Self {
            base: i64::from_le_bytes(word(0)?),
            end: i64::from_le_bytes(word(8)?),
            bytes: u64::from_le_bytes(word(16)?),
            schema: SchemaId(i16::from_le_bytes(head.get(24..26)?.try_into().ok()?)),
            statistics: statistics.to_vec(),
        };
        (short(CRC_AT)? == crc).then_some(stretch)
    }

    fn is_kept(&self, keep: Keep<'_>) -> bool {
        Statistics::decode(&self.statistics).is_none_or(|statistics| keep(self.schema, &statistics))
    }

    /// Takes the rows behind it in, if they belong together.
    fn join(&mut self, next: &Self) -> bool {
        if self.end != next.base || self.schema != next.schema || self.bytes >= STRETCH_BYTES {
            return false;
        }
        let (mine, theirs) = (Statistics::decode(&self.statistics), Statistics::decode(&next.statistics));
        let Some((mut mine, theirs)) = mine.zip(theirs) else { return false };
        mine.merge(&theirs);
        self.statistics.clear();
        mine.encode(&mut self.statistics);
        (self.end, self.bytes) = (next.end, self.bytes.saturating_add(next.bytes));
        true
    }
}

/// The stretches of one segment, in order; there may be gaps between them.
#[derive(Debug, Default)]
pub(crate) struct Stretches {
    list: Vec<Stretch>,
    /// How many stand safely in the file; 0 also when the whole file must be written anew.
    saved: usize,
    /// Whether the file holds more than that, which must not be believed later.
    stale: bool,
}

impl Stretches {
    /// Reads those below `limit`, as far as they are believable. A missing file has none.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn load(fs: &dyn Fs, path: &Path, base: Offset, limit: Offset) -> Result<Self> {
        let bytes = match fs.read(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            read => read?,
        };
        // Damage and unknown versions alike only mean that the statistics are made again.
        if file_header::decode(STATISTICS_MAGIC, &bytes, path).ok().map(|(offset, _)| offset) != Some(base) {
            return Ok(Self { stale: true, ..Self::default() });
        }
        let mut rest = bytes.get(FILE_HEADER_BYTES as usize..).unwrap_or_default();
        let mut list: Vec<Stretch> = Vec::new();
        while let Some(stretch) = Stretch::decode(rest) {
            let ordered = stretch.base >= list.last().map_or(base, |last| last.end) && stretch.end > stretch.base;
            if !ordered || stretch.end > limit {
                break;
            }
            rest = rest.get(HEAD_BYTES + stretch.statistics.len()..).unwrap_or_default();
            list.push(stretch);
        }
        Ok(Self { saved: list.len(), stale: !rest.is_empty(), list })
    }

    /// Notes what is known of rows of which nothing was known; known ones stay as they are.
    pub(crate) fn note(&mut self, stretch: Stretch) {
        let at = self.list.partition_point(|s| s.end <= stretch.base);
        if self.list.get(at).is_some_and(|next| next.base < stretch.end) {
            return;
        }
        let before = at.checked_sub(1);
        let joined = before.filter(|i| self.list.get_mut(*i).is_some_and(|last| last.join(&stretch)));
        if joined.is_none() {
            self.list.insert(at, stretch);
        }
        self.saved = self.saved.min(joined.unwrap_or(at));
    }

    /// What a reader at `at` has to look at below `limit`; `None` when nothing from `at` to `limit` is wanted.
    pub(crate) fn ahead(&self, mut at: Offset, limit: Offset, keep: Keep<'_>) -> Option<Ahead> {
        let first = self.list.partition_point(|s| s.end <= at);
        for (i, stretch) in self.list.iter().enumerate().skip(first) {
            if at >= limit {
                return None;
            }
            if stretch.base > at {
                return Some(Ahead { from: at, until: stretch.base.min(limit), known: false });
            }
            if stretch.is_kept(keep) {
                return Some(Ahead { from: at, until: self.run(i, limit, keep), known: true });
            }
            at = stretch.end;
            if i - first >= JUDGED_MAX {
                return Some(Ahead { from: at.min(limit), until: at.min(limit), known: true });
            }
        }
        (at < limit).then_some(Ahead { from: at, until: limit, known: false })
    }

    /// The end of the wanted stretches that follow each other from number `first` on.
    fn run(&self, first: usize, limit: Offset, keep: Keep<'_>) -> Offset {
        let Some(stretch) = self.list.get(first) else { return limit };
        let (mut until, mut bytes) = (stretch.end, stretch.bytes);
        for next in self.list.iter().skip(first + 1) {
            if until >= limit || bytes >= RUN_BYTES || next.base != until || !next.is_kept(keep) {
                break;
            }
            (until, bytes) = (next.end, bytes.saturating_add(next.bytes));
        }
        until.min(limit)
    }

    /// Whether the file holds all of them and nothing else.
    pub(crate) fn is_saved(&self) -> bool {
        self.saved == self.list.len() && !self.stale
    }

    /// Writes what the file does not hold yet below `limit` and makes it durable.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`; the next save then writes the file anew.
    pub(crate) fn save(&mut self, fs: &dyn Fs, path: &Path, base: Offset, limit: Offset) -> Result<()> {
        let upto = self.list.partition_point(|s| s.end <= limit);
        let from = self.saved.min(upto);
        if from == upto && !self.stale {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let mut position = FILE_HEADER_BYTES + self.list.iter().take(from).map(Stretch::encoded_bytes).sum::<u64>();
        if from == 0 {
            bytes.extend_from_slice(&file_header::encode(STATISTICS_MAGIC, base, &[0; BODY_BYTES]));
            position = 0;
        }
        self.list.iter().take(upto).skip(from).for_each(|s| s.encode(&mut bytes));
        let written = write_at(fs, path, &bytes, position);
        (self.saved, self.stale) = if written.is_ok() { (upto, false) } else { (0, true) };
        written
    }
}

fn write_at(fs: &dyn Fs, path: &Path, bytes: &[u8], position: u64) -> Result<()> {
    let file = fs.open(path)?;
    file.write_at(bytes, position)?;
    file.set_len(position + bytes.len() as u64)?;
    file.sync().map_err(|e: Error| e.context("while saving statistics"))
}

#[cfg(test)]
mod tests;
