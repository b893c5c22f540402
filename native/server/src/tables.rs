//! Requests about tables and their schemas.

use crate::answer::{Failed, Reply};
use crate::gate::Gate;
use crate::node::Node;
use sluice_api::{Connection, TableChange, TableInfo};
use sluice_base::{Error, ErrorKind, SchemaId, Subject};
use sluice_row::{Column, TablePath};
use sluice_wire::message::{
    self, AlterTableRequest, AlterTableResponse, CreateTableRequest, CreateTableResponse, DropTableRequest,
    DropTableResponse, GetTableInfoRequest, GetTableInfoResponse, GetTableSchemaRequest, GetTableSchemaResponse,
    ListTablesRequest, ListTablesResponse, TableExistsRequest, TableExistsResponse,
};
use sluice_wire::{ErrorCode, json};

const SET: i32 = 0;
const DELETE: i32 = 1;
const LAST: i32 = 0;

pub(crate) fn path(path: &message::TablePath) -> TablePath {
    TablePath::new(path.database_name.clone(), path.table_name.clone())
}

pub(crate) fn create(node: &Node, request: &CreateTableRequest) -> Reply<CreateTableResponse> {
    let descriptor = json::table(&request.table_json)?;
    // Clients tell a table's own options from those of its users; the store sorts them by itself.
    if let Some(foreign) = descriptor.properties.keys().find(|key| !key.starts_with("table.")) {
        let message = format!("'{foreign}' is not a Fluss table property. Give it among the custom properties.");
        return Err(Failed::new(ErrorCode::InvalidConfig, message));
    }
    node.store.create_table(&path(&request.table_path), &descriptor, request.ignore_if_exists).map_err(|e| {
        // The only option whose refusal has a code of its own.
        let copies = e.subject() == Subject::Option && e.message().contains("'table.replication.factor'");
        if copies { Failed::new(ErrorCode::InvalidReplicationFactor, e.message()) } else { e.into() }
    })?;
    Ok(CreateTableResponse {})
}

pub(crate) fn drop(node: &Node, request: &DropTableRequest) -> Reply<DropTableResponse> {
    node.store.drop_table(&path(&request.table_path), request.ignore_if_not_exists)?;
    Ok(DropTableResponse {})
}

pub(crate) fn exists(node: &Node, request: &TableExistsRequest) -> Reply<TableExistsResponse> {
    match node.store.table(&path(&request.table_path)) {
        Ok(_) => Ok(TableExistsResponse { exists: true }),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(TableExistsResponse { exists: false }),
        Err(e) => Err(e.into()),
    }
}

/// Those that the client may see.
pub(crate) fn list(node: &Node, gate: &Gate<'_>, request: &ListTablesRequest) -> Reply<ListTablesResponse> {
    let names = node.store.list_tables(&request.database_name)?;
    Ok(ListTablesResponse { table_name: gate.tables(&request.database_name, names) })
}

/// A table that a client asks for by name; whatever is missing of the name, it is the table that does not exist.
pub(crate) fn find(node: &Node, table: &message::TablePath) -> Reply<TableInfo> {
    let path = path(table);
    node.store.table(&path).map_err(|e| match e.kind() {
        ErrorKind::NotFound => Failed::new(ErrorCode::TableNotExist, format!("Table '{path}' does not exist.")),
        _ => e.into(),
    })
}

/// A table as clients read it. Those that read its lake need to be told where that is.
pub(crate) fn told(node: &Node, info: &TableInfo) -> Reply<Vec<u8>> {
    let mut descriptor = info.descriptor.clone();
    if descriptor.properties.get("table.datalake.enabled").is_some_and(|v| v.trim().eq_ignore_ascii_case("true")) {
        let catalog = node.settings.all().iter().filter(|(key, _)| key.starts_with("datalake.paimon."));
        descriptor.properties.extend(catalog.map(|(key, value)| (format!("table.{key}"), value.clone())));
    }
    Ok(json::of_table(&descriptor)?)
}

pub(crate) fn info(node: &Node, request: &GetTableInfoRequest) -> Reply<GetTableInfoResponse> {
    let info = find(node, &request.table_path)?;
    Ok(GetTableInfoResponse {
        table_id: info.table_id,
        schema_id: i32::from(info.schema_id),
        table_json: told(node, &info)?,
        created_time: info.created_ms,
        modified_time: info.modified_ms,
    })
}

pub(crate) fn schema(node: &Node, request: &GetTableSchemaRequest) -> Reply<GetTableSchemaResponse> {
    find(node, &request.table_path)?;
    let wanted = match request.schema_id {
        None => None,
        Some(id) => Some(SchemaId(
            i16::try_from(id)
                .map_err(|_| Failed::new(ErrorCode::SchemaNotExist, format!("there is no schema {id}")))?,
        )),
    };
    let (id, schema) = node.store.schema(&path(&request.table_path), wanted)?;
    Ok(GetTableSchemaResponse { schema_id: i32::from(id.0), schema_json: json::of_schema(&schema)? })
}

pub(crate) fn alter(node: &Node, request: &AlterTableRequest) -> Reply<AlterTableResponse> {
    let changes = changes(request)?;
    let path = path(&request.table_path);
    node.store.alter_table(&path, &changes, request.ignore_if_not_exists).map_err(|e| {
        let unfit = e.kind() == ErrorKind::Unsupported
            || (e.kind() == ErrorKind::Invalid && matches!(e.subject(), Subject::Table | Subject::Column));
        match e.kind() {
            _ if unfit => Failed::new(ErrorCode::InvalidAlterTable, e.message()),
            // Whatever is missing of the name, it is the table that does not exist.
            ErrorKind::NotFound if matches!(e.subject(), Subject::Database | Subject::Table) => {
                Failed::new(ErrorCode::TableNotExist, format!("Table '{path}' does not exist."))
            }
            _ => e.into(),
        }
    })?;
    Ok(AlterTableResponse {})
}

fn changes(request: &AlterTableRequest) -> Reply<Vec<TableChange>> {
    let unfit = |what: String| Err(Failed::new(ErrorCode::InvalidAlterTable, what));
    let mut changes = Vec::new();
    for config in &request.config_changes {
        let key = config.config_key.clone();
        changes.push(match (config.op_type, &config.config_value) {
            (SET, Some(value)) => TableChange::Set { key, value: value.clone() },
            (DELETE, _) => TableChange::Reset { key },
            _ => return unfit(format!("option '{key}' can be set or reset, nothing else")),
        });
    }
    for column in &request.add_columns {
        if column.column_position_type != LAST {
            return unfit(format!("column '{}' can only be added at the end", column.column_name));
        }
        changes.push(TableChange::AddColumn {
            column: Column {
                name: column.column_name.clone(),
                data_type: json::data_type(&column.data_type_json)?,
                comment: column.comment.clone(),
                id: None,
                agg_function: None,
            },
        });
    }
    let others = [
        ("dropped", request.drop_columns.first().map(|c| &c.column_name)),
        ("renamed", request.rename_columns.first().map(|c| &c.old_column_name)),
        ("changed", request.modify_columns.first().map(|c| &c.column_name)),
    ];
    match others.into_iter().find_map(|(what, column)| column.map(|c| (what, c))) {
        Some((what, column)) => unfit(format!("column '{column}' cannot be {what}: columns can only be added")),
        None => Ok(changes),
    }
}

/// The table is not one with a primary key, which the request is about.
pub(crate) fn need_primary_key(info: &TableInfo) -> Reply<()> {
    if info.has_primary_key() {
        return Ok(());
    }
    let error = Error::invalid(Subject::Table, format!("Table '{}' is not a primary key table.", info.path));
    Err(Failed::new(ErrorCode::NonPrimaryKeyTable, error.message()))
}
