use crate::fixture::{self, WAIT, assert_error, int_column, path, rows_of};
use crate::house::{House, descriptor, rows, sorted, union_batches};
use sluice_api::{Connection, ScanBatch, ScanOptions, ScanStart};
use sluice_base::{ErrorKind, Subject};
use sluice_row::{Comparison, Literal, Predicate};

fn tiered(buckets: i32, key: &[&str]) -> House {
    let house = House::new(&[]);
    let table = house.home.create("t", &fixture::buckets(descriptor(false, buckets, &[]), buckets, key));
    for i in 0..6 {
        table.put(&rows(i * 20..i * 20 + 20));
        if i == 2 || i == 4 {
            house.tier("t");
        }
    }
    house
}

#[test]
fn rows_come_from_the_lake_and_then_from_the_log() {
    for (buckets, key) in [(1, &[][..]), (4, &[]), (3, &["id"])] {
        let house = tiered(buckets, key);
        assert_eq!(house.union("t"), rows(0..120), "{buckets} buckets by {key:?}");
        let from_lake: usize = union_batches(&house.home.table("t"), None)
            .iter()
            .filter(|b| b.base_offset < 0)
            .map(|b| b.rows.num_rows())
            .sum();
        assert_eq!(from_lake, 100);
        // Some columns, another order, and none at all.
        let batches = union_batches(&house.home.table("t"), Some(&[2, 0]));
        let mut pairs: Vec<_> =
            batches.iter().flat_map(|b| int_column(&b.rows, 0).into_iter().zip(int_column(&b.rows, 1))).collect();
        pairs.sort();
        assert_eq!(pairs, (0..120).map(|i| (Some(i * 10), Some(i))).collect::<Vec<_>>());
        let none = union_batches(&house.home.table("t"), Some(&[]));
        assert_eq!(none.iter().map(|b| b.rows.num_rows()).sum::<usize>(), 120);
        assert_eq!(house.home.store.table_stats(&path("t")).unwrap().row_count, Some(120));
    }
}

#[test]
fn a_lake_without_rows_yet_leaves_all_to_the_log() {
    let house = House::new(&[]);
    let table = house.home.create("t", &descriptor(false, 1, &[]));
    table.put(&rows(0..5));
    assert_eq!(table.store.acquire_snapshots(&[table.bucket(0)], "l", 1000).unwrap(), [(0, 0)]);
    assert_eq!(house.union("t"), rows(0..5));
    assert_eq!(house.home.store.table_stats(&path("t")).unwrap().row_count, Some(5));
}

/// A reader that is restored anywhere in the lake part gets the rest, each row once, whatever rounds came since.
#[test]
fn readers_go_on_where_they_were() {
    let house = tiered(2, &[]);
    let table = house.home.table("t");
    let (snapshot, _) = table.store.acquire_snapshots(&[table.bucket(0)], "l", 1000).unwrap()[0];
    let whole: Vec<_> = (0..2)
        .flat_map(|b| {
            let start = ScanStart::Snapshot { snapshot, skip_rows: 0 };
            table.batches(b, None, start, Some(table.end(b)))
        })
        .flat_map(|b| rows_of(&b.rows))
        .collect();
    assert_eq!(sorted(whole), rows(0..120));
    table.put(&rows(120..140));
    house.tier("t");
    for skip in [0, 1, 7, 19, 20, 21, 49, 50, 51, 59, 60, 1000] {
        let all: Vec<_> = batches(&table, snapshot, 0);
        let rest = batches(&table, snapshot, skip);
        let lake = all.iter().filter(|b| b.base_offset < 0).map(|b| b.rows.num_rows()).sum::<usize>();
        let rows = |batches: &[ScanBatch]| batches.iter().flat_map(|b| rows_of(&b.rows)).collect::<Vec<_>>();
        let passed = usize::try_from(skip).unwrap().min(lake);
        assert_eq!(rows(&rest), rows(&all)[passed..], "skip {skip} of {lake}");
        let mut place = skip;
        for batch in rest.iter().filter(|b| b.base_offset < 0 && b.rows.num_rows() > 0) {
            place += batch.rows.num_rows() as u64;
            assert_eq!(batch.next, ScanStart::Snapshot { snapshot, skip_rows: place });
        }
    }
}

fn batches(table: &fixture::Table<'_>, snapshot: u64, skip_rows: u64) -> Vec<ScanBatch> {
    table.batches(0, None, ScanStart::Snapshot { snapshot, skip_rows }, Some(table.end(0)))
}

#[test]
fn a_stream_goes_on_with_what_comes() {
    let house = tiered(1, &[]);
    let table = house.home.table("t");
    let (snapshot, _) = table.store.acquire_snapshots(&[table.bucket(0)], "l", 1000).unwrap()[0];
    let scanner = table.scanner(None);
    scanner.subscribe(table.split(0, ScanStart::Snapshot { snapshot, skip_rows: 0 }, None)).unwrap();
    let mut found = Vec::new();
    while found.len() < 120 {
        found.extend(rows_of(&scanner.poll(WAIT).unwrap().expect("rows are there").rows));
    }
    table.put(&rows(120..125));
    house.tier("t");
    table.put(&rows(125..130));
    while found.len() < 130 {
        found.extend(rows_of(&scanner.poll(WAIT).unwrap().expect("rows came").rows));
    }
    assert_eq!(found, rows(0..130));
}

#[test]
fn a_limit_reaches_into_the_lake_when_the_log_is_too_short() {
    let house = House::new(&[
        ("log.segment.file-size", "1kb"),
        ("log.index.interval-size", "64"),
        ("log.retention.check-interval", "20ms"),
    ]);
    let ttl = [("table.log.ttl", "1h"), ("table.log.arrow.compression.type", "none")];
    let table = house.home.create("t", &descriptor(false, 1, &ttl));
    for i in 0..50 {
        table.put(&rows(i..i + 1));
    }
    house.tier("t");
    house.home.clock.advance(2 * 3_600_000);
    table.put(&rows(50..51));
    let deadline = std::time::Instant::now() + 3 * WAIT;
    while table.offset(0, sluice_api::OffsetSpec::Earliest) < 30 {
        assert!(std::time::Instant::now() < deadline, "retention never came");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    for limit in [0, 1, 2, 30, 51, 1000] {
        let found: Vec<_> = table
            .batches(0, None, ScanStart::Limit { rows: limit }, None)
            .iter()
            .flat_map(|b| rows_of(&b.rows))
            .collect();
        assert_eq!(found.len() as u64, limit.min(51), "limit {limit}");
        assert!(limit == 0 || found.last() == rows(50..51).first(), "the newest row is among them");
    }
    assert_eq!(house.union("t"), rows(0..51));
}

#[test]
fn snapshots_that_are_not_there_are_named() {
    let house = tiered(1, &[]);
    let table = house.home.table("t");
    let start = ScanStart::Snapshot { snapshot: 99, skip_rows: 0 };
    let e = table.scanner(None).subscribe(table.split(0, start, None)).unwrap_err();
    assert_error(&e, ErrorKind::NotFound, Subject::Snapshot, &["snapshot 99", "fluss.t", "start the reader afresh"]);
    let plain = house.home.create("plain", &descriptor(false, 1, &[("table.datalake.enabled", "false")]));
    let e = plain.store.acquire_snapshots(&[plain.bucket(0)], "l", 1000).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Snapshot, &["without a lake"]);
}

/// What a batch reader of bucket 0 gets under a condition, ids alone; a reader that goes on for ever gets `most` rows.
fn ids_where(house: &House, filter: Predicate, ends: bool, most: usize) -> Vec<i32> {
    let table = house.home.table("t");
    let (snapshot, _) = table.store.acquire_snapshots(&[table.bucket(0)], "l", 1000).unwrap()[0];
    let options = ScanOptions { projection: Some(vec![0]), batch_rows_max: 5_000, filter: Some(filter) };
    let scanner = table.store.scanner(&table.path, &options).unwrap();
    let stop = ends.then(|| table.end(0));
    scanner.subscribe(table.split(0, ScanStart::Snapshot { snapshot, skip_rows: 0 }, stop)).unwrap();
    let mut ids = Vec::new();
    while ids.len() < most {
        let Some(batch) = scanner.poll(WAIT).unwrap() else { break };
        ids.extend(int_column(&batch.rows, 0).into_iter().flatten());
        if batch.finished {
            break;
        }
    }
    ids
}

#[test]
fn files_of_the_lake_are_read_where_a_condition_may_hold() {
    let house = House::new(&[]);
    let table = house.home.create("t", &descriptor(false, 1, &[]));
    const ROWS: i32 = 120_000;
    for i in 0..12 {
        table.put(&rows(i * ROWS / 12..(i + 1) * ROWS / 12));
    }
    house.tier("t");
    table.put(&rows(ROWS..ROWS + 5));
    let at = |op, value| Predicate::Compare { column: "id".to_owned(), op, value: Literal::Integer(value) };
    let all = usize::try_from(ROWS).unwrap() + 5;
    for (filter, wanted, most) in [
        (at(Comparison::Equal, 70_000), vec![70_000], 30_000),
        (at(Comparison::Less, 2), vec![0, 1], 30_000),
        (at(Comparison::GreaterOrEqual, 119_999), (119_999..ROWS + 5).collect(), 30_000),
        (at(Comparison::Greater, 3_000_000_000), vec![], all),
        (at(Comparison::NotEqual, 5), vec![0, ROWS + 4], all),
        (Predicate::Not(Box::new(at(Comparison::Equal, 5))), vec![0, ROWS + 4], all),
        (Predicate::And(vec![Predicate::Unknown, at(Comparison::Equal, 70_000)]), vec![70_000], 30_000),
        (Predicate::Or(vec![Predicate::Unknown, at(Comparison::Equal, 70_000)]), vec![0, 70_000, ROWS + 4], all),
        (Predicate::IsNull("id".to_owned()), vec![], 10),
    ] {
        let ids = ids_where(&house, filter.clone(), true, usize::MAX);
        assert!(wanted.iter().all(|id| ids.contains(id)), "{filter:?} leaves out what matches");
        assert!(ids.len() <= most, "{filter:?}: {} rows are read", ids.len());
        // The position of a reader that goes on counts rows, and it may be restored under another condition.
        assert_eq!(ids_where(&house, filter, false, all - 5).len(), all - 5);
    }
}
