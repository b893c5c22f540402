use crate::fixture::{Running, WAIT, batch, connect, descriptor, path, row, rows_of};
use sluice_api::{Connection, LookupOptions, OffsetSpec, ScanOptions, ScanSplit, ScanStart, WriteOptions};
use sluice_base::{TableBucket, TableId};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ROUNDS: i32 = 4;
const ROWS: i32 = 50;

/// A writer, a reader and a lookup that are open while their server is restarted go on as if nothing had been.
#[test]
fn handles_survive_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Some(Running::start(dir.path(), 0, None));
    let address = server.as_ref().unwrap().address;
    let store = connect(address, &[]);
    for (name, keyed) in [("log", false), ("kv", true)] {
        store.create_table(&path(name), &descriptor(keyed), false).unwrap();
    }
    let id = |name| TableId(store.table(&path(name)).unwrap().table_id);
    let (log, kv) = (id("log"), id("kv"));
    let open = |name| store.writer(&path(name), &WriteOptions::default()).unwrap();
    let (mut to_log, mut to_kv) = (open("log"), open("kv"));
    let scanner =
        store.scanner(&path("log"), &ScanOptions { projection: None, batch_rows_max: 1000, filter: None }).unwrap();
    let bucket = TableBucket { table: log, partition: None, bucket: 0 };
    let (start, end) = (ScanStart::Log { offset: 0 }, i64::from(ROUNDS * ROWS));
    scanner.subscribe(ScanSplit { id: 0, bucket, start, stop: Some(end) }).unwrap();
    let lookup =
        store.lookup(&path("kv"), &LookupOptions { key_columns: vec!["id".to_owned()], projection: None }).unwrap();
    for round in 0..ROUNDS {
        for i in 0..ROWS {
            let row = row(round * ROWS + i, "x", i);
            to_log.write(&batch(std::slice::from_ref(&row)), &[]).unwrap();
            to_kv.write(&batch(std::slice::from_ref(&row)), &[]).unwrap();
            if i == ROWS / 2 {
                drop(server.take());
                server = Some(Running::start(dir.path(), address.port(), None));
            }
        }
        to_log.flush(WAIT * 3).unwrap();
        to_kv.flush(WAIT * 3).unwrap();
        let key = crate::fixture::columns(vec![("id", crate::fixture::ints(&[Some(round * ROWS)]))]);
        assert_eq!(lookup.lookup(&key).unwrap().ends, [1]);
    }
    let mut ids = Vec::new();
    loop {
        let batch = scanner.poll(WAIT * 3).unwrap().expect("rows come");
        ids.extend(rows_of(&batch.rows).into_iter().map(|r| r.0));
        if batch.finished {
            break;
        }
    }
    assert_eq!(ids, (0..ROUNDS * ROWS).collect::<Vec<_>>());
    let ends = store.list_offsets(&[bucket], OffsetSpec::Latest).unwrap();
    assert_eq!(ends, [end]);
    let kv_bucket = TableBucket { table: kv, ..bucket };
    assert_eq!(store.list_offsets(&[kv_bucket], OffsetSpec::Latest).unwrap(), [end], "each upsert is one change");
}

/// Many threads look keys up all along, one right behind CREATE TABLE, while their server is restarted: each question is answered, and right.
#[test]
fn lookups_asked_all_along_are_answered() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Running::start(dir.path(), 0, None);
    let address = server.address;
    let store = connect(address, &[]);
    let mut table = descriptor(true);
    (table.bucket_count, table.bucket_key) = (Some(16), vec!["id".to_owned()]);
    store.create_table(&path("kv"), &table, false).unwrap();
    let options = LookupOptions { key_columns: vec!["id".to_owned()], projection: None };
    let lookup = store.lookup(&path("kv"), &options).unwrap();
    let keys = &|ids: &[i32]| {
        let ids: Vec<_> = ids.iter().copied().map(Some).collect();
        crate::fixture::columns(vec![("id", crate::fixture::ints(&ids))])
    };
    assert_eq!(lookup.lookup(&keys(&[1, 2, 3])).unwrap().ends, [0, 0, 0], "nothing is there yet");
    let rows: Vec<_> = (0..1000).map(|i| row(i, "x", i)).collect();
    let mut writer = store.writer(&path("kv"), &WriteOptions::default()).unwrap();
    writer.write(&batch(&rows), &[]).unwrap();
    writer.flush(WAIT * 3).unwrap();
    let over = AtomicBool::new(false);
    let answered = std::thread::scope(|scope| {
        let asking = |thread: i32| {
            let (lookup, over) = (&lookup, &over);
            move || {
                let mut answered = 0;
                while !over.load(Ordering::Acquire) {
                    // Every other key is not there.
                    let asked: Vec<i32> = (0..32).map(|i| (thread * 37 + answered * 13 + i * 61) % 2000).collect();
                    let found = lookup.lookup(&keys(&asked)).unwrap();
                    let due: Vec<_> = asked.iter().filter(|id| **id < 1000).map(|id| row(*id, "x", *id)).collect();
                    assert_eq!(rows_of(&found.rows), due);
                    answered += 1;
                }
                answered
            }
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(asking(thread))).collect();
        for _ in 0..ROUNDS {
            std::thread::sleep(Duration::from_millis(100));
            drop(server);
            server = Running::start(dir.path(), address.port(), None);
        }
        std::thread::sleep(Duration::from_millis(100));
        over.store(true, Ordering::Release);
        threads.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(answered.iter().all(|n| *n > ROUNDS), "{answered:?} answers");
}
