use crate::fixture::{Running, WAIT, assert_error, batch, connect, connection, descriptor, path, row};
use sluice_api::{Connection, WriteOptions};
use sluice_base::{ErrorKind, Subject};
use sluice_client::RemoteStore;
use std::net::TcpListener;
use std::time::Instant;

#[test]
fn nobody_listens() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let begun = Instant::now();
    let e = RemoteStore::open(&connection(free, &[])).unwrap_err();
    assert_error(&e, ErrorKind::Io, Subject::Store, &["cannot connect to", &free.to_string()]);
    assert!(begun.elapsed() < WAIT * 2);
}

#[test]
fn somebody_listens_and_never_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let e = RemoteStore::open(&connection(address, &[("client.request-timeout", "200ms")])).unwrap_err();
    assert_error(&e, ErrorKind::Io, Subject::Store, &["did not answer within 200 ms"]);
}

#[test]
fn a_second_address_helps() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), 0, None);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut options = connection(free, &[]);
    options.insert("bootstrap.servers".to_owned(), format!("{free}, {}", server.address));
    assert_eq!(RemoteStore::open(&options).unwrap().list_databases().unwrap(), ["fluss"]);
}

#[test]
fn a_server_that_is_gone_fails_writes_and_questions_in_bounded_time() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), 0, None);
    let store = connect(server.address, &[("client.request-timeout", "500ms")]);
    store.create_table(&path("t"), &descriptor(false), false).unwrap();
    let mut writer = store.writer(&path("t"), &WriteOptions::default()).unwrap();
    writer.write(&batch(&[row(1, "a", 1)]), &[]).unwrap();
    writer.flush(WAIT).unwrap();
    drop(server);
    let e = store.table(&path("t")).unwrap_err();
    assert_error(&e, ErrorKind::Io, Subject::Store, &["cannot connect to"]);
    writer.write(&batch(&[row(2, "b", 2)]), &[]).unwrap();
    let e = writer.flush(WAIT).unwrap_err();
    assert_error(&e, ErrorKind::Io, Subject::Store, &["writing to table fluss.t", "cannot connect to"]);
    // What was lost stays lost: nothing later may pretend otherwise.
    assert!(writer.write(&batch(&[row(3, "c", 3)]), &[]).is_err());
    let e = writer.flush(WAIT).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Io);
}
