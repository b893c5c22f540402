//! Calls by name that only our own server knows; any other is said to be without them.

use crate::cluster::{Cluster, To};
use crate::refusal::error_of_call;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sluice_base::{Error, Result, Subject};
use sluice_wire::ApiKey;
use sluice_wire::message::{CallRequest, CallResponse};

/// Whether the servers are our own.
pub(crate) fn are_known(cluster: &Cluster) -> Result<bool> {
    Ok(cluster.block_on(cluster.knows(ApiKey::Call))?)
}

/// What another server is told to lack.
pub(crate) fn unknown(what: &str) -> Error {
    let message =
        format!("{what} is not in the protocol of this server; it needs a Sluice server or an embedded store");
    Error::unsupported(Subject::Store, message)
}

/// Whether a call may be made again when nobody can tell whether it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    Yes,
    No,
}

fn make<T: DeserializeOwned>(cluster: &Cluster, operation: &str, arguments: &Value, again: Again) -> Result<T> {
    if !are_known(cluster)? {
        return Err(unknown(&format!("'{}'", operation.replace('_', " "))));
    }
    let request = CallRequest { operation: operation.to_owned(), arguments: arguments.to_string() };
    let told: CallResponse = cluster.block_on(async {
        match again {
            Again::Yes => cluster.ask(To::Coordinator, ApiKey::Call, &request).await,
            Again::No => cluster.change(ApiKey::Call, &request).await,
        }
    })?;
    if let Some(error) = told.error {
        return Err(error_of_call(error));
    }
    serde_json::from_str(told.answer.as_deref().unwrap_or("null"))
        .map_err(|e| Error::internal(format!("the answer of '{operation}' cannot be read: {e}")))
}

/// Makes a call that may be made twice, and reads its answer.
///
/// # Errors
/// Those of the call; `Unsupported` about `Store` for another server.
pub(crate) fn call<T: DeserializeOwned>(cluster: &Cluster, operation: &str, arguments: &Value) -> Result<T> {
    make(cluster, operation, arguments, Again::Yes)
}

/// Makes a call that must not be made twice.
///
/// # Errors
/// As [`call`]; `Io` when nobody can tell whether it was made.
pub(crate) fn change(cluster: &Cluster, operation: &str, arguments: &Value) -> Result<()> {
    make(cluster, operation, arguments, Again::No)
}
