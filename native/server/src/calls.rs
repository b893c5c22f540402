//! Requests of our own: calls by name that the protocol has no words for.

use crate::answer::Reply;
use crate::gate::Gate;
use crate::node::Node;
use crate::status::has_lake;
use serde_json::json;
use sluice_api::call::{Bucket, WriterArguments, admin, parse};
use sluice_api::{Connection, Operation, Resource, TierWork, WriteOptions};
use sluice_base::{Error, Offset, Result, TableBucket};
use sluice_row::TablePath;
use sluice_wire::message::{CallError, CallRequest, CallResponse};
use std::time::Duration;

/// What one call may take to become durable.
const DURABLE_WAIT: Duration = Duration::from_secs(30);

/// An error with its own numbers, so that a client of ours says what the store said.
pub(crate) fn told(error: &Error) -> CallError {
    CallError { kind: error.kind().code(), subject: error.subject().code(), message: error.message().to_owned() }
}

/// What a call is about, as far as rights are concerned.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct About {
    path: Option<TablePath>,
    name: Option<String>,
    database: Option<String>,
    buckets: Vec<Bucket>,
    writer: Option<Writing>,
    work: Option<TierWork>,
}

#[derive(Debug, serde::Deserialize)]
struct Writing {
    path: TablePath,
}

/// Whether the client may make a call.
fn judge(node: &Node, gate: &Gate<'_>, operation: &str, arguments: &str) -> Reply<()> {
    // Arguments that cannot be read are refused by the call itself.
    let Ok(about) = parse::<About>(operation, arguments) else { return gate.cluster(Operation::All) };
    let table = |right| match about.path.as_ref().or(about.writer.as_ref().map(|w| &w.path)) {
        Some(path) => gate.resource(right, &Resource::table(&path.database, &path.table)),
        None => gate.cluster(Operation::All),
    };
    let database = |right| {
        let of_table = about.path.as_ref().map(|p| p.database.as_str());
        match about.name.as_deref().or(about.database.as_deref()).or(of_table) {
            Some(name) => gate.database(right, name),
            None => gate.cluster(Operation::All),
        }
    };
    let buckets = |right| {
        let id = |bucket: &Bucket| TableBucket::from(*bucket).table.0;
        about.buckets.iter().try_for_each(|bucket| gate.table_id(right, id(bucket)))
    };
    match operation {
        "create_database" => gate.cluster(Operation::Create),
        "alter_database" => database(Operation::Alter),
        "drop_database" => database(Operation::Drop),
        "database" => database(Operation::Describe),
        "create_table" | "create_view" => database(Operation::Create),
        "drop_table" | "drop_view" => table(Operation::Drop),
        "alter_table" | "alter_view" | "rename_view" => table(Operation::Alter),
        "table" | "view" | "list_partitions" | "lake_snapshot" | "lake_partitions" | "tier_work" => {
            table(Operation::Describe)
        }
        "create_partition" | "drop_partition" | "tier" | "tier_commit" | "producer_offsets" | "end_producer"
        | "undo" => table(Operation::Write),
        "tier_write" => match &about.work {
            Some(work) => gate.table_id(Operation::Write, work.table_id),
            None => gate.cluster(Operation::All),
        },
        "table_stats" => table(Operation::Read),
        "list_offsets" => buckets(Operation::Describe),
        "acquire_snapshots" | "release_snapshots" => buckets(Operation::Read),
        // Their answers are made less instead.
        "list_databases" | "list_tables" | "list_views" => Ok(()),
        "lake_options" => sees_a_lake(node, gate),
        _ => gate.cluster(Operation::All),
    }
}

/// Whoever may see a table with a lake is told where that is.
fn sees_a_lake(node: &Node, gate: &Gate<'_>) -> Reply<()> {
    for database in node.store.list_databases()? {
        // One that is dropped meanwhile has no tables.
        for table in gate.tables(&database, node.store.list_tables(&database).unwrap_or_default()) {
            let info = node.store.table(&TablePath::new(database.clone(), table));
            if info.is_ok_and(|info| has_lake(&info)) {
                return Ok(());
            }
        }
    }
    gate.cluster(Operation::Describe)
}

/// The names in a list that the client may see.
fn seen(gate: &Gate<'_>, operation: &str, arguments: &str, answer: String) -> Result<String> {
    let names = || parse::<Vec<String>>(operation, &answer);
    let left = match operation {
        "list_databases" => gate.databases(names()?),
        "list_tables" | "list_views" => {
            let about: About = parse(operation, arguments)?;
            gate.tables(&about.database.unwrap_or_default(), names()?)
        }
        _ => return Ok(answer),
    };
    Ok(json!(left).to_string())
}

pub(crate) fn call(node: &Node, gate: &Gate<'_>, request: &CallRequest) -> Reply<CallResponse> {
    let (operation, arguments) = (request.operation.as_str(), request.arguments.as_str());
    judge(node, gate, operation, arguments)?;
    let done = match operation {
        "undo" => undo(node, arguments),
        _ => admin(&*node.store, operation, arguments).and_then(|answer| seen(gate, operation, arguments, answer)),
    };
    Ok(match done {
        Ok(answer) => CallResponse { answer: Some(answer), error: None },
        Err(error) => CallResponse { answer: None, error: Some(told(&error)) },
    })
}

/// What `undo` of a writer is: the writer's arguments, a bucket and an offset.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Undo {
    writer: WriterArguments,
    bucket: Bucket,
    from: Offset,
}

fn undo(node: &Node, arguments: &str) -> Result<String> {
    let Undo { writer: WriterArguments { path, target_columns, overwrite, create_partitions }, bucket, from } =
        parse("undo", arguments)?;
    let bucket: TableBucket = bucket.into();
    let mut writer = node.store.writer(&path, &WriteOptions { target_columns, overwrite, create_partitions })?;
    writer.undo(&bucket, from)?;
    writer.flush(DURABLE_WAIT)?;
    Ok(json!(null).to_string())
}
