//! Requests about databases.

use crate::answer::Reply;
use crate::gate::Gate;
use crate::node::Node;
use sluice_api::Connection;
use sluice_base::ErrorKind;
use sluice_wire::json;
use sluice_wire::message::{
    CreateDatabaseRequest, CreateDatabaseResponse, DatabaseExistsRequest, DatabaseExistsResponse, DatabaseSummary,
    DropDatabaseRequest, DropDatabaseResponse, GetDatabaseInfoRequest, GetDatabaseInfoResponse, ListDatabasesRequest,
    ListDatabasesResponse,
};

pub(crate) fn create(node: &Node, request: &CreateDatabaseRequest) -> Reply<CreateDatabaseResponse> {
    let descriptor = json::database(request.database_json.as_deref())?;
    node.store.create_database(&request.database_name, &descriptor, request.ignore_if_exists)?;
    Ok(CreateDatabaseResponse {})
}

pub(crate) fn drop(node: &Node, request: &DropDatabaseRequest) -> Reply<DropDatabaseResponse> {
    node.store.drop_database(&request.database_name, request.ignore_if_not_exists, request.cascade)?;
    Ok(DropDatabaseResponse {})
}

pub(crate) fn exists(node: &Node, request: &DatabaseExistsRequest) -> Reply<DatabaseExistsResponse> {
    match node.store.database(&request.database_name) {
        Ok(_) => Ok(DatabaseExistsResponse { exists: true }),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(DatabaseExistsResponse { exists: false }),
        Err(e) => Err(e.into()),
    }
}

/// Those that the client may see.
pub(crate) fn list(node: &Node, gate: &Gate<'_>, request: &ListDatabasesRequest) -> Reply<ListDatabasesResponse> {
    let names = gate.databases(node.store.list_databases()?);
    if !request.include_summary.unwrap_or(false) {
        return Ok(ListDatabasesResponse { database_name: names, database_summary: Vec::new() });
    }
    let mut summaries = Vec::with_capacity(names.len());
    for name in names {
        // One that is dropped meanwhile is left out.
        let (Ok(info), Ok(tables)) = (node.store.database(&name), node.store.list_tables(&name)) else { continue };
        summaries.push(DatabaseSummary {
            database_name: name,
            created_time: info.created_ms,
            table_count: i32::try_from(tables.len()).unwrap_or(i32::MAX),
        });
    }
    Ok(ListDatabasesResponse { database_name: Vec::new(), database_summary: summaries })
}

pub(crate) fn info(node: &Node, request: &GetDatabaseInfoRequest) -> Reply<GetDatabaseInfoResponse> {
    let info = node.store.database(&request.database_name)?;
    Ok(GetDatabaseInfoResponse {
        database_json: json::of_database(&info.descriptor)?,
        created_time: info.created_ms,
        modified_time: info.modified_ms,
    })
}
