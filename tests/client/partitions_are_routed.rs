use crate::fixture::{
    Row, WAIT, assert_error, batch, buckets, columns, descriptor, eventually, home, ints, options, path, row, rows_of,
    strings,
};
use sluice_api::{Connection, LookupOptions, OffsetSpec, ScanOptions, ScanSplit, ScanStart, WriteOptions};
use sluice_base::{ErrorKind, Subject, TableBucket, TableId};
use std::collections::BTreeMap;

fn partitioned(keyed: bool) -> sluice_row::TableDescriptor {
    let mut table = buckets(descriptor(keyed), 3, if keyed { &["id"] } else { &[] });
    if keyed {
        table.schema.primary_key = vec!["id".to_owned(), "name".to_owned()];
    }
    table.partition_key = vec!["name".to_owned()];
    table
}

#[test]
fn writers_create_partitions_and_readers_find_them() {
    let home = home();
    for keyed in [false, true] {
        let name = if keyed { "kv" } else { "log" };
        home.store.create_table(&path(name), &partitioned(keyed), false).unwrap();
        let rows: Vec<Row> = (0..30).map(|i| row(i, ["a", "b", "c"][i as usize % 3], i)).collect();
        let mut writer = home.store.writer(&path(name), &WriteOptions::default()).unwrap();
        writer.write(&batch(&rows), &[]).unwrap();
        writer.flush(WAIT).unwrap();
        let all = home.store.list_partitions(&path(name), &BTreeMap::new()).unwrap();
        assert_eq!(all.iter().map(|p| p.name()).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(all.iter().all(|p| p.bucket_count == 3));
        let one = home.store.list_partitions(&path(name), &options(&[("name", "b")])).unwrap();
        assert_eq!(one.len(), 1);
        let table = TableId(home.store.table(&path(name)).unwrap().table_id);
        let scanner = home
            .store
            .scanner(&path(name), &ScanOptions { projection: None, batch_rows_max: 9, filter: None })
            .unwrap();
        let mut open = 0;
        for partition in &all {
            for bucket in 0..3 {
                let bucket = TableBucket { table, partition: Some(partition.id()), bucket };
                let end = home.store.list_offsets(&[bucket], OffsetSpec::Latest).unwrap()[0];
                let start = ScanStart::Log { offset: 0 };
                scanner.subscribe(ScanSplit { id: open, bucket, start, stop: Some(end) }).unwrap();
                open += 1;
            }
        }
        let mut found = Vec::new();
        while open > 0 {
            let batch = scanner.poll(WAIT).unwrap().expect("rows come");
            found.extend(rows_of(&batch.rows));
            open -= u32::from(batch.finished);
        }
        found.sort();
        assert_eq!(found, rows, "{name}");
    }
    let key_columns = vec!["name".to_owned(), "id".to_owned()];
    let lookup = home.store.lookup(&path("kv"), &LookupOptions { key_columns, projection: None }).unwrap();
    let keys = || {
        columns(vec![
            ("name", strings(&[Some("b"), Some("z"), Some("a"), None])),
            ("id", ints(&[Some(4), Some(4), Some(4), Some(4)])),
        ])
    };
    assert_eq!(lookup.lookup(&keys()).unwrap().ends, [1, 1, 1, 1]);
    // One that is dropped and comes again has another id.
    home.store.drop_partition(&path("kv"), &options(&[("name", "b")]), false).unwrap();
    eventually(|| lookup.lookup(&keys()).unwrap().ends == [0, 0, 0, 0]);
    let mut writer = home.store.writer(&path("kv"), &WriteOptions::default()).unwrap();
    writer.write(&batch(&[row(4, "b", 44)]), &[]).unwrap();
    writer.flush(WAIT).unwrap();
    assert_eq!(lookup.lookup(&keys()).unwrap().ends, [1, 1, 1, 1]);
}

#[test]
fn a_writer_that_may_not_create_is_told() {
    let home = home();
    home.store.create_table(&path("t"), &partitioned(false), false).unwrap();
    let options = WriteOptions { create_partitions: false, ..WriteOptions::default() };
    let mut writer = home.store.writer(&path("t"), &options).unwrap();
    let e = writer.write(&batch(&[row(1, "a", 1)]), &[]).unwrap_err();
    assert_error(&e, ErrorKind::NotFound, Subject::Partition, &["fluss.t", "partition name=a"]);
    let e = writer.write(&batch(&[(1, None, None)]), &[]).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Row, &["'name'", "NULL"]);
}
