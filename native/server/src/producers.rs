//! Offsets that clients leave under the name of a producer. The rights asked for are those of the tables that the offsets are of.

use crate::answer::Reply;
use crate::gate::Gate;
use crate::node::Node;
use sluice_api::Operation;
use sluice_base::{Offset, TableBucket};
use sluice_store::RegisteredOffsets;
use sluice_wire::message::{
    DeleteProducerOffsetsRequest, DeleteProducerOffsetsResponse, GetProducerOffsetsRequest, GetProducerOffsetsResponse,
    ProducerBucketOffset, ProducerTableOffsets, RegisterProducerOffsetsRequest, RegisterProducerOffsetsResponse,
};

const CREATED: i32 = 0;
const ALREADY_EXISTS: i32 = 1;

pub(crate) fn register(
    node: &Node,
    gate: &Gate<'_>,
    request: &RegisterProducerOffsetsRequest,
) -> Reply<RegisterProducerOffsetsResponse> {
    request.table_offsets.iter().try_for_each(|table| gate.table_id(Operation::Write, table.table_id))?;
    let offset = |table: i64, b: &ProducerBucketOffset| {
        (crate::writes::bucket(table, b.partition_id, b.bucket_id), b.log_end_offset.unwrap_or(0))
    };
    let of_table =
        |t: &ProducerTableOffsets| t.bucket_offsets.iter().map(|b| offset(t.table_id, b)).collect::<Vec<_>>();
    let offsets: Vec<(TableBucket, Offset)> = request.table_offsets.iter().flat_map(of_table).collect();
    let kept = node.store.register_producer(&request.producer_id, &offsets, request.ttl_ms)?;
    Ok(RegisterProducerOffsetsResponse { result: Some(if kept { CREATED } else { ALREADY_EXISTS }) })
}

pub(crate) fn get(
    node: &Node,
    gate: &Gate<'_>,
    request: &GetProducerOffsetsRequest,
) -> Reply<GetProducerOffsetsResponse> {
    let Some(kept) = node.store.registered_producer(&request.producer_id)? else {
        return Ok(GetProducerOffsetsResponse::default());
    };
    may(gate, &kept)?;
    let mut table_offsets: Vec<ProducerTableOffsets> = Vec::new();
    for (bucket, offset) in kept.offsets() {
        let of_bucket = ProducerBucketOffset {
            partition_id: bucket.partition.map(|p| p.0),
            bucket_id: bucket.bucket,
            log_end_offset: Some(offset),
        };
        match table_offsets.iter_mut().find(|t| t.table_id == bucket.table.0) {
            Some(table) => table.bucket_offsets.push(of_bucket),
            None => {
                table_offsets.push(ProducerTableOffsets { table_id: bucket.table.0, bucket_offsets: vec![of_bucket] })
            }
        }
    }
    Ok(GetProducerOffsetsResponse {
        producer_id: Some(request.producer_id.clone()),
        expiration_time: Some(kept.expires_ms),
        table_offsets,
    })
}

pub(crate) fn delete(
    node: &Node,
    gate: &Gate<'_>,
    request: &DeleteProducerOffsetsRequest,
) -> Reply<DeleteProducerOffsetsResponse> {
    if let Some(kept) = node.store.registered_producer(&request.producer_id)? {
        may(gate, &kept)?;
        node.store.forget_producer(&request.producer_id)?;
    }
    Ok(DeleteProducerOffsetsResponse {})
}

fn may(gate: &Gate<'_>, kept: &RegisteredOffsets) -> Reply<()> {
    let mut asked = None;
    kept.offsets().iter().try_for_each(|(bucket, _)| {
        if asked.replace(bucket.table) == Some(bucket.table) {
            return Ok(());
        }
        gate.table_id(Operation::Write, bucket.table.0)
    })
}
