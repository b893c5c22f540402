//! Counts of a table, as its servers keep them.

use crate::admin;
use crate::calls;
use crate::cluster::{Cluster, To};
use crate::refusal::part;
use serde_json::json;
use sluice_api::{TableInfo, TableStats};
use sluice_base::{ErrorKind, PartitionId, Result, TableBucket, TableId};
use sluice_row::TablePath;
use sluice_wire::ApiKey;
use sluice_wire::message::{GetTableStatsRequest, GetTableStatsResponse, TableStatsBucketRequest};
use std::collections::BTreeMap;

/// Counts of a table: our own server's, or the sum over the buckets where a server counts those.
pub(crate) fn of(cluster: &Cluster, path: &TablePath) -> Result<TableStats> {
    if calls::are_known(cluster)? {
        return calls::call(cluster, "table_stats", &json!({ "path": path }));
    }
    let table = admin::table(cluster, path)?;
    let properties = &table.descriptor.properties;
    let has_lake = properties.get("table.datalake.enabled").is_some_and(|v| v.trim().eq_ignore_ascii_case("true"));
    // Rows that are in the lake only are in no bucket's count.
    let counted = if has_lake && !table.has_primary_key() { None } else { count(cluster, path, &table)? };
    Ok(TableStats { row_count: counted, size_bytes: 0 })
}

fn count(cluster: &Cluster, path: &TablePath, table: &TableInfo) -> Result<Option<i64>> {
    let id = TableId(table.table_id);
    let homes: Vec<(Option<PartitionId>, i32)> = if table.descriptor.partition_key.is_empty() {
        vec![(None, table.bucket_count())]
    } else {
        let all = admin::list_partitions(cluster, path, &BTreeMap::new())?;
        all.iter().map(|p| (Some(p.id()), p.bucket_count)).collect()
    };
    let mut sum = 0_i64;
    for (partition, buckets) in homes {
        for bucket in 0..buckets {
            let one = TableStatsBucketRequest { partition_id: partition.map(|p| p.0), bucket_id: bucket };
            let request = GetTableStatsRequest { table_id: id.0, buckets_req: vec![one], target_columns: Vec::new() };
            let check = |answer: GetTableStatsResponse| {
                let told = answer.buckets_resp.into_iter().next().unwrap_or_default();
                part(told.error_code, told.error_message)?;
                Ok(told.row_count)
            };
            let to = To::Leader(path, TableBucket { table: id, partition, bucket });
            let counted = cluster.block_on(cluster.ask_checked(to, ApiKey::GetTableStats, &request, check));
            match counted {
                Ok(Some(rows)) => sum += rows,
                // The server does not count the rows of such a table.
                Ok(None) => return Ok(None),
                Err(refusal) if matches!(refusal.error.kind(), ErrorKind::Unsupported | ErrorKind::Invalid) => {
                    return Ok(None);
                }
                Err(refusal) => return Err(refusal.into()),
            }
        }
    }
    Ok(Some(sum))
}
