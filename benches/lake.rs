//! Tiering and scanning against plain Parquet writing and reading of the same columns, taken in the same run.

#![expect(clippy::unwrap_used, reason = "a benchmark stops at the first surprise")]
#![expect(missing_docs, reason = "criterion's macro makes a public function")]

use arrow_array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use rand::{Rng, SeedableRng, rngs::StdRng};
use sluice_base::{OsFs, SystemClock};
use sluice_lake::{
    AppendWriter, Comparison, KeyedWriter, LakeBucket, LakeScan, LakeTable, LocalStorage, Predicate, Round,
    ScanOptions, SystemColumns, define,
};
use sluice_row::{ChangeKind, Column, DataType, Schema, TableDescriptor, TablePath, TypeRoot, arrow_schema};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const ROWS_IN_BATCH: usize = 10_000;
const BATCHES: usize = 50;
const ROWS: usize = ROWS_IN_BATCH * BATCHES;

fn descriptor(keyed: bool) -> TableDescriptor {
    let column = |name: &str, root| Column {
        name: name.to_owned(),
        data_type: DataType { root, nullable: name != "id" },
        comment: None,
        id: None,
        agg_function: None,
    };
    let columns = vec![
        column("id", TypeRoot::BigInt),
        column("a", TypeRoot::String),
        column("b", TypeRoot::String),
        column("t", TypeRoot::BigInt),
        column("u", TypeRoot::BigInt),
        column("d", TypeRoot::Double),
        column("m", TypeRoot::Int),
        column("n", TypeRoot::Int),
    ];
    TableDescriptor {
        version: 1,
        schema: Schema::new(columns, if keyed { vec!["id".to_owned()] } else { Vec::new() }),
        comment: None,
        partition_key: Vec::new(),
        bucket_key: vec!["id".to_owned()],
        bucket_count: Some(1),
        properties: BTreeMap::new(),
        custom_properties: BTreeMap::new(),
    }
}

/// Eight columns, about 100 bytes a row; keys in order for a log, in any order for changes.
fn batches(keyed: bool) -> Vec<RecordBatch> {
    let mut r = StdRng::seed_from_u64(7);
    let make = |batch: usize| {
        let first = (batch * ROWS_IN_BATCH) as i64;
        let mut text = |len: usize| -> ArrayRef {
            let word = |r: &mut StdRng| (0..len).map(|_| char::from(r.random_range(b'a'..=b'z'))).collect::<String>();
            Arc::new(StringArray::from_iter_values((0..ROWS_IN_BATCH).map(|_| word(&mut r))))
        };
        let (a, b) = (text(24), text(28));
        let long = |k: i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values((first..first + ROWS_IN_BATCH as i64).map(|i| i * k)))
        };
        let keys: ArrayRef = match keyed {
            true => Arc::new(Int64Array::from_iter_values((0..ROWS_IN_BATCH).map(|_| r.random_range(0..500_000)))),
            false => long(1),
        };
        let columns = vec![
            keys,
            a,
            b,
            long(1_000_003),
            long(7),
            Arc::new(Float64Array::from_iter_values((0..ROWS_IN_BATCH).map(|i| i as f64 / 3.0))),
            Arc::new(Int32Array::from_iter_values(0..ROWS_IN_BATCH as i32)),
            Arc::new(Int32Array::from_iter_values((0..ROWS_IN_BATCH as i32).rev())),
        ];
        RecordBatch::try_new(arrow_schema(&descriptor(keyed).schema), columns).unwrap()
    };
    (0..BATCHES).map(make).collect()
}

/// The same rows with the two columns that tiering adds.
fn with_system_columns(batches: &[RecordBatch]) -> Vec<RecordBatch> {
    let add = |(i, batch): (usize, &RecordBatch)| {
        let first = (i * ROWS_IN_BATCH) as i64;
        let offsets: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + ROWS_IN_BATCH as i64));
        let times: ArrayRef = Arc::new(TimestampMillisecondArray::from_value(5, ROWS_IN_BATCH));
        let names = batch.schema();
        let own = names.fields().iter().map(|f| f.name().as_str()).zip(batch.columns().iter().cloned());
        RecordBatch::try_from_iter(own.chain([("__offset", offsets), ("__timestamp", times)])).unwrap()
    };
    batches.iter().enumerate().map(add).collect()
}

/// Directory on the disk of the build, for /tmp may be memory.
fn dir() -> tempfile::TempDir {
    tempfile::tempdir_in(std::env::current_exe().unwrap().parent().unwrap()).unwrap()
}

fn plain(path: &Path, batches: &[RecordBatch]) {
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
    let properties = WriterProperties::builder().set_compression(zstd).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batches[0].schema(), Some(properties)).unwrap();
    batches.iter().for_each(|b| writer.write(b).unwrap());
    writer.into_inner().unwrap().sync_data().unwrap();
}

fn table(root: &Path, keyed: bool) -> LakeTable {
    let schema = define(&descriptor(keyed), SystemColumns::Added, 0).unwrap();
    let storage = Arc::new(LocalStorage::new(Arc::new(OsFs), root));
    LakeTable::create(storage, Arc::new(SystemClock), &TablePath::new("d", "t"), schema).unwrap()
}

/// One round over all batches.
fn tier(table: &LakeTable, batches: &[RecordBatch], keyed: bool) {
    let files = if keyed {
        let mut writer = KeyedWriter::new(table, 0);
        let kinds = vec![ChangeKind::UpdateAfter; ROWS_IN_BATCH];
        batches.iter().enumerate().for_each(|(i, b)| writer.write(b, &kinds, (i * ROWS_IN_BATCH) as i64, 5).unwrap());
        writer.finish().unwrap()
    } else {
        let mut writer = AppendWriter::new(table, 0);
        batches.iter().enumerate().for_each(|(i, b)| writer.write(b, (i * ROWS_IN_BATCH) as i64, 5).unwrap());
        writer.finish().unwrap()
    };
    let mut round = Round::new(table, "bench");
    round.add(LakeBucket { partition: None, bucket: 0 }, None, 0..ROWS as i64, files);
    round.commit().unwrap();
}

fn writing(c: &mut Criterion) {
    let mut group = c.benchmark_group("tier");
    group.throughput(Throughput::Elements(ROWS as u64)).sample_size(10).measurement_time(Duration::from_secs(8));
    let place = dir();
    let log = batches(false);
    let all = with_system_columns(&log);
    group.bench_function("plain_parquet", |b| b.iter(|| plain(&place.path().join("plain"), &all)));
    for (name, keyed, batches) in [("log_table", false, log), ("primary_key_table", true, batches(true))] {
        group.bench_function(name, |b| {
            b.iter_batched(
                || {
                    let place = dir();
                    (table(place.path(), keyed), place)
                },
                |(table, place)| {
                    tier(&table, &batches, keyed);
                    place
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn scan(table: &LakeTable, predicate: Option<Predicate>) -> usize {
    let snapshot = table.newest().unwrap().unwrap();
    let scan = LakeScan::new(table, &snapshot).unwrap();
    let options = ScanOptions { projection: None, predicate, batch_rows_max: 8192 };
    let mut found = 0;
    for split in scan.splits() {
        let mut rows = scan.read(split, &options).unwrap();
        while let Some(batch) = rows.next_batch().unwrap() {
            found += batch.num_rows();
        }
    }
    found
}

fn reading(c: &mut Criterion) {
    let mut group = c.benchmark_group("scan");
    group.throughput(Throughput::Elements(ROWS as u64)).sample_size(10).measurement_time(Duration::from_secs(5));
    let (log, keyed, place) = (dir(), dir(), dir());
    let rows = batches(false);
    plain(&place.path().join("plain"), &with_system_columns(&rows));
    group.bench_function("plain_parquet", |b| {
        b.iter(|| {
            let file = File::open(place.path().join("plain")).unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().with_batch_size(8192).build().unwrap();
            assert_eq!(reader.map(|b| b.unwrap().num_rows()).sum::<usize>(), ROWS);
        });
    });
    let log_table = table(log.path(), false);
    tier(&log_table, &rows, false);
    group.bench_function("log_table", |b| b.iter(|| assert_eq!(scan(&log_table, None), ROWS)));
    let one_percent = Predicate::And(vec![
        Predicate::Compare {
            column: 0,
            comparison: Comparison::GreaterOrEqual,
            value: Arc::new(Int64Array::from(vec![300_000])),
        },
        Predicate::Compare {
            column: 0,
            comparison: Comparison::Less,
            value: Arc::new(Int64Array::from(vec![305_000])),
        },
    ]);
    group.bench_function("log_table_1_percent_of_sorted", |b| {
        b.iter(|| assert!((5_000..50_000).contains(&scan(&log_table, Some(one_percent.clone())))));
    });
    let keyed_table = table(keyed.path(), true);
    tier(&keyed_table, &batches(true), true);
    group.bench_function("primary_key_table", |b| b.iter(|| assert!(scan(&keyed_table, None) > 0)));
    group.finish();
}

/// Each batch in a round of its own.
fn many_rounds(table: &LakeTable, batches: &[RecordBatch]) {
    let mut start = None;
    for batch in batches {
        let first = start.unwrap_or(0);
        let mut writer = KeyedWriter::new(table, 0);
        writer.write(batch, &vec![ChangeKind::UpdateAfter; ROWS_IN_BATCH], first, 5).unwrap();
        let end = first + ROWS_IN_BATCH as i64;
        let mut round = Round::new(table, "bench");
        round.add(LakeBucket { partition: None, bucket: 0 }, start, first..end, writer.finish().unwrap());
        round.commit().unwrap();
        start = Some(end);
    }
}

fn compacting(c: &mut Criterion) {
    let mut group = c.benchmark_group("many_rounds");
    group.throughput(Throughput::Elements(ROWS as u64)).sample_size(10).measurement_time(Duration::from_secs(5));
    let place = dir();
    let table = table(place.path(), true);
    many_rounds(&table, &batches(true));
    let found = scan(&table, None);
    group.bench_function("scan_of_50_files", |b| b.iter(|| assert_eq!(scan(&table, None), found)));
    while table.compact("bench", &|| false).unwrap().is_some() {}
    group.bench_function("scan_when_compacted", |b| b.iter(|| assert_eq!(scan(&table, None), found)));
    group.finish();
}

criterion_group!(benches, writing, reading, compacting);
criterion_main!(benches);
