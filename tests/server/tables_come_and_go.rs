use crate::client::Refused;
use crate::fixture::{Running, create, info, path};
use sluice_wire::message::{
    AddColumn, AlterTableRequest, AlterTableResponse, CreateDatabaseRequest, CreateDatabaseResponse, DropTableRequest,
    DropTableResponse, GetTableInfoRequest, GetTableInfoResponse, GetTableSchemaRequest, GetTableSchemaResponse,
    ListDatabasesRequest, ListDatabasesResponse, ListTablesRequest, ListTablesResponse, MetadataRequest,
    MetadataResponse,
};
use sluice_wire::{ApiKey, ErrorCode, json};

#[test]
fn what_was_answered_outlives_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let table_id = {
        let server = Running::start(dir.path(), &[]);
        let mut client = server.client();
        let database = CreateDatabaseRequest {
            database_name: "d".to_owned(),
            ignore_if_exists: false,
            database_json: Some(br#"{"version":1,"comment":"c","custom_properties":{}}"#.to_vec()),
        };
        client.ask::<CreateDatabaseResponse>(ApiKey::CreateDatabase, &database).unwrap();
        let again = client.ask::<CreateDatabaseResponse>(ApiKey::CreateDatabase, &database).unwrap_err();
        assert_eq!(again.0, ErrorCode::DatabaseAlreadyExist);
        create(&mut client, "t", true)
    };
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let databases: ListDatabasesResponse =
        client.ask(ApiKey::ListDatabases, &ListDatabasesRequest { include_summary: Some(true) }).unwrap();
    let summary: Vec<_> =
        databases.database_summary.iter().map(|d| (d.database_name.as_str(), d.table_count)).collect();
    assert_eq!(summary, [("d", 0), ("fluss", 1)]);
    let found = info(&mut client, "t");
    assert_eq!(found.table_id, table_id);
    assert_eq!(json::table(&found.table_json).unwrap().bucket_count, Some(1));
    let drop = DropTableRequest { table_path: path("t"), ignore_if_not_exists: false };
    client.ask::<DropTableResponse>(ApiKey::DropTable, &drop).unwrap();
    let Refused(code, message) = client.ask::<DropTableResponse>(ApiKey::DropTable, &drop).unwrap_err();
    assert_eq!((code, message.as_str()), (ErrorCode::TableNotExist, "Table fluss.t does not exist."));
    let tables: ListTablesResponse =
        client.ask(ApiKey::ListTables, &ListTablesRequest { database_name: "fluss".to_owned() }).unwrap();
    assert!(tables.table_name.is_empty());
}

#[test]
fn one_node_plays_both_roles() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [("advertised.listeners", "FLUSS://elsewhere.example:77")];
    let server = Running::start(dir.path(), &settings);
    let mut client = server.client();
    create(&mut client, "t", false);
    let request = MetadataRequest { table_path: vec![path("t")], ..MetadataRequest::default() };
    let metadata: MetadataResponse = client.ask(ApiKey::GetMetadata, &request).unwrap();
    let node = metadata.coordinator_server.unwrap();
    assert_eq!((node.host.as_str(), node.port), ("elsewhere.example", 77));
    assert_eq!(metadata.tablet_servers, [node]);
    assert_eq!(metadata.table_metadata[0].bucket_metadata[0].leader_id, Some(0));
    let missing = MetadataRequest { table_path: vec![path("nope")], ..MetadataRequest::default() };
    let Refused(code, message) = client.ask::<MetadataResponse>(ApiKey::GetMetadata, &missing).unwrap_err();
    assert_eq!((code, message.as_str()), (ErrorCode::TableNotExist, "Table 'fluss.nope' does not exist."));
    let request = GetTableInfoRequest { table_path: path("nope") };
    assert!(client.ask::<GetTableInfoResponse>(ApiKey::GetTableInfo, &request).is_err());
}

#[test]
fn an_added_column_gives_a_new_schema_and_keeps_the_old() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    create(&mut client, "t", false);
    let column = AddColumn {
        column_name: "extra".to_owned(),
        data_type_json: br#"{"type":"BIGINT"}"#.to_vec(),
        comment: None,
        column_position_type: 0,
    };
    let alter =
        AlterTableRequest { table_path: path("t"), add_columns: vec![column.clone()], ..AlterTableRequest::default() };
    client.ask::<AlterTableResponse>(ApiKey::AlterTable, &alter).unwrap();
    let mut columns = |schema_id| {
        let request = GetTableSchemaRequest { table_path: path("t"), schema_id };
        let answer: GetTableSchemaResponse = client.ask(ApiKey::GetTableSchema, &request).unwrap();
        let schema: sluice_row::Schema = serde_json::from_slice(&answer.schema_json).unwrap();
        (answer.schema_id, schema.columns.len())
    };
    assert_eq!((columns(None), columns(Some(1))), ((2, 3), (1, 2)));
    let request = GetTableSchemaRequest { table_path: path("t"), schema_id: Some(9) };
    let missing = client.ask::<GetTableSchemaResponse>(ApiKey::GetTableSchema, &request).unwrap_err();
    assert_eq!(missing.0, ErrorCode::SchemaNotExist);
    let first = AddColumn { column_name: "first".to_owned(), column_position_type: 1, ..column };
    let alter = AlterTableRequest { add_columns: vec![first], ..alter };
    let refused = client.ask::<AlterTableResponse>(ApiKey::AlterTable, &alter).unwrap_err();
    assert_eq!(refused.0, ErrorCode::InvalidAlterTable);
}
