use crate::fixture::{
    Home, Row, WAIT, assert_error, buckets, descriptor, finish, home_with_lake, is_plain, of, options, path, row,
    rows_of,
};
use sluice_api::{Connection, OffsetSpec, ScanSplit, ScanStart};
use sluice_base::{ErrorKind, Subject, TableBucket};

/// All rows of a log table's partition as a batch reader finds them.
fn rows_in(home: &Home, partition: &sluice_api::PartitionInfo) -> Vec<Row> {
    let table = home.table("t");
    let bucket = TableBucket { table: table.id, partition: Some(partition.id()), bucket: 0 };
    let (snapshot, _) = home.store.acquire_snapshots(&[bucket], "l", 60_000).unwrap()[0];
    let stop = home.store.list_offsets(&[bucket], OffsetSpec::Latest).unwrap()[0];
    let scanner = table.scanner(None);
    let start = ScanStart::Snapshot { snapshot, skip_rows: 0 };
    scanner.subscribe(ScanSplit { id: 1, bucket, start, stop: Some(stop) }).unwrap();
    finish(scanner.as_ref()).unwrap().iter().flat_map(|b| rows_of(&b.rows)).collect()
}

#[test]
fn a_driver_brings_rows_there_and_partitions_that_only_the_lake_has_are_read() {
    let home = home_with_lake();
    let mut described = of(descriptor(false).schema.columns, &[]);
    described.partition_key = vec!["name".to_owned()];
    described.properties = options(&[("table.datalake.enabled", "true")]);
    let table = home.create("t", &buckets(described, 1, &[]));
    table.put(&[row(1, "a", 1), row(2, "a", 2)]);
    table.put(&[row(3, "b", 3)]);
    let store = &home.store;
    let work = store.tier_work(&path("t"));
    if is_plain() {
        assert_error(&work.unwrap_err(), ErrorKind::Unsupported, Subject::Store, &["'tier work'", "Sluice server"]);
        return;
    }
    let parts: Vec<_> = work.unwrap().iter().map(|work| store.tier_write(work, WAIT).unwrap()).collect();
    assert_eq!(parts.iter().map(|part| part.rows).sum::<i64>(), 3);
    let numbers: Vec<u64> = parts.iter().map(|part| part.part).collect();
    let told = store.tier_commit(&path("t"), &numbers).unwrap();
    assert_eq!((told.snapshot, told.partitions.len()), (Some(1), 2));
    assert_eq!(store.tier_work(&path("t")).unwrap(), []);
    let e = store.tier_commit(&path("t"), &numbers).unwrap_err();
    assert_error(&e, ErrorKind::NotFound, Subject::File, &["has been committed"]);

    assert!(store.lake_partitions(&path("t")).unwrap().is_empty());
    store.drop_partition(&path("t"), &options(&[("name", "a")]), false).unwrap();
    let beside = store.lake_partitions(&path("t")).unwrap();
    assert_eq!(beside.iter().map(|p| p.values.join("$")).collect::<Vec<_>>(), ["a"]);
    assert_eq!(rows_in(&home, &beside[0]), [row(1, "a", 1), row(2, "a", 2)]);
    let there = store.list_partitions(&path("t"), &options(&[])).unwrap();
    assert_eq!(there.len(), 1);
    assert_eq!(rows_in(&home, &there[0]), [row(3, "b", 3)]);
}
