//! What collectors are told: the server's counters, and how far each table is.

use crate::exposition::Exposition;
use crate::node::Node;
use crate::status::{TableSummary, resident_bytes, tables};
use sluice_base::Result;

/// Everything, as Prometheus reads it.
///
/// # Errors
/// `Closed` while the server goes down.
pub(crate) fn text(node: &Node) -> Result<String> {
    let mut out = Exposition::default();
    node.counters.tell(&mut out);
    if let Some(bytes) = resident_bytes() {
        out.one("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", bytes);
    }
    let start = node.started_ms.unsigned_abs() / 1000;
    out.one("process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.", start);
    let (databases, left_out) = tables(node)?;
    let count = databases.values().map(Vec::len).sum::<usize>() + left_out;
    out.one("sluice_databases", "gauge", "Databases.", databases.len() as u64);
    out.one("sluice_tables", "gauge", "Tables.", count as u64);
    let mut each = |name, kind, help, value: fn(&TableSummary) -> u64| {
        out.family(name, kind, help);
        for table in databases.values().flatten() {
            let path = &table.info.path;
            out.sample(&[("database", &path.database), ("table", &path.table)], value(table));
        }
    };
    each("sluice_table_buckets", "gauge", "Buckets of a table.", |t| t.buckets as u64);
    each("sluice_table_buckets_open", "gauge", "Buckets that were used since the start.", |t| t.open as u64);
    each("sluice_table_offsets", "gauge", "Ends of the logs of a table's open buckets, added up.", |t| t.offsets);
    each("sluice_table_bytes", "gauge", "Bytes on disk of a table's open buckets.", |t| t.bytes);
    each("sluice_table_troubled", "gauge", "1 if a bucket cannot be written.", |t| u64::from(t.trouble.is_some()));
    Ok(out.finish())
}
