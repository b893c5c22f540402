use crate::fixture::{Running, WAIT, batch, connect, descriptor, path, row};
use sluice_api::{AccessRule, Connection, EVERY, Operation, Resource, ResourceKind, RuleFilter, WriteOptions};
use sluice_base::{ErrorKind, Result, Subject};
use sluice_client::RemoteStore;

fn log_in(server: &Running, user: &str) -> RemoteStore {
    let name = "client.security.sasl.username";
    let password = "client.security.sasl.password";
    connect(server.address, &[("client.security.protocol", "SASL"), (name, user), (password, "secret")])
}

fn refused<T>(outcome: Result<T>, kind: ErrorKind, part: &str) {
    let Err(e) = outcome else { panic!("it went through, against: {part}") };
    crate::fixture::assert_error(&e, kind, Subject::Store, &[part]);
}

fn rule(resource: Resource, operation: Operation) -> AccessRule {
    let (principal_type, principal) = ("User".to_owned(), "alice".to_owned());
    AccessRule { resource, principal_type, principal, host: EVERY.to_owned(), operation }
}

#[test]
fn rights_come_and_go_with_their_rules() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [
        ("security.protocol.map", "FLUSS:SASL"),
        ("security.sasl.plain.credentials", "admin:secret,alice:secret"),
        ("authorizer.enabled", "true"),
        ("super.users", "User:admin"),
    ];
    let server = Running::with(dir.path(), 0, &settings);
    let (admin, alice) = (log_in(&server, "admin"), log_in(&server, "alice"));
    let (a, b) = (path("a"), path("b"));
    for table in [&a, &b] {
        admin.create_table(table, &descriptor(false), false).unwrap();
    }
    assert!(alice.list_databases().unwrap().is_empty() && alice.list_tables("fluss").unwrap().is_empty());
    refused(alice.table(&a), ErrorKind::Unauthorized, "operate DESCRIBE");

    let (read, write) =
        (rule(Resource::table("fluss", "a"), Operation::Read), rule(Resource::table("fluss", "b"), Operation::Write));
    refused(alice.add_rules(std::slice::from_ref(&read)), ErrorKind::Unauthorized, "operate ALL");
    admin.add_rules(&[write.clone(), read.clone()]).unwrap();
    assert_eq!(alice.list_tables("fluss").unwrap(), ["a", "b"]);
    assert_eq!(alice.table(&a).unwrap().path, a);
    let writer = alice.writer(&a, &WriteOptions::default());
    refused(writer, ErrorKind::Unauthorized, "No WRITE permission among all the tables: [fluss.a]");
    let mut writer = alice.writer(&b, &WriteOptions::default()).unwrap();
    writer.write(&batch(&[row(1, "x", 1)]), &[]).unwrap();
    writer.flush(WAIT).unwrap();

    assert_eq!(admin.list_rules(&RuleFilter::default()).unwrap(), [read.clone(), write]);
    let of_a = RuleFilter {
        resource_kind: Some(ResourceKind::Table),
        resource: Some("fluss.a".to_owned()),
        ..RuleFilter::default()
    };
    assert_eq!(admin.drop_rules(&of_a).unwrap(), [read]);
    refused(alice.table(&a), ErrorKind::Unauthorized, "fluss.a");
    assert_eq!(alice.list_tables("fluss").unwrap(), ["b"]);
}

#[test]
fn a_server_without_an_authorizer_says_so() {
    let home = crate::fixture::home();
    let any = RuleFilter::default();
    refused(home.store.list_rules(&any), ErrorKind::Unsupported, "No Authorizer is configured");
}
