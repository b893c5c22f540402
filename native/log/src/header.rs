//! The header of a log batch and its checksum (protocol, log record batch, magic 0).
//!
//! Base offset and timestamp stand before the checksummed range, so that the log stamps them in place.

use sluice_base::{Error, Offset, Result, SchemaId, Subject};

/// Bytes of a batch header.
pub const BATCH_HEADER_BYTES: usize = 48;

/// Bytes before the range that `length` counts.
pub(crate) const LENGTH_PREFIX_BYTES: usize = 12;
const MAGIC: u8 = 0;
const LENGTH_AT: usize = 8;
const MAGIC_AT: usize = 12;
const TIMESTAMP_AT: usize = 13;
const CRC_AT: usize = 21;
const CRC_FROM: usize = 25;
const SCHEMA_ID_AT: usize = 25;
const ATTRIBUTES_AT: usize = 27;
const LAST_OFFSET_DELTA_AT: usize = 28;
const WRITER_ID_AT: usize = 32;
const BATCH_SEQUENCE_AT: usize = 40;
const RECORD_COUNT_AT: usize = 44;
const APPEND_ONLY_BIT: u8 = 1;

/// The 48 bytes in front of every batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset of the first record.
    pub base_offset: Offset,
    /// Bytes behind the length field.
    pub length: i32,
    /// Commit time of all its records, milliseconds since 1970-01-01 UTC.
    pub timestamp_ms: i64,
    /// CRC-32C of everything from the schema id on.
    pub crc: u32,
    /// Schema of the records.
    pub schema_id: SchemaId,
    /// Whether all records are appends, so that no kinds are stored.
    pub append_only: bool,
    /// Last record's offset minus the first's; 0 for an empty batch.
    pub last_offset_delta: i32,
    /// Writer, or -1.
    pub writer_id: i64,
    /// Number of the batch among its writer's, or -1.
    pub batch_sequence: i32,
    /// Number of records.
    pub record_count: i32,
}

fn fixed<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let found = bytes.get(at..at + N).and_then(|b| b.try_into().ok());
    found.ok_or_else(|| {
        Error::corrupt(format!("a log batch needs {BATCH_HEADER_BYTES} bytes of header, but {} are there", bytes.len()))
    })
}

impl BatchHeader {
    /// Reads and checks a header. Only the header is looked at: the batch may be longer than `bytes`.
    ///
    /// # Errors
    /// `Corrupt` when bytes are missing or fields contradict each other; `Unsupported` for another magic.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let head: [u8; BATCH_HEADER_BYTES] = fixed(bytes, 0)?;
        let [attributes] = fixed(&head, ATTRIBUTES_AT)?;
        let header = Self {
            base_offset: i64::from_le_bytes(fixed(&head, 0)?),
            length: i32::from_le_bytes(fixed(&head, LENGTH_AT)?),
            timestamp_ms: i64::from_le_bytes(fixed(&head, TIMESTAMP_AT)?),
            crc: u32::from_le_bytes(fixed(&head, CRC_AT)?),
            schema_id: SchemaId(i16::from_le_bytes(fixed(&head, SCHEMA_ID_AT)?)),
            append_only: attributes & APPEND_ONLY_BIT != 0,
            last_offset_delta: i32::from_le_bytes(fixed(&head, LAST_OFFSET_DELTA_AT)?),
            writer_id: i64::from_le_bytes(fixed(&head, WRITER_ID_AT)?),
            batch_sequence: i32::from_le_bytes(fixed(&head, BATCH_SEQUENCE_AT)?),
            record_count: i32::from_le_bytes(fixed(&head, RECORD_COUNT_AT)?),
        };
        match head[MAGIC_AT] {
            MAGIC => header.check(),
            other => Err(Error::unsupported(Subject::File, format!("log batch of magic {other}; only 0 can be read"))),
        }
    }

    fn check(self) -> Result<Self> {
        let kinds = if self.append_only { 0 } else { self.record_count };
        let shortest = (BATCH_HEADER_BYTES - LENGTH_PREFIX_BYTES) as i64 + i64::from(kinds);
        let bad = |what: String| Err(Error::corrupt(format!("log batch at offset {}: {what}", self.base_offset)));
        if self.base_offset < 0 {
            return bad("negative offset".to_owned());
        }
        if self.record_count < 0 || self.last_offset_delta != (self.record_count - 1).max(0) {
            return bad(format!("{} records, last offset delta {}", self.record_count, self.last_offset_delta));
        }
        if i64::from(self.length) < shortest {
            return bad(format!("length {} is below {shortest}", self.length));
        }
        Ok(self)
    }

    /// Offset of the first record behind this batch.
    #[must_use]
    pub fn next_offset(&self) -> Offset {
        self.base_offset.saturating_add(i64::from(self.last_offset_delta)).saturating_add(1)
    }

    /// Bytes of the whole batch.
    #[must_use]
    pub fn total_bytes(&self) -> usize {
        LENGTH_PREFIX_BYTES + usize::try_from(self.length).unwrap_or(0)
    }

    /// Bytes of change kinds between header and Arrow message.
    pub(crate) fn kinds_bytes(&self) -> usize {
        if self.append_only { 0 } else { usize::try_from(self.record_count).unwrap_or(0) }
    }
}

/// Whether a whole batch's checksum is right.
#[must_use]
pub fn verify_crc(batch: &[u8]) -> bool {
    match (fixed(batch, CRC_AT), batch.get(CRC_FROM..)) {
        (Ok(stored), Some(covered)) if batch.len() >= BATCH_HEADER_BYTES => {
            crc32c::crc32c(covered) == u32::from_le_bytes(stored)
        }
        _ => false,
    }
}

/// Writes what the log decides into a batch; outside the checksum.
pub(crate) fn stamp(batch: &mut [u8], base_offset: Offset, timestamp_ms: i64) -> Result<()> {
    let length = batch.len();
    let mut put = |at: usize, value: i64| match batch.get_mut(at..at + 8) {
        Some(place) => {
            place.copy_from_slice(&value.to_le_bytes());
            Ok(())
        }
        None => Err(Error::internal(format!("a batch of {length} bytes has no header"))),
    };
    put(0, base_offset)?;
    put(TIMESTAMP_AT, timestamp_ms)
}

/// The header of a batch that is about to be written; [`seal`] completes it.
pub(crate) fn open_header(
    schema_id: SchemaId,
    append_only: bool,
    records: i32,
    writer: (i64, i32),
) -> [u8; BATCH_HEADER_BYTES] {
    let mut head = [0; BATCH_HEADER_BYTES];
    head[SCHEMA_ID_AT..ATTRIBUTES_AT].copy_from_slice(&schema_id.0.to_le_bytes());
    head[ATTRIBUTES_AT] = if append_only { APPEND_ONLY_BIT } else { 0 };
    head[LAST_OFFSET_DELTA_AT..WRITER_ID_AT].copy_from_slice(&(records - 1).max(0).to_le_bytes());
    head[WRITER_ID_AT..BATCH_SEQUENCE_AT].copy_from_slice(&writer.0.to_le_bytes());
    head[BATCH_SEQUENCE_AT..RECORD_COUNT_AT].copy_from_slice(&writer.1.to_le_bytes());
    head[RECORD_COUNT_AT..].copy_from_slice(&records.to_le_bytes());
    head
}

/// Writes the length of a whole batch into its header.
pub(crate) fn set_length(batch: &mut [u8], length: i32) {
    if let Some(place) = batch.get_mut(LENGTH_AT..LENGTH_AT + 4) {
        place.copy_from_slice(&length.to_le_bytes());
    }
}

/// Writes length and checksum of a whole batch into its header.
pub(crate) fn seal(batch: &mut [u8], length: i32) {
    let crc = crc32c::crc32c(batch.get(CRC_FROM..).unwrap_or_default());
    set_length(batch, length);
    if let Some(place) = batch.get_mut(CRC_AT..CRC_AT + 4) {
        place.copy_from_slice(&crc.to_le_bytes());
    }
}
