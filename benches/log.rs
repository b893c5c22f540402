//! The log against the machine's limits, taken in the same run: append against write and fdatasync of the same bytes, scan against
//! memcpy, projection against all columns.

#![expect(clippy::unwrap_used, reason = "a benchmark stops at the first surprise")]
#![expect(missing_docs, reason = "criterion's macro makes a public function")]

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rand::{Rng, SeedableRng, rngs::StdRng};
use sluice_base::{SchemaId, SystemClock};
use sluice_log::{BatchDecoder, Compression, Log, LogSettings, encode_batch};
use sluice_row::{Column, Comparison, DataType, Filter, Literal, Predicate, Schema, Statistics, TypeRoot};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const ROWS_IN_BATCH: usize = 10_000;
const BATCHES: usize = 100;
const READ_BYTES: usize = 1 << 20;

/// Eight columns, about 100 bytes a row.
fn rows(seed: u64) -> RecordBatch {
    let mut r = StdRng::seed_from_u64(seed);
    let mut text = |len: usize| -> ArrayRef {
        let word = |r: &mut StdRng| (0..len).map(|_| char::from(r.random_range(b'a'..=b'z'))).collect::<String>();
        Arc::new(StringArray::from_iter_values((0..ROWS_IN_BATCH).map(|_| word(&mut r))))
    };
    let (a, b) = (text(24), text(28));
    let long =
        |k: i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values((0..ROWS_IN_BATCH as i64).map(|i| i * k))) };
    let columns: [(&str, ArrayRef); 8] = [
        ("id", long(1)),
        ("a", a),
        ("b", b),
        ("t", long(1_000_003)),
        ("u", long(7)),
        ("d", Arc::new(Float64Array::from_iter_values((0..ROWS_IN_BATCH).map(|i| i as f64 / 3.0)))),
        ("m", Arc::new(Int32Array::from_iter_values(0..ROWS_IN_BATCH as i32))),
        ("n", Arc::new(Int32Array::from_iter_values((0..ROWS_IN_BATCH as i32).rev()))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Statistics of all columns.
fn describe(rows: &RecordBatch) -> Statistics {
    Statistics::of((0..).zip(rows.columns().iter().map(|c| c.as_ref())), rows.num_rows())
}

fn encoded(compression: Compression) -> Vec<Vec<u8>> {
    let encode = |seed| {
        let mut out = Vec::new();
        encode_batch(Some(&rows(seed)), None, SchemaId(1), (-1, -1), compression, &mut out).unwrap();
        out
    };
    (0..BATCHES as u64).map(encode).collect()
}

fn open(dir: &Path) -> Log {
    Log::open(Arc::new(sluice_base::OsFs), Arc::new(SystemClock), dir, LogSettings::default()).unwrap().0
}

/// Directory on the disk of the build, for /tmp may be memory.
fn dir() -> tempfile::TempDir {
    tempfile::tempdir_in(std::env::current_exe().unwrap().parent().unwrap()).unwrap()
}

/// 10 batches, one sync: once as encode, append, sync; once as write and fdatasync of the same bytes.
fn append(c: &mut Criterion) {
    let batches = encoded(Compression::None);
    let part = &batches[..10];
    let bytes: usize = part.iter().map(Vec::len).sum();
    let records: Vec<RecordBatch> = (0..10).map(rows).collect();
    let mut group = c.benchmark_group("append");
    group.throughput(Throughput::Bytes(bytes as u64)).sample_size(30).measurement_time(Duration::from_secs(8));
    let place = dir();
    let file = File::create(place.path().join("raw")).unwrap();
    let mut at = 0;
    group.bench_function("raw_write_fdatasync", |b| {
        b.iter(|| {
            for batch in part {
                file.write_all_at(batch, at).unwrap();
                at += batch.len() as u64;
            }
            file.sync_data().unwrap();
        });
    });
    let log = open(&place.path().join("log"));
    let mut out = Vec::new();
    group.bench_function("encode_append_sync", |b| {
        b.iter(|| {
            for rows in &records {
                out.clear();
                encode_batch(Some(rows), None, SchemaId(1), (-1, -1), Compression::None, &mut out).unwrap();
                log.append(&mut out).unwrap();
            }
            log.sync().unwrap()
        });
    });
    let log = open(&place.path().join("described"));
    group.bench_function("encode_describe_append_sync", |b| {
        b.iter(|| {
            for rows in &records {
                out.clear();
                encode_batch(Some(rows), None, SchemaId(1), (-1, -1), Compression::None, &mut out).unwrap();
                log.append_described(&mut out, Some(&describe(rows))).unwrap();
            }
            log.sync().unwrap()
        });
    });
    group.bench_function("describe", |b| b.iter(|| records.iter().map(describe).for_each(|s| drop(black_box(s)))));
    for compression in [Compression::None, Compression::Lz4Frame, Compression::default()] {
        group.bench_function(format!("encode_{compression:?}"), |b| {
            b.iter(|| {
                for rows in &records {
                    out.clear();
                    encode_batch(Some(rows), None, SchemaId(1), (-1, -1), compression, &mut out).unwrap();
                }
            });
        });
    }
    group.finish();
}

fn scan_all(log: &Log, decoder: &BatchDecoder) -> usize {
    let (mut from, mut rows) = (0, 0);
    loop {
        let batches = log.read(from, i64::MAX, READ_BYTES).unwrap();
        let Some(last) = batches.last() else { return rows };
        from = last.header.next_offset();
        for batch in &batches {
            rows += black_box(decoder.decode(&batch.bytes).unwrap().0).num_rows();
        }
    }
}

fn filled(place: &Path, compression: Compression) -> (Log, u64) {
    let log = open(place);
    for mut batch in encoded(compression) {
        log.append(&mut batch).unwrap();
    }
    log.sync().unwrap();
    let size = log.size_bytes();
    (log, size)
}

/// 1 M rows from a warm page cache.
fn scan(c: &mut Criterion) {
    let place = dir();
    let schema = rows(0).schema();
    let (log, size) = filled(&place.path().join("none"), Compression::None);
    let mut group = c.benchmark_group("scan");
    group.throughput(Throughput::Bytes(size)).sample_size(20).measurement_time(Duration::from_secs(5));
    let source = vec![1_u8; size as usize];
    let mut target = vec![2_u8; size as usize];
    group.bench_function("memcpy", |b| b.iter(|| target.copy_from_slice(black_box(&source))));
    // Into a buffer that stays in the cache, as a scan reads.
    let mut chunk = vec![0_u8; READ_BYTES];
    group.bench_function("memcpy_in_chunks", |b| {
        b.iter(|| {
            for part in source.chunks(READ_BYTES) {
                chunk[..part.len()].copy_from_slice(black_box(part));
                black_box(&chunk);
            }
        });
    });
    let columns = [("all_8", None), ("2_of_8", Some([0, 5].as_slice()))];
    for (name, projection) in columns {
        let decoder = BatchDecoder::new(schema.clone(), projection);
        group.bench_function(format!("uncompressed_{name}"), |b| {
            b.iter(|| assert_eq!(scan_all(&log, &decoder), 1_000_000))
        });
    }
    for compression in [Compression::Lz4Frame, Compression::default()] {
        let (log, _) = filled(&place.path().join(format!("{compression:?}")), compression);
        for (name, projection) in columns {
            let decoder = BatchDecoder::new(schema.clone(), projection);
            group.bench_function(format!("{compression:?}_{name}"), |b| {
                b.iter(|| assert_eq!(scan_all(&log, &decoder), 1_000_000));
            });
        }
    }
    group.finish();
}

/// 1 M rows in 100 batches, the numbers of whose rows go on from batch to batch: all of them, and those in a range of ten numbers.
fn filter(c: &mut Criterion) {
    let place = dir();
    let log = open(&place.path().join("log"));
    for batch in 0..BATCHES as i64 {
        let mut columns = rows(batch.unsigned_abs()).columns().to_vec();
        let first = batch * ROWS_IN_BATCH as i64;
        columns[0] = Arc::new(Int64Array::from_iter_values(first..first + ROWS_IN_BATCH as i64));
        let rows = RecordBatch::try_new(rows(0).schema(), columns).unwrap();
        let mut out = Vec::new();
        encode_batch(Some(&rows), None, SchemaId(1), (-1, -1), Compression::default(), &mut out).unwrap();
        log.append_described(&mut out, Some(&describe(&rows))).unwrap();
    }
    log.save_recovery_point().unwrap();
    let decoder = BatchDecoder::new(rows(0).schema(), None);
    let filter = ten_numbers_from(555_555);
    let mut group = c.benchmark_group("filter");
    group.sample_size(20).measurement_time(Duration::from_secs(5));
    group.bench_function("all_rows", |b| b.iter(|| assert_eq!(scan_all(&log, &decoder), 1_000_000)));
    group.bench_function("ten_rows_of_one_batch", |b| {
        b.iter(|| {
            let (mut at, mut read) = (0, 0);
            while at < log.end_offset() {
                let ahead = log.ahead(at, i64::MAX, &|_, rows| filter.may_hold(rows, |_| true)).unwrap();
                at = ahead.from;
                let wanted = if ahead.until > at { log.read(at, ahead.until, READ_BYTES).unwrap() } else { Vec::new() };
                for batch in &wanted {
                    read += black_box(decoder.decode(&batch.bytes).unwrap().0).num_rows();
                    at = batch.header.next_offset();
                }
            }
            assert_eq!(read, ROWS_IN_BATCH);
        });
    });
    group.finish();
}

/// The condition that `id` is one of ten numbers.
fn ten_numbers_from(first: i64) -> Filter {
    let column = Column {
        name: "id".to_owned(),
        data_type: DataType::new(TypeRoot::BigInt),
        comment: None,
        id: Some(0),
        agg_function: None,
    };
    let compare = |op, value| Predicate::Compare { column: "id".to_owned(), op, value: Literal::Integer(value) };
    let between = vec![compare(Comparison::GreaterOrEqual, first), compare(Comparison::Less, first + 10)];
    Filter::bind(&Predicate::And(between), &Schema::new(vec![column], Vec::new())).unwrap()
}

/// Opening after a crash with all of the log unflushed: everything is checked.
fn recover(c: &mut Criterion) {
    let place = dir();
    let path = place.path().join("log");
    let (log, size) = filled(&path, Compression::None);
    drop(log);
    let mut group = c.benchmark_group("recover");
    group.throughput(Throughput::Bytes(size)).sample_size(10);
    group.bench_function("unflushed", |b| {
        b.iter_batched(
            || drop(std::fs::remove_file(path.join("recovery.point"))),
            |()| open(&path),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, append, scan, filter, recover);
criterion_main!(benches);
