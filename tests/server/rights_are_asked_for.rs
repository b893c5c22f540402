//! Rights, cell by cell: for each request and each right on each thing, whether the client is let through. Denied is code 48 and no other.

use crate::actions::{Action, calls, changes, looks, reads, table, writes};
use crate::client::{Client, Refused};
use crate::fixture::{Running, create, fetch, log_batch, path, produce};
use serde_json::json;
use sluice_api::{ANY, EVERY, Operation, Resource, ResourceKind};
use sluice_wire::message::*;
use sluice_wire::{ApiKey, ErrorCode};
use std::path::Path;

const OPERATIONS: [Operation; 7] = [
    Operation::All,
    Operation::Read,
    Operation::Write,
    Operation::Create,
    Operation::Drop,
    Operation::Alter,
    Operation::Describe,
];

fn guarded(dir: &Path, more: &[(&str, &str)]) -> Running {
    let settings = [
        ("bind.listeners", "INTERNAL://127.0.0.1:0,CLIENT://127.0.0.1:0,OPEN://127.0.0.1:0"),
        ("internal.listener.name", "INTERNAL"),
        ("security.protocol.map", "CLIENT:SASL"),
        ("security.sasl.plain.credentials", "admin:a,alice:b,bob:c"),
        ("authorizer.enabled", "true"),
        ("super.users", "User:admin"),
    ];
    Running::start(dir, &[&settings, more].concat())
}

fn log_in(server: &Running, user: &str, password: &str) -> Client {
    let mut client = Client::connect(server.addresses[1]);
    let token = format!("\0{user}\0{password}").into_bytes();
    let request = AuthenticateRequest { protocol: "PLAIN".to_owned(), token };
    client.ask::<AuthenticateResponse>(ApiKey::Authenticate, &request).unwrap();
    client
}

fn acl(resource: &Resource, user: &str, operation: Operation) -> AclInfo {
    AclInfo {
        resource_name: resource.name.clone(),
        resource_type: resource.kind.number(),
        principal_name: user.to_owned(),
        principal_type: "User".to_owned(),
        host: EVERY.to_owned(),
        operation_type: operation.number(),
        permission_type: 2,
    }
}

fn add(client: &mut Client, acl: AclInfo) -> Result<(), Refused> {
    let told: CreateAclsResponse = client.ask(ApiKey::CreateAcls, &CreateAclsRequest { acl: vec![acl] })?;
    match (told.acl_res[0].error_code, told.acl_res[0].error_message.clone()) {
        (None, _) => Ok(()),
        (Some(code), why) => Err(Refused(ErrorCode::from_number(code), why.unwrap())),
    }
}

fn any() -> AclFilter {
    AclFilter { resource_type: ANY, operation_type: ANY, permission_type: ANY, ..AclFilter::default() }
}

fn drop_all(client: &mut Client) -> usize {
    let request = DropAclsRequest { acl_filter: vec![any()] };
    let told: DropAclsResponse = client.ask(ApiKey::DropAcls, &request).unwrap();
    told.filter_results.iter().map(|r| r.matching_acls.len()).sum()
}

fn list(client: &mut Client, filter: AclFilter) -> Result<Vec<AclInfo>, Refused> {
    Ok(client.ask::<ListAclsResponse>(ApiKey::ListAcls, &ListAclsRequest { acl_filter: filter })?.acl)
}

/// Whether a right on one thing lets a request through that takes another on another.
fn lets_through(right: Operation, on: &Resource, action: &Action) -> bool {
    let database = action.on.name.split('.').next() == Some(on.name.as_str());
    let within = on == &action.on
        || on.kind == ResourceKind::Cluster
        || on.kind == ResourceKind::Database && action.on.kind == ResourceKind::Table && database;
    within && (right == action.right || right == Operation::All || action.right == Operation::Describe)
}

#[test]
fn each_request_takes_its_right() {
    let dir = tempfile::tempdir().unwrap();
    let server = guarded(dir.path(), &[]);
    let mut admin = log_in(&server, "admin", "a");
    let (keyed, log) = (create(&mut admin, "t", true), create(&mut admin, "l", false));
    let mut alice = log_in(&server, "alice", "b");
    let mut cells = 0;
    for action in [changes(), looks(keyed), writes(keyed, log), reads(keyed, log), calls(keyed)].concat_all() {
        let denied =
            |client: &mut Client| (action.run)(client).is_err_and(|(code, _)| code == ErrorCode::Authorization);
        assert!(denied(&mut alice), "{} without any right", action.name);
        assert!(!denied(&mut admin), "{} as super user", action.name);
        assert!(!denied(&mut server.client()), "{} through the internal listener", action.name);
        let things = [Resource::cluster(), Resource::database("fluss"), action.on.clone(), table("unrelated")];
        for on in things {
            for right in OPERATIONS {
                add(&mut admin, acl(&on, "alice", right)).unwrap();
                let expected = lets_through(right, &on, &action);
                assert_eq!(!denied(&mut alice), expected, "{} with {right:?} on {on:?}", action.name);
                assert_eq!(drop_all(&mut admin), 1);
                cells += 1;
            }
        }
    }
    assert!(cells > 1000, "{cells}");
}

trait ConcatAll {
    fn concat_all(self) -> Vec<Action>;
}

impl<const N: usize> ConcatAll for [Vec<Action>; N] {
    fn concat_all(self) -> Vec<Action> {
        self.into_iter().flatten().collect()
    }
}

#[test]
fn denials_are_said_as_clients_expect() {
    let dir = tempfile::tempdir().unwrap();
    let server = guarded(dir.path(), &[]);
    let mut admin = log_in(&server, "admin", "a");
    let (keyed, log) = (create(&mut admin, "t", true), create(&mut admin, "l", false));
    let mut alice = log_in(&server, "alice", "b");
    let said = |actions: Vec<Action>, name: &str, client: &mut Client| {
        let action = actions.into_iter().find(|a| a.name == name).unwrap();
        (action.run)(client).unwrap_err().1
    };
    let all = |client: &mut Client, name: &str| {
        said([changes(), looks(keyed), writes(keyed, log), reads(keyed, log)].concat_all(), name, client)
    };
    assert_eq!(all(&mut alice, "InitWriter"), "No WRITE permission among all the tables: [fluss.other, fluss.t]");
    assert_eq!(all(&mut alice, "FetchLog"), "No permission to READ table l in database fluss");
    assert_eq!(all(&mut alice, "Lookup"), "No permission to READ table t in database fluss");
    let create = all(&mut alice, "CreateTable");
    assert!(
        create.contains("name='alice'")
            && create
                .contains("have no authorization to operate CREATE on resource Resource{type=DATABASE, name='fluss'}"),
        "{create}"
    );
    let nobody = all(&mut Client::connect(server.addresses[2]), "GetTableInfo");
    assert!(nobody.contains("name='ANONYMOUS'"), "{nobody}");
    let none = InitWriterRequest { table_path: Vec::new() };
    let Refused(code, why) = alice.ask::<InitWriterResponse>(ApiKey::InitWriter, &none).unwrap_err();
    assert!(code == ErrorCode::Authorization && why.contains("non empty table paths"), "{why}");
}

#[test]
fn lists_hold_what_may_be_seen() {
    let dir = tempfile::tempdir().unwrap();
    let server = guarded(dir.path(), &[]);
    let mut admin = log_in(&server, "admin", "a");
    for name in ["t", "u"] {
        create(&mut admin, name, false);
    }
    let hidden =
        CreateDatabaseRequest { database_name: "hidden".to_owned(), ignore_if_exists: false, database_json: None };
    admin.ask::<CreateDatabaseResponse>(ApiKey::CreateDatabase, &hidden).unwrap();
    let mut alice = log_in(&server, "alice", "b");
    let databases = |client: &mut Client| {
        client
            .ask::<ListDatabasesResponse>(ApiKey::ListDatabases, &ListDatabasesRequest { include_summary: None })
            .unwrap()
            .database_name
    };
    let tables = |client: &mut Client| {
        let request = ListTablesRequest { database_name: "fluss".to_owned() };
        client.ask::<ListTablesResponse>(ApiKey::ListTables, &request).unwrap().table_name
    };
    let called = |client: &mut Client, operation: &str| {
        let request =
            CallRequest { operation: operation.to_owned(), arguments: json!({"database": "fluss"}).to_string() };
        client.ask::<CallResponse>(ApiKey::Call, &request).unwrap().answer.unwrap()
    };
    assert_eq!(
        (databases(&mut admin), tables(&mut admin)),
        (vec!["fluss".to_owned(), "hidden".to_owned()], vec!["t".to_owned(), "u".to_owned()])
    );
    assert!(databases(&mut alice).is_empty() && tables(&mut alice).is_empty());
    assert_eq!(
        (called(&mut alice, "list_tables"), called(&mut admin, "list_tables")),
        ("[]".to_owned(), "[\"t\",\"u\"]".to_owned())
    );
    // Seeing a table is not seeing its database.
    add(&mut admin, acl(&table("u"), "alice", Operation::Write)).unwrap();
    assert_eq!((databases(&mut alice).len(), tables(&mut alice)), (0, vec!["u".to_owned()]));
    assert_eq!(called(&mut alice, "list_tables"), "[\"u\"]");
    add(&mut admin, acl(&Resource::database("fluss"), "alice", Operation::Describe)).unwrap();
    assert_eq!((databases(&mut alice), tables(&mut alice).len()), (vec!["fluss".to_owned()], 2));
    // That a name is taken is told to everybody.
    let exists = TableExistsRequest { table_path: path("t") };
    let mut bob = log_in(&server, "bob", "c");
    assert!(bob.ask::<TableExistsResponse>(ApiKey::TableExists, &exists).unwrap().exists);
}

#[test]
fn rules_are_kept_and_changed_by_those_who_may() {
    let dir = tempfile::tempdir().unwrap();
    {
        let server = guarded(dir.path(), &[]);
        let mut admin = log_in(&server, "admin", "a");
        create(&mut admin, "t", false);
        add(&mut admin, acl(&table("t"), "bob", Operation::Read)).unwrap();
        add(&mut admin, acl(&table("t"), "bob", Operation::Read)).unwrap();
        let mut alice = log_in(&server, "alice", "b");
        for right in OPERATIONS {
            // Every right on a table, or every other right on its database, is not enough.
            drop_rules_of(&mut admin, "alice");
            add(&mut admin, acl(&table("t"), "alice", right)).unwrap();
            let on = Resource::database("fluss");
            if right != Operation::All {
                add(&mut admin, acl(&on, "alice", right)).unwrap();
            }
            let Refused(code, why) = add(&mut alice, acl(&table("t"), "bob", Operation::Write)).unwrap_err();
            assert!(
                code == ErrorCode::Authorization
                    && why.contains("operate ALL on resource Resource{type=DATABASE, name='fluss'}"),
                "{why}"
            );
        }
        drop_rules_of(&mut admin, "alice");
        assert_eq!(list(&mut alice, any()).unwrap(), []);
        add(&mut admin, acl(&Resource::database("fluss"), "alice", Operation::All)).unwrap();
        add(&mut alice, acl(&table("t"), "bob", Operation::Write)).unwrap();
        // Rules about the cluster are not hers.
        assert_eq!(
            add(&mut alice, acl(&Resource::cluster(), "alice", Operation::All)).unwrap_err().0,
            ErrorCode::Authorization
        );
        assert_eq!(list(&mut alice, any()).unwrap().len(), 3);
    }
    let server = guarded(dir.path(), &[]);
    let mut admin = log_in(&server, "admin", "a");
    assert_eq!(list(&mut admin, any()).unwrap().len(), 3);
    let bobs = AclFilter {
        principal_name: Some("bob".to_owned()),
        principal_type: Some("User".to_owned()),
        operation_type: Operation::Write.number(),
        ..any()
    };
    assert_eq!(list(&mut admin, bobs.clone()).unwrap(), [acl(&table("t"), "bob", Operation::Write)]);
    let request = DropAclsRequest { acl_filter: vec![bobs, any()] };
    let told: DropAclsResponse = admin.ask(ApiKey::DropAcls, &request).unwrap();
    assert_eq!(told.filter_results.iter().map(|r| r.matching_acls.len()).collect::<Vec<_>>(), [1, 2]);
    drop(admin);
    drop(server);
    let server = guarded(dir.path(), &[]);
    assert_eq!(list(&mut log_in(&server, "admin", "a"), any()).unwrap(), []);
}

fn drop_rules_of(admin: &mut Client, user: &str) {
    let filter = AclFilter { principal_name: Some(user.to_owned()), ..any() };
    admin.ask::<DropAclsResponse>(ApiKey::DropAcls, &DropAclsRequest { acl_filter: vec![filter] }).unwrap();
}

#[test]
fn a_right_ends_when_its_rule_does() {
    let dir = tempfile::tempdir().unwrap();
    let server = guarded(dir.path(), &[]);
    let mut admin = log_in(&server, "admin", "a");
    let log = create(&mut admin, "l", false);
    add(&mut admin, acl(&table("l"), "alice", Operation::Read)).unwrap();
    let mut alice = log_in(&server, "alice", "b");
    let read: FetchLogResponse = alice.ask(ApiKey::FetchLog, &fetch(log, 0, 0, None)).unwrap();
    assert_eq!(read.tables_resp[0].buckets_resp[0].error_code, None);
    // A fetch that waits for rows is not answered with rows that its client may not read any more.
    let waiting = alice.send(ApiKey::FetchLog.number(), 0, &fetch(log, 0, 30_000, None));
    drop_all(&mut admin);
    admin.ask::<ProduceLogResponse>(ApiKey::ProduceLog, &produce(log, log_batch(&[1], (-1, -1)))).unwrap();
    let (id, answer) = alice.receive::<FetchLogResponse>().unwrap();
    let bucket = answer.unwrap().tables_resp[0].buckets_resp[0].clone();
    assert_eq!((id, bucket.error_code), (waiting, Some(ErrorCode::Authorization.number())));
    assert!(bucket.records.is_none_or(|r| r.is_empty()));
}

#[test]
fn rules_that_are_none_are_refused_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let server = guarded(dir.path(), &[]);
    let mut admin = log_in(&server, "admin", "a");
    let good = acl(&table("t"), "alice", Operation::Read);
    for (bad, part) in [
        (AclInfo { resource_type: ANY, ..good.clone() }, "not 1"),
        (AclInfo { operation_type: ANY, ..good.clone() }, "operations 2 to 8, not 1"),
        (AclInfo { permission_type: ANY, ..good.clone() }, "only ALLOW"),
        (AclInfo { permission_type: 3, ..good.clone() }, "only ALLOW"),
        (AclInfo { resource_name: "t".to_owned(), ..good.clone() }, "TABLE 't'"),
        (AclInfo { resource_type: 2, ..good.clone() }, "CLUSTER 'fluss.t'"),
        (AclInfo { host: String::new(), ..good.clone() }, "host"),
        (AclInfo { principal_name: String::new(), ..good.clone() }, "principal"),
    ] {
        let Refused(code, why) = add(&mut admin, bad.clone()).unwrap_err();
        assert!(code == ErrorCode::InvalidConfig && why.contains(part), "{why} lacks {part}");
        let both = CreateAclsRequest { acl: vec![bad, good.clone()] };
        let told: CreateAclsResponse = admin.ask(ApiKey::CreateAcls, &both).unwrap();
        assert!(told.acl_res[0].error_code.is_some() && told.acl_res[1].error_code.is_none());
        assert_eq!(drop_all(&mut admin), 1);
    }
    let long = AclInfo { principal_name: "x".repeat(2000), ..good };
    assert_eq!(add(&mut admin, long).unwrap_err().0, ErrorCode::InvalidConfig);
    let unknown = AclFilter { operation_type: 77, ..any() };
    assert_eq!(list(&mut admin, unknown).unwrap_err().0, ErrorCode::InvalidConfig);
}

#[test]
fn without_an_authorizer_there_are_no_rules() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[("super.users", "User:admin")]);
    let mut client = server.client();
    create(&mut client, "t", false);
    let off = |outcome: Result<(), Refused>| {
        let Refused(code, why) = outcome.unwrap_err();
        assert_eq!((code, why.as_str()), (ErrorCode::SecurityDisabled, "No Authorizer is configured."));
    };
    off(add(&mut client, acl(&table("t"), "a", Operation::Read)));
    off(list(&mut client, any()).map(drop));
    let request = DropAclsRequest { acl_filter: vec![any()] };
    off(client.ask::<DropAclsResponse>(ApiKey::DropAcls, &request).map(drop));
}

#[test]
fn a_server_that_nobody_could_use_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let given = [
        ("data.dir", dir.path().join("store").display().to_string()),
        ("bind.listeners", "FLUSS://127.0.0.1:0".to_owned()),
        ("authorizer.enabled", "true".to_owned()),
    ];
    let given = given.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    let config = sluice_server::Config::from_settings(given).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let e = runtime.block_on(sluice_server::Server::bind(&config)).unwrap_err();
    assert!(e.message().contains("super.users"), "{e}");
}
