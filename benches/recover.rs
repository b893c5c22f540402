//! Opening after a kill with 1 GiB of log that was never saved as checked: the log's tail is checked, rows are replayed, one lookup answers.
//!
//! Writes 1 M keys and updates of them into one bucket until its log has 1 GiB, copies the files of the running store (what a kill of the
//! process leaves), opens the copy. Prints the seconds until the store is open and until the first lookup has its answer, three times.

use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType as ArrowType, Field, Schema as ArrowSchema};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluice_api::{Connection, LookupOptions, WriteOptions};
use sluice_base::{OsFs, SystemClock};
use sluice_row::{Column, DataType, Schema, TableDescriptor, TablePath, TypeRoot};
use sluice_store::{LocalStore, Settings};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const KEYS: i64 = 1_000_000;
const BATCH: usize = 4096;
const LOG_BYTES: u64 = 1 << 30;
const SEED: u64 = 7;
const WAIT: Duration = Duration::from_secs(120);

fn descriptor() -> TableDescriptor {
    let column = |name: &str, root| Column {
        name: name.to_owned(),
        data_type: DataType::new(root),
        comment: None,
        id: None,
        agg_function: None,
    };
    TableDescriptor {
        version: 1,
        schema: Schema::new(
            vec![column("id", TypeRoot::BigInt), column("text", TypeRoot::String)],
            vec!["id".to_owned()],
        ),
        comment: None,
        partition_key: Vec::new(),
        bucket_key: Vec::new(),
        bucket_count: Some(1),
        properties: BTreeMap::from([("table.log.arrow.compression.type".to_owned(), "none".to_owned())]),
        custom_properties: BTreeMap::new(),
    }
}

fn rows(ids: Vec<i64>) -> RecordBatch {
    let texts = StringArray::from_iter_values(ids.iter().map(|i| format!("{i:080}")));
    let fields = vec![Field::new("id", ArrowType::Int64, true), Field::new("text", ArrowType::Utf8, true)];
    let columns: Vec<arrow_array::ArrayRef> = vec![Arc::new(Int64Array::from(ids)), Arc::new(texts)];
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).expect("columns fit")
}

fn open(dir: &Path) -> LocalStore {
    let settings = Settings::from_options(&BTreeMap::new()).expect("defaults");
    LocalStore::open(dir, Arc::new(OsFs), Arc::new(SystemClock), settings).expect("store opens")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("directory");
    for entry in std::fs::read_dir(from).expect("directory").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

fn log_bytes(dir: &Path) -> u64 {
    let log = dir.join("data/0/0/log");
    std::fs::read_dir(log).into_iter().flatten().flatten().filter_map(|e| e.metadata().ok()).map(|m| m.len()).sum()
}

fn main() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let store = open(dir.path());
    let path = TablePath::new("fluss", "t");
    store.create_table(&path, &descriptor(), false).expect("table is created");
    let mut writer = store.writer(&path, &WriteOptions::default()).expect("writer opens");
    let mut random = StdRng::seed_from_u64(SEED);
    while log_bytes(dir.path()) < LOG_BYTES {
        writer.write(&rows((0..BATCH).map(|_| random.random_range(0..KEYS)).collect()), &[]).expect("rows are taken");
    }
    writer.flush(WAIT).expect("rows are durable");
    for _ in 0..3 {
        let killed = tempfile::tempdir().expect("temporary directory");
        copy(dir.path(), killed.path());
        // As if the log's tail had never been found good: all of it is checked again.
        let _ = std::fs::remove_file(killed.path().join("data/0/0/log/recovery.point"));
        let started = Instant::now();
        let store = open(killed.path());
        let options = LookupOptions { key_columns: vec!["id".to_owned()], projection: None };
        let lookup = store.lookup(&path, &options).expect("lookup opens");
        let opened = started.elapsed();
        let key = rows(vec![1]).project(&[0]).expect("key");
        lookup.lookup(&key).expect("answered");
        println!("recover: store open after {opened:?}, first lookup answered after {:?}", started.elapsed());
    }
}
