//! `sluice describe`.

use crate::grid::Grid;
use crate::output::Output;
use crate::place::{self, Bucket, within};
use crate::tables::kind;
use crate::words::Words;
use serde_json::{Value, json};
use sluice_api::{OffsetSpec, TableInfo};
use sluice_base::{Offset, Result};

/// So many buckets are shown in text.
const BUCKETS_MAX: usize = 50;

pub(crate) fn describe(words: &Words, out: &mut Output) -> Result<()> {
    within(words, |store| {
        let info = place::table(store, words)?;
        let buckets = place::buckets(store, &info)?;
        let ids: Vec<_> = buckets.iter().map(|b| b.id).collect();
        let earliest = store.list_offsets(&ids, OffsetSpec::Earliest)?;
        let latest = store.list_offsets(&ids, OffsetSpec::Latest)?;
        let offsets: Vec<(Offset, Offset)> = earliest.into_iter().zip(latest).collect();
        if words.has("--json") {
            return out.line(&in_json(&info, &buckets, &offsets).to_string());
        }
        in_text(&info, &buckets, &offsets, out)
    })
}

fn in_json(info: &TableInfo, buckets: &[Bucket], offsets: &[(Offset, Offset)]) -> Value {
    let descriptor = &info.descriptor;
    let column =
        |c: &sluice_row::Column| json!({"name": c.name, "type": c.data_type.to_string(), "comment": c.comment});
    let bucket = |(b, (earliest, latest)): (&Bucket, &(Offset, Offset))| json!({"partition": b.partition, "bucket": b.id.bucket, "earliest": earliest, "latest": latest});
    let options = descriptor.properties.iter().chain(&descriptor.custom_properties);
    json!({
        "database": info.path.database,
        "table": info.path.table,
        "id": info.table_id,
        "kind": kind(info),
        "comment": descriptor.comment,
        "columns": descriptor.schema.columns.iter().map(column).collect::<Vec<_>>(),
        "primary_key": descriptor.schema.primary_key,
        "partition_key": descriptor.partition_key,
        "bucket_key": descriptor.bucket_key,
        "options": options.map(|(k, v)| (k.clone(), v.clone().into())).collect::<serde_json::Map<String, Value>>(),
        "buckets": buckets.iter().zip(offsets).map(bucket).collect::<Vec<_>>(),
    })
}

fn titles<const N: usize>(titles: [(&str, bool); N]) -> Grid {
    Grid::new(titles.map(|(title, number)| (title.to_owned(), number)))
}

fn in_text(info: &TableInfo, buckets: &[Bucket], offsets: &[(Offset, Offset)], out: &mut Output) -> Result<()> {
    let descriptor = &info.descriptor;
    let comment = descriptor.comment.as_ref().map_or_else(String::new, |c| format!(": {c}"));
    out.line(&format!("{} ({}, id {}){comment}", info.path, kind(info), info.table_id))?;
    for (what, names) in [("partitioned by", &descriptor.partition_key), ("buckets by", &descriptor.bucket_key)] {
        if !names.is_empty() {
            out.line(&format!("{what} {}", names.join(", ")))?;
        }
    }
    out.line("")?;
    let column = |c: &sluice_row::Column| {
        let place = descriptor.schema.primary_key.iter().position(|name| *name == c.name);
        let key = place.map_or_else(String::new, |p| (p + 1).to_string());
        vec![c.name.clone(), c.data_type.to_string(), key, c.comment.clone().unwrap_or_default()]
    };
    let columns: Vec<_> = descriptor.schema.columns.iter().map(column).collect();
    titles([("column", false), ("type", false), ("key", true), ("comment", false)]).print(out, &columns)?;
    let options = descriptor.properties.iter().chain(&descriptor.custom_properties);
    let options: Vec<_> = options.map(|(k, v)| vec![k.clone(), v.clone()]).collect();
    if !options.is_empty() {
        out.line("")?;
        titles([("option", false), ("value", false)]).print(out, &options)?;
    }
    let bucket = |(b, (earliest, latest)): (&Bucket, &(Offset, Offset))| {
        vec![b.partition.clone().unwrap_or_default(), b.id.bucket.to_string(), earliest.to_string(), latest.to_string()]
    };
    let rows: Vec<_> = buckets.iter().zip(offsets).take(BUCKETS_MAX).map(bucket).collect();
    out.line("")?;
    titles([("partition", false), ("bucket", true), ("first offset", true), ("next offset", true)])
        .print(out, &rows)?;
    match buckets.len().saturating_sub(BUCKETS_MAX) {
        0 => Ok(()),
        more => out.line(&format!("and {more} more; --json gives all")),
    }
}
