//! Reading and writing a message, without naming the library behind it.

use bytes::Bytes;
use sluice_base::{Error, Result, Subject};

/// A message of the protocol.
pub trait Body: Sized {
    /// Reads a message from exactly these bytes; fields that are not known are passed over, those that are missing read as zero or
    /// empty. Fields of bytes share their memory.
    ///
    /// # Errors
    /// `Invalid` when the bytes are not such a message.
    fn decode_from(bytes: Bytes) -> Result<Self>;

    /// How many bytes it is long.
    fn length(&self) -> usize;

    /// Appends it.
    fn append_to(&self, out: &mut Vec<u8>);
}

impl<M: prost::Message + Default> Body for M {
    fn decode_from(bytes: Bytes) -> Result<Self> {
        M::decode(bytes).map_err(|e| Error::invalid(Subject::None, format!("the message cannot be read: {e}")))
    }

    fn length(&self) -> usize {
        self.encoded_len()
    }

    fn append_to(&self, out: &mut Vec<u8>) {
        self.encode_raw(out);
    }
}
