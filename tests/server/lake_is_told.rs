use crate::client::Refused;
use crate::fixture::{Running, create, info, log_batch, path, produce, schema};
use sluice_row::TableDescriptor;
use sluice_wire::message::{
    CreateTableRequest, CreateTableResponse, GetLakeSnapshotRequest, GetLakeSnapshotResponse, ProduceLogResponse,
};
use sluice_wire::{ApiKey, ErrorCode, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

#[test]
fn clients_learn_where_the_lake_is_and_where_the_log_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let warehouse = dir.path().join("lake");
    let settings = [("datalake.paimon.warehouse", warehouse.to_str().unwrap()), ("datalake.tiering", "embedded")];
    let server = Running::start(dir.path(), &settings);
    let mut client = server.client();
    let option = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let descriptor = TableDescriptor {
        version: 1,
        schema: schema(false),
        comment: None,
        partition_key: Vec::new(),
        bucket_key: Vec::new(),
        bucket_count: Some(1),
        properties: BTreeMap::from([
            option("table.datalake.enabled", "true"),
            option("table.datalake.freshness", "100ms"),
        ]),
        custom_properties: BTreeMap::new(),
    };
    let table_json = json::of_table(&descriptor).unwrap();
    let request = CreateTableRequest { table_path: path("t"), table_json, ignore_if_exists: false };
    client.ask::<CreateTableResponse>(ApiKey::CreateTable, &request).unwrap();
    let found = info(&mut client, "t");
    let told = json::table(&found.table_json).unwrap().properties;
    assert_eq!(told.get("table.datalake.paimon.warehouse").map(String::as_str), warehouse.to_str());

    let wanted = GetLakeSnapshotRequest { table_path: path("t"), snapshot_id: None, readable: None };
    let Refused(code, message) = client.ask::<GetLakeSnapshotResponse>(ApiKey::GetLakeSnapshot, &wanted).unwrap_err();
    assert_eq!(code, ErrorCode::LakeSnapshotNotExist, "{message}");
    let rows = produce(found.table_id, log_batch(&[1, 2, 3], (-1, -1)));
    client.ask::<ProduceLogResponse>(ApiKey::ProduceLog, &rows).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let snapshot = loop {
        match client.ask::<GetLakeSnapshotResponse>(ApiKey::GetLakeSnapshot, &wanted) {
            Ok(snapshot) => break snapshot,
            Err(Refused(code, message)) => assert_eq!(code, ErrorCode::LakeSnapshotNotExist, "{message}"),
        }
        assert!(Instant::now() < deadline, "no snapshot came");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!((snapshot.table_id, snapshot.snapshot_id), (found.table_id, 1));
    let ends: Vec<_> = snapshot.bucket_snapshots.iter().map(|b| (b.bucket_id, b.log_offset)).collect();
    assert_eq!(ends, [(0, Some(3))]);
    let other = GetLakeSnapshotRequest { snapshot_id: Some(9), ..wanted };
    assert!(client.ask::<GetLakeSnapshotResponse>(ApiKey::GetLakeSnapshot, &other).is_err());

    create(&mut client, "plain", false);
    let plain = GetLakeSnapshotRequest { table_path: path("plain"), snapshot_id: None, readable: None };
    let Refused(code, _) = client.ask::<GetLakeSnapshotResponse>(ApiKey::GetLakeSnapshot, &plain).unwrap_err();
    assert_eq!(code, ErrorCode::LakeSnapshotNotExist);
}
