//! Many byte strings in one allocation.

/// Byte strings one after the other.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Packed {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Where to append the next string's bytes; [`Packed::close`] ends it.
    pub(crate) fn open(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Ends the string that was appended to [`Packed::open`]; returns its length.
    pub(crate) fn close(&mut self) -> usize {
        let start = self.ends.last().copied().unwrap_or(0);
        self.ends.push(self.bytes.len());
        self.bytes.len() - start
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// String number `i`; empty behind the last.
    pub(crate) fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends.get(i - 1).copied().unwrap_or(0) };
        let end = self.ends.get(i).copied().unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }
}
