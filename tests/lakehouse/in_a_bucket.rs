//! A lake in a bucket of an S3 server, whose address is in `SLUICE_S3`; `tests/lake/run.sh` starts one.

use crate::fixture::{self, Home, WAIT, options};
use crate::house::{descriptor, rows, sorted, union_batches};
use sluice_api::Connection;
use sluice_base::{ErrorKind, OsFs};
use sluice_lake::{Location, Storage};
use sluice_row::TablePath;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The options that a place of its own in the server's bucket is opened with.
pub fn settings(endpoint: &str, place: &str) -> Vec<(&'static str, String)> {
    vec![
        ("datalake.paimon.warehouse", format!("s3://lake/{place}")),
        ("datalake.paimon.s3.endpoint", endpoint.to_owned()),
        ("datalake.paimon.s3.access-key", "tests".to_owned()),
        ("datalake.paimon.s3.secret-key", "tests-secret".to_owned()),
        ("datalake.paimon.s3.path.style.access", "true".to_owned()),
    ]
}

fn endpoint() -> String {
    std::env::var("SLUICE_S3").expect("SLUICE_S3 is the address of an S3 server with a bucket 'lake'")
}

/// The same place by hand.
pub fn storage(settings: &[(&str, String)]) -> Arc<dyn Storage> {
    let paimon = settings.iter().map(|(k, v)| (k.trim_start_matches("datalake.paimon."), v.as_str()));
    let given = options(&paimon.collect::<Vec<_>>());
    let fs: Arc<dyn sluice_base::Fs> = Arc::new(OsFs);
    Location::parse(&given["warehouse"]).unwrap().open(&fs, &given).unwrap()
}

fn home(settings: &[(&str, String)]) -> Home {
    Home::with(Arc::new(OsFs), &settings.iter().map(|(k, v)| (*k, v.as_str())).collect::<Vec<_>>())
}

#[test]
#[ignore = "needs an S3 server: tests/lake/run.sh starts one"]
fn files_are_made_once_replaced_read_in_parts_and_listed() {
    let storage = storage(&settings(&endpoint(), "files"));
    assert!(storage.put_new("d/snapshot-1", b"first").unwrap());
    assert!(!storage.put_new("d/snapshot-1", b"second").unwrap(), "a name is given once");
    assert_eq!(storage.read("d/snapshot-1").unwrap().as_ref(), b"first");
    storage.put("d/LATEST", b"1").unwrap();
    storage.put("d/LATEST", b"2").unwrap();
    assert_eq!(storage.read("d/LATEST").unwrap().as_ref(), b"2");
    // Of several parts.
    let bytes: Vec<u8> = (0..20_000_000_u32).map(|i| (i % 251) as u8).collect();
    let mut upload = storage.create("d/k=a%20b/large").unwrap();
    for part in bytes.chunks(1_000_001) {
        upload.write_all(part).unwrap();
    }
    upload.finish().unwrap();
    let opened = storage.open("d/k=a%20b/large").unwrap();
    assert_eq!(opened.read_range(9_999_999, 70_000).unwrap().as_ref(), &bytes[9_999_999..10_069_999]);
    assert_eq!(opened.read_range(19_999_990, 4096).unwrap().as_ref(), &bytes[19_999_990..], "fewer at the end");
    assert_eq!(storage.list("d").unwrap(), ["LATEST", "k=a%20b", "snapshot-1"]);
    assert!(storage.list("nowhere").unwrap().is_empty());
    assert!(storage.exists("d/LATEST").unwrap() && !storage.exists("d/snapshot-2").unwrap());
    storage.remove("d/LATEST").unwrap();
    storage.remove("d/LATEST").unwrap();
    let e = storage.read("d/LATEST").unwrap_err();
    assert!(e.kind() == ErrorKind::NotFound && e.message().contains("d/LATEST"), "{e}");
}

#[test]
#[ignore = "needs an S3 server: tests/lake/run.sh starts one"]
fn rows_flow_into_a_bucket_and_are_read_from_there() {
    let settings = settings(&endpoint(), "house");
    let mut home = home(&settings);
    home.create("t", &descriptor(false, 2, &[]));
    home.create("k", &descriptor(true, 2, &[]));
    for round in 0..3 {
        for name in ["t", "k"] {
            home.table(name).put(&rows(round * 100..round * 100 + 100));
            home.store.tier(&fixture::path(name), WAIT).unwrap();
        }
        home = home.reopen();
    }
    home.table("t").put(&rows(300..310));
    let table = home.table("t");
    let found = union_batches(&table, None).iter().flat_map(|b| fixture::rows_of(&b.rows)).collect();
    assert_eq!(sorted(found), sorted(rows(0..310)));
    let names = storage(&settings).list("fluss.db").unwrap();
    assert_eq!(names, ["k", "t"]);
}

/// What a second driver with an old idea of the lake would do: its round finds the snapshot's name taken.
#[test]
#[ignore = "needs an S3 server: tests/lake/run.sh starts one"]
fn of_two_stores_that_bring_the_same_rows_one_is_refused() {
    let settings = settings(&endpoint(), "twins");
    let home = home(&settings);
    home.create("t", &descriptor(false, 1, &[]));
    home.table("t").put(&rows(0..50));
    let twin = home.killed();
    let path = fixture::path("t");
    let ends: Vec<_> = [&home, &twin].map(|h| h.store.tier(&path, WAIT).map(|s| s.snapshot)).into();
    assert!(ends.iter().any(Result::is_ok), "{ends:?}");
    let table = home.table("t");
    let found: Vec<_> = union_batches(&table, None).iter().flat_map(|b| fixture::rows_of(&b.rows)).collect();
    assert_eq!(sorted(found), sorted(rows(0..50)), "no row twice: {ends:?}");
}

#[test]
#[ignore = "needs an S3 server: tests/lake/run.sh starts one"]
fn a_place_that_is_not_there_is_named_and_nothing_is_made() {
    for (key, value, part) in [
        ("datalake.paimon.warehouse", "s3://nowhere/x", "NoSuchBucket"),
        ("datalake.paimon.s3.endpoint", "http://127.0.0.1:1", "127.0.0.1:1"),
    ] {
        let mut settings = settings(&endpoint(), "missing");
        settings.retain(|(k, _)| *k != key);
        settings.push((key, value.to_owned()));
        let home = home(&settings);
        let started = Instant::now();
        let e = home.store.create_table(&TablePath::new("fluss", "t"), &descriptor(false, 1, &[]), false).unwrap_err();
        assert!(e.message().contains(part) && e.message().contains("lake"), "{e}");
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
        assert!(home.store.table(&TablePath::new("fluss", "t")).is_err(), "the table was made all the same");
    }
}

#[test]
#[ignore = "needs an S3 server: tests/lake/run.sh starts one"]
fn closed_segments_are_copied_to_a_bucket_and_read_from_there() {
    let endpoint = endpoint();
    let settings = [
        ("remote.data.dir", "s3://lake/segments"),
        ("s3.endpoint", endpoint.as_str()),
        ("s3.access-key", "tests"),
        ("s3.secret-key", "tests-secret"),
        ("s3.path.style.access", "true"),
        ("log.segment.file-size", "1kb"),
        ("log.index.interval-size", "64"),
        ("remote.log.task-interval-duration", "1d"),
        ("remote.log.task-max-upload-segments", "1000"),
        ("remote.restore", "true"),
    ];
    let home = Home::with(Arc::new(OsFs), &settings);
    for (name, keyed) in [("log", false), ("keyed", true)] {
        let table = home.create(name, &fixture::buckets(fixture::descriptor(keyed), 1, &[]));
        for part in 0..10 {
            table.put(&rows(part * 50..part * 50 + 50));
        }
    }
    home.store.copy_segments().unwrap();
    let copies = storage(&[
        ("datalake.paimon.warehouse", "s3://lake/segments".to_owned()),
        ("datalake.paimon.s3.endpoint", endpoint.clone()),
        ("datalake.paimon.s3.access-key", "tests".to_owned()),
        ("datalake.paimon.s3.secret-key", "tests-secret".to_owned()),
        ("datalake.paimon.s3.path.style.access", "true".to_owned()),
    ]);
    let home = home.reopen();
    for name in ["log", "keyed"] {
        let table = home.table(name);
        let dir = format!("data/{}/0/log", table.id.0);
        assert!(copies.list(&dir).unwrap().len() > 3);
        let local = std::fs::read_dir(home.dir.path().join(&dir)).unwrap();
        let local = local.filter(|e| e.as_ref().unwrap().path().extension().is_some_and(|e| e == "log"));
        assert_eq!(local.count(), 2);
        let ids: Vec<i32> = table.log().iter().map(|(.., row)| row.0).collect();
        assert_eq!(ids, (0..500).collect::<Vec<_>>());
    }
    // The disk is lost; the log that was closed and all rows by key come back from the bucket.
    home.store.close().unwrap();
    let home = Home::with(Arc::new(OsFs), &settings);
    assert!(home.table("log").log().len() > 300);
    assert_eq!(home.table("keyed").current().into_keys().collect::<Vec<_>>(), (0..500).collect::<Vec<_>>());
    for name in ["log", "keyed"] {
        let dir = format!("data/{}/0/log", home.table(name).id.0);
        home.store.drop_table(&fixture::path(name), false).unwrap();
        assert!(copies.list(&dir).unwrap().is_empty());
    }
}
