use crate::fixture::{self, assert_error, batch, columns, home, ints, row};
use sluice_api::{Connection, LookupOptions, ScanStart};
use sluice_base::{ErrorKind, Subject};
use std::time::{Duration, Instant};

#[test]
fn writers_readers_and_lookups_learn_that_the_table_is_gone() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    table.put(&[row(1, "a", 1)]);
    let mut writer = table.writer();
    let scanner = table.scanner(None);
    scanner.subscribe(table.split(0, ScanStart::Log { offset: 1 }, None)).unwrap();
    let options = LookupOptions { key_columns: vec!["id".to_owned()], projection: None };
    let lookup = home.store.lookup(&table.path, &options).unwrap();
    let started = Instant::now();
    let waiting = std::thread::scope(|s| {
        let waiting = s.spawn(|| scanner.poll(Duration::from_secs(60)));
        std::thread::sleep(Duration::from_millis(50));
        home.store.drop_table(&table.path, false).unwrap();
        waiting.join().unwrap()
    });
    assert!(started.elapsed() < Duration::from_secs(30), "a waiting reader is woken");
    let gone = |e: &sluice_base::Error| assert_error(e, ErrorKind::NotFound, Subject::Table, &["fluss.t", "dropped"]);
    gone(&waiting.unwrap_err());
    gone(&writer.write(&batch(&[row(2, "b", 2)]), &[]).unwrap_err());
    gone(&lookup.lookup(&columns(vec![("id", ints(&[Some(1)]))])).unwrap_err());
    gone(&scanner.subscribe(table.split(0, ScanStart::Current, None)).unwrap_err());
    assert!(!home.dir.path().join("data").join(table.id.0.to_string()).exists());
    // A table of the same name is another one.
    let again = home.create("t", &fixture::descriptor(true));
    assert_ne!(again.id, table.id);
    assert_eq!(again.current().len(), 0);
}

/// Handles that outlive the store hold none of its files: it opens again in the same process, and they say that it was closed.
#[test]
fn closing_before_the_handles_is_safe() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    table.put(&(0..5000).map(|i| row(i, "a", 1)).collect::<Vec<_>>());
    let (snapshot, _) = home.store.acquire_snapshots(&[table.bucket(0)], "job", 60_000).unwrap()[0];
    let mut writer = table.writer();
    writer.write(&batch(&[row(1, "b", 2)]), &[]).unwrap();
    let scanner = table.scanner(None);
    scanner.subscribe(table.split(0, ScanStart::Current, None)).unwrap();
    let other = ScanStart::Snapshot { snapshot, skip_rows: 0 };
    scanner.subscribe(sluice_api::ScanSplit { id: 7, ..table.split(0, other, None) }).unwrap();
    scanner.poll(fixture::WAIT).unwrap().unwrap();
    let options = LookupOptions { key_columns: vec!["id".to_owned()], projection: None };
    let lookup = home.store.lookup(&table.path, &options).unwrap();
    let home = home.reopen();
    assert_eq!(home.table("t").get(&[Some(1)]), [Some(row(1, "b", 2))]);
    let closed =
        |e: &sluice_base::Error| assert_error(e, ErrorKind::Closed, Subject::Store, &["closed", "open it again"]);
    closed(&scanner.poll(Duration::from_secs(1)).unwrap_err());
    closed(&writer.write(&batch(&[row(2, "b", 2)]), &[]).unwrap_err());
    closed(&lookup.lookup(&columns(vec![("id", ints(&[Some(1)]))])).unwrap_err());
}
