//! Requests about snapshots of rows by key, whose files clients read themselves, and of lakes.

use crate::answer::{Failed, Reply};
use crate::gate::Gate;
use crate::node::Node;
use crate::{partitions, tables};
use sluice_api::{Connection, LakePartitionOffsets, Operation, PartitionInfo};
use sluice_base::{ErrorKind, PartitionId, TableBucket, TableId};
use sluice_wire::message::{
    AcquireKvSnapshotLeaseRequest, AcquireKvSnapshotLeaseResponse, DropKvSnapshotLeaseRequest,
    DropKvSnapshotLeaseResponse, GetKvSnapshotMetadataRequest, GetKvSnapshotMetadataResponse, GetLakeSnapshotRequest,
    GetLakeSnapshotResponse, GetLatestKvSnapshotsRequest, GetLatestKvSnapshotsResponse, KvSnapshot,
    LakeSnapshotForBucket, PhysicalTablePath, ReleaseKvSnapshotLeaseRequest, ReleaseKvSnapshotLeaseResponse,
    RemotePathAndLocalFile,
};
use sluice_wire::{ErrorCode, message};
use std::path::PathBuf;

/// The snapshot to read of each bucket, none of one that never had a row.
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
        let bucket_of = node.store.raw_bucket(&TableBucket { table: TableId(info.table_id), partition, bucket })?;
        let told = match bucket_of.snapshot() {
            // A disk without room for one is no reason to refuse a client that can read the whole changelog instead.
            Err(e) if e.kind() == ErrorKind::Busy && bucket_of.readable()?.0 == 0 => None,
            told => told?,
        };
        latest_snapshots.push(KvSnapshot {
            bucket_id: bucket,
            snapshot_id: told.map(|(id, _)| i64::try_from(id).unwrap_or(i64::MAX)),
            log_offset: told.map(|(_, offset)| offset),
        });
    }
    let partition_id = partition.map(|p| p.partition_id);
    Ok(GetLatestKvSnapshotsResponse { table_id: info.table_id, partition_id, latest_snapshots })
}

/// Where the files of a snapshot are; they are read on this machine, or wherever its disk is mounted at the same place.
pub(crate) fn metadata(node: &Node, request: &GetKvSnapshotMetadataRequest) -> Reply<GetKvSnapshotMetadataResponse> {
    let none = || {
        let message = format!(
            "There is no snapshot {} of bucket {} of table {} (any more): clients keep one by a lease, others go after \
             'kv.snapshot.interval' times 'kv.snapshot.num-retained'.",
            request.snapshot_id, request.bucket_id, request.table_id
        );
        Failed::new(ErrorCode::KvSnapshotNotExist, message)
    };
    let bucket = bucket_id(request.table_id, request.partition_id, request.bucket_id);
    let id = u64::try_from(request.snapshot_id).map_err(|_| none())?;
    let (log_offset, files) = match node.store.raw_bucket(&bucket).and_then(|b| b.snapshot_files(id)) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Err(none()),
        found => found?,
    };
    let file = |path: &PathBuf| RemotePathAndLocalFile {
        remote_path: format!("file://{}", std::path::absolute(path).as_ref().unwrap_or(path).display()),
        local_file_name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    Ok(GetKvSnapshotMetadataResponse { log_offset, snapshot_files: files.iter().map(file).collect() })
}

/// Keeps snapshots for a client; those that are not there (any more) are told.
pub(crate) fn acquire(
    node: &Node,
    gate: &Gate<'_>,
    request: AcquireKvSnapshotLeaseRequest,
) -> Reply<AcquireKvSnapshotLeaseResponse> {
    request.snapshots_to_lease.iter().try_for_each(|table| gate.table_id(Operation::Read, table.table_id))?;
    request.snapshots_to_lease.iter().try_for_each(|table| need_keyed(node, table.table_id))?;
    let lease_ms = u64::try_from(request.lease_duration_ms).unwrap_or(0);
    // What the lease holds already is kept for as long as what it gets now.
    node.store.acquire_snapshots(&[], &request.lease_id, lease_ms)?;
    let mut unavailable_snapshots = Vec::new();
    for mut table in request.snapshots_to_lease {
        let mut missing = Vec::new();
        for wanted in std::mem::take(&mut table.bucket_snapshots) {
            let bucket = bucket_id(table.table_id, wanted.partition_id, wanted.bucket_id);
            let held = u64::try_from(wanted.snapshot_id).map_or(Ok(false), |id| {
                node.store.raw_bucket(&bucket).and_then(|b| b.hold_snapshot(id, &request.lease_id, lease_ms))
            });
            match held {
                Ok(true) => {}
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(e.into()),
                Ok(false) | Err(_) => missing.push(wanted),
            }
        }
        if !missing.is_empty() {
            table.bucket_snapshots = missing;
            unavailable_snapshots.push(table);
        }
    }
    Ok(AcquireKvSnapshotLeaseResponse { unavailable_snapshots })
}

/// Gives back what a lease holds of some buckets.
pub(crate) fn release(
    node: &Node,
    gate: &Gate<'_>,
    request: &ReleaseKvSnapshotLeaseRequest,
) -> Reply<ReleaseKvSnapshotLeaseResponse> {
    request.buckets_to_release.iter().try_for_each(|bucket| gate.table_id(Operation::Read, bucket.table_id))?;
    request.buckets_to_release.iter().try_for_each(|bucket| need_keyed(node, bucket.table_id))?;
    let id = |b: &message::TableBucket| bucket_id(b.table_id, b.partition_id, b.bucket_id);
    let buckets: Vec<_> = request.buckets_to_release.iter().map(id).collect();
    if !buckets.is_empty() {
        node.store.release_snapshots(&buckets, &request.lease_id)?;
    }
    Ok(ReleaseKvSnapshotLeaseResponse {})
}

/// Gives back all that a lease holds.
pub(crate) fn drop_lease(node: &Node, request: &DropKvSnapshotLeaseRequest) -> Reply<DropKvSnapshotLeaseResponse> {
    node.store.release_snapshots(&[], &request.lease_id)?;
    Ok(DropKvSnapshotLeaseResponse {})
}

/// Only primary-key tables have snapshots; one that was dropped has given all of them up.
fn need_keyed(node: &Node, table_id: i64) -> Reply<()> {
    match node.store.path_of(TableId(table_id))?.map(|path| node.store.table(&path)) {
        Some(Ok(info)) => tables::need_primary_key(&info),
        _ => Ok(()),
    }
}

fn bucket_id(table: i64, partition: Option<i64>, bucket: i32) -> TableBucket {
    TableBucket { table: TableId(table), partition: partition.map(PartitionId), bucket }
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
