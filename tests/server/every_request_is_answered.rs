use crate::client::Refused;
use crate::fixture::{Running, create, path};
use sluice_wire::message::{
    ApiVersionsRequest, ApiVersionsResponse, AuthenticateRequest, AuthenticateResponse, ErrorResponse,
    GetLakeSnapshotRequest, GetLakeSnapshotResponse, GetLatestKvSnapshotsRequest, GetLatestKvSnapshotsResponse,
    ListPartitionInfosRequest, ListPartitionInfosResponse,
};
use sluice_wire::{ApiKey, ApiVersions, ErrorCode};

#[test]
fn every_key_that_is_offered_and_every_other() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let hello = ApiVersionsRequest { client_software_name: "test".to_owned(), client_software_version: "1".to_owned() };
    let versions: ApiVersionsResponse = client.ask(ApiKey::ApiVersions, &hello).unwrap();
    assert_eq!(versions, ApiVersionsResponse { api_versions: ApiVersions::list(), server_type: None });
    let offered = versions.api_versions.iter().map(|v| i16::try_from(v.api_key).unwrap());
    // An empty body is a request with every field missing.
    for key in offered.chain([0, 999, 1013, 1018, 1061, 9999, -1]) {
        let id = client.send(key, 0, &ErrorResponse::default());
        let (answered, answer) = client.receive_bytes().unwrap();
        assert_eq!(answered, id, "{key}");
        if ApiKey::from_number(key).is_none() {
            assert_eq!(answer.unwrap_err().0, ErrorCode::UnsupportedVersion, "{key}");
        }
    }
}

#[test]
fn what_is_not_there_is_said_as_clients_expect() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    create(&mut client, "log", false);
    create(&mut client, "kv", true);
    let lake = GetLakeSnapshotRequest { table_path: path("log"), ..GetLakeSnapshotRequest::default() };
    let Refused(code, _) = client.ask::<GetLakeSnapshotResponse>(ApiKey::GetLakeSnapshot, &lake).unwrap_err();
    assert_eq!(code, ErrorCode::LakeSnapshotNotExist);
    let partitions = ListPartitionInfosRequest { table_path: path("log"), partial_partition_spec: None };
    let Refused(code, _) =
        client.ask::<ListPartitionInfosResponse>(ApiKey::ListPartitionInfos, &partitions).unwrap_err();
    assert_eq!(code, ErrorCode::TableNotPartitioned);
    let snapshots = GetLatestKvSnapshotsRequest { table_path: path("kv"), partition_name: None };
    let answer: GetLatestKvSnapshotsResponse = client.ask(ApiKey::GetLatestKvSnapshots, &snapshots).unwrap();
    assert_eq!(answer.latest_snapshots.len(), 1);
    assert_eq!(answer.latest_snapshots[0].snapshot_id, None);
    let plain = AuthenticateRequest { protocol: "PLAINTEXT".to_owned(), token: Vec::new() };
    client.ask::<AuthenticateResponse>(ApiKey::Authenticate, &plain).unwrap();
    let sasl = AuthenticateRequest { protocol: "PLAIN".to_owned(), token: b"\0a\0b".to_vec() };
    let Refused(code, _) = client.ask::<AuthenticateResponse>(ApiKey::Authenticate, &sasl).unwrap_err();
    assert_eq!(code, ErrorCode::Authenticate);
}
