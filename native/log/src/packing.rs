//! Packs the buffers of an uncompressed Arrow message with ZSTD, each for itself as Arrow wants it, and writes the metadata anew.
//!
//! Effort goes where it pays. A deeper level of ZSTD costs two to five times the time of the first one and on many buffers brings
//! nothing (offsets, digits, hashes), so a sample of each buffer decides which of the two packs it. The choice depends on the bytes
//! alone: equal rows give equal bytes.

use crate::ZstdLevel;
use arrow_ipc::{
    BodyCompressionBuilder, BodyCompressionMethod, Buffer, CompressionType, FieldNode, Message, MessageBuilder,
    MessageHeader, MetadataVersion, RecordBatchBuilder,
};
use flatbuffers::FlatBufferBuilder;
use sluice_base::{Error, Result};
use zstd::bulk::Compressor;

/// In front of each packed buffer stands its unpacked length.
const LENGTH_BYTES: usize = 8;
/// The length that says: the bytes follow as they are.
const STORED: i64 = -1;
/// Shorter buffers are not worth a frame's own bytes.
const PACKED_BYTES_MIN: usize = 32;
/// Shorter buffers are packed at the table's level without a sample.
const SAMPLED_BYTES_MIN: usize = 4 << 10;
const SAMPLE_BYTES_MIN: usize = 1 << 10;
const SAMPLE_BYTES_MAX: usize = 16 << 10;
/// A sample is this part of its buffer.
const SAMPLE_PART: usize = 16;
/// The deeper level must save this part of what the first one leaves.
const WORTH_PART: usize = 16;
const CONTINUATION: [u8; 4] = [0xff; 4];
const ALIGNMENT: usize = 8;

/// Two compressors, for the first level and for the table's, with their memory.
pub(crate) struct Packer {
    level: ZstdLevel,
    fast: Compressor<'static>,
    deep: Compressor<'static>,
    /// The body being made; only grows, so that its end is cleared once.
    body: Vec<u8>,
    buffers: Vec<Buffer>,
    metadata: FlatBufferBuilder<'static>,
}

fn failed(e: std::io::Error) -> Error {
    Error::internal(format!("ZSTD failed: {e}")).with_source(e)
}

fn foreign(what: impl std::fmt::Display) -> Error {
    Error::internal(format!("cannot pack an Arrow message: {what}"))
}

impl Packer {
    pub(crate) fn new(level: ZstdLevel) -> Result<Self> {
        let compressor = |level: ZstdLevel| Compressor::new(level.get()).map_err(failed);
        Ok(Self {
            level,
            fast: compressor(ZstdLevel::FIRST)?,
            deep: compressor(level)?,
            body: Vec::new(),
            buffers: Vec::new(),
            metadata: FlatBufferBuilder::new(),
        })
    }

    pub(crate) fn level(&self) -> ZstdLevel {
        self.level
    }

    /// Appends to `out` the message that `plain` and `body` make, with every buffer packed.
    pub(crate) fn pack(&mut self, plain: Message<'_>, body: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let batch = plain.header_as_record_batch().ok_or_else(|| foreign("it is no record batch"))?;
        let nodes: Vec<FieldNode> = batch.nodes().ok_or_else(|| foreign("no nodes"))?.iter().copied().collect();
        self.buffers.clear();
        let mut end = 0;
        for buffer in batch.buffers().ok_or_else(|| foreign("no buffers"))? {
            let range = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
            let bytes = range.and_then(|(at, length)| body.get(at..at.checked_add(length)?));
            let length = self.pack_buffer(bytes.ok_or_else(|| foreign("a buffer outside it"))?, end)?;
            self.buffers.push(Buffer::new(signed(end), signed(length)));
            end = self.pad(end + length);
        }
        self.write_metadata(batch.length(), &nodes, end, out)?;
        out.extend_from_slice(self.body.get(..end).unwrap_or_default());
        Ok(())
    }

    /// Puts one buffer, packed or as it is, at `at` of the body; returns its bytes there.
    fn pack_buffer(&mut self, bytes: &[u8], at: usize) -> Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let start = at + LENGTH_BYTES;
        let packed = match bytes.len() < PACKED_BYTES_MIN {
            true => None,
            false => self.try_pack(bytes, start)?.filter(|packed| *packed < bytes.len()),
        };
        let (told, length) = match packed {
            Some(packed) => (signed(bytes.len()), packed),
            None => {
                self.room(start, bytes.len()).copy_from_slice(bytes);
                (STORED, bytes.len())
            }
        };
        self.room(at, LENGTH_BYTES).copy_from_slice(&told.to_le_bytes());
        Ok(LENGTH_BYTES + length)
    }

    /// Packs a buffer to `at` of the body unless a sample says that it does not shrink.
    fn try_pack(&mut self, bytes: &[u8], at: usize) -> Result<Option<usize>> {
        let effort = self.effort(bytes, at)?;
        let bound = zstd::zstd_safe::compress_bound(bytes.len());
        match effort {
            Effort::None => Ok(None),
            Effort::First => self.compress(false, bytes, at, bound).map(Some),
            Effort::Level => self.compress(true, bytes, at, bound).map(Some),
        }
    }

    fn effort(&mut self, bytes: &[u8], at: usize) -> Result<Effort> {
        if bytes.len() < SAMPLED_BYTES_MIN {
            return Ok(Effort::Level);
        }
        let length = (bytes.len() / SAMPLE_PART).clamp(SAMPLE_BYTES_MIN, SAMPLE_BYTES_MAX);
        let middle = (bytes.len() - length) / 2;
        let sample = bytes.get(middle..middle + length).unwrap_or_default();
        let bound = zstd::zstd_safe::compress_bound(length);
        let first = self.compress(false, sample, at, bound)?;
        let level = match self.level {
            ZstdLevel::FIRST => first,
            _ => self.compress(true, sample, at, bound)?,
        };
        Ok(match () {
            () if first.min(level) >= length => Effort::None,
            () if level + first / WORTH_PART < first => Effort::Level,
            () => Effort::First,
        })
    }

    fn compress(&mut self, deep: bool, bytes: &[u8], at: usize, bound: usize) -> Result<usize> {
        self.room(at, bound);
        let to = self.body.get_mut(at..at + bound).unwrap_or_default();
        let compressor = if deep { &mut self.deep } else { &mut self.fast };
        compressor.compress_to_buffer(bytes, to).map_err(failed)
    }

    /// A part of the body, which is made long enough for it.
    fn room(&mut self, at: usize, length: usize) -> &mut [u8] {
        if self.body.len() < at + length {
            self.body.resize(at + length, 0);
        }
        self.body.get_mut(at..at + length).unwrap_or_default()
    }

    /// Clears the bytes up to the next buffer; returns where that begins.
    fn pad(&mut self, end: usize) -> usize {
        let next = end.next_multiple_of(ALIGNMENT);
        self.room(end, next - end).fill(0);
        next
    }

    fn write_metadata(&mut self, rows: i64, nodes: &[FieldNode], body: usize, out: &mut Vec<u8>) -> Result<()> {
        let fbb = &mut self.metadata;
        fbb.reset();
        let mut compression = BodyCompressionBuilder::new(fbb);
        compression.add_method(BodyCompressionMethod::BUFFER);
        compression.add_codec(CompressionType::ZSTD);
        let compression = compression.finish();
        let buffers = fbb.create_vector(&self.buffers);
        let nodes = fbb.create_vector(nodes);
        let mut batch = RecordBatchBuilder::new(fbb);
        batch.add_length(rows);
        batch.add_nodes(nodes);
        batch.add_buffers(buffers);
        batch.add_compression(compression);
        let batch = batch.finish().as_union_value();
        let mut message = MessageBuilder::new(fbb);
        message.add_version(MetadataVersion::V5);
        message.add_header_type(MessageHeader::RecordBatch);
        message.add_bodyLength(signed(body));
        message.add_header(batch);
        let message = message.finish();
        fbb.finish(message, None);
        let metadata = fbb.finished_data();
        let padded = metadata.len().next_multiple_of(ALIGNMENT);
        let told = i32::try_from(padded).map_err(foreign)?;
        out.extend_from_slice(&CONTINUATION);
        out.extend_from_slice(&told.to_le_bytes());
        out.extend_from_slice(metadata);
        out.resize(out.len() + padded - metadata.len(), 0);
        Ok(())
    }
}

/// How a buffer is packed.
enum Effort {
    /// Not at all: it does not shrink.
    None,
    /// With ZSTD's first level.
    First,
    /// With the table's level.
    Level,
}

/// Lengths in memory fit.
fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(level: i32, bytes: &[u8]) -> Vec<u8> {
        let mut packer = Packer::new(ZstdLevel::new(level).unwrap()).unwrap();
        let length = packer.pack_buffer(bytes, 0).unwrap();
        packer.body.truncate(length);
        packer.body
    }

    fn unpacked(packed: &[u8]) -> Vec<u8> {
        let (told, rest) = packed.split_first_chunk::<8>().unwrap();
        match i64::from_le_bytes(*told) {
            STORED => rest.to_vec(),
            told => zstd::bulk::decompress(rest, usize::try_from(told).unwrap()).unwrap(),
        }
    }

    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        std::iter::repeat_with(next).flat_map(u64::to_le_bytes).take(bytes).collect()
    }

    /// Sentences of a few words each, in which a deeper search finds more.
    fn text(bytes: usize) -> Vec<u8> {
        let words = ["the ", "flight ", "was ", "delayed ", "by ", "minutes ", "in ", "Newark ", "on ", "Monday "];
        noise(bytes).into_iter().flat_map(|b| words[b as usize % 10].bytes()).take(bytes).collect()
    }

    #[test]
    fn buffers_come_back() {
        for bytes in [0, 1, 31, 32, 33, 1000, 4095, 4096, 70_000, 400_000] {
            for buffer in [noise(bytes), text(bytes), vec![7; bytes]] {
                for level in [1, 3, 19] {
                    let packed = packed(level, &buffer);
                    assert!(packed.len() <= buffer.len() + LENGTH_BYTES);
                    if !buffer.is_empty() {
                        assert_eq!(unpacked(&packed), buffer);
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_shrink_is_stored() {
        for bytes in [8, 2000, 100_000] {
            assert_eq!(packed(3, &noise(bytes))[..8], STORED.to_le_bytes());
        }
        assert_ne!(packed(3, &text(2000))[..8], STORED.to_le_bytes());
    }

    #[test]
    fn a_deeper_level_packs_text_smaller() {
        let text = text(200_000);
        assert!(packed(19, &text).len() * 10 < packed(1, &text).len() * 9);
    }

    #[test]
    fn a_level_that_brings_nothing_is_not_used() {
        let digits: Vec<u8> = noise(100_000).into_iter().map(|b| b"0123456789abcdef"[b as usize % 16]).collect();
        assert_eq!(packed(19, &digits), packed(1, &digits));
    }
}
