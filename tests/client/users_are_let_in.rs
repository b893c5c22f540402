use crate::fixture::{Running, assert_error, connect, connection, descriptor, path};
use sluice_api::Connection;
use sluice_base::{ErrorKind, Subject};
use sluice_client::RemoteStore;

const USERS: [(&str, &str); 2] =
    [("security.protocol.map", "FLUSS:SASL"), ("security.sasl.plain.credentials", "admin:the-secret")];

fn who<'a>(user: &'a str, password: &'a str) -> [(&'static str, &'a str); 3] {
    [
        ("client.security.protocol", "SASL"),
        ("client.security.sasl.username", user),
        ("client.security.sasl.password", password),
    ]
}

#[test]
fn by_name_and_password() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::with(dir.path(), 0, &USERS);
    let store = connect(server.address, &who("admin", "the-secret"));
    store.create_table(&path("t"), &descriptor(true), false).unwrap();
    assert_eq!(store.list_tables("fluss").unwrap(), ["t"]);
    for (user, password) in [("admin", "wrong"), ("nobody", "the-secret")] {
        let e = RemoteStore::open(&connection(server.address, &who(user, password))).unwrap_err();
        let says = ["does not let user", user, "Invalid username or password"];
        assert_error(&e, ErrorKind::Unauthorized, Subject::Store, &says);
        assert!(!e.message().contains("wrong") && !e.message().contains("the-secret"), "{e}");
    }
    let e = RemoteStore::open(&connection(server.address, &[])).unwrap_err();
    assert_error(&e, ErrorKind::Unauthorized, Subject::Store, &["has not completed authentication yet"]);
}
