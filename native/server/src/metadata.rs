//! Where tables and their buckets are: here, all of them.

use crate::answer::{Failed, Reply};
use crate::node::{NODE_ID, Node};
use crate::tables;
use sluice_wire::ErrorCode;
use sluice_wire::message::{BucketMetadata, MetadataRequest, MetadataResponse, ServerNode, TableMetadata};

fn this_node(node: &Node) -> ServerNode {
    ServerNode { node_id: NODE_ID, host: node.host.clone(), port: i32::from(node.port), listeners: None, rack: None }
}

pub(crate) fn get(node: &Node, request: &MetadataRequest) -> Reply<MetadataResponse> {
    let mut tables_found = Vec::with_capacity(request.table_path.len());
    for path in &request.table_path {
        let info = tables::find(node, path)?;
        let partitioned = !info.descriptor.partition_key.is_empty();
        let bucket = |bucket_id| BucketMetadata {
            bucket_id,
            leader_id: Some(NODE_ID),
            replica_id: vec![NODE_ID],
            leader_epoch: Some(0),
        };
        tables_found.push(TableMetadata {
            table_path: path.clone(),
            table_id: info.table_id,
            schema_id: i32::from(info.schema_id),
            table_json: tables::told(node, &info)?,
            // Those of a partitioned table belong to its partitions.
            bucket_metadata: (0..if partitioned { 0 } else { info.bucket_count() }).map(bucket).collect(),
            created_time: info.created_ms,
            modified_time: info.modified_ms,
        });
    }
    if let Some(path) = request.partitions_path.first() {
        let name = path.partition_name.as_deref().unwrap_or_default();
        let message = format!("Table '{}.{}' has no partition '{name}'.", path.database_name, path.table_name);
        return Err(Failed::new(ErrorCode::PartitionNotExists, message));
    }
    if let Some(id) = request.partitions_id.first() {
        return Err(Failed::new(ErrorCode::PartitionNotExists, format!("there is no partition {id}")));
    }
    Ok(MetadataResponse {
        coordinator_server: Some(this_node(node)),
        tablet_servers: vec![this_node(node)],
        table_metadata: tables_found,
        partition_metadata: Vec::new(),
    })
}
