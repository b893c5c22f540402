//! Partitions: which tables can have them, what ADD, DROP and SHOW say, and that all of it lasts.

use crate::fixture::{
    assert_error, column, home, int, of, open_with, options, path, reset, set, string, table, typed, with,
};
use sluice_api::{Connection, PartitionInfo};
use sluice_base::{ErrorKind, OsFs, Result, Subject};
use sluice_row::{DataType, TableDescriptor, TypeRoot};
use sluice_store::{LocalStore, Settings};
use sluice_testkit::ManualClock;
use std::path::Path;
use std::sync::Arc;

/// 2026-01-01 00:00:00 UTC.
const NEW_YEAR: i64 = 1_767_225_600_000;
const DAY: i64 = 86_400_000;

fn partitioned(mut descriptor: TableDescriptor, keys: &[&str]) -> TableDescriptor {
    descriptor.partition_key = keys.iter().map(|k| (*k).to_owned()).collect();
    descriptor
}

/// `id INT, name STRING, amount INT`, partitioned by name.
fn by_name() -> TableDescriptor {
    partitioned(table(&[]), &["name"])
}

fn add(store: &LocalStore, spec: &[(&str, &str)]) -> Result<()> {
    store.create_partition(&path("t"), &options(spec), false)
}

fn listed(store: &LocalStore, spec: &[(&str, &str)]) -> Vec<PartitionInfo> {
    store.list_partitions(&path("t"), &options(spec)).unwrap()
}

fn names(store: &LocalStore) -> Vec<String> {
    listed(store, &[]).iter().map(PartitionInfo::name).collect()
}

fn directories(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir.join("data/0")).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn added_dropped_and_listed() {
    let home = home();
    home.create("t", &partitioned(table(&[]), &["name", "amount"])).unwrap();
    for (name, amount) in [("eu", "2"), ("eu", "10"), ("us", "2")] {
        add(&home.store, &[("name", name), ("amount", amount)]).unwrap();
    }
    assert_eq!(names(&home.store), ["eu$10", "eu$2", "us$2"]);
    let some = |spec: &[(&str, &str)]| listed(&home.store, spec).iter().map(PartitionInfo::name).collect::<Vec<_>>();
    assert_eq!(some(&[("amount", "02")]), ["eu$2", "us$2"]);
    assert_eq!(some(&[("name", "eu"), ("amount", "2")]), ["eu$2"]);
    assert_eq!(some(&[("name", "nowhere")]), [""; 0]);

    let again = add(&home.store, &[("name", "eu"), ("amount", "2")]).unwrap_err();
    assert_error(&again, ErrorKind::AlreadyExists, Subject::Partition, &["name=eu/amount=2", "already exists"]);
    home.store.create_partition(&path("t"), &options(&[("name", "eu"), ("amount", "2")]), true).unwrap();

    let spec = options(&[("name", "us"), ("amount", "2")]);
    home.store.drop_partition(&path("t"), &spec, false).unwrap();
    let missing = home.store.drop_partition(&path("t"), &spec, false).unwrap_err();
    assert_error(&missing, ErrorKind::NotFound, Subject::Partition, &["name=us/amount=2", "does not exist"]);
    home.store.drop_partition(&path("t"), &spec, true).unwrap();
    assert_eq!(directories(home.dir.path()), ["p0", "p1"]);
    add(&home.store, &[("name", "us"), ("amount", "2")]).unwrap();
    let home = home.reopen();
    let ids: Vec<i64> = listed(&home.store, &[]).iter().map(|p| p.partition_id).collect();
    assert_eq!(ids, [1, 0, 3], "a partition that comes again has another id");
    home.store.drop_table(&path("t"), false).unwrap();
    assert!(!home.dir.path().join("data/0").exists());
}

#[test]
fn specifications_that_say_too_little_or_too_much() {
    let home = home();
    home.create("t", &partitioned(table(&[]), &["name", "amount"])).unwrap();
    for (spec, parts) in [
        (&[("name", "eu")][..], &["t", "'amount' is missing"][..]),
        (&[], &["'name' is missing"]),
        (&[("name", "eu"), ("amount", "1"), ("id", "1")], &["'id' is not one of the partition columns (name, amount)"]),
        (&[("name", "eu"), ("nope", "1")], &["'nope'"]),
        (&[("name", "eu"), ("amount", "many")], &["'amount'", "partition value is invalid", "'many' is not INT"]),
        (&[("name", ""), ("amount", "1")], &["'name'", "is invalid", "empty"]),
        (&[("name", "a$b"), ("amount", "1")], &["'a$b'", "only ASCII"]),
        (&[("name", "__x"), ("amount", "1")], &["'__x'", "reserved"]),
        (&[("name", "größe"), ("amount", "1")], &["only ASCII"]),
        (&[("name", "a/b"), ("amount", "1")], &["only ASCII"]),
    ] {
        assert_error(&add(&home.store, spec).unwrap_err(), ErrorKind::Invalid, Subject::Partition, parts);
    }
    let e = home.store.list_partitions(&path("t"), &options(&[("id", "1")])).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Partition, &["'id'"]);
    home.create("plain", &table(&[])).unwrap();
    let e = home.store.create_partition(&path("plain"), &options(&[("id", "1")]), false).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Table, &["fluss.plain", "not partitioned"]);
    let e = home.store.list_partitions(&path("plain"), &options(&[])).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Table, &["not partitioned"]);
    let e = home.store.list_partitions(&path("nowhere"), &options(&[])).unwrap_err();
    assert_error(&e, ErrorKind::NotFound, Subject::Table, &["nowhere"]);
    assert_eq!(names(&home.store), [""; 0]);
}

#[test]
fn columns_of_fifteen_types_can_partition_a_table() {
    let home = home();
    let roots = [
        (TypeRoot::Char(2), "ab", "ab"),
        (TypeRoot::String, "x", "x"),
        (TypeRoot::Boolean, "TRUE", "true"),
        (TypeRoot::Binary(1), "0A", "0a"),
        (TypeRoot::Bytes, "0aff", "0aff"),
        (TypeRoot::TinyInt, "-1", "-1"),
        (TypeRoot::SmallInt, "2", "2"),
        (TypeRoot::Int, "2025", "2025"),
        (TypeRoot::BigInt, "5000000000", "5000000000"),
        (TypeRoot::Float, "1.5", "1_5"),
        (TypeRoot::Double, "1e10", "1_0E10"),
        (TypeRoot::Date, "2025-11-30", "2025-11-30"),
        (TypeRoot::Time { precision: 0 }, "10:15:30", "10-15-30_000"),
        (TypeRoot::Timestamp { precision: 6 }, "2025-11-30 10:15:30", "2025-11-30-10-15-30_"),
        (TypeRoot::TimestampLtz { precision: 3 }, "2025-11-30-10-15-30_5", "2025-11-30-10-15-30_5"),
    ];
    for (at, (root, written, name)) in roots.into_iter().enumerate() {
        let table = format!("t{at}");
        let descriptor = of(vec![column("v", int()), column("p", typed(root))], &[]);
        home.create(&table, &partitioned(descriptor, &["p"])).unwrap();
        home.store.create_partition(&path(&table), &options(&[("p", written)]), false).unwrap();
        let listed = home.store.list_partitions(&path(&table), &options(&[])).unwrap();
        assert_eq!(listed[0].values, [name]);
    }
    for root in [
        TypeRoot::Decimal { precision: 10, scale: 2 },
        TypeRoot::Array(Box::new(int())),
        TypeRoot::Map(Box::new(string()), Box::new(int())),
    ] {
        let descriptor = of(vec![column("v", int()), column("p", typed(root))], &[]);
        let e = home.create("t", &partitioned(descriptor, &["p"])).unwrap_err();
        let parts = ["'p'", "partitioned table supported partition key type are [CHAR, STRING"];
        assert_error(&e, ErrorKind::Invalid, Subject::Column, &parts);
    }
}

#[test]
fn keys_and_partition_columns_must_fit() {
    let home = home();
    let refused = |descriptor: TableDescriptor, parts: &[&str]| {
        assert_error(&home.create("t", &descriptor).unwrap_err(), ErrorKind::Invalid, Subject::Column, parts);
    };
    refused(partitioned(table(&[]), &["nope"]), &["partition key", "'nope'"]);
    refused(partitioned(table(&[]), &["name", "name"]), &["partition key", "'name'", "twice"]);
    refused(partitioned(table(&["id"]), &["name"]), &["requires partition key", "subset of the primary key", "'name'"]);
    refused(partitioned(table(&["id", "name"]), &["name", "id"]), &["should not be same with partition fields"]);
    let mut bucketed = partitioned(table(&["id", "name"]), &["name"]);
    bucketed.bucket_key = vec!["name".to_owned()];
    refused(bucketed, &["bucket key", "shouldn't include any column in partition keys", "'name'"]);
    let info = home.create("t", &partitioned(table(&["name", "id", "amount"]), &["name"])).unwrap();
    assert_eq!(info.descriptor.bucket_key, ["id", "amount"]);
    let columns = &info.descriptor.schema.columns;
    assert!(columns.iter().all(|c| !c.data_type.nullable), "all three are in the primary key");
    let log = home.create("log", &by_name()).unwrap();
    assert_eq!(log.descriptor.bucket_key, [""; 0]);
}

#[test]
fn there_is_a_most() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_with(dir.path(), Arc::new(OsFs), &[("max.partition.num", "2")]).unwrap();
    store.create_table(&path("t"), &by_name(), false).unwrap();
    add(&store, &[("name", "a")]).unwrap();
    add(&store, &[("name", "b")]).unwrap();
    let e = add(&store, &[("name", "c")]).unwrap_err();
    assert_error(&e, ErrorKind::Conflict, Subject::Partition, &["'max.partition.num'", "2 partitions", "name=c"]);
    let auto =
        with(by_name(), &[("table.auto-partition.enabled", "true"), ("table.auto-partition.num-precreate", "3")]);
    let e = store.create_table(&path("auto"), &auto, false).unwrap_err();
    assert_error(
        &e,
        ErrorKind::Invalid,
        Subject::Option,
        &["'table.auto-partition.num-precreate'", "'max.partition.num' = 2"],
    );
}

#[test]
fn each_partition_keeps_its_number_of_buckets() {
    let home = home();
    home.create("t", &by_name()).unwrap();
    add(&home.store, &[("name", "a")]).unwrap();
    assert_eq!(home.alter("t", &[set("bucket.num", "4")]).unwrap().bucket_count(), 4);
    add(&home.store, &[("name", "b")]).unwrap();
    assert_eq!(home.alter("t", &[reset("bucket.num")]).unwrap().bucket_count(), 1);
    add(&home.store, &[("name", "c")]).unwrap();
    let home = home.reopen();
    let counts: Vec<i32> = listed(&home.store, &[]).iter().map(|p| p.bucket_count).collect();
    assert_eq!(counts, [1, 4, 1]);
    for (bad, subject) in [("0", Subject::Option), ("many", Subject::Option), ("5000", Subject::Bucket)] {
        let e = home.alter("t", &[set("bucket.num", bad)]).unwrap_err();
        assert_error(&e, ErrorKind::Invalid, subject, &["'bucket.num'", bad]);
    }
    home.create("plain", &table(&[])).unwrap();
    let e = home.alter("plain", &[set("bucket.num", "4")]).unwrap_err();
    assert_error(&e, ErrorKind::Unsupported, Subject::Option, &["'bucket.num'", "not supported to alter yet"]);
}

// ---- by the clock

fn at(dir: &Path, clock: &Arc<ManualClock>) -> LocalStore {
    let settings = Settings::from_options(&options(&[("auto-partition.check.interval", "10ms")])).unwrap();
    LocalStore::open(dir, Arc::new(OsFs), clock.clone(), settings).unwrap()
}

fn daily(properties: &[(&str, &str)]) -> TableDescriptor {
    let own = properties.iter().map(|(k, v)| (format!("table.auto-partition.{k}"), (*v).to_owned()));
    let mut descriptor =
        with(by_name(), &[("table.auto-partition.enabled", "true"), ("table.auto-partition.time-zone", "UTC")]);
    descriptor.properties.extend(own);
    descriptor
}

/// Waits for the store's worker.
fn until(store: &LocalStore, wanted: &[&str]) {
    for _ in 0..1000 {
        if names(store) == wanted {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(names(store), wanted);
}

#[test]
fn the_clock_creates_and_drops_partitions() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(ManualClock::new(NEW_YEAR)));
    let store = at(dir.path(), &clock);
    store.create_table(&path("t"), &daily(&[("num-retention", "1")]), false).unwrap();
    assert_eq!(names(&store), ["20260101", "20260102"], "those of now, with the table");
    clock.set(NEW_YEAR + DAY);
    until(&store, &["20260101", "20260102", "20260103"]);
    clock.set(NEW_YEAR + 2 * DAY - 1);
    until(&store, &["20260101", "20260102", "20260103"]);
    clock.set(NEW_YEAR + 2 * DAY);
    until(&store, &["20260102", "20260103", "20260104"]);
    // The data goes after the name.
    for _ in 0..1000 {
        if directories(dir.path()).len() == 3 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(directories(dir.path()), ["p1", "p2", "p3"]);
    store.close().unwrap();
    clock.set(NEW_YEAR + 10 * DAY);
    let store = at(dir.path(), &clock);
    assert_eq!(names(&store), ["20260111", "20260112"], "at once when it opens");
}

#[test]
fn alter_takes_effect_at_once() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(ManualClock::new(NEW_YEAR)));
    let store = at(dir.path(), &clock);
    store.create_table(&path("t"), &with(by_name(), &[("table.auto-partition.time-zone", "UTC")]), false).unwrap();
    for name in ["20251220", "20251231", "other"] {
        add(&store, &[("name", name)]).unwrap();
    }
    let alter = |key: &str, value: &str| {
        store.alter_table(&path("t"), &[set(&format!("table.auto-partition.{key}"), value)], false)
    };
    assert_eq!(alter("time-zone", "UTC").unwrap_err().kind(), ErrorKind::Unsupported);
    alter("num-retention", "-1").unwrap();
    assert_eq!(names(&store).len(), 3);
    alter("enabled", "true").unwrap();
    let today = names(&store);
    assert_eq!(today.len(), 5, "{today:?}");
    alter("num-precreate", "4").unwrap();
    assert_eq!(names(&store).len(), 7);
    alter("num-retention", "3").unwrap();
    assert!(!names(&store).contains(&"20251220".to_owned()) && names(&store).contains(&"20251231".to_owned()));
    alter("enabled", "false").unwrap();
    let before = names(&store);
    clock.set(NEW_YEAR + 100 * DAY);
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(names(&store), before, "off is off");
}

#[test]
fn an_auto_partitioned_table_refuses_wrong_and_old_times() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(ManualClock::new(NEW_YEAR)));
    let store = at(dir.path(), &clock);
    store.create_table(&path("t"), &daily(&[("num-retention", "2")]), false).unwrap();
    for (value, part) in
        [("2026-03-01", "does not match the expected format 'yyyyMMdd'"), ("20200101", "is out-of-date")]
    {
        let e = add(&store, &[("name", value)]).unwrap_err();
        assert_error(&e, ErrorKind::Invalid, Subject::Partition, &["fluss.t", "'name'", value, part]);
    }
    add(&store, &[("name", "20251230")]).unwrap();
    add(&store, &[("name", "20300101")]).unwrap();
    assert_eq!(names(&store), ["20251230", "20260101", "20260102", "20300101"]);
}

#[test]
fn several_partition_columns_one_of_which_is_the_time() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(ManualClock::new(NEW_YEAR)));
    let store = at(dir.path(), &clock);
    let mut two = daily(&[("key", "name"), ("num-retention", "1"), ("time-unit", "YEAR")]);
    two.partition_key = vec!["amount".to_owned(), "name".to_owned()];
    store.create_table(&path("t"), &two, false).unwrap();
    assert_eq!(names(&store), [""; 0]);
    let stored = store.table(&path("t")).unwrap().descriptor.properties;
    assert_eq!(stored.get("table.auto-partition.num-precreate").map(String::as_str), Some("0"));
    for (amount, year) in [("1", "2025"), ("2", "2025"), ("1", "2026")] {
        add(&store, &[("amount", amount), ("name", year)]).unwrap();
    }
    add(&store, &[("amount", "1"), ("name", "2024")]).unwrap_err();
    clock.set(NEW_YEAR + 366 * DAY);
    until(&store, &["1$2026"]);
}

#[test]
fn a_date_column_counts_days() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(ManualClock::new(NEW_YEAR)));
    let store = at(dir.path(), &clock);
    let mut dated = daily(&[]);
    dated.schema.columns[1].data_type = DataType::new(TypeRoot::Date);
    store.create_table(&path("t"), &dated, false).unwrap();
    assert_eq!(names(&store), ["2026-01-01", "2026-01-02"]);
}
