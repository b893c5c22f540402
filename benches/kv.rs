//! Primary-key tables with 1 M keys: batched lookups and upserts with their full changelog, through the store's own doors.

#![expect(missing_docs, reason = "criterion's macros make public functions")]

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType as ArrowType, Field, Schema as ArrowSchema};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluice_api::{Connection, LookupOptions, OffsetSpec, ScanOptions, ScanSplit, ScanStart, WriteOptions};
use sluice_base::{OsFs, SystemClock, TableBucket, TableId};
use sluice_kv::{Kv, KvSettings, KvShared, Mark};
use sluice_row::{Column, DataType, Schema, TableDescriptor, TablePath, TypeRoot};
use sluice_store::{LocalStore, Settings};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

const KEYS: i64 = 1_000_000;
const BATCH: usize = 4096;
const SEED: u64 = 7;
const WAIT: Duration = Duration::from_secs(120);

fn column(name: &str, root: TypeRoot) -> Column {
    Column { name: name.to_owned(), data_type: DataType::new(root), comment: None, id: None, agg_function: None }
}

/// `id BIGINT, name STRING, city STRING, amount BIGINT, count INT`, about 60 bytes a row, by a key that begins with `id`, which is the
/// bucket key; more options as they come.
fn descriptor(key: &[&str], compression: &str, options: &[(&str, &str)]) -> TableDescriptor {
    let columns = [
        ("id", TypeRoot::BigInt),
        ("name", TypeRoot::String),
        ("city", TypeRoot::String),
        ("amount", TypeRoot::BigInt),
        ("count", TypeRoot::Int),
    ];
    let columns = columns.into_iter().map(|(n, t)| column(n, t)).collect();
    let options = [("table.log.arrow.compression.type", compression)].into_iter().chain(options.iter().copied());
    TableDescriptor {
        version: 1,
        schema: Schema::new(columns, key.iter().map(|k| (*k).to_owned()).collect()),
        comment: None,
        partition_key: Vec::new(),
        bucket_key: vec!["id".to_owned()],
        bucket_count: Some(1),
        properties: options.map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
        custom_properties: BTreeMap::new(),
    }
}

fn rows(ids: &[i64], version: i64) -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(ids.to_vec()))),
        ("name", Arc::new(StringArray::from_iter_values(ids.iter().map(|i| format!("customer number {i}"))))),
        (
            "city",
            Arc::new(StringArray::from_iter_values(
                ids.iter().map(|i| ["Berlin", "Hangzhou", "Nuremberg"][(*i % 3) as usize]),
            )),
        ),
        ("amount", Arc::new(Int64Array::from_iter_values(ids.iter().map(|i| i * 31 + version)))),
        ("count", Arc::new(Int32Array::from_iter_values(ids.iter().map(|i| (i % 1000) as i32)))),
    ];
    let fields: Vec<Field> = columns.iter().map(|(n, c)| Field::new(*n, c.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns.into_iter().map(|(_, c)| c).collect())
        .expect("columns fit")
}

/// A store with a table of 1 M rows.
struct Loaded {
    store: LocalStore,
    path: TablePath,
    _dir: tempfile::TempDir,
}

fn load(compression: &str, options: &[(&str, &str)]) -> Loaded {
    load_by(&["id"], KEYS, compression, options)
}

/// `ids` different ids, each as often as it takes to make 1 M rows.
fn load_by(key: &[&str], ids: i64, compression: &str, options: &[(&str, &str)]) -> Loaded {
    let dir = tempfile::tempdir().expect("temporary directory");
    let settings = Settings::from_options(&BTreeMap::new()).expect("defaults");
    let store = LocalStore::open(dir.path(), Arc::new(OsFs), Arc::new(SystemClock), settings).expect("store opens");
    let path = TablePath::new("fluss", "customers");
    store.create_table(&path, &descriptor(key, compression, options), false).expect("table is created");
    let mut writer = store.writer(&path, &WriteOptions::default()).expect("writer opens");
    let mut random = StdRng::seed_from_u64(SEED);
    for version in 0..KEYS / ids {
        let mut ids: Vec<i64> = (0..ids).collect();
        rand::seq::SliceRandom::shuffle(ids.as_mut_slice(), &mut random);
        for ids in ids.chunks(BATCH) {
            writer.write(&rows(ids, version), &[]).expect("rows are taken");
        }
    }
    writer.flush(WAIT).expect("rows are durable");
    Loaded { store, path, _dir: dir }
}

fn random_ids(random: &mut StdRng, count: usize) -> Vec<i64> {
    (0..count).map(|_| random.random_range(0..KEYS)).collect()
}

fn bench_lookup(c: &mut Criterion) {
    let loaded = load("zstd", &[]);
    let mut group = c.benchmark_group("lookup");
    group.throughput(Throughput::Elements(BATCH as u64));
    let mut random = StdRng::seed_from_u64(SEED);
    let keys: Vec<RecordBatch> = (0..256)
        .map(|_| {
            let ids = Int64Array::from(random_ids(&mut random, BATCH));
            let schema = ArrowSchema::new(vec![Field::new("id", ArrowType::Int64, true)]);
            RecordBatch::try_new(Arc::new(schema), vec![Arc::new(ids)]).expect("columns fit")
        })
        .collect();
    for (name, projection) in [("all_columns", None), ("one_column", Some(vec![3]))] {
        let options = LookupOptions { key_columns: vec!["id".to_owned()], projection };
        let lookup = loaded.store.lookup(&loaded.path, &options).expect("lookup opens");
        let mut turn = keys.iter().cycle();
        // Warm: every row has been asked for before.
        for keys in &keys {
            lookup.lookup(keys).expect("rows are found");
        }
        group.bench_function(name, |b| {
            b.iter(|| {
                let found = lookup.lookup(turn.next().expect("endless")).expect("rows are found");
                assert_eq!(found.rows.num_rows(), BATCH);
                black_box(found)
            });
        });
    }
    group.finish();
}

/// All rows under the first column of a key of two, in random batches: one row a prefix, and ten.
fn bench_prefix(c: &mut Criterion) {
    let mut group = c.benchmark_group("prefix_lookup");
    group.throughput(Throughput::Elements(BATCH as u64));
    for (name, per_prefix) in [("one_row", 1_i64), ("ten_rows", 10)] {
        let ids = KEYS / per_prefix;
        let loaded = load_by(&["id", "amount"], ids, "none", &[]);
        let options = LookupOptions { key_columns: vec!["id".to_owned()], projection: None };
        let lookup = loaded.store.lookup(&loaded.path, &options).expect("lookup opens");
        let mut random = StdRng::seed_from_u64(SEED);
        let schema = Arc::new(ArrowSchema::new(vec![Field::new("id", ArrowType::Int64, true)]));
        group.bench_function(name, |b| {
            b.iter(|| {
                let asked: Int64Array = (0..BATCH).map(|_| Some(random.random_range(0..ids))).collect();
                let keys = RecordBatch::try_new(schema.clone(), vec![Arc::new(asked)]).expect("columns fit");
                let found = lookup.lookup(&keys).expect("rows are found");
                assert_eq!(found.rows.num_rows(), BATCH * per_prefix as usize);
                black_box(found)
            });
        });
    }
    group.finish();
}

/// The rows by key alone: no key encoding, no decoding.
fn bench_multi_get(c: &mut Criterion) {
    let mut group = c.benchmark_group("multi_get");
    group.throughput(Throughput::Elements(BATCH as u64));
    for (name, row_cache_bytes) in [("cached", 192 << 20), ("rocksdb_only", 0)] {
        let dir = tempfile::tempdir().expect("temporary directory");
        let shared = KvShared::new(&KvSettings { row_cache_bytes, ..KvSettings::default() }).expect("settings");
        let kv = Kv::open(dir.path(), &shared).expect("opens");
        let value = [7_u8; 60];
        let keys: Vec<[u8; 16]> = (0..KEYS).map(|i| u128::from(i.cast_unsigned()).to_le_bytes()).collect();
        for keys in keys.chunks(BATCH) {
            kv.write(keys.iter().map(|k| (k.as_slice(), Some(value.as_slice()))), Mark::default()).expect("written");
        }
        kv.flush().expect("flushed");
        let mut random = StdRng::seed_from_u64(SEED);
        group.bench_function(name, |b| {
            b.iter(|| {
                let asked: Vec<&[u8]> =
                    random_ids(&mut random, BATCH).iter().map(|i| keys[*i as usize].as_slice()).collect();
                let mut bytes = 0;
                kv.multi_get(&asked, |_, v| bytes += v.map_or(0, <[u8]>::len)).expect("read");
                assert_eq!(bytes, BATCH * 60);
            });
        });
    }
    group.finish();
}

/// Columns of a partial update.
const SOME: [&str; 3] = ["id", "amount", "count"];
const SUMS: &[(&str, &str)] =
    &[("table.merge-engine", "aggregation"), ("fields.amount.agg", "sum"), ("fields.count.agg", "max")];

/// Each row updates a key that is there: two changelog rows for one incoming. Measured until everything is durable. Plain rows,
/// rows merged into aggregates, and some columns of rows.
fn bench_upsert(c: &mut Criterion) {
    const BATCHES: usize = 50;
    let mut group = c.benchmark_group("upsert");
    group.sample_size(10);
    group.throughput(Throughput::Elements((BATCH * BATCHES) as u64));
    let plain: &[(&str, &str)] = &[];
    let all: &[&str] = &[];
    let cases = [
        ("zstd", plain, all),
        ("none", plain, all),
        ("aggregation", SUMS, all),
        ("partial", plain, &SOME[..]),
        ("partial_aggregation", SUMS, &SOME[..]),
    ];
    for (name, options, columns) in cases {
        let loaded = load(if name == "zstd" { "zstd" } else { "none" }, options);
        let mut random = StdRng::seed_from_u64(SEED);
        let batches: Vec<RecordBatch> = (1..=BATCHES)
            .map(|v| {
                let rows = rows(&random_ids(&mut random, BATCH), v as i64);
                let wanted: Vec<usize> = columns.iter().filter_map(|c| rows.schema().index_of(c).ok()).collect();
                if wanted.is_empty() { rows } else { rows.project(&wanted).expect("columns are there") }
            })
            .collect();
        let target_columns = columns.iter().map(|c| (*c).to_owned()).collect();
        let options = WriteOptions { target_columns, ..WriteOptions::default() };
        let mut writer = loaded.store.writer(&loaded.path, &options).expect("writer opens");
        group.bench_function(name, |b| {
            b.iter(|| {
                for batch in &batches {
                    writer.write(batch, &[]).expect("rows are taken");
                }
                writer.flush(WAIT).expect("rows are durable");
            });
        });
    }
    group.finish();
}

/// One row written, with a sync of the disk, until a waiting reader has it. Prints the median and the 99th percentile.
fn bench_visible(c: &mut Criterion) {
    let loaded = load("zstd", &[]);
    let mut group = c.benchmark_group("visible");
    let options = ScanOptions { projection: None, batch_rows_max: 1024, filter: None };
    let bucket = TableBucket {
        table: TableId(loaded.store.table(&loaded.path).expect("table").table_id),
        partition: None,
        bucket: 0,
    };
    let scanner = loaded.store.scanner(&loaded.path, &options).expect("scanner opens");
    let end = loaded.store.list_offsets(&[bucket], OffsetSpec::Latest).expect("offset")[0];
    scanner.subscribe(ScanSplit { id: 0, bucket, start: ScanStart::Log { offset: end }, stop: None }).expect("split");
    let mut writer = loaded.store.writer(&loaded.path, &WriteOptions::default()).expect("writer opens");
    let mut times = Vec::new();
    let mut id = 0;
    group.bench_function("lone_row", |b| {
        b.iter(|| {
            id += 1;
            let row = rows(&[id], 1);
            let started = Instant::now();
            writer.write(&row, &[]).expect("row is taken");
            scanner.poll(WAIT).expect("poll").expect("the row comes");
            times.push(started.elapsed());
        });
    });
    group.finish();
    if times.is_empty() {
        return;
    }
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!("visible/lone_row: median {:?}, 99 % {:?}, of {} rows", at(50), at(99), times.len());
}

criterion_group!(benches, bench_visible, bench_multi_get, bench_lookup, bench_prefix, bench_upsert);
criterion_main!(benches);
