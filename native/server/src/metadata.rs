//! Where tables and their buckets are: here, all of them.

use crate::answer::Reply;
use crate::caller::Door;
use crate::gate::Gate;
use crate::node::{NODE_ID, Node};
use crate::{partitions, tables};
use sluice_api::{Operation, PartitionInfo, Resource};
use sluice_wire::message::{
    BucketMetadata, MetadataRequest, MetadataResponse, PartitionMetadata, ServerNode, TableMetadata,
};

/// The node, under the address of the listener through which the client came.
fn this_node(door: &Door) -> ServerNode {
    ServerNode { node_id: NODE_ID, host: door.host.clone(), port: i32::from(door.port), listeners: None, rack: None }
}

fn buckets(count: i32) -> Vec<BucketMetadata> {
    let bucket = |bucket_id| BucketMetadata {
        bucket_id,
        leader_id: Some(NODE_ID),
        replica_id: vec![NODE_ID],
        leader_epoch: Some(0),
    };
    (0..count).map(bucket).collect()
}

fn told(table_id: i64, partition: &PartitionInfo) -> PartitionMetadata {
    PartitionMetadata {
        table_id,
        partition_name: partition.name(),
        partition_id: partition.partition_id,
        bucket_metadata: buckets(partition.bucket_count),
    }
}

/// What the client may see of what it asks for; the rest is left out.
pub(crate) fn get(node: &Node, gate: &Gate<'_>, door: &Door, request: MetadataRequest) -> Reply<MetadataResponse> {
    let seen = |database: &str, table: &str| gate.may(Operation::Describe, &Resource::table(database, table));
    let mut tables_found = Vec::with_capacity(request.table_path.len());
    for path in request.table_path {
        if !seen(&path.database_name, &path.table_name) {
            continue;
        }
        let info = tables::find(node, &path)?;
        // Those of a partitioned table belong to its partitions.
        let count = if info.descriptor.partition_key.is_empty() { info.bucket_count() } else { 0 };
        tables_found.push(TableMetadata {
            table_path: path,
            table_id: info.table_id,
            schema_id: i32::from(info.schema_id),
            table_json: tables::told(node, &info)?,
            bucket_metadata: buckets(count),
            created_time: info.created_ms,
            modified_time: info.modified_ms,
        });
    }
    let mut partition_metadata = Vec::new();
    for path in request.partitions_path.iter().filter(|p| seen(&p.database_name, &p.table_name)) {
        let (table, partition) = partitions::named(node, path)?;
        partition_metadata.push(told(table.table_id, &partition));
    }
    for id in &request.partitions_id {
        let (table, partition) = partitions::by_id(node, *id)?;
        if gate.table_id(Operation::Describe, table.0).is_ok() {
            partition_metadata.push(told(table.0, &partition));
        }
    }
    Ok(MetadataResponse {
        coordinator_server: Some(this_node(door)),
        tablet_servers: vec![this_node(door)],
        table_metadata: tables_found,
        partition_metadata,
    })
}
