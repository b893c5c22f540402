//! Partitions: rows find theirs, read and looked up by it; a dropped one takes its rows along and nobody else's.

use crate::fixture::{
    self, Home, Row, WAIT, assert_error, batch, column, columns, home, ints, options, path, row, rows_of, strings,
};
use arrow_array::Int32Array;
use sluice_api::{
    Connection, LookupOptions, OffsetSpec, PartitionInfo, ScanOptions, ScanSplit, ScanStart, Scanner, WriteOptions,
    Writer,
};
use sluice_base::{ErrorKind, OsFs, PartitionId, Result, Subject, TableBucket, TableId};
use sluice_row::{ChangeKind, TableDescriptor, TypeRoot};
use sluice_testkit::FaultFs;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// `id INT, name STRING, amount INT`, partitioned by name, of 3 buckets.
fn by_name(keyed: bool) -> TableDescriptor {
    let mut descriptor = fixture::descriptor(keyed);
    if keyed {
        descriptor.schema.primary_key = vec!["name".to_owned(), "id".to_owned()];
    }
    descriptor.partition_key = vec!["name".to_owned()];
    descriptor.bucket_count = Some(3);
    descriptor
}

fn partitions(home: &Home) -> BTreeMap<String, PartitionInfo> {
    let all = home.store.list_partitions(&path("t"), &BTreeMap::new()).unwrap();
    all.into_iter().map(|p| (p.name(), p)).collect()
}

fn buckets(home: &Home, name: &str) -> Vec<TableBucket> {
    let table = TableId(home.store.table(&path("t")).unwrap().table_id);
    let partition = &partitions(home)[name];
    (0..partition.bucket_count).map(|bucket| TableBucket { table, partition: Some(partition.id()), bucket }).collect()
}

fn writer(home: &Home) -> Box<dyn Writer> {
    home.store.writer(&path("t"), &WriteOptions::default()).unwrap()
}

fn put(home: &Home, rows: &[Row]) {
    let mut writer = writer(home);
    writer.write(&batch(rows), &[]).unwrap();
    writer.flush(WAIT).unwrap();
}

fn drop_partition(home: &Home, name: &str) {
    home.store.drop_partition(&path("t"), &options(&[("name", name)]), false).unwrap();
}

fn scanner(home: &Home) -> Box<dyn Scanner> {
    home.store.scanner(&path("t"), &ScanOptions { projection: None, batch_rows_max: 1000, filter: None }).unwrap()
}

/// The rows that a partition holds now, sorted.
fn rows(home: &Home, name: &str) -> Vec<Row> {
    let keyed = home.store.table(&path("t")).unwrap().has_primary_key();
    let scanner = scanner(home);
    let mut rows = Vec::new();
    for (id, bucket) in (0..).zip(buckets(home, name)) {
        let end = home.store.list_offsets(&[bucket], OffsetSpec::Latest).unwrap()[0];
        let start = if keyed { ScanStart::Current } else { ScanStart::Log { offset: 0 } };
        scanner.subscribe(ScanSplit { id, bucket, start, stop: Some(end) }).unwrap();
        rows.extend(fixture::finish(scanner.as_ref()).unwrap().iter().flat_map(|b| rows_of(&b.rows)));
    }
    rows.sort();
    rows
}

fn lookup(home: &Home, keys: &[(Option<&str>, Option<i32>)]) -> Vec<Vec<Row>> {
    let options = LookupOptions { key_columns: vec!["id".to_owned(), "name".to_owned()], projection: None };
    let ids: Vec<_> = keys.iter().map(|k| k.1).collect();
    let names: Vec<_> = keys.iter().map(|k| k.0).collect();
    let found = home.store.lookup(&path("t"), &options).unwrap();
    let found = found.lookup(&columns(vec![("id", ints(&ids)), ("name", strings(&names))])).unwrap();
    let rows = rows_of(&found.rows);
    let mut start = 0;
    let one = |end: &u32| {
        let range = start..*end as usize;
        start = *end as usize;
        rows[range].to_vec()
    };
    found.ends.iter().map(one).collect()
}

#[test]
fn rows_create_their_partitions_and_are_read_by_them() {
    for keyed in [false, true] {
        let home = home();
        home.create("t", &by_name(keyed));
        let all: Vec<Row> = (0..300).map(|id| row(id, ["eu", "us", "asia"][id as usize % 3], id)).collect();
        put(&home, &all);
        let home = home.reopen();
        assert_eq!(partitions(&home).keys().collect::<Vec<_>>(), ["asia", "eu", "us"]);
        for name in ["eu", "us", "asia"] {
            let mut wanted: Vec<Row> = all.iter().filter(|r| r.1.as_deref() == Some(name)).cloned().collect();
            wanted.sort();
            assert_eq!(rows(&home, name), wanted, "keyed {keyed}");
        }
        let stats = home.store.table_stats(&path("t")).unwrap();
        assert_eq!(stats.row_count, Some(300));
    }
}

#[test]
fn the_same_key_in_two_partitions_is_two_rows() {
    let home = home();
    home.create("t", &by_name(true));
    put(&home, &[row(1, "eu", 10), row(1, "us", 20), row(1, "eu", 11)]);
    assert_eq!(rows(&home, "eu"), [row(1, "eu", 11)]);
    assert_eq!(rows(&home, "us"), [row(1, "us", 20)]);
    let mut writer = writer(&home);
    let gone = batch(&[row(1, "eu", 0), row(1, "nowhere", 0), row(9, "us", 0)]);
    writer.write(&gone, &[ChangeKind::Delete; 3]).unwrap();
    writer.flush(WAIT).unwrap();
    assert_eq!(rows(&home, "eu"), []);
    assert_eq!(rows(&home, "us"), [row(1, "us", 20)]);
    assert_eq!(partitions(&home).len(), 2, "deleting from a partition that is not there creates none");
}

#[test]
fn a_row_that_cannot_be_placed_writes_nothing_of_its_batch() {
    for keyed in [false, true] {
        let home = home();
        home.create("t", &by_name(keyed));
        let mut writer = writer(&home);
        for (name, part) in
            [(Some("a b"), "'a b'"), (Some(""), "is empty"), (Some("x$y"), "only ASCII"), (None, "NULL")]
        {
            let bad = batch(&[row(1, "eu", 1), (2, name.map(str::to_owned), Some(2))]);
            let e = writer.write(&bad, &[]).unwrap_err();
            assert_error(&e, ErrorKind::Invalid, Subject::Row, &["row 1", "'name'", part, "nothing of the batch"]);
        }
        writer.flush(WAIT).unwrap();
        assert_eq!(partitions(&home).len(), 0);
    }
}

#[test]
fn a_writer_may_be_forbidden_to_create() {
    let home = home();
    home.create("t", &by_name(false));
    home.store.create_partition(&path("t"), &options(&[("name", "eu")]), false).unwrap();
    let only_there = WriteOptions { create_partitions: false, ..WriteOptions::default() };
    let mut writer = home.store.writer(&path("t"), &only_there).unwrap();
    writer.write(&batch(&[row(1, "eu", 1)]), &[]).unwrap();
    let e = writer.write(&batch(&[row(2, "eu", 1), row(3, "us", 1)]), &[]).unwrap_err();
    let option = "'client.writer.dynamic-create-partition.enabled'";
    assert_error(&e, ErrorKind::NotFound, Subject::Partition, &["name=us", "fluss.t", option]);
    writer.flush(WAIT).unwrap();
    assert_eq!(rows(&home, "eu"), [row(1, "eu", 1)]);
}

#[test]
fn a_full_disk_refuses_a_new_partition_and_takes_the_same_rows_later() {
    for keyed in [false, true] {
        let fs = FaultFs::new();
        let home = Home::with(Arc::new(fs.clone()), &[]);
        home.create("t", &by_name(keyed));
        put(&home, &[row(1, "eu", 1)]);
        let mut writer = writer(&home);
        let both = batch(&[row(2, "eu", 2), row(2, "us", 2)]);
        fs.set_full(true);
        for _ in 0..2 {
            let e = writer.write(&both, &[]).unwrap_err();
            assert_error(&e, ErrorKind::Busy, Subject::Disk, &["free some space"]);
            assert_eq!(partitions(&home).into_keys().collect::<Vec<_>>(), ["eu"]);
        }
        fs.set_full(false);
        writer.write(&both, &[]).unwrap();
        writer.flush(WAIT).unwrap();
        assert_eq!(rows(&home, "eu"), [row(1, "eu", 1), row(2, "eu", 2)]);
        assert_eq!(rows(&home, "us"), [row(2, "us", 2)]);
    }
}

#[test]
fn too_many_partitions_end_the_write() {
    let home = Home::with(Arc::new(OsFs), &[("max.partition.num", "2")]);
    home.create("t", &by_name(false));
    let mut writer = writer(&home);
    let e = writer.write(&batch(&[row(1, "a", 1), row(2, "b", 1), row(3, "c", 1)]), &[]).unwrap_err();
    assert_error(&e, ErrorKind::Conflict, Subject::Partition, &["'max.partition.num'", "name=c"]);
    assert!(partitions(&home).is_empty(), "created together or not at all");
}

#[test]
fn partitions_of_different_numbers_of_buckets_share_a_batch() {
    for keyed in [false, true] {
        let home = home();
        let table = home.create("t", &by_name(keyed));
        put(&home, &[row(0, "few", 0)]);
        let more = sluice_api::TableChange::Set { key: "bucket.num".to_owned(), value: "16".to_owned() };
        table.store.alter_table(&table.path, &[more], false).unwrap();
        let all: Vec<Row> = (0..200).flat_map(|id| [row(id, "few", id), row(id, "many", id)]).collect();
        put(&home, &all);
        put(&home, &all[..20]);
        assert_eq!((buckets(&home, "few").len(), buckets(&home, "many").len()), (3, 16));
        for name in ["few", "many"] {
            let count = if keyed { 200 } else { 210 + usize::from(name == "few") };
            assert_eq!(rows(&home, name).len(), count, "keyed {keyed}");
        }
        if keyed {
            let keys: Vec<_> = (0..200).map(|id| (Some("many"), Some(id))).collect();
            assert!(lookup(&home, &keys).iter().all(|rows| rows.len() == 1));
        }
    }
}

#[test]
fn lookups_go_by_partition_and_key() {
    let home = home();
    home.create("t", &by_name(true));
    put(&home, &[row(1, "eu", 10), row(1, "us", 20), row(2, "us", 30)]);
    let keys = [
        (Some("us"), Some(1)),
        (Some("nowhere"), Some(1)),
        (Some("eu"), Some(2)),
        (Some("eu"), Some(1)),
        (None, Some(1)),
        (Some("eu"), None),
        (Some("a$b"), Some(1)),
        (Some("us"), Some(2)),
    ];
    let found = lookup(&home, &keys);
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 0, 1, 0, 0, 0, 1]);
    assert_eq!(found.concat(), [row(1, "us", 20), row(1, "eu", 10), row(2, "us", 30)]);
    drop_partition(&home, "us");
    assert_eq!(lookup(&home, &keys).concat(), [row(1, "eu", 10)]);
    put(&home, &[row(1, "nowhere", 40)]);
    assert_eq!(lookup(&home, &keys).concat(), [row(1, "nowhere", 40), row(1, "eu", 10)]);
}

#[test]
fn prefix_lookups_name_the_partition_too() {
    let home = home();
    let mut descriptor = by_name(true);
    descriptor.schema.primary_key = ["id", "name", "amount"].map(str::to_owned).to_vec();
    descriptor.bucket_key = vec!["id".to_owned()];
    home.create("t", &descriptor);
    put(&home, &[row(1, "eu", 10), row(1, "eu", 11), row(1, "us", 12), row(2, "eu", 13)]);
    let found =
        lookup(&home, &[(Some("eu"), Some(1)), (Some("us"), Some(1)), (Some("asia"), Some(1)), (Some("us"), Some(2))]);
    assert_eq!(found, [vec![row(1, "eu", 10), row(1, "eu", 11)], vec![row(1, "us", 12)], vec![], vec![]]);
    let by_id = LookupOptions { key_columns: vec!["id".to_owned()], projection: None };
    let e = home.store.lookup(&path("t"), &by_id).err().unwrap();
    assert_error(&e, ErrorKind::Invalid, Subject::Column, &["bucket key with the partition columns (id, name)"]);
}

#[test]
fn typed_columns_route_by_their_value() {
    let home = home();
    let columns_of = vec![column("v", TypeRoot::Int), column("p", TypeRoot::Int), column("q", TypeRoot::Boolean)];
    let mut descriptor = fixture::of(columns_of, &[]);
    descriptor.partition_key = vec!["p".to_owned(), "q".to_owned()];
    home.create("t", &descriptor);
    let q = Arc::new(arrow_array::BooleanArray::from(vec![true, true, false]));
    let p = Arc::new(Int32Array::from(vec![-7, 2025, -7]));
    let given = columns(vec![("v", ints(&[Some(1), Some(2), Some(3)])), ("p", p), ("q", q)]);
    let mut writer = writer(&home);
    writer.write(&given, &[]).unwrap();
    writer.flush(WAIT).unwrap();
    assert_eq!(partitions(&home).keys().collect::<Vec<_>>(), ["-7$false", "-7$true", "2025$true"]);
}

// ---- dropped under somebody

#[test]
fn a_writer_goes_on_when_a_partition_of_its_is_dropped() {
    for keyed in [false, true] {
        let home = home();
        home.create("t", &by_name(keyed));
        let mut writer = writer(&home);
        writer.write(&batch(&[row(1, "eu", 1), row(1, "us", 1)]), &[]).unwrap();
        drop_partition(&home, "eu");
        writer.write(&batch(&[row(2, "eu", 2), row(2, "us", 2)]), &[]).unwrap();
        writer.flush(WAIT).unwrap();
        assert_eq!(rows(&home, "eu"), [row(2, "eu", 2)], "the first row went with its partition");
        assert_eq!(rows(&home, "us"), [row(1, "us", 1), row(2, "us", 2)]);
        drop_partition(&home, "us");
        writer.flush(WAIT).unwrap();
    }
}

#[test]
fn writers_race_drops() {
    for keyed in [false, true] {
        let home = home();
        home.create("t", &by_name(keyed));
        let written = AtomicI32::new(0);
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let mut writer = writer(&home);
                for id in 0..120 {
                    writer.write(&batch(&[row(id, "eu", id), row(id, "us", id)]), &[]).unwrap();
                    written.store(id + 1, Ordering::Release);
                }
                writer.flush(WAIT).unwrap();
            });
            let spec = options(&[("name", "eu")]);
            // One drop a write, or the writer would give up: a keyed bucket takes longer to open than a partition to drop.
            let mut seen = 0;
            while !writing.is_finished() {
                match written.load(Ordering::Acquire) {
                    now if now == seen => std::thread::yield_now(),
                    now => {
                        seen = now;
                        home.store.drop_partition(&path("t"), &spec, true).unwrap();
                    }
                }
            }
        });
        assert_eq!(rows(&home, "us").len(), 120, "no row of another partition is lost or doubled");
        let left: Vec<i32> = if partitions(&home).contains_key("eu") {
            rows(&home, "eu").iter().map(|r| r.0).collect()
        } else {
            Vec::new()
        };
        assert!(left.windows(2).all(|w| w[1] == w[0] + 1), "what is left of the other are its newest rows: {left:?}");
    }
}

fn follow(home: &Home, name: &str) -> (Box<dyn Scanner>, Vec<TableBucket>) {
    let (scanner, buckets) = (scanner(home), buckets(home, name));
    for (id, bucket) in (0..).zip(&buckets) {
        let start = ScanStart::Log { offset: 0 };
        scanner.subscribe(ScanSplit { id, bucket: *bucket, start, stop: None }).unwrap();
    }
    (scanner, buckets)
}

#[test]
fn readers_that_follow_a_dropped_partition_end_quietly() {
    for keyed in [false, true] {
        let home = home();
        home.create("t", &by_name(keyed));
        put(&home, &[row(1, "eu", 1), row(1, "us", 1)]);
        let (scanner, buckets) = follow(&home, "eu");
        assert_eq!(scanner.poll(WAIT).unwrap().unwrap().rows.num_rows(), 1);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| (0..3).map(|_| scanner.poll(WAIT)).collect::<Result<Vec<_>>>());
            std::thread::sleep(Duration::from_millis(50));
            drop_partition(&home, "eu");
            let ends = waiting.join().unwrap().unwrap();
            assert!(ends.iter().all(|end| end.as_ref().is_some_and(|b| b.finished && b.rows.num_rows() == 0)));
        });
        assert!(scanner.poll(Duration::ZERO).unwrap().is_none());
        let start = ScanStart::Log { offset: 0 };
        let e = scanner.subscribe(ScanSplit { id: 9, bucket: buckets[0], start, stop: None }).unwrap_err();
        assert_error(&e, ErrorKind::NotFound, Subject::Partition, &["fluss.t"]);
        // The scanner goes on with what there is.
        put(&home, &[row(2, "eu", 2)]);
        let again = self::buckets(&home, "eu");
        assert_ne!(again[0].partition, buckets[0].partition);
        for (id, bucket) in (20..).zip(again) {
            scanner.subscribe(ScanSplit { id, bucket, start: ScanStart::Log { offset: 0 }, stop: None }).unwrap();
        }
        assert_eq!(rows_of(&scanner.poll(WAIT).unwrap().unwrap().rows), [row(2, "eu", 2)]);
    }
}

#[test]
fn a_bounded_read_of_a_dropped_partition_does_not_seem_complete() {
    let home = home();
    home.create("t", &by_name(true));
    put(&home, &[row(1, "eu", 1)]);
    let scanner = scanner(&home);
    for (id, bucket) in (0..).zip(buckets(&home, "eu")) {
        scanner.subscribe(ScanSplit { id, bucket, start: ScanStart::Current, stop: None }).unwrap();
    }
    drop_partition(&home, "eu");
    let e = scanner.poll(WAIT).unwrap_err();
    assert_error(&e, ErrorKind::NotFound, Subject::Partition, &["partition eu of table fluss.t was dropped"]);
}

#[test]
fn snapshots_belong_to_their_partition() {
    let home = home();
    home.create("t", &by_name(true));
    put(&home, &[row(1, "eu", 1), row(2, "us", 2)]);
    let all: Vec<TableBucket> = ["eu", "us"].iter().flat_map(|name| buckets(&home, name)).collect();
    let leased = home.store.acquire_snapshots(&all, "lease", 60_000).unwrap();
    let scanner = scanner(&home);
    for ((id, bucket), (snapshot, _)) in (0..).zip(&all).zip(&leased) {
        let start = ScanStart::Snapshot { snapshot: *snapshot, skip_rows: 0 };
        scanner.subscribe(ScanSplit { id, bucket: *bucket, start, stop: None }).unwrap();
    }
    drop_partition(&home, "eu");
    let (mut seen, mut ended) = (Vec::new(), 0);
    while let Some(batch) = scanner.poll(Duration::from_millis(200)).unwrap() {
        seen.extend(rows_of(&batch.rows));
        ended += usize::from(batch.finished);
    }
    assert_eq!((seen, ended), (vec![row(2, "us", 2)], 3));
    home.store.release_snapshots(&all, "lease").unwrap();
    let e = home.store.acquire_snapshots(&all[..1], "lease", 1).unwrap_err();
    assert_error(&e, ErrorKind::NotFound, Subject::Partition, &["fluss.t"]);
    let of_none = TableBucket { partition: None, ..all[4] };
    assert_eq!(home.store.list_offsets(&[of_none], OffsetSpec::Latest).unwrap_err().subject(), Subject::Partition);
    let unknown = TableBucket { partition: Some(PartitionId(99)), ..all[4] };
    assert_eq!(home.store.list_offsets(&[unknown], OffsetSpec::Latest).unwrap_err().subject(), Subject::Partition);
}

#[test]
fn a_kill_leaves_whole_partitions() {
    for keyed in [false, true] {
        let home = home();
        home.create("t", &by_name(keyed));
        put(&home, &[row(1, "eu", 1), row(2, "us", 2)]);
        drop_partition(&home, "eu");
        // What a kill between the catalog's change and the removal of files leaves.
        let left_over = home.dir.path().join("data/0/p77/0/log");
        std::fs::create_dir_all(&left_over).unwrap();
        let after = home.killed();
        assert_eq!(partitions(&after).keys().collect::<Vec<_>>(), ["us"]);
        assert_eq!(rows(&after, "us"), [row(2, "us", 2)]);
        assert!(!after.dir.path().join("data/0/p77").exists());
        put(&after, &[row(3, "eu", 3)]);
        assert_eq!(rows(&after, "eu"), [row(3, "eu", 3)]);
    }
}
