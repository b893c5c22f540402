//! Requests of our own: calls by name that the protocol has no words for.

use crate::answer::Reply;
use crate::node::Node;
use serde_json::json;
use sluice_api::call::{Bucket, WriterArguments, admin, parse};
use sluice_api::{Connection, WriteOptions};
use sluice_base::{Error, Offset, Result, TableBucket};
use sluice_wire::message::{CallError, CallRequest, CallResponse};
use std::time::Duration;

/// What one call may take to become durable.
const DURABLE_WAIT: Duration = Duration::from_secs(30);

/// An error with its own numbers, so that a client of ours says what the store said.
pub(crate) fn told(error: &Error) -> CallError {
    CallError { kind: error.kind().code(), subject: error.subject().code(), message: error.message().to_owned() }
}

pub(crate) fn call(node: &Node, request: &CallRequest) -> Reply<CallResponse> {
    let done = match request.operation.as_str() {
        "undo" => undo(node, &request.arguments),
        operation => admin(&*node.store, operation, &request.arguments),
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
