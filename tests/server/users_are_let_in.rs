use crate::client::{Client, Refused};
use crate::fixture::{Running, create};
use sluice_wire::message::{
    ApiVersionsRequest, ApiVersionsResponse, AuthenticateRequest, AuthenticateResponse, DescribeClusterConfigsRequest,
    DescribeClusterConfigsResponse, ListDatabasesRequest, ListDatabasesResponse, MetadataRequest, MetadataResponse,
};
use sluice_wire::{ApiKey, ErrorCode};
use std::io::Write;

const SECRET: &str = "the-secret";
const USERS: (&str, &str) = ("security.sasl.plain.credentials", "admin:the-secret,alice:other");

fn guarded(dir: &std::path::Path, more: &[(&str, &str)]) -> Running {
    let settings = [
        ("bind.listeners", "FLUSS://127.0.0.1:0,CLIENT://127.0.0.1:0"),
        ("security.protocol.map", "CLIENT:SASL"),
        USERS,
        ("http.listener", "127.0.0.1:0"),
    ];
    Running::start(dir, &settings.iter().chain(more).copied().collect::<Vec<_>>())
}

fn plain(token: impl AsRef<[u8]>) -> AuthenticateRequest {
    AuthenticateRequest { protocol: "PLAIN".to_owned(), token: token.as_ref().to_vec() }
}

fn databases(client: &mut Client) -> Result<ListDatabasesResponse, Refused> {
    client.ask(ApiKey::ListDatabases, &ListDatabasesRequest { include_summary: None })
}

#[test]
fn the_right_password_opens_and_all_else_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let server = guarded(dir.path(), &[]);
    let mut client = Client::connect(server.addresses[1]);
    let versions = ApiVersionsRequest { client_software_name: "x".to_owned(), client_software_version: "1".to_owned() };
    client.ask::<ApiVersionsResponse>(ApiKey::ApiVersions, &versions).unwrap();
    let Refused(code, message) = databases(&mut client).unwrap_err();
    assert_eq!(code, ErrorCode::Authenticate);
    assert!(message.contains("has not completed authentication yet"), "{message}");
    let welcome: AuthenticateResponse = client.ask(ApiKey::Authenticate, &plain("\0admin\0the-secret")).unwrap();
    assert_eq!(welcome, AuthenticateResponse { challenge: None });
    assert_eq!(databases(&mut client).unwrap().database_name, ["fluss"]);
    // Some clients ask once more.
    client.ask::<AuthenticateResponse>(ApiKey::Authenticate, &plain("")).unwrap();
    create(&mut client, "t", false);
    // The other listener asks for nothing.
    assert!(databases(&mut server.client()).is_ok());
}

#[test]
fn one_wrong_attempt_ends_the_connection() {
    let dir = tempfile::tempdir().unwrap();
    let server = guarded(dir.path(), &[]);
    for (request, part) in [
        (plain("\0admin\0wrong"), "Invalid username or password"),
        (plain("\0admin\0other"), "Invalid username or password"),
        (plain("\0nobody\0the-secret"), "Invalid username or password"),
        (plain("\0admin\0"), "password not specified"),
        (plain("\0\0x"), "username not specified"),
        (plain("admin"), "expected 3 tokens, got 1"),
        (plain("\0a\0b\0c"), "expected 3 tokens, got 4"),
        (plain([0, 255, 0, 255]), "UTF-8"),
        (plain("alice\0admin\0the-secret"), "different from username"),
        (
            AuthenticateRequest { protocol: "PLAINTEXT".to_owned(), token: Vec::new() },
            "protocol of client is 'PLAINTEXT'",
        ),
    ] {
        let mut client = Client::connect(server.addresses[1]);
        let Refused(code, message) = client.ask::<AuthenticateResponse>(ApiKey::Authenticate, &request).unwrap_err();
        assert_eq!(code, ErrorCode::Authenticate);
        assert!(message.contains(part) && !message.contains(SECRET), "{message} lacks {part}");
        let after = client
            .try_ask::<ListDatabasesResponse>(ApiKey::ListDatabases, &ListDatabasesRequest { include_summary: None });
        assert!(after.is_err(), "the connection lives on after: {part}");
    }
}

#[test]
fn strangers_cannot_send_much() {
    let dir = tempfile::tempdir().unwrap();
    let server = guarded(dir.path(), &[]);
    let mut client = Client::connect(server.addresses[1]);
    client.stream.write_all(&(1_i32 << 20).to_be_bytes()).unwrap();
    assert!(client.receive_bytes().is_err());
}

#[test]
fn clients_are_told_the_address_that_they_came_by() {
    let dir = tempfile::tempdir().unwrap();
    let server = guarded(dir.path(), &[("advertised.listeners", "CLIENT://outside.example:77")]);
    let mut outside = Client::connect(server.addresses[1]);
    outside.ask::<AuthenticateResponse>(ApiKey::Authenticate, &plain("\0alice\0other")).unwrap();
    for (mut client, expected) in
        [(outside, ("outside.example", 77)), (server.client(), ("127.0.0.1", i32::from(server.address.port())))]
    {
        let metadata: MetadataResponse = client.ask(ApiKey::GetMetadata, &MetadataRequest::default()).unwrap();
        let node = metadata.coordinator_server.unwrap();
        assert_eq!((node.host.as_str(), node.port), expected);
    }
}

#[test]
fn passwords_are_shown_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let server = guarded(dir.path(), &[]);
    let mut client = server.client();
    let settings: DescribeClusterConfigsResponse =
        client.ask(ApiKey::DescribeClusterConfigs, &DescribeClusterConfigsRequest {}).unwrap();
    let users = settings.configs.iter().find(|c| c.config_key == USERS.0).unwrap();
    assert_eq!(users.config_value.as_deref(), Some("******"));
    assert!(!format!("{settings:?}").contains(SECRET));
    let mut wrong = Client::connect(server.addresses[1]);
    assert!(wrong.ask::<AuthenticateResponse>(ApiKey::Authenticate, &plain("\0admin\0wrong-one")).is_err());
    let metrics = server.get("/metrics");
    assert!(metrics.contains("\nsluice_logins_failed_total 1\n"), "{metrics}");
    assert!(!metrics.contains(SECRET) && !metrics.contains("wrong-one"));
}
