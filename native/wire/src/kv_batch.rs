//! Rows by key on their way in: one batch of upserts and deletes for one bucket.
//!
//! | at | bytes | |
//! |---|---|---|
//! | 0 | 4 | length of all that follows |
//! | 4 | 1 | magic 0 |
//! | 5 | 4 | CRC-32C of all that follows it |
//! | 9 | 2 | schema id |
//! | 11 | 1 | attributes, 0 |
//! | 12 | 8 | writer id, -1 for none |
//! | 20 | 4 | batch sequence, -1 for none |
//! | 24 | 4 | number of records |
//! | 28 | | records: length, key length as LEB128, key, row; a record without a row deletes |

use sluice_base::{Error, ErrorKind, Result, SchemaId, Subject};

const HEADER_BYTES: usize = 28;
const LENGTH_BYTES: usize = 4;
const MAGIC_AT: usize = 4;
const CRC_AT: usize = 5;
const CRC_FROM: usize = 9;
const WRITER_AT: usize = 12;
const MAGIC: u8 = 0;
/// A record is at least its length and the length of an empty key.
const RECORD_BYTES_MIN: usize = 5;

/// A batch whose header and checksum are right.
#[derive(Debug, Clone, Copy)]
pub struct KvBatch<'a> {
    /// Schema of its rows.
    pub schema_id: SchemaId,
    /// Writer id and batch sequence; (-1, -1) for none.
    pub writer: (i64, i32),
    count: usize,
    records: &'a [u8],
}

fn fixed<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let found = bytes.get(at..at + N).and_then(|b| b.try_into().ok());
    found.ok_or_else(|| damaged(format!("{} bytes are too few for a batch of rows", bytes.len())))
}

/// Bytes that came over the wire and do not hold together. Its kind is `Corrupt`, for which clients send again.
fn damaged(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, Subject::Row, what)
}

impl<'a> KvBatch<'a> {
    /// Reads the header of exactly one batch and verifies its checksum.
    ///
    /// # Errors
    /// `Corrupt` about `Row` when the bytes do not hold together, or are of another magic.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let told = i64::from(i32::from_le_bytes(fixed(bytes, 0)?));
        let [magic] = fixed(bytes, MAGIC_AT)?;
        let count = i32::from_le_bytes(fixed(bytes, 24)?);
        if magic != MAGIC {
            return Err(damaged(format!("a batch of rows of magic {magic}; only 0 can be read")));
        }
        if told + LENGTH_BYTES as i64 != bytes.len() as i64 {
            return Err(damaged(format!("a batch of rows says {told} bytes, but has {}", bytes.len() - LENGTH_BYTES)));
        }
        let crc = crc32c::crc32c(bytes.get(CRC_FROM..).unwrap_or_default());
        if crc != u32::from_le_bytes(fixed(bytes, CRC_AT)?) {
            return Err(damaged("the checksum of a batch of rows is wrong"));
        }
        let records = bytes.get(HEADER_BYTES..).unwrap_or_default();
        let count = usize::try_from(count).ok().filter(|c| *c <= records.len() / RECORD_BYTES_MIN);
        Ok(Self {
            schema_id: SchemaId(i16::from_le_bytes(fixed(bytes, CRC_FROM)?)),
            writer: (i64::from_le_bytes(fixed(bytes, 12)?), i32::from_le_bytes(fixed(bytes, 20)?)),
            count: count.ok_or_else(|| damaged("a batch of rows says more records than fit"))?,
            records,
        })
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The records in order.
    #[must_use]
    pub fn records(&self) -> KvRecords<'a> {
        KvRecords { rest: self.records, left: self.count }
    }
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvRecord<'a> {
    /// The encoded key.
    pub key: &'a [u8],
    /// The encoded row; `None` deletes.
    pub row: Option<&'a [u8]>,
}

/// Walks over the records; ends after an error.
#[derive(Debug)]
pub struct KvRecords<'a> {
    rest: &'a [u8],
    left: usize,
}

impl<'a> KvRecords<'a> {
    fn take(&mut self) -> Option<KvRecord<'a>> {
        let (length, rest) = self.rest.split_first_chunk::<LENGTH_BYTES>()?;
        let (record, rest) = rest.split_at_checked(usize::try_from(i32::from_le_bytes(*length)).ok()?)?;
        let (key_length, behind) = leb128(record)?;
        let (key, row) = behind.split_at_checked(key_length)?;
        self.rest = rest;
        Some(KvRecord { key, row: (!row.is_empty()).then_some(row) })
    }
}

impl<'a> Iterator for KvRecords<'a> {
    type Item = Result<KvRecord<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            let leftover = !std::mem::take(&mut self.rest).is_empty();
            return leftover.then(|| Err(damaged("a batch of rows has bytes behind its last record")));
        }
        self.left -= 1;
        let record = self.take();
        if record.is_none() {
            (self.left, self.rest) = (0, &[]);
        }
        Some(record.ok_or_else(|| damaged("a record of a batch of rows reaches over its end")))
    }
}

/// A length of up to 31 bits and what stands behind it.
fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_u64;
    for (i, byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(value).ok().filter(|v| *v <= i32::MAX as usize)?, bytes.get(i + 1..)?));
        }
    }
    None
}

/// Writes a batch, as a client does.
#[derive(Debug, Clone)]
pub struct KvBatchWriter {
    bytes: Vec<u8>,
    count: i32,
}

impl KvBatchWriter {
    /// An empty batch. `writer` is writer id and batch sequence, (-1, -1) for none.
    #[must_use]
    pub fn new(schema_id: SchemaId, writer: (i64, i32)) -> Self {
        let mut bytes = vec![0; CRC_FROM];
        bytes.extend_from_slice(&schema_id.0.to_le_bytes());
        bytes.push(0);
        bytes.extend_from_slice(&writer.0.to_le_bytes());
        bytes.extend_from_slice(&writer.1.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        Self { bytes, count: 0 }
    }

    /// Appends a record; a row of `None` deletes.
    ///
    /// # Errors
    /// `Invalid` about `Row` when the batch would pass 2 GiB.
    pub fn push(&mut self, key: &[u8], row: Option<&[u8]>) -> Result<()> {
        let row = row.unwrap_or_default();
        let mut key_length = Vec::new();
        let mut left = key.len();
        while left > 0x7f {
            key_length.push(0x80 | (left & 0x7f) as u8);
            left >>= 7;
        }
        key_length.push((left & 0x7f) as u8);
        let length = key_length.len() + key.len() + row.len();
        let told = i32::try_from(length).ok().filter(|_| self.bytes.len() + length < i32::MAX as usize);
        let told = told.ok_or_else(|| Error::invalid(Subject::Row, "a batch of rows holds at most 2 GiB"))?;
        for part in [&told.to_le_bytes()[..], &key_length, key, row] {
            self.bytes.extend_from_slice(part);
        }
        self.count += 1;
        Ok(())
    }

    /// Number of records so far.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or(0)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The batch, as that of this writer id and batch sequence.
    #[must_use]
    pub fn finish_as(mut self, writer: (i64, i32)) -> Vec<u8> {
        let parts = writer.0.to_le_bytes().into_iter().chain(writer.1.to_le_bytes());
        for (place, byte) in self.bytes.iter_mut().skip(WRITER_AT).zip(parts) {
            *place = byte;
        }
        self.finish()
    }

    /// The batch.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        let length = i32::try_from(self.bytes.len() - LENGTH_BYTES).unwrap_or(i32::MAX);
        let mut put = |at: usize, value: [u8; 4]| {
            if let Some(place) = self.bytes.get_mut(at..at + 4) {
                place.copy_from_slice(&value);
            }
        };
        put(24, self.count.to_le_bytes());
        put(0, length.to_le_bytes());
        let crc = crc32c::crc32c(self.bytes.get(CRC_FROM..).unwrap_or_default());
        if let Some(place) = self.bytes.get_mut(CRC_AT..CRC_FROM) {
            place.copy_from_slice(&crc.to_le_bytes());
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests;
