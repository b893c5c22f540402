//! How the server is, as JSON for its page: all tables in short, one of them with its buckets, who is connected, what went wrong lately.
//!
//! Every list has a bound; what is left out is counted. A look opens nothing but the logs of the one table that is asked for.

use crate::node::Node;
use crate::secrets::is_secret;
use serde_json::{Value, json};
use sluice_api::{Connection, TableInfo};
use sluice_base::{Clock, Fs, OsFs, Result, SystemClock};
use sluice_row::TablePath;
use sluice_store::BucketStatus;
use std::collections::BTreeMap;
use std::path::Path;

const TABLES_MAX: usize = 1000;
const BUCKETS_MAX: usize = 1000;
const CLIENTS_MAX: usize = 200;
/// Bytes of a page of memory, as Linux counts.
const PAGE_BYTES: u64 = 4096;

/// A table in short.
pub(crate) struct TableSummary {
    pub(crate) info: TableInfo,
    pub(crate) buckets: usize,
    /// Those that somebody has used since the server started; the sums are over them.
    pub(crate) open: usize,
    pub(crate) offsets: u64,
    pub(crate) bytes: u64,
    pub(crate) rows: Option<i64>,
    pub(crate) trouble: Option<String>,
}

/// The tables of all databases as far as the bound allows, and how many there are more.
pub(crate) fn tables(node: &Node) -> Result<(BTreeMap<String, Vec<TableSummary>>, usize)> {
    let mut databases = BTreeMap::new();
    let (mut shown, mut left_out) = (0, 0);
    for database in node.store.list_databases()? {
        // One that is dropped meanwhile has none.
        let names = node.store.list_tables(&database).unwrap_or_default();
        let mut tables = Vec::new();
        for name in names {
            if shown == TABLES_MAX {
                left_out += 1;
            } else if let Ok(summary) = summary(node, &TablePath::new(database.clone(), name)) {
                tables.push(summary);
                shown += 1;
            }
        }
        databases.insert(database, tables);
    }
    Ok((databases, left_out))
}

fn summary(node: &Node, path: &TablePath) -> Result<TableSummary> {
    let info = node.store.table(path)?;
    let buckets = node.store.bucket_status(path, false)?;
    let logs = || buckets.iter().filter_map(|b| b.log);
    let rows: Vec<_> = buckets.iter().filter_map(|b| b.rows).collect();
    Ok(TableSummary {
        info,
        buckets: buckets.len(),
        open: logs().count(),
        offsets: logs().map(|log| log.end.unsigned_abs()).sum(),
        bytes: logs().map(|log| log.bytes).sum::<u64>() + rows.iter().map(|r| r.bytes).sum::<u64>(),
        rows: (!rows.is_empty()).then(|| rows.iter().map(|r| r.rows).sum()),
        trouble: buckets.iter().find_map(|b| b.trouble.clone()),
    })
}

/// Memory of this process that is in use; `None` where the system does not say.
pub(crate) fn resident_bytes() -> Option<u64> {
    let text = OsFs.read(Path::new("/proc/self/statm")).ok()?;
    let pages: u64 = std::str::from_utf8(&text).ok()?.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * PAGE_BYTES)
}

/// Everything; with `table`, that one with its buckets.
pub(crate) fn status(node: &Node, table: Option<&str>) -> Result<Value> {
    let (databases, left_out) = tables(node)?;
    let databases: Vec<Value> = databases
        .iter()
        .map(|(name, tables)| json!({"name": name, "tables": tables.iter().map(short).collect::<Vec<_>>()}))
        .collect();
    let (clients, clients_open) = clients(node);
    Ok(json!({
        "now_ms": SystemClock.now_ms(),
        "server": server(node),
        "databases": databases,
        "tables_left_out": left_out,
        "table": table.map(|name| detail(node, name)),
        "clients_left_out": clients_open - clients.len(),
        "clients": clients,
        "errors": errors(node),
    }))
}

fn server(node: &Node) -> Value {
    let counters = &node.counters;
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "process": std::process::id(),
        "started_ms": node.started_ms,
        "data_dir": node.store.root().display().to_string(),
        "listeners": node.doors.iter().map(|door| json!({
            "name": door.name, "address": format!("{}:{}", door.host, door.port), "protocol": door.protocol(),
        })).collect::<Vec<_>>(),
        "resident_bytes": resident_bytes(),
        "connections": counters.connections_open.get(),
        "connections_refused": counters.connections_refused.get(),
        "logins_failed": counters.logins_failed.get(),
        "requests": counters.requests_sum(),
        "requests_open": counters.requests_open.get(),
        "received_bytes": counters.bytes_received.get(),
        "sent_bytes": counters.bytes_sent.get(),
    })
}

fn short(table: &TableSummary) -> Value {
    let info = &table.info;
    json!({
        "name": info.path.table,
        "keyed": info.has_primary_key(),
        "partitioned": !info.descriptor.partition_key.is_empty(),
        "lake": has_lake(info),
        "buckets": table.buckets,
        "open": table.open,
        "offsets": table.offsets,
        "bytes": table.bytes,
        "rows": table.rows,
        "trouble": table.trouble,
    })
}

/// Whether a table has a lake.
pub(crate) fn has_lake(info: &TableInfo) -> bool {
    info.descriptor.properties.get("table.datalake.enabled").is_some_and(|v| v.trim().eq_ignore_ascii_case("true"))
}

/// A table named `database.table`.
fn detail(node: &Node, name: &str) -> Value {
    let (database, table) = name.split_once('.').unwrap_or((name, ""));
    let path = TablePath::new(database, table);
    found(node, &path).unwrap_or_else(|e| json!({"database": database, "name": table, "error": e.to_string()}))
}

fn found(node: &Node, path: &TablePath) -> Result<Value> {
    let info = node.store.table(path)?;
    let buckets = node.store.bucket_status(path, true)?;
    let lake = has_lake(&info).then(|| lake(node, path));
    let descriptor = &info.descriptor;
    let column = |column: &sluice_row::Column| {
        let key = descriptor.schema.primary_key.contains(&column.name);
        json!({"name": column.name, "type": column.data_type.to_string(), "key": key})
    };
    let options = descriptor.properties.iter().chain(&descriptor.custom_properties);
    let option = |(key, value): (&String, &String)| (key.clone(), if is_secret(key) { "******" } else { value }.into());
    Ok(json!({
        "database": path.database,
        "name": path.table,
        "id": info.table_id,
        "created_ms": info.created_ms,
        "columns": descriptor.schema.columns.iter().map(column).collect::<Vec<_>>(),
        "partition_key": descriptor.partition_key,
        "bucket_key": descriptor.bucket_key,
        "options": options.map(option).collect::<serde_json::Map<String, Value>>(),
        "buckets": buckets.iter().take(BUCKETS_MAX).map(bucket).collect::<Vec<_>>(),
        "buckets_left_out": buckets.len().saturating_sub(BUCKETS_MAX),
        "lake": lake,
    }))
}

fn bucket(bucket: &BucketStatus) -> Value {
    json!({
        "partition": bucket.partition,
        "bucket": bucket.id.bucket,
        "start": bucket.log.map(|log| log.start),
        "end": bucket.log.map(|log| log.end),
        "log_bytes": bucket.log.map(|log| log.bytes),
        "rows": bucket.rows.map(|rows| rows.rows),
        "rows_bytes": bucket.rows.map(|rows| rows.bytes),
        "in_files": bucket.rows.map(|rows| rows.in_files),
        "snapshots": bucket.rows.and_then(|rows| rows.snapshots),
        "in_lake": bucket.in_lake,
        "in_remote": bucket.in_remote,
        "trouble": bucket.trouble,
    })
}

fn lake(node: &Node, path: &TablePath) -> Value {
    match node.store.lake_snapshot(path) {
        Ok(lake) => json!({"snapshot": lake.snapshot, "last_round_ms": lake.last_round_ms, "error": lake.error}),
        Err(e) => json!({"snapshot": null, "last_round_ms": null, "error": e.to_string()}),
    }
}

fn clients(node: &Node) -> (Vec<Value>, usize) {
    let (clients, open) = node.clients.first(CLIENTS_MAX);
    let told = clients.iter().map(|client| {
        json!({
            "address": client.address.to_string(),
            "listener": client.door.name,
            "user": client.user(),
            "software": client.software(),
            "since_ms": client.since_ms,
            "requests": client.requests.get(),
            "received_bytes": client.bytes_received.get(),
            "sent_bytes": client.bytes_sent.get(),
        })
    });
    (told.collect(), open)
}

fn errors(node: &Node) -> Vec<Value> {
    let told = |t: crate::troubles::Trouble| json!({"at_ms": t.at_ms, "times": t.times, "what": t.what, "client": t.client, "message": t.message});
    node.troubles.newest_first().into_iter().map(told).collect()
}
