//! Some columns of a batch, as bytes: what a client reads that asked for them. Nothing is decompressed or decoded.

use crate::BatchHeader;
use crate::arrow_body::{Shape, check_message, damaged, put_message, split_message};
use crate::header::{BATCH_HEADER_BYTES, LENGTH_PREFIX_BYTES, set_length};
use arrow_ipc::{
    BodyCompression, BodyCompressionArgs, FieldNode, MessageArgs, MessageHeader, MetadataVersion, RecordBatchArgs,
};
use arrow_schema::SchemaRef;
use flatbuffers::FlatBufferBuilder;
use sluice_base::{Error, Result};
use std::ops::Range;

const BUFFER_ALIGNMENT: usize = 8;

/// Takes columns out of batches of one stored schema.
#[derive(Debug)]
pub struct BatchProjector {
    shape: Shape,
    /// Nodes and buffers of each wanted column.
    wanted: Vec<(Range<usize>, Range<usize>)>,
}

impl BatchProjector {
    /// A projector for batches of the schema `stored`; `wanted` are positions in it, ascending. Those that it does not have are left out.
    #[must_use]
    pub fn new(stored: &SchemaRef, wanted: &[usize]) -> Self {
        let shape = Shape::of(stored);
        let wanted = wanted.iter().filter_map(|position| shape.column(*position)).collect();
        Self { shape, wanted }
    }

    /// Appends the batch with the wanted columns only. Offsets, kinds, writer and sequence stay; so does the checksum, which is that of
    /// the whole batch and so does not hold any more.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are no batch of the stored schema; `out` is then as before.
    pub fn project(&self, batch: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let projected = self.append(batch, start, out);
        if projected.is_err() {
            out.truncate(start);
        }
        projected
    }

    fn append(&self, batch: &[u8], start: usize, out: &mut Vec<u8>) -> Result<()> {
        let header = BatchHeader::parse(batch)?;
        let body_at = BATCH_HEADER_BYTES + header.kinds_bytes();
        let (Some(head), Some(message)) = (batch.get(..body_at), batch.get(body_at..header.total_bytes())) else {
            return Err(damaged("the batch is cut short"));
        };
        out.extend_from_slice(head);
        if message.is_empty() {
            return Ok(());
        }
        let (metadata, body) = split_message(message)?;
        let parsed = arrow_ipc::root_as_message(metadata).map_err(damaged)?;
        let rows = usize::try_from(header.record_count).map_err(damaged)?;
        let (nodes, buffers) = check_message(parsed, body, &self.shape, rows)?;
        let mut kept_nodes: Vec<FieldNode> = Vec::new();
        let mut kept_buffers: Vec<arrow_ipc::Buffer> = Vec::new();
        let mut parts: Vec<&[u8]> = Vec::new();
        let mut body_bytes = 0_usize;
        for (node_range, buffer_range) in &self.wanted {
            kept_nodes.extend(nodes.iter().skip(node_range.start).take(node_range.len()).copied());
            for buffer in buffers.iter().skip(buffer_range.start).take(buffer_range.len()) {
                let place = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
                let bytes = place.and_then(|(at, length)| body.get(at..at.checked_add(length)?));
                let bytes = bytes.ok_or_else(|| damaged("a buffer lies outside the body"))?;
                let offset = i64::try_from(body_bytes).map_err(damaged)?;
                kept_buffers.push(arrow_ipc::Buffer::new(offset, buffer.length()));
                parts.push(bytes);
                body_bytes += bytes.len().next_multiple_of(BUFFER_ALIGNMENT);
            }
        }
        put_message(&metadata_of(parsed, &kept_nodes, &kept_buffers, body_bytes)?, out)?;
        for part in parts {
            out.extend_from_slice(part);
            out.resize(out.len() + part.len().next_multiple_of(BUFFER_ALIGNMENT) - part.len(), 0);
        }
        let length = i32::try_from(out.len() - start - LENGTH_PREFIX_BYTES).map_err(damaged)?;
        set_length(out.get_mut(start..).unwrap_or_default(), length);
        Ok(())
    }
}

/// The message of the same rows with fewer columns.
fn metadata_of(
    stored: arrow_ipc::Message<'_>,
    nodes: &[FieldNode],
    buffers: &[arrow_ipc::Buffer],
    body_bytes: usize,
) -> Result<Vec<u8>> {
    let Some(batch) = stored.header_as_record_batch() else { return Err(Error::internal("no record batch")) };
    let mut out = FlatBufferBuilder::new();
    let compression = batch
        .compression()
        .map(|c| BodyCompression::create(&mut out, &BodyCompressionArgs { codec: c.codec(), method: c.method() }));
    let (nodes, buffers) = (out.create_vector(nodes), out.create_vector(buffers));
    let args = RecordBatchArgs {
        length: batch.length(),
        nodes: Some(nodes),
        buffers: Some(buffers),
        compression,
        ..RecordBatchArgs::default()
    };
    let header = arrow_ipc::RecordBatch::create(&mut out, &args).as_union_value();
    let args = MessageArgs {
        version: MetadataVersion::V5,
        header_type: MessageHeader::RecordBatch,
        header: Some(header),
        bodyLength: i64::try_from(body_bytes).map_err(damaged)?,
        ..MessageArgs::default()
    };
    let root = arrow_ipc::Message::create(&mut out, &args);
    out.finish(root, None);
    Ok(out.finished_data().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BatchDecoder, Compression, encode_batch};
    use arrow_array::{ArrayRef, Int32Array, ListArray, RecordBatch, StringArray, types::Int32Type};
    use arrow_buffer::Buffer;
    use arrow_schema::{Field, Schema};
    use sluice_base::SchemaId;
    use sluice_row::ChangeKind;
    use std::sync::Arc;

    fn rows() -> RecordBatch {
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
        let columns: [ArrayRef; 3] = [
            Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])),
            Arc::new(list),
            Arc::new(StringArray::from(vec!["a", "longer than the others", ""])),
        ];
        let fields: Vec<Field> =
            columns.iter().enumerate().map(|(i, c)| Field::new(format!("c{i}"), c.data_type().clone(), true)).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.to_vec()).unwrap()
    }

    #[test]
    fn the_columns_are_those_of_the_whole_batch() {
        let rows = rows();
        let kinds = [ChangeKind::Insert, ChangeKind::UpdateBefore, ChangeKind::UpdateAfter];
        for compression in [Compression::None, Compression::Lz4Frame, Compression::default()] {
            for kinds in [None, Some(&kinds[..])] {
                let mut whole = Vec::new();
                encode_batch(Some(&rows), kinds, SchemaId(1), (4, 2), compression, &mut whole).unwrap();
                for wanted in [vec![0], vec![1], vec![2], vec![0, 2], vec![1, 2], vec![0, 1, 2], vec![]] {
                    let mut out = b"before".to_vec();
                    BatchProjector::new(rows.schema_ref(), &wanted).project(&whole, &mut out).unwrap();
                    let projected = out.split_off(6);
                    let part = rows.project(&wanted).unwrap();
                    let decoder = BatchDecoder::new(part.schema(), None);
                    let (read, read_kinds) = decoder.decode(&Buffer::from(projected.clone())).unwrap();
                    assert_eq!(read, part, "{wanted:?}");
                    assert_eq!(read_kinds.as_deref(), kinds);
                    let (a, b) = (BatchHeader::parse(&projected).unwrap(), BatchHeader::parse(&whole).unwrap());
                    assert_eq!(BatchHeader { length: b.length, ..a }, b);
                }
            }
        }
    }

    #[test]
    fn empty_batches_stay_as_they_are() {
        let mut whole = Vec::new();
        encode_batch(None, Some(&[]), SchemaId(1), (4, 2), Compression::default(), &mut whole).unwrap();
        let mut out = Vec::new();
        BatchProjector::new(rows().schema_ref(), &[1]).project(&whole, &mut out).unwrap();
        assert_eq!(out, whole);
    }

    #[test]
    fn columns_that_an_old_schema_lacks_are_left_out() {
        let rows = rows();
        let mut whole = Vec::new();
        encode_batch(Some(&rows), None, SchemaId(1), (-1, -1), Compression::None, &mut whole).unwrap();
        let mut out = Vec::new();
        BatchProjector::new(rows.schema_ref(), &[0, 7]).project(&whole, &mut out).unwrap();
        let part = rows.project(&[0]).unwrap();
        assert_eq!(BatchDecoder::new(part.schema(), None).decode(&Buffer::from(out)).unwrap().0, part);
    }

    #[test]
    fn damage_is_an_error() {
        let rows = rows();
        let mut whole = Vec::new();
        encode_batch(Some(&rows), None, SchemaId(1), (-1, -1), Compression::default(), &mut whole).unwrap();
        let projector = BatchProjector::new(rows.schema_ref(), &[0, 1]);
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let mut out = Vec::new();
            if projector.project(&damaged, &mut out).is_err() {
                assert!(out.is_empty());
            }
            let _ = projector.project(&damaged[..bit / 8], &mut out);
        }
    }
}
