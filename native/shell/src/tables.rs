//! `sluice tables`.

use crate::grid::Grid;
use crate::name::near;
use crate::output::Output;
use crate::place::within;
use crate::words::Words;
use serde_json::json;
use sluice_api::{Connection, TableInfo, TableStats};
use sluice_base::{Error, ErrorKind, Result, Subject};
use sluice_row::TablePath;

pub(crate) fn tables(words: &Words, out: &mut Output) -> Result<()> {
    within(words, |store| {
        let wanted = words.arguments.first();
        let databases = store.list_databases()?;
        if let Some(name) = wanted.filter(|name| !databases.contains(name)) {
            let hint = near(name, databases.iter().map(String::as_str));
            let message = format!("there is no database '{name}'{hint}; there are {}", databases.join(", "));
            return Err(Error::not_found(Subject::Database, message));
        }
        let mut found = Vec::new();
        for database in databases.iter().filter(|d| wanted.is_none_or(|w| w == *d)) {
            found.extend(of_database(store, database)?);
        }
        if words.has("--json") { in_json(&found, out) } else { in_text(&found, out) }
    })
}

type Found = (TableInfo, Option<TableStats>);

fn of_database(store: &dyn Connection, database: &str) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for name in store.list_tables(database)? {
        let path = TablePath::new(database, name);
        match store.table(&path) {
            Ok(info) => {
                // Not every server counts, and nobody needs to.
                let stats = store.table_stats(&path).ok();
                found.push((info, stats));
            }
            // It was dropped meanwhile.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(found)
}

/// What kind of table it is, in words.
pub(crate) fn kind(info: &TableInfo) -> &'static str {
    if info.has_primary_key() { "primary key" } else { "log" }
}

fn in_json(found: &[Found], out: &mut Output) -> Result<()> {
    for (info, stats) in found {
        let value = json!({
            "database": info.path.database,
            "table": info.path.table,
            "kind": kind(info),
            "columns": info.descriptor.schema.columns.len(),
            "buckets": info.bucket_count(),
            "partition_key": info.descriptor.partition_key,
            "rows": stats.and_then(|s| s.row_count),
        });
        out.line(&value.to_string())?;
    }
    Ok(())
}

fn in_text(found: &[Found], out: &mut Output) -> Result<()> {
    let titles = [
        ("table", false),
        ("kind", false),
        ("columns", true),
        ("buckets", true),
        ("partitioned by", false),
        ("rows", true),
    ];
    let row = |(info, stats): &Found| {
        let rows = stats.and_then(|s| s.row_count).map_or_else(|| "-".to_owned(), |n| n.to_string());
        let columns = info.descriptor.schema.columns.len().to_string();
        vec![
            info.path.to_string(),
            kind(info).to_owned(),
            columns,
            info.bucket_count().to_string(),
            info.descriptor.partition_key.join(", "),
            rows,
        ]
    };
    if found.is_empty() {
        return out.line("there is no table yet");
    }
    Grid::new(titles.map(|(t, n)| (t.to_owned(), n))).print(out, &found.iter().map(row).collect::<Vec<_>>())
}
