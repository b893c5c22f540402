//! "Rows out" of `docs/jni.md`: a batch of rows as one run of bytes.

use sluice_api::{LookupRows, ScanBatch, ScanStart};
use sluice_base::{Error, Result};
use sluice_row::{BinaryRowWriter, ChangeKind};

const FORMAT_VERSION: u32 = 1;
const HEADER_BYTES: usize = 48;
const HAS_KINDS: u32 = 1;
const FINISHED: u32 = 2;
const NEXT_COUNTS_SNAPSHOT_ROWS: u32 = 4;
const IS_LOOKUP: u32 = 8;

/// A buffer that one extraordinary block made larger than this is not kept for the next.
const KEEP_BYTES: usize = 16 << 20;

/// Writes blocks of rows of fixed types, and keeps its buffers between them.
#[derive(Debug)]
pub struct BlockWriter {
    rows: BinaryRowWriter,
    bytes: Vec<u8>,
    starts: Vec<u32>,
}

struct Header<'a> {
    split: u32,
    flags: u32,
    next: i64,
    base_offset: i64,
    timestamp_ms: i64,
    ends: &'a [u32],
    kinds: Option<&'a [ChangeKind]>,
}

/// Flink's byte for a kind of change.
pub fn row_kind(kind: ChangeKind) -> u8 {
    match kind {
        ChangeKind::Append | ChangeKind::Insert => 0,
        ChangeKind::UpdateBefore => 1,
        ChangeKind::UpdateAfter => 2,
        ChangeKind::Delete => 3,
    }
}

impl BlockWriter {
    pub fn new(rows: BinaryRowWriter) -> Self {
        Self { rows, bytes: Vec::new(), starts: Vec::new() }
    }

    /// The block of a scanned batch.
    pub fn scan(&mut self, batch: &ScanBatch) -> Result<&[u8]> {
        let (next, counts_rows) = match batch.next {
            ScanStart::Log { offset } => (offset, false),
            ScanStart::Snapshot { skip_rows, .. } => (i64::try_from(skip_rows).unwrap_or(i64::MAX), true),
            // Splits that end by themselves and are read anew after a failure.
            ScanStart::Current | ScanStart::Limit { .. } => (0, true),
        };
        let header = Header {
            split: batch.split,
            flags: if batch.finished { FINISHED } else { 0 } | if counts_rows { NEXT_COUNTS_SNAPSHOT_ROWS } else { 0 },
            next,
            base_offset: batch.base_offset,
            timestamp_ms: batch.timestamp_ms,
            ends: &[],
            kinds: batch.kinds.as_deref(),
        };
        self.write(&header, &batch.rows)
    }

    /// The block that answers a lookup.
    pub fn lookup(&mut self, found: &LookupRows) -> Result<&[u8]> {
        let header = Header {
            split: 0,
            flags: IS_LOOKUP,
            next: 0,
            base_offset: -1,
            timestamp_ms: -1,
            ends: &found.ends,
            kinds: None,
        };
        self.write(&header, &found.rows)
    }

    fn write(&mut self, header: &Header<'_>, rows: &arrow_array::RecordBatch) -> Result<&[u8]> {
        let count = rows.num_rows();
        if header.kinds.is_some_and(|kinds| kinds.len() != count) {
            return Err(Error::internal(format!("a batch of {count} rows has another number of kinds")));
        }
        self.bytes.clear();
        self.bytes.shrink_to(KEEP_BYTES);
        self.starts.clear();
        header.write(count, &mut self.bytes);
        self.rows.write(rows, &mut self.bytes, &mut self.starts)?;
        if self.starts.len() != count + 1 {
            return Err(Error::internal(format!("{count} rows were given {} positions", self.starts.len())));
        }
        let table = self.bytes.get_mut(HEADER_BYTES..HEADER_BYTES + 4 * (count + 1)).unwrap_or_default();
        for (place, start) in table.chunks_exact_mut(4).zip(&self.starts) {
            place.copy_from_slice(&start.to_le_bytes());
        }
        Ok(&self.bytes)
    }
}

impl Header<'_> {
    /// All that stands before the rows; the positions are zeros until the rows are written.
    fn write(&self, rows: usize, out: &mut Vec<u8>) {
        let kinds = if self.kinds.is_some() { HAS_KINDS } else { 0 };
        for word in [FORMAT_VERSION, self.split, rows as u32, self.flags | kinds] {
            out.extend(word.to_le_bytes());
        }
        for word in [self.next, self.base_offset, self.timestamp_ms, self.ends.len() as i64] {
            out.extend(word.to_le_bytes()); // the last one is the count of keys and the unused four bytes
        }
        out.resize(out.len() + 4 * (rows + 1), 0);
        self.ends.iter().for_each(|end| out.extend(end.to_le_bytes()));
        out.extend(self.kinds.unwrap_or_default().iter().map(|kind| row_kind(*kind)));
        out.resize(out.len().next_multiple_of(8), 0);
    }
}

#[cfg(test)]
mod tests;
