//! Requests about partitions.

use crate::answer::{Failed, Reply};
use crate::node::Node;
use crate::tables::find;
use sluice_api::{Connection, PartitionInfo, TableInfo};
use sluice_base::TableId;
use sluice_wire::ErrorCode;
use sluice_wire::message::{
    self, CreatePartitionRequest, CreatePartitionResponse, DropPartitionRequest, DropPartitionResponse, KeyValue,
    ListPartitionInfosRequest, ListPartitionInfosResponse, PartitionSpec, PhysicalTablePath, TablePath,
};
use std::collections::BTreeMap;

/// A table that has partitions.
fn partitioned(node: &Node, path: &TablePath) -> Reply<TableInfo> {
    let info = find(node, path)?;
    if info.descriptor.partition_key.is_empty() {
        let message = format!("Table '{}' is not a partitioned table.", info.path);
        return Err(Failed::new(ErrorCode::TableNotPartitioned, message));
    }
    Ok(info)
}

fn values_of(spec: &PartitionSpec) -> BTreeMap<String, String> {
    spec.partition_key_values.iter().map(|pair| (pair.key.clone(), pair.value.clone())).collect()
}

fn spec_of(table: &TableInfo, partition: &PartitionInfo) -> PartitionSpec {
    let pair = |(key, value): (&String, &String)| KeyValue { key: key.clone(), value: value.clone() };
    let pairs = table.descriptor.partition_key.iter().zip(&partition.values);
    PartitionSpec { partition_key_values: pairs.map(pair).collect() }
}

pub(crate) fn create(node: &Node, request: &CreatePartitionRequest) -> Reply<CreatePartitionResponse> {
    let info = partitioned(node, &request.table_path)?;
    node.store.create_partition(&info.path, &values_of(&request.partition_spec), request.ignore_if_not_exists)?;
    Ok(CreatePartitionResponse {})
}

pub(crate) fn drop(node: &Node, request: &DropPartitionRequest) -> Reply<DropPartitionResponse> {
    let info = partitioned(node, &request.table_path)?;
    node.store.drop_partition(&info.path, &values_of(&request.partition_spec), request.ignore_if_not_exists)?;
    Ok(DropPartitionResponse {})
}

pub(crate) fn list(node: &Node, request: &ListPartitionInfosRequest) -> Reply<ListPartitionInfosResponse> {
    let info = partitioned(node, &request.table_path)?;
    let wanted = request.partial_partition_spec.as_ref().map(values_of).unwrap_or_default();
    let found = node.store.list_partitions(&info.path, &wanted)?;
    let told = |partition: &PartitionInfo| message::PartitionInfo {
        partition_id: partition.partition_id,
        partition_spec: spec_of(&info, partition),
    };
    Ok(ListPartitionInfosResponse { partitions_info: found.iter().map(told).collect() })
}

/// A partition by its name. Clients take the code for one that is not there as "no row".
pub(crate) fn named(node: &Node, path: &PhysicalTablePath) -> Reply<(TableInfo, PartitionInfo)> {
    let table = TablePath { database_name: path.database_name.clone(), table_name: path.table_name.clone() };
    let info = partitioned(node, &table)?;
    let name = path.partition_name.as_deref().unwrap_or_default();
    let found = node.store.list_partitions(&info.path, &BTreeMap::new())?.into_iter().find(|p| p.name() == name);
    match found {
        Some(partition) => Ok((info, partition)),
        None => {
            let message = format!("Table partition '{}(p={name})' does not exist.", info.path);
            Err(Failed::new(ErrorCode::PartitionNotExists, message))
        }
    }
}

/// A partition by its id, with its table's.
pub(crate) fn by_id(node: &Node, id: i64) -> Reply<(TableId, PartitionInfo)> {
    node.store.partition(id)?.ok_or_else(|| {
        Failed::new(ErrorCode::PartitionNotExists, format!("Partition not exist for partition ids: [{id}]"))
    })
}
