//! Rows by key on their way out: the values as they are stored, each behind its length.
//!
//! Length (of all that follows), magic 0, count; then for each row its length, its schema id and the row. Numbers are little-endian.

use sluice_base::{Error, ErrorKind, Result, Subject};

const LENGTH_BYTES: usize = 4;
const HEADER_BYTES: usize = 9;
const MAGIC: u8 = 0;

/// A batch of stored values under construction.
#[derive(Debug)]
pub struct ValueBatch {
    bytes: Vec<u8>,
    count: i32,
}

impl Default for ValueBatch {
    fn default() -> Self {
        Self { bytes: vec![0; HEADER_BYTES], count: 0 }
    }
}

impl ValueBatch {
    /// Appends a stored value: schema id and row.
    ///
    /// # Errors
    /// `Invalid` about `Row` when the batch would pass 2 GiB.
    pub fn push(&mut self, value: &[u8]) -> Result<()> {
        let most = i32::MAX as usize;
        if self.bytes.len() + LENGTH_BYTES + value.len() > most {
            return Err(Error::invalid(Subject::Row, "the rows together are more than 2 GiB; ask for fewer"));
        }
        // Checked above.
        let length = i32::try_from(value.len()).unwrap_or(0);
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(value);
        self.count += 1;
        Ok(())
    }

    /// Bytes so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The batch.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        let length = i32::try_from(self.bytes.len() - LENGTH_BYTES).unwrap_or(i32::MAX);
        let head = length.to_le_bytes().into_iter().chain([MAGIC]).chain(self.count.to_le_bytes());
        for (place, byte) in self.bytes.iter_mut().zip(head) {
            *place = byte;
        }
        self.bytes
    }
}

/// The stored values of a batch, in order: each a schema id and a row.
///
/// # Errors
/// `Corrupt` about `Row` when the bytes do not hold together.
pub fn stored_values(batch: &[u8]) -> Result<Vec<&[u8]>> {
    let damaged = || Error::new(ErrorKind::Corrupt, Subject::Row, "a batch of stored rows does not hold together");
    let number = |bytes: &[u8]| Some(i32::from_le_bytes(bytes.first_chunk().copied()?));
    let magic = batch.get(LENGTH_BYTES).copied();
    let count = batch.get(LENGTH_BYTES + 1..HEADER_BYTES).and_then(number).and_then(|c| usize::try_from(c).ok());
    let (Some(MAGIC), Some(count)) = (magic, count) else { return Err(damaged()) };
    let mut rest = batch.get(HEADER_BYTES..).unwrap_or_default();
    let mut values = Vec::with_capacity(count.min(rest.len() / LENGTH_BYTES));
    for _ in 0..count {
        let length = number(rest).and_then(|n| usize::try_from(n).ok()).ok_or_else(damaged)?;
        let (value, behind) = rest.get(LENGTH_BYTES..).and_then(|r| r.split_at_checked(length)).ok_or_else(damaged)?;
        values.push(value);
        rest = behind;
    }
    if rest.is_empty() { Ok(values) } else { Err(damaged()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_behind_their_lengths() {
        let mut batch = ValueBatch::default();
        batch.push(b"\x01\x00\x00\x01\x05java1").unwrap();
        batch.push(b"\x02\x00\x01").unwrap();
        assert_eq!(batch.finish(), b"\x1a\0\0\0\0\x02\0\0\0\x0a\0\0\0\x01\x00\x00\x01\x05java1\x03\0\0\0\x02\x00\x01");
        assert_eq!(ValueBatch::default().finish(), b"\x05\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn values_are_found_again_and_damage_is_named() {
        let mut batch = ValueBatch::default();
        batch.push(b"ab").unwrap();
        batch.push(b"").unwrap();
        let bytes = batch.finish();
        assert_eq!(stored_values(&bytes).unwrap(), [b"ab".as_slice(), b""]);
        assert!(stored_values(&ValueBatch::default().finish()).unwrap().is_empty());
        for cut in 0..bytes.len() {
            assert_eq!(stored_values(&bytes[..cut]).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }
}
