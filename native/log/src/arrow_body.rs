//! The Arrow message of a batch: one encapsulated IPC RecordBatch message, metadata version 5, no schema message.

use crate::packing::Packer;
use crate::{BATCH_HEADER_BYTES, BatchHeader, Compression, ZstdLevel};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_ipc::reader::RecordBatchDecoder;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_ipc::{CompressionType, FieldNode, Message, MetadataVersion};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use flatbuffers::Vector;
use sluice_base::{Error, Result, Subject};
use sluice_row::ChangeKind;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Alignment of buffers within the body. Eight bytes, as the other writers of the protocol use.
const BUFFER_ALIGNMENT: usize = 8;
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Continuation marker and metadata length.
const MESSAGE_PREFIX_BYTES: usize = 8;
/// The longest uncompressed buffer believed: Arrow's 32-bit offsets reach no further.
const UNCOMPRESSED_BYTES_MAX: i64 = i32::MAX as i64;

/// Memory for an uncompressed message above this is given back.
const PLAIN_KEPT_BYTES: usize = 16 << 20;

type Encoder = StreamWriter<Vec<u8>>;

/// What a thread keeps from one batch to the next: each encoder has its scratch memory, the packer its compressors.
#[derive(Default)]
struct Encoders {
    none: Option<Encoder>,
    lz4: Option<Encoder>,
    packer: Option<Packer>,
    plain: Vec<u8>,
}

thread_local! {
    static ENCODERS: RefCell<Encoders> = RefCell::default();
}

fn new_encoder(codec: Option<CompressionType>) -> Result<Encoder, ArrowError> {
    let options =
        IpcWriteOptions::try_new(BUFFER_ALIGNMENT, false, MetadataVersion::V5)?.try_with_compression(codec)?;
    // The stream's schema message goes into a buffer that is thrown away; batches of any schema may follow, for the encoder
    // looks at the arrays alone.
    StreamWriter::try_new_with_options(Vec::new(), &Schema::empty(), options)
}

/// Appends the message for `rows` to `out`.
pub(crate) fn encode(rows: &RecordBatch, compression: Compression, out: &mut Vec<u8>) -> Result<()> {
    ENCODERS.with_borrow_mut(|kept| match compression {
        Compression::None => encode_with(&mut kept.none, None, rows, out),
        Compression::Lz4Frame => encode_with(&mut kept.lz4, Some(CompressionType::LZ4_FRAME), rows, out),
        Compression::Zstd(level) => {
            kept.plain.clear();
            encode_with(&mut kept.none, None, rows, &mut kept.plain)?;
            let packed = pack(&mut kept.packer, level, &kept.plain, out);
            if kept.plain.capacity() > PLAIN_KEPT_BYTES {
                (kept.packer, kept.plain) = (None, Vec::new());
            }
            packed
        }
    })
}

/// An encoder that failed is in an unknown state and is not kept.
fn encode_with(
    kept: &mut Option<Encoder>,
    codec: Option<CompressionType>,
    rows: &RecordBatch,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut encoder = match kept.take() {
        Some(encoder) => encoder,
        None => new_encoder(codec).map_err(|e| Error::internal("cannot set Arrow up").with_source(e))?,
    };
    std::mem::swap(encoder.get_mut(), out);
    let written = encoder.write(rows);
    std::mem::swap(encoder.get_mut(), out);
    written.map_err(|e| Error::invalid(Subject::Row, format!("cannot encode rows: {e}")).with_source(e))?;
    *kept = Some(encoder);
    Ok(())
}

fn pack(kept: &mut Option<Packer>, level: ZstdLevel, plain: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut packer = match kept.take() {
        Some(packer) if packer.level() == level => packer,
        _ => Packer::new(level)?,
    };
    let (metadata, body) = split_message(plain)?;
    packer.pack(arrow_ipc::root_as_message(metadata).map_err(damaged)?, body, out)?;
    *kept = Some(packer);
    Ok(())
}

/// Decodes batches of one stored schema, all columns or some.
#[derive(Debug)]
pub struct BatchDecoder {
    stored: SchemaRef,
    projection: Option<Vec<usize>>,
    output: Result<SchemaRef, String>,
    /// What a message of the stored schema consists of.
    shape: Shape,
    /// No dictionary is ever written; the decoder wants a map all the same.
    dictionaries: HashMap<i64, arrow_array::ArrayRef>,
}

/// Nodes and buffers of a schema, depth first.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    nodes: Vec<Node>,
    /// For each buffer the width of its elements; its length is a multiple of it.
    element_bytes: Vec<i64>,
}

/// What one Arrow field brings to a message.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// Number of its validity buffer.
    validity: usize,
    top_level: bool,
}

impl Shape {
    pub(crate) fn of(schema: &SchemaRef) -> Self {
        let mut shape = Self::default();
        schema.fields().iter().for_each(|field| shape.add(field.data_type(), true));
        shape
    }

    /// Nodes and buffers of a column.
    pub(crate) fn column(&self, position: usize) -> Option<(Range<usize>, Range<usize>)> {
        let mut starts = self.nodes.iter().enumerate().filter(|(_, n)| n.top_level).map(|(i, n)| (i, n.validity));
        let (node, buffer) = starts.nth(position)?;
        let (node_end, buffer_end) = starts.next().unwrap_or((self.nodes.len(), self.element_bytes.len()));
        Some((node..node_end, buffer..buffer_end))
    }

    fn add(&mut self, data_type: &DataType, top_level: bool) {
        self.nodes.push(Node { validity: self.element_bytes.len(), top_level });
        self.element_bytes.push(1);
        match data_type {
            DataType::Utf8 | DataType::Binary => self.element_bytes.extend([4, 1]),
            DataType::List(element) | DataType::Map(element, _) => {
                self.element_bytes.push(4);
                self.add(element.data_type(), false);
            }
            DataType::Struct(fields) => fields.iter().for_each(|field| self.add(field.data_type(), false)),
            other => self.element_bytes.push(other.primitive_width().map_or(1, |w| w as i64)),
        }
    }
}

pub(crate) fn damaged(what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("damaged Arrow message: {what}"))
}

impl BatchDecoder {
    /// A decoder for batches of the schema `stored`. `projection` gives positions in it, in output order; `None` = all columns;
    /// an empty one gives rows without columns.
    #[must_use]
    pub fn new(stored: SchemaRef, projection: Option<&[usize]>) -> Self {
        let shape = Shape::of(&stored);
        let output = match projection {
            None => Ok(Arc::clone(&stored)),
            Some(wanted) => stored.project(wanted).map(Arc::new).map_err(|e| e.to_string()),
        };
        let projection = projection.map(<[usize]>::to_vec);
        Self { stored, projection, output, shape, dictionaries: HashMap::new() }
    }

    /// The schema of the decoded batches.
    ///
    /// # Errors
    /// `Invalid` about `Column` when the projection names a column that is not there.
    pub fn output(&self) -> Result<&SchemaRef> {
        self.output.as_ref().map_err(|e| Error::invalid(Subject::Column, format!("bad projection: {e}")))
    }

    /// The rows and, unless the batch is append-only, the kind of each. The checksum is not looked at ([`crate::verify_crc`]
    /// does that), yet bytes that cannot be such a batch are refused. Uncompressed buffers that lie aligned in memory are not
    /// copied; columns outside the projection are not decompressed.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are no batch of this schema; `Invalid` for a bad projection.
    pub fn decode(&self, batch: &Buffer) -> Result<(RecordBatch, Option<Vec<ChangeKind>>)> {
        let header = whole_batch(batch)?;
        let body_at = BATCH_HEADER_BYTES + header.kinds_bytes();
        let kinds = match header.append_only {
            true => None,
            false => Some(decode_kinds(batch.get(BATCH_HEADER_BYTES..body_at).unwrap_or_default())?),
        };
        let rows = usize::try_from(header.record_count).map_err(damaged)?;
        let message = batch.slice(body_at);
        let rows = if message.is_empty() && rows == 0 {
            RecordBatch::new_empty(Arc::clone(self.output()?))
        } else {
            self.decode_message(&message, rows)?
        };
        Ok((rows, kinds))
    }

    fn decode_message(&self, message: &Buffer, rows: usize) -> Result<RecordBatch> {
        let output = self.output()?;
        let (metadata, body) = split_message(message)?;
        let parsed = arrow_ipc::root_as_message(metadata).map_err(damaged)?;
        check_message(parsed, body, &self.shape, rows)?;
        let batch = parsed.header_as_record_batch().ok_or_else(|| damaged("it is no record batch"))?;
        let body = message.slice(message.len() - body.len());
        if self.projection.as_ref().is_some_and(Vec::is_empty) {
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            return RecordBatch::try_new_with_options(Arc::clone(output), Vec::new(), &options).map_err(damaged);
        }
        RecordBatchDecoder::try_new(&body, batch, Arc::clone(&self.stored), &self.dictionaries, &parsed.version())
            .map(|d| d.with_projection(self.projection.as_deref()).with_require_alignment(false))
            .and_then(RecordBatchDecoder::read_record_batch)
            .map_err(damaged)
    }

    /// Whether exactly these bytes are a batch of the schema, as far as that can be told without decompressing it. The checksum is not
    /// looked at.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported` about `File`.
    pub fn check(&self, batch: &[u8]) -> Result<()> {
        let header = whole_batch(batch)?;
        let body_at = BATCH_HEADER_BYTES + header.kinds_bytes();
        let kinds = batch.get(BATCH_HEADER_BYTES..body_at).unwrap_or_default();
        kinds.iter().try_for_each(|b| ChangeKind::from_byte(*b).map(|_| ()))?;
        let rows = usize::try_from(header.record_count).map_err(damaged)?;
        let message = batch.get(body_at..).unwrap_or_default();
        if message.is_empty() && rows == 0 {
            return Ok(());
        }
        let (metadata, body) = split_message(message)?;
        let parsed = arrow_ipc::root_as_message(metadata).map_err(damaged)?;
        check_message(parsed, body, &self.shape, rows).map(|_| ())
    }
}

/// The header of bytes that are one whole batch.
fn whole_batch(batch: &[u8]) -> Result<BatchHeader> {
    let header = BatchHeader::parse(batch)?;
    if header.total_bytes() != batch.len() {
        let (told, there) = (header.total_bytes(), batch.len());
        return Err(Error::corrupt(format!("log batch of {told} bytes has {there}")));
    }
    Ok(header)
}

/// Nodes and buffers of a message, depth first.
type Layout<'a> = (Vector<'a, FieldNode>, Vector<'a, arrow_ipc::Buffer>);

/// Refuses what Arrow's decoder would answer with a panic or an absurd allocation.
pub(crate) fn check_message<'a>(message: Message<'a>, body: &[u8], shape: &Shape, rows: usize) -> Result<Layout<'a>> {
    let batch = message.header_as_record_batch().ok_or_else(|| damaged("it is no record batch"))?;
    let nodes = batch.nodes().ok_or_else(|| damaged("no nodes"))?;
    let buffers = batch.buffers().ok_or_else(|| damaged("no buffers"))?;
    if message.version() != MetadataVersion::V5 {
        return Err(damaged(format!("metadata version {:?}", message.version())));
    }
    if batch.variadicBufferCounts().is_some_and(|counts| !counts.is_empty()) {
        return Err(damaged("views, which no type of ours has"));
    }
    let (n, b) = (shape.nodes.len(), shape.element_bytes.len());
    if (nodes.len(), buffers.len()) != (n, b) {
        return Err(damaged(format!("{} nodes, {} buffers; {n}, {b} expected", nodes.len(), buffers.len())));
    }
    if usize::try_from(batch.length()) != Ok(rows) {
        return Err(damaged(format!("{} rows; {rows} expected", batch.length())));
    }
    let compressed = batch.compression().is_some();
    let mut lengths = Vec::with_capacity(buffers.len());
    for (buffer, element) in buffers.iter().zip(&shape.element_bytes) {
        let length = buffer_length(body, buffer.offset(), buffer.length(), compressed)?;
        if length % element != 0 {
            return Err(damaged(format!("a buffer of {length} bytes for elements of {element}")));
        }
        lengths.push(length);
    }
    for (node, shape) in nodes.iter().zip(&shape.nodes) {
        let (length, nulls) = (node.length(), node.null_count());
        if length < 0 || nulls < 0 || nulls > length || (shape.top_level && usize::try_from(length) != Ok(rows)) {
            return Err(damaged(format!("a node of {length} values, {nulls} of them null")));
        }
        let validity = lengths.get(shape.validity).copied().unwrap_or(0);
        if nulls > 0 && validity.saturating_mul(8) < length {
            return Err(damaged(format!("{validity} bytes of validity for {length} values")));
        }
    }
    Ok((nodes, buffers))
}

/// Length of a buffer, uncompressed, after checking that it lies within the body.
fn buffer_length(body: &[u8], offset: i64, length: i64, compressed: bool) -> Result<i64> {
    let range = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
    let bytes = range.and_then(|(o, l)| body.get(o..o.checked_add(l)?));
    let bytes = bytes.ok_or_else(|| damaged(format!("a buffer at {offset} of {length} bytes in {}", body.len())))?;
    if !compressed || bytes.is_empty() {
        return Ok(length);
    }
    let Some(prefix) = bytes.first_chunk::<8>() else {
        return Err(damaged(format!("a compressed buffer of {length} bytes")));
    };
    match i64::from_le_bytes(*prefix) {
        -1 => Ok(length - 8),
        told @ 0..=UNCOMPRESSED_BYTES_MAX => Ok(told),
        told => Err(damaged(format!("an uncompressed length of {told}"))),
    }
}

/// Metadata and body of a message.
pub(crate) fn split_message(message: &[u8]) -> Result<(&[u8], &[u8])> {
    let (marker, rest) = message.split_first_chunk::<4>().ok_or_else(|| damaged("too short"))?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(|| damaged("too short"))?;
    if *marker != CONTINUATION {
        return Err(damaged("no continuation marker"));
    }
    let length = usize::try_from(i32::from_le_bytes(*length)).map_err(damaged)?;
    rest.split_at_checked(length).ok_or_else(|| damaged(format!("{length} bytes of metadata")))
}

/// Appends what stands in front of a message's body.
pub(crate) fn put_message(metadata: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let padded = (MESSAGE_PREFIX_BYTES + metadata.len()).next_multiple_of(BUFFER_ALIGNMENT) - MESSAGE_PREFIX_BYTES;
    out.extend_from_slice(&CONTINUATION);
    out.extend_from_slice(&i32::try_from(padded).map_err(damaged)?.to_le_bytes());
    out.extend_from_slice(metadata);
    out.resize(out.len() + padded - metadata.len(), 0);
    Ok(())
}

fn decode_kinds(bytes: &[u8]) -> Result<Vec<ChangeKind>> {
    bytes.iter().map(|b| ChangeKind::from_byte(*b)).collect()
}
