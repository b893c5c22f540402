//! Stepping from batch to batch through a segment file, by headers alone or batch by whole batch.

use crate::{BATCH_HEADER_BYTES, BatchHeader};
use sluice_base::{Error, FsFile, Offset, Result};
use std::path::Path;

/// An error about a place in a file.
pub(crate) fn damaged_at(path: &Path, position: u64, what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("{}, position {position}: {what}", path.display()))
}

/// Bytes read at once when only headers matter: enough for a run of small batches, little waste before large ones.
pub(crate) const HEADER_CHUNK_BYTES: usize = 16 << 10;
/// Bytes read at once when all bytes matter.
pub(crate) const WHOLE_CHUNK_BYTES: usize = 1 << 20;

/// A cursor over `position..end` of a segment file.
pub(crate) struct Walk<'a> {
    file: &'a dyn FsFile,
    path: &'a Path,
    end: u64,
    chunk_bytes: usize,
    chunk: Vec<u8>,
    chunk_at: u64,
    /// Where the next batch begins.
    pub position: u64,
    /// Its base offset.
    pub offset: Offset,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(file: &'a dyn FsFile, path: &'a Path, end: u64, chunk_bytes: usize) -> Self {
        Self { file, path, end, chunk_bytes, chunk: Vec::new(), chunk_at: 0, position: 0, offset: 0 }
    }

    #[must_use]
    pub(crate) fn starting(mut self, position: u64, offset: Offset) -> Self {
        (self.position, self.offset) = (position, offset);
        self
    }

    /// Header of the batch at the cursor, checked for its offset and for lying within the file; `None` at the end.
    ///
    /// # Errors
    /// `Corrupt` naming file and position; `Io`.
    pub(crate) fn peek(&mut self) -> Result<Option<BatchHeader>> {
        if self.position >= self.end {
            return Ok(None);
        }
        let (position, expected) = (self.position, self.offset);
        let left = self.end - position;
        let path = self.path;
        let bytes = self.bytes(position, left.min(BATCH_HEADER_BYTES as u64) as usize)?;
        let header = BatchHeader::parse(bytes).map_err(|e| damaged_at(path, position, e.message()))?;
        if header.base_offset != expected {
            return Err(damaged_at(path, position, format!("offset {}, not {expected}", header.base_offset)));
        }
        if header.total_bytes() as u64 > left {
            let total = header.total_bytes();
            return Err(damaged_at(
                path,
                position,
                format!("a batch of {total} bytes, but the file ends after {left}"),
            ));
        }
        Ok(Some(header))
    }

    /// Steps over the batch whose header was peeked.
    pub(crate) fn advance(&mut self, header: &BatchHeader) {
        self.position += header.total_bytes() as u64;
        self.offset = header.next_offset();
    }

    /// Bytes of the file from `position` on; exactly `length` of them.
    ///
    /// # Errors
    /// `Corrupt` when the file is shorter; `Io`.
    pub(crate) fn bytes(&mut self, position: u64, length: usize) -> Result<&[u8]> {
        let known = position.checked_sub(self.chunk_at).and_then(|o| usize::try_from(o).ok());
        let within = known.filter(|o| o.checked_add(length).is_some_and(|e| e <= self.chunk.len()));
        let start = match within {
            Some(start) => start,
            None => {
                self.fill(position, length)?;
                0
            }
        };
        match self.chunk.get(start..start + length) {
            Some(bytes) => Ok(bytes),
            None => Err(damaged_at(self.path, position, format!("the file is shorter than {}", self.end))),
        }
    }

    fn fill(&mut self, position: u64, least: usize) -> Result<()> {
        let left = usize::try_from(self.end.saturating_sub(position)).unwrap_or(usize::MAX);
        self.chunk.resize(least.max(self.chunk_bytes.min(left)), 0);
        self.chunk_at = position;
        let read = self.file.read_at(&mut self.chunk, position);
        self.chunk.truncate(*read.as_ref().unwrap_or(&0));
        read.map(|_| ())
    }
}
