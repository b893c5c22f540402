use crate::fixture::{self, Row, WAIT, assert_error, finish, options, path, row, rows_of};
use crate::house::{House, descriptor, sorted};
use sluice_api::{Connection, OffsetSpec, PartitionInfo, ScanSplit, ScanStart};
use sluice_base::{ErrorKind, Subject, TableBucket};
use sluice_row::TableDescriptor;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// `id INT, name STRING, amount INT` with a lake and a partition for each name.
fn partitioned(keyed: bool, buckets: i32, bucket_key: &[&str]) -> TableDescriptor {
    let plain = descriptor(keyed, buckets, &[]);
    let mut described = fixture::of(plain.schema.columns, if keyed { &["id", "name"] } else { &[] });
    described.properties = plain.properties;
    described.partition_key = vec!["name".to_owned()];
    fixture::buckets(described, buckets, bucket_key)
}

fn rows(name: &str, range: std::ops::Range<i32>) -> Vec<Row> {
    range.map(|i| row(i, name, i * 10)).collect()
}

fn spec(name: &str) -> BTreeMap<String, String> {
    options(&[("name", name)])
}

fn drop_partition(house: &House, name: &str) {
    house.home.store.drop_partition(&path("t"), &spec(name), false).unwrap();
}

fn names(partitions: &[PartitionInfo]) -> Vec<String> {
    partitions.iter().map(PartitionInfo::name).collect()
}

fn beside(house: &House) -> Vec<PartitionInfo> {
    house.home.store.lake_partitions(&path("t")).unwrap()
}

fn buckets_of(house: &House, partition: &PartitionInfo) -> Vec<TableBucket> {
    let table = house.home.table("t").id;
    (0..partition.bucket_count).map(|bucket| TableBucket { table, partition: Some(partition.id()), bucket }).collect()
}

/// All rows as a batch reader finds them: of the partitions of the store and of those that only the lake has.
fn union(house: &House) -> Vec<Row> {
    let store = &house.home.store;
    let table = house.home.table("t");
    let keyed = !store.table(&path("t")).unwrap().descriptor.schema.primary_key.is_empty();
    let mut found = Vec::new();
    let partitions = [store.list_partitions(&path("t"), &BTreeMap::new()).unwrap(), beside(house)].concat();
    for bucket in partitions.iter().flat_map(|p| buckets_of(house, p)) {
        let scanner = table.scanner(None);
        let (start, stop) = match keyed {
            true => (ScanStart::Current, None),
            false => {
                let (snapshot, _) = store.acquire_snapshots(&[bucket], "reader", 60_000).unwrap()[0];
                let stop = store.list_offsets(&[bucket], OffsetSpec::Latest).unwrap()[0];
                (ScanStart::Snapshot { snapshot, skip_rows: 0 }, Some(stop))
            }
        };
        scanner.subscribe(ScanSplit { id: 1, bucket, start, stop }).unwrap();
        found.extend(finish(scanner.as_ref()).unwrap().iter().flat_map(|b| rows_of(&b.rows)));
    }
    store.release_snapshots(&[], "reader").unwrap();
    sorted(found)
}

fn in_lake(house: &House) -> Vec<Row> {
    sorted(house.in_lake("t").into_iter().map(|(row, _)| row).collect())
}

#[test]
fn rows_of_a_log_tables_partitions_come_from_lake_and_log() {
    for (buckets, key) in [(1, &[][..]), (4, &[]), (3, &["id"])] {
        let mut house = House::new(&[]);
        house.home.create("t", &partitioned(false, buckets, key));
        let mut all = Vec::new();
        let steps = [("a", 0..30), ("b", 30..40), ("a", 40..41), ("c", 41..60), ("b", 60..90)];
        for (step, (name, range)) in steps.into_iter().enumerate() {
            let new = rows(name, range);
            house.home.table("t").put(&new);
            all = sorted([all, new].concat());
            assert_eq!(union(&house), all, "step {step}, {buckets} buckets by {key:?}");
            if step % 2 == 1 {
                let told = house.tier("t");
                assert!(told.buckets.is_empty());
                let ends: i64 = told.partitions.iter().flat_map(|p| &p.buckets).map(|(_, end)| *end).sum();
                assert_eq!(ends, all.len() as i64);
                assert_eq!(in_lake(&house), all);
            }
            assert_eq!(union(&house), all, "step {step}, {buckets} buckets by {key:?}");
            assert_eq!(house.home.store.table_stats(&path("t")).unwrap().row_count, Some(all.len() as i64));
            house = if step % 2 == 0 { house.reopen() } else { house.killed() };
        }
    }
}

/// What is dropped stays in the lake, and so do the rows of a partition whose name comes again.
#[test]
fn a_partition_that_only_the_lake_has_is_read_from_there() {
    for (buckets, key) in [(1, &[][..]), (4, &[]), (3, &["id"])] {
        let house = House::new(&[]);
        let table = house.home.create("t", &partitioned(false, buckets, key));
        table.put(&[rows("a", 0..20), rows("b", 20..50)].concat());
        house.tier("t");
        // The tail that no round has seen yet.
        table.put(&rows("b", 50..60));
        let all = sorted([rows("a", 0..20), rows("b", 20..60)].concat());
        assert!(beside(&house).is_empty());
        drop_partition(&house, "b");
        assert_eq!(names(&beside(&house)), ["b"]);
        assert_eq!(beside(&house), beside(&house), "ids stay");
        assert_eq!(union(&house), all, "{buckets} buckets by {key:?}");
        assert_eq!(house.home.store.table_stats(&path("t")).unwrap().row_count, Some(60));
        let house = house.reopen();
        let table = house.home.table("t");
        assert_eq!(union(&house), all);
        // The same name once more: offsets begin anew, and nothing of before is lost or written over.
        table.put(&rows("b", 60..63));
        assert!(beside(&house).is_empty());
        let all = sorted([all, rows("b", 60..63)].concat());
        assert_eq!(union(&house), all, "{buckets} buckets by {key:?}");
        house.tier("t");
        table.put(&rows("b", 63..64));
        let all = sorted([all, rows("b", 63..64)].concat());
        assert_eq!(union(&house), all);
        house.tier("t");
        assert_eq!((union(&house), in_lake(&house)), (all.clone(), all));
    }
}

#[test]
fn a_primary_key_tables_partitions_have_their_newest_rows_in_the_lake() {
    let mut house = House::new(&[]);
    house.home.create("t", &partitioned(true, 2, &[]));
    let mut store: BTreeMap<(String, i32), Row> = BTreeMap::new();
    let mut lake = store.clone();
    for step in 0..12_i32 {
        let table = house.home.table("t");
        for i in 0..25 {
            let name = ["a", "b", "c"][usize::try_from((i + step) % 3).unwrap()];
            let new = row((i * 7 + step) % 30, name, step * 100 + i);
            table.put(std::slice::from_ref(&new));
            store.insert((name.to_owned(), new.0), new);
        }
        let mut writer = table.writer();
        let gone = row(step, "a", 0);
        writer.write(&fixture::batch(std::slice::from_ref(&gone)), &[sluice_row::ChangeKind::Delete]).unwrap();
        writer.flush(WAIT).unwrap();
        // The lake knows of a deletion when the store had the row.
        if store.remove(&("a".to_owned(), step)).is_some() {
            lake.remove(&("a".to_owned(), step));
        }
        lake.extend(store.clone());
        if step % 4 != 3 {
            house.tier("t");
        } else {
            drop_partition(&house, "b");
            assert_eq!(names(&beside(&house)), ["b"]);
            store.retain(|(name, _), _| name != "b");
            house.tier("t");
        }
        assert_eq!(in_lake(&house), sorted(lake.values().cloned().collect()), "step {step}");
        let of_lake = lake.iter().filter(|((name, _), _)| name == "b" && step % 4 == 3);
        let wanted: Vec<Row> = store.values().cloned().chain(of_lake.map(|(_, row)| row.clone())).collect();
        assert_eq!(union(&house), sorted(wanted), "step {step}");
        house = if step % 2 == 0 { house.reopen() } else { house.killed() };
    }
}

#[test]
fn readers_of_a_partition_of_the_lake_go_on_where_they_were() {
    for keyed in [false, true] {
        let house = House::new(&[]);
        let table = house.home.create("t", &partitioned(keyed, 1, &[]));
        for i in 0..4 {
            table.put(&rows("a", i * 10..i * 10 + 10));
            house.tier("t");
        }
        drop_partition(&house, "a");
        let bucket = buckets_of(&house, &beside(&house)[0])[0];
        assert_eq!(table.store.list_offsets(&[bucket], OffsetSpec::Latest).unwrap(), [0]);
        let (snapshot, end) = table.store.acquire_snapshots(&[bucket], "l", 1000).unwrap()[0];
        assert_eq!(end, 0);
        for skip in [0_i32, 1, 9, 10, 25, 39, 40, 100] {
            let scanner = table.scanner(None);
            let start = ScanStart::Snapshot { snapshot, skip_rows: skip.unsigned_abs().into() };
            scanner.subscribe(ScanSplit { id: 3, bucket, start, stop: None }).unwrap();
            let found = finish(scanner.as_ref()).unwrap();
            assert_eq!(found.iter().flat_map(|b| rows_of(&b.rows)).collect::<Vec<_>>(), rows("a", skip.min(40)..40));
        }
        let scanner = table.scanner(None);
        scanner.subscribe(ScanSplit { id: 3, bucket, start: ScanStart::Limit { rows: 7 }, stop: None }).unwrap();
        assert_eq!(finish(scanner.as_ref()).unwrap().iter().map(|b| b.rows.num_rows()).sum::<usize>(), 7);
        let e = scanner
            .subscribe(ScanSplit { id: 3, bucket, start: ScanStart::Log { offset: 0 }, stop: None })
            .unwrap_err();
        assert_error(&e, ErrorKind::Invalid, Subject::Offset, &["only the lake has"]);
        table.store.release_snapshots(&[bucket], "l").unwrap();
    }
}

/// A stream that is reading a partition's rows in the lake when that is dropped gets the rest of them.
#[test]
fn a_partition_dropped_under_a_stream_keeps_its_rows_of_the_lake() {
    let house = House::new(&[]);
    let table = house.home.create("t", &partitioned(false, 1, &[]));
    for i in 0..4 {
        table.put(&rows("a", i * 10..i * 10 + 10));
        house.tier("t");
    }
    let partition = table.store.list_partitions(&path("t"), &spec("a")).unwrap();
    let bucket = buckets_of(&house, &partition[0])[0];
    let (snapshot, _) = table.store.acquire_snapshots(&[bucket], "l", 1000).unwrap()[0];
    let scanner = table.scanner(None);
    let start = ScanStart::Snapshot { snapshot, skip_rows: 0 };
    scanner.subscribe(ScanSplit { id: 0, bucket, start, stop: None }).unwrap();
    let first = scanner.poll(WAIT).unwrap().expect("rows are there");
    drop_partition(&house, "a");
    let rest = finish(scanner.as_ref()).unwrap();
    let found: Vec<Row> = std::iter::once(&first).chain(&rest).flat_map(|b| rows_of(&b.rows)).collect();
    assert_eq!(found, rows("a", 0..40));
}

/// So does one that was about to read them, or had been restored; one that is to reach an end fails instead of seeming complete.
#[test]
fn a_partition_dropped_before_a_stream_begins_with_it_keeps_its_rows_of_the_lake() {
    let house = House::new(&[]);
    let table = house.home.create("t", &partitioned(false, 1, &[]));
    for i in 0..4 {
        table.put(&rows("a", i * 10..i * 10 + 10));
        house.tier("t");
    }
    let partition = table.store.list_partitions(&path("t"), &spec("a")).unwrap();
    let bucket = buckets_of(&house, &partition[0])[0];
    let (snapshot, _) = table.store.acquire_snapshots(&[bucket], "l", 1000).unwrap()[0];
    drop_partition(&house, "a");
    // Another partition of the same name has its own rows.
    table.put(&rows("a", 100..103));
    let scanner = table.scanner(None);
    for skip in [0, 25] {
        let start = ScanStart::Snapshot { snapshot, skip_rows: skip };
        scanner.subscribe(ScanSplit { id: 0, bucket, start, stop: None }).unwrap();
        let found: Vec<Row> = finish(scanner.as_ref()).unwrap().iter().flat_map(|b| rows_of(&b.rows)).collect();
        assert_eq!(found, rows("a", i32::try_from(skip).unwrap()..40));
    }
    for (start, stop) in [
        (ScanStart::Snapshot { snapshot, skip_rows: 0 }, Some(40)),
        (ScanStart::Snapshot { snapshot: 0, skip_rows: 0 }, None),
        (ScanStart::Log { offset: 0 }, None),
    ] {
        let e = scanner.subscribe(ScanSplit { id: 0, bucket, start, stop }).unwrap_err();
        assert_error(&e, ErrorKind::NotFound, Subject::Partition, &[]);
    }
}

#[test]
fn no_partition_is_dropped_before_the_lake_has_it() {
    for keyed in [false, true] {
        let house = House::new(&[]);
        let table = house.home.create("t", &partitioned(keyed, 2, &[]));
        table.put(&rows("a", 0..20));
        drop_partition(&house, "a");
        assert_eq!(in_lake(&house), rows("a", 0..20));
        table.put(&rows("b", 0..20));
        let schemas = house.warehouse().join("fluss.db/t/schema");
        let away = house.warehouse().join("away");
        std::fs::rename(&schemas, &away).unwrap();
        let e = house.home.store.drop_partition(&path("t"), &spec("b"), false).unwrap_err();
        assert_error(&e, ErrorKind::NotFound, Subject::Table, &["cannot drop a partition", "'table.datalake.enabled'"]);
        assert_eq!(names(&table.store.list_partitions(&path("t"), &BTreeMap::new()).unwrap()), ["b"]);
        std::fs::rename(&away, &schemas).unwrap();
        drop_partition(&house, "b");
        assert_eq!(in_lake(&house).len(), 40);
        house.home.store.drop_partition(&path("t"), &spec("b"), true).unwrap();
    }
}

const HOUR_MS: i64 = 3_600_000;

#[test]
fn no_partition_expires_before_the_lake_has_it() {
    let house = House::new(&[("auto-partition.check.interval", "20ms"), ("log.retention.check-interval", "20ms")]);
    let mut described = partitioned(false, 2, &[]);
    described.properties.extend(options(&[
        ("table.auto-partition.enabled", "true"),
        ("table.auto-partition.time-unit", "HOUR"),
        ("table.auto-partition.time-zone", "UTC"),
        ("table.auto-partition.num-retention", "1"),
        ("table.auto-partition.num-precreate", "1"),
    ]));
    let table = house.home.create("t", &described);
    let there = || names(&table.store.list_partitions(&path("t"), &BTreeMap::new()).unwrap());
    let first = there()[0].clone();
    table.put(&rows(&first, 0..10));
    house.home.clock.advance(5 * HOUR_MS);
    let until = |what: &str, done: &dyn Fn() -> bool| {
        let deadline = Instant::now() + 3 * WAIT;
        while !done() {
            assert!(Instant::now() < deadline, "{what}: {:?}", there());
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    // The clock has been looked at since, which made the partition of the present hour.
    until("the hour's partition", &|| there().len() > 1);
    assert!(there().contains(&first), "it waits for the lake");
    house.tier("t");
    until("the first partition goes", &|| !there().contains(&first));
    assert_eq!(names(&beside(&house)), std::slice::from_ref(&first));
    assert_eq!((union(&house), in_lake(&house)), (rows(&first, 0..10), rows(&first, 0..10)));
}

/// Partitions come and go while rounds are under way: each row that was written comes to the lake once.
#[test]
fn partitions_come_and_go_while_rounds_run() {
    for keyed in [false, true] {
        let house = House::new(&[]);
        let table = house.home.create("t", &partitioned(keyed, 2, &[]));
        let done = std::sync::atomic::AtomicBool::new(false);
        let mut wanted = Vec::new();
        std::thread::scope(|scope| {
            let rounds = scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Acquire) {
                    house.tier("t");
                }
            });
            for i in 0..30 {
                let name = ["a", "b", "c"][i % 3];
                let at = i32::try_from(i).unwrap() * 20;
                table.put(&rows(name, at..at + 20));
                wanted.extend(rows(name, at..at + 20));
                if i % 4 == 3 {
                    drop_partition(&house, name);
                }
            }
            done.store(true, std::sync::atomic::Ordering::Release);
            rounds.join().unwrap();
        });
        house.tier("t");
        assert_eq!(in_lake(&house), sorted(wanted), "keyed {keyed}");
    }
}
