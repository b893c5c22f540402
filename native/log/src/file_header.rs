//! The 64 bytes in front of every file of a log: what it is, its format version, its base offset.
//!
//! Magic, version and checksum keep their places in every version, so that an old build can refuse a new file by name.

use sluice_base::{Error, Offset, Result, Subject};
use std::path::Path;

pub(crate) const FILE_HEADER_BYTES: u64 = 64;
pub(crate) const SEGMENT_MAGIC: [u8; 8] = *b"SLUICLOG";
pub(crate) const INDEX_MAGIC: [u8; 8] = *b"SLUICIDX";
pub(crate) const STATISTICS_MAGIC: [u8; 8] = *b"SLUICSTA";
pub(crate) const POINT_MAGIC: [u8; 8] = *b"SLUICRCP";
pub(crate) const WRITERS_MAGIC: [u8; 8] = *b"SLUICWRT";
pub(crate) const FORMAT_VERSION: u32 = 1;

const VERSION_AT: usize = 8;
const OFFSET_AT: usize = 16;
const BODY_AT: usize = 24;
const CRC_AT: usize = 60;
const BYTES: usize = FILE_HEADER_BYTES as usize;

/// Room for what a kind of file keeps in its header besides its offset.
pub(crate) const BODY_BYTES: usize = CRC_AT - BODY_AT;

/// The header as bytes.
pub(crate) fn encode(magic: [u8; 8], offset: Offset, body: &[u8; BODY_BYTES]) -> [u8; BYTES] {
    let mut head = [0; BYTES];
    head[..VERSION_AT].copy_from_slice(&magic);
    head[VERSION_AT..VERSION_AT + 4].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    head[OFFSET_AT..BODY_AT].copy_from_slice(&offset.to_le_bytes());
    head[BODY_AT..CRC_AT].copy_from_slice(body);
    let crc = crc32c::crc32c(&head[..CRC_AT]);
    head[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
    head
}

/// Checks a header; gives the offset and the rest of its content.
///
/// # Errors
/// `Corrupt` naming the file; `Unsupported` naming it when a newer version wrote it.
pub(crate) fn decode(magic: [u8; 8], bytes: &[u8], path: &Path) -> Result<(Offset, [u8; BODY_BYTES])> {
    let damaged = |what: &str| Error::corrupt(format!("{}, position 0: {what}", path.display()));
    let head: &[u8; BYTES] = bytes.first_chunk().ok_or_else(|| damaged("the file header is cut short"))?;
    let word = |at: usize| head.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
    if head[..VERSION_AT] != magic {
        return Err(damaged(&format!("the file does not begin with {}", String::from_utf8_lossy(&magic))));
    }
    if word(CRC_AT) != crc32c::crc32c(&head[..CRC_AT]) {
        return Err(damaged("the file header's checksum is wrong"));
    }
    if word(VERSION_AT) != FORMAT_VERSION {
        let (file, version) = (path.display(), word(VERSION_AT));
        return Err(Error::unsupported(
            Subject::File,
            format!("{file} has format version {version}, this build reads up to {FORMAT_VERSION}; use a newer Sluice"),
        ));
    }
    let offset = head.get(OFFSET_AT..BODY_AT).and_then(|b| b.try_into().ok()).map_or(0, i64::from_le_bytes);
    let body = head.get(BODY_AT..CRC_AT).and_then(|b| b.try_into().ok()).unwrap_or([0; BODY_BYTES]);
    Ok((offset, body))
}
