use super::*;
use crate::connection::OpenConnection;
use crate::fake::{self, FakeStore, Seen};
use crate::scanner::{self, OpenScanner};
use crate::writer::{self, OpenWriter};
use sluice_row::TypeRoot;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const SCANNER: &str = r#"{"path":{"database":"d","table":"t"}}"#;

fn connection() -> (Handle, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let store = FakeStore { seen: seen.clone(), table: fake::table(vec![fake::column("a", TypeRoot::Int)]) };
    (insert(OpenConnection::new(store)).unwrap(), seen)
}

fn kind<T>(result: Result<T>) -> ErrorKind {
    result.err().unwrap().kind()
}

#[test]
fn a_number_given_back_is_closed_for_ever() {
    let (first, _) = connection();
    close(first).unwrap();
    close(first).unwrap();
    let mut later = Vec::new();
    for _ in 0..100 {
        let (handle, _) = connection();
        assert!(handle > 0 && handle != first);
        later.push(handle);
        assert_eq!(kind(get::<OpenConnection>(first)), ErrorKind::Closed);
    }
    later.into_iter().for_each(|handle| close(handle).unwrap());
}

#[test]
fn wrong_numbers_are_errors_not_crashes() {
    let (connection, _) = connection();
    assert_eq!(kind(get::<OpenWriter>(connection)), ErrorKind::Invalid);
    for number in [0, -1, i64::MIN, i64::MAX, 1, connection + (1 << 32)] {
        assert_eq!(kind(get::<OpenScanner>(number)), ErrorKind::Closed, "{number}");
        close(number).unwrap();
    }
    assert!(get::<OpenConnection>(connection).is_ok());
    close(connection).unwrap();
}

#[test]
fn closing_a_connection_closes_what_was_made_from_it_and_then_the_store() {
    let (connection, seen) = connection();
    let scanner = scanner::open(connection, SCANNER).unwrap();
    let writer = writer::open(connection, SCANNER).unwrap();
    close(connection).unwrap();
    assert_eq!(kind(get::<OpenScanner>(scanner)), ErrorKind::Closed);
    assert_eq!(kind(get::<OpenWriter>(writer)), ErrorKind::Closed);
    assert_eq!(*seen.dropped_scanners.lock().unwrap(), 1);
    assert!(seen.closed.load(Ordering::SeqCst));
    assert_eq!(kind(scanner::open(connection, SCANNER)), ErrorKind::Closed);
}

#[test]
fn closing_ends_a_running_poll_with_kind_closed() {
    let (connection, _) = connection();
    let scanner = scanner::open(connection, SCANNER).unwrap();
    let started = Instant::now();
    std::thread::scope(|scope| {
        let poll = scope.spawn(|| get::<OpenScanner>(scanner).unwrap().poll(Duration::from_secs(60)).err());
        std::thread::sleep(Duration::from_millis(50));
        close(scanner).unwrap();
        assert_eq!(poll.join().unwrap().unwrap().kind(), ErrorKind::Closed);
    });
    assert!(started.elapsed() < Duration::from_secs(30));
    close(connection).unwrap();
}

#[test]
fn racing_uses_and_closes_end_well() {
    for _ in 0..200 {
        let (connection, _) = connection();
        let scanner = scanner::open(connection, SCANNER).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Ok(open) = get::<OpenScanner>(scanner) {
                        open.wake();
                    }
                });
                scope.spawn(|| close(connection).unwrap());
            }
        });
        assert_eq!(kind(get::<OpenConnection>(connection)), ErrorKind::Closed);
    }
}
