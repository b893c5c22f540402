//! Where in logs something is.

use crate::cluster::{Cluster, To};
use crate::refusal::part;
use sluice_api::OffsetSpec;
use sluice_base::{Error, Offset, Result, Subject, TableBucket};
use sluice_row::TablePath;
use sluice_wire::ApiKey;
use sluice_wire::message::{ListOffsetsRequest, ListOffsetsResponse};
use std::collections::BTreeMap;

const EARLIEST: i32 = 0;
const LATEST: i32 = 1;
const TIMESTAMP: i32 = 2;
/// A client, not a server that copies logs.
const NO_SERVER: i32 = -1;

/// One offset of one bucket.
pub(crate) fn one(cluster: &Cluster, path: &TablePath, bucket: TableBucket, spec: OffsetSpec) -> Result<Offset> {
    let found = list(cluster, path, &[bucket], spec)?;
    found.first().copied().ok_or_else(|| Error::internal("an offset was asked for and none came"))
}

/// One offset for each bucket of a table.
///
/// # Errors
/// As `sluice_api::Connection::list_offsets`.
pub(crate) fn list(
    cluster: &Cluster,
    path: &TablePath,
    buckets: &[TableBucket],
    spec: OffsetSpec,
) -> Result<Vec<Offset>> {
    let (offset_type, start_timestamp) = match spec {
        OffsetSpec::Earliest => (EARLIEST, None),
        OffsetSpec::Latest => (LATEST, None),
        OffsetSpec::Timestamp(ms) => (TIMESTAMP, Some(ms)),
    };
    // Buckets of one leader and partition are asked for together.
    let mut groups: BTreeMap<_, Vec<TableBucket>> = BTreeMap::new();
    for bucket in buckets {
        // One whose leader is not known now is asked for alone, and patiently.
        let leader = cluster.block_on(cluster.leader(path, *bucket)).ok();
        let alone = leader.is_none().then_some(bucket.bucket);
        groups.entry((bucket.partition, leader, alone)).or_default().push(*bucket);
    }
    let mut found = BTreeMap::new();
    for group in groups.into_values() {
        let Some(first) = group.first().copied() else { continue };
        let request = ListOffsetsRequest {
            follower_server_id: NO_SERVER,
            offset_type,
            table_id: first.table.0,
            partition_id: first.partition.map(|p| p.0),
            bucket_id: group.iter().map(|b| b.bucket).collect(),
            start_timestamp,
        };
        let check = |answer: ListOffsetsResponse| {
            let mut offsets = Vec::with_capacity(answer.buckets_resp.len());
            for told in answer.buckets_resp {
                part(told.error_code, told.error_message)?;
                offsets.push((told.bucket_id, told.offset));
            }
            Ok(offsets)
        };
        let to = To::Leader(path, first);
        for (bucket, offset) in cluster.block_on(cluster.ask_checked(to, ApiKey::ListOffsets, &request, check))? {
            found.insert(TableBucket { bucket, ..first }, offset.unwrap_or(0));
        }
    }
    let offset = |bucket: &TableBucket| {
        let missing = || Error::not_found(Subject::Bucket, format!("the server does not know {bucket}"));
        found.get(bucket).copied().ok_or_else(missing)
    };
    buckets.iter().map(offset).collect()
}
