//! Requests about snapshots of rows by key and of lakes. Clients are given none of the former: they read the changelog from its beginning.

use crate::answer::{Failed, Reply};
use crate::gate::Gate;
use crate::node::Node;
use crate::{partitions, tables};
use sluice_api::{Connection, LakePartitionOffsets, Operation, PartitionInfo};
use sluice_base::{ErrorKind, TableBucket, TableId};
use sluice_wire::ErrorCode;
use sluice_wire::message::{
    AcquireKvSnapshotLeaseRequest, AcquireKvSnapshotLeaseResponse, DropKvSnapshotLeaseRequest,
    DropKvSnapshotLeaseResponse, GetKvSnapshotMetadataRequest, GetKvSnapshotMetadataResponse, GetLakeSnapshotRequest,
    GetLakeSnapshotResponse, GetLatestKvSnapshotsRequest, GetLatestKvSnapshotsResponse, KvSnapshot,
    LakeSnapshotForBucket, PhysicalTablePath, ReleaseKvSnapshotLeaseRequest, ReleaseKvSnapshotLeaseResponse,
};

/// No snapshot for each bucket, which tells the client to begin with the changelog; refused where that has lost its beginning.
pub(crate) fn latest(node: &Node, request: &GetLatestKvSnapshotsRequest) -> Reply<GetLatestKvSnapshotsResponse> {
    let info = tables::find(node, &request.table_path)?;
    tables::need_primary_key(&info)?;
    let partition = match &request.partition_name {
        None => None,
        Some(_) => {
            let path = PhysicalTablePath {
                database_name: request.table_path.database_name.clone(),
                table_name: request.table_path.table_name.clone(),
                partition_name: request.partition_name.clone(),
            };
            Some(partitions::named(node, &path)?.1)
        }
    };
    let mut latest_snapshots = Vec::new();
    for bucket in 0..partition.as_ref().map_or(info.bucket_count(), |p| p.bucket_count) {
        let partition = partition.as_ref().map(PartitionInfo::id);
        let id = TableBucket { table: TableId(info.table_id), partition, bucket };
        let (start, _) = node.store.raw_bucket(&id)?.readable()?;
        if start > 0 {
            let message = format!(
                "The changelog of table '{}' begins at offset {start} in bucket {bucket}, for what lay before is older than \
                 'table.log.ttl'; this server gives no snapshots to read it from.",
                info.path
            );
            return Err(Failed::new(ErrorCode::KvSnapshotNotExist, message));
        }
        latest_snapshots.push(KvSnapshot { bucket_id: bucket, snapshot_id: None, log_offset: None });
    }
    let partition_id = partition.map(|p| p.partition_id);
    Ok(GetLatestKvSnapshotsResponse { table_id: info.table_id, partition_id, latest_snapshots })
}

pub(crate) fn metadata(request: &GetKvSnapshotMetadataRequest) -> Reply<GetKvSnapshotMetadataResponse> {
    let message = format!(
        "There is no snapshot {} of bucket {} of table {}.",
        request.snapshot_id, request.bucket_id, request.table_id
    );
    Err(Failed::new(ErrorCode::KvSnapshotNotExist, message))
}

/// None of the snapshots is there.
pub(crate) fn acquire(
    gate: &Gate<'_>,
    request: AcquireKvSnapshotLeaseRequest,
) -> Reply<AcquireKvSnapshotLeaseResponse> {
    request.snapshots_to_lease.iter().try_for_each(|table| gate.table_id(Operation::Read, table.table_id))?;
    Ok(AcquireKvSnapshotLeaseResponse { unavailable_snapshots: request.snapshots_to_lease })
}

/// Nothing is held.
pub(crate) fn release(_: &ReleaseKvSnapshotLeaseRequest) -> Reply<ReleaseKvSnapshotLeaseResponse> {
    Ok(ReleaseKvSnapshotLeaseResponse {})
}

/// Nothing is held.
pub(crate) fn drop_lease(_: &DropKvSnapshotLeaseRequest) -> Reply<DropKvSnapshotLeaseResponse> {
    Ok(DropKvSnapshotLeaseResponse {})
}

/// The newest snapshot of a table's lake, with the offset at which each bucket's log goes on; older ones are not known here.
pub(crate) fn lake(node: &Node, request: &GetLakeSnapshotRequest) -> Reply<GetLakeSnapshotResponse> {
    let info = tables::find(node, &request.table_path)?;
    let newest = match node.store.lake_snapshot(&info.path) {
        Ok(found) => found.snapshot.map(|id| (id, found)),
        // The table has no lake.
        Err(e) if e.kind() == ErrorKind::Invalid => None,
        Err(e) => return Err(e.into()),
    };
    let Some((snapshot_id, found)) = newest.filter(|(id, _)| request.snapshot_id.is_none_or(|wanted| wanted == *id))
    else {
        let message =
            format!("Lake table snapshot does not exist for table: {}, table id: {}", info.path, info.table_id);
        return Err(Failed::new(ErrorCode::LakeSnapshotNotExist, message));
    };
    let of = |partition: Option<&LakePartitionOffsets>, (bucket_id, log_offset): (i32, i64)| LakeSnapshotForBucket {
        partition_id: partition.map(|p| p.partition_id),
        bucket_id,
        log_offset: Some(log_offset),
        partition_name: partition.map(|p| p.name.clone()),
    };
    let whole = found.buckets.iter().map(|end| of(None, *end));
    let parts = found.partitions.iter().flat_map(|p| p.buckets.iter().map(move |end| of(Some(p), *end)));
    let bucket_snapshots = whole.chain(parts).collect();
    Ok(GetLakeSnapshotResponse { table_id: info.table_id, snapshot_id, bucket_snapshots })
}
