//! A reader that skips by statistics finds every row that it wants, whatever crashed, was lost or was cut off before.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, cast::AsArray, types::Int64Type};
use proptest::prelude::*;
use sluice_base::{Fs, Offset, OsFs, SchemaId};
use sluice_log::{BatchDecoder, Compression, Log, LogSettings, encode_batch};
use sluice_row::{Column, Comparison, DataType, Filter, Literal, Predicate, Schema, Statistics, TypeRoot};
use sluice_testkit::{Crash, Fault, FaultFs, Gen, ManualClock};
use std::path::Path;
use std::sync::Arc;

const COLUMN: i32 = 3;

/// Rows of one number each; the text makes the batch as long as asked for.
fn rows(values: &[i64], bytes: usize) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    let mut texts = vec![String::new(); values.len()];
    if let Some(first) = texts.first_mut() {
        *first = "x".repeat(bytes);
    }
    let texts: ArrayRef = Arc::new(StringArray::from(texts));
    RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()
}

fn statistics(rows: &RecordBatch) -> Statistics {
    Statistics::of([(COLUMN, rows.column(0).as_ref() as &dyn Array)].into_iter(), rows.num_rows())
}

fn encoded(rows: &RecordBatch) -> Vec<u8> {
    let mut out = Vec::new();
    encode_batch(Some(rows), None, SchemaId(1), (-1, -1), Compression::None, &mut out).unwrap();
    out
}

fn append(log: &Log, values: &[i64], bytes: usize) {
    let rows = rows(values, bytes);
    log.append_described(&mut encoded(&rows), Some(&statistics(&rows))).unwrap();
}

fn open(fs: Arc<dyn Fs>, dir: &Path) -> Log {
    let settings =
        LogSettings { segment_bytes_max: 400_000, recovery_interval_bytes: 200_000, ..LogSettings::default() };
    Log::open(fs, Arc::new(ManualClock::new(1_000)), dir, settings).unwrap().0
}

fn equal_to(value: i64) -> Filter {
    let column = Column {
        name: "n".to_owned(),
        data_type: DataType::new(TypeRoot::BigInt),
        comment: None,
        id: Some(COLUMN),
        agg_function: None,
    };
    let value = Literal::Integer(value);
    let equal = Predicate::Compare { column: "n".to_owned(), op: Comparison::Equal, value };
    Filter::bind(&equal, &Schema::new(vec![column], Vec::new())).unwrap()
}

/// The values of all batches that a reader of the whole log reads, in order. Undescribed ones are described on the way.
fn read(log: &Log, filter: Option<&Filter>) -> Vec<i64> {
    let decoder = BatchDecoder::new(rows(&[], 0).schema(), Some(&[0]));
    let (mut at, end) = (log.start_offset(), log.end_offset());
    let mut found = Vec::new();
    while at < end {
        let (mut until, mut known) = (end, true);
        if let Some(filter) = filter {
            let ahead = log.ahead(at, end, &|_, rows| filter.may_hold(rows, |_| true)).unwrap();
            assert!(ahead.from >= at && ahead.until >= ahead.from && ahead.until <= end);
            (at, until, known) = (ahead.from, ahead.until, ahead.known);
        }
        for batch in if at < until { log.read(at, until, 50_000).unwrap() } else { Vec::new() } {
            let (rows, _) = decoder.decode(&batch.bytes).unwrap();
            if !known {
                log.describe(&batch.header, &statistics(&rows)).unwrap();
            }
            found.extend(rows.column(0).as_primitive::<Int64Type>().values());
            at = batch.header.next_offset();
        }
    }
    found
}

fn check(log: &Log) {
    let all = read(log, None);
    for wanted in 0..8 {
        let matching = |values: Vec<i64>| values.into_iter().filter(|v| *v == wanted).count();
        assert_eq!(matching(read(log, Some(&equal_to(wanted)))), matching(all.clone()), "of value {wanted}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// What the statistics speak of may be taken back by a power loss or a failed sync and other rows put there.
    #[test]
    fn whatever_a_power_loss_leaves(seed in any::<u64>()) {
        let g = &mut Gen::new(seed);
        let mut home = tempfile::tempdir().unwrap();
        let mut fs = FaultFs::new();
        let mut log = open(Arc::new(fs.clone()), home.path());
        for _ in 0..40 {
            match g.below(13) {
                12 => {
                    append(&log, &[g.below(8) as i64], 10);
                    fs.fail_call(1 + g.below(3) as u64, Fault::Error);
                    let synced = log.sync();
                    fs.restart();
                    if synced.is_err() {
                        log = log.reopen(log.durable_offset()).unwrap().0;
                    }
                    check(&log);
                }
                0 => { log.sync().unwrap(); }
                1 => log.save_recovery_point().unwrap(),
                2 => {
                    let end = log.end_offset();
                    log.expire(1 << 40, Some(1), end - 20).unwrap();
                }
                3 | 4 => {
                    let left = tempfile::tempdir().unwrap();
                    let crash = [Crash::LoseUnsynced, Crash::KeepAll, Crash::Torn(seed)][g.below(3)];
                    fs.crash_into(home.path(), left.path(), crash).unwrap();
                    (home, fs) = (left, FaultFs::new());
                    log = open(Arc::new(fs.clone()), home.path());
                    check(&log);
                }
                5 => check(&log),
                6 => { log.append(&mut encoded(&rows(&[g.below(8) as i64], 10))).unwrap(); }
                _ => {
                    let first = g.below(8) as i64;
                    let values: Vec<i64> = (0..1 + g.below(4)).map(|i| (first + i as i64 % 2) % 8).collect();
                    append(&log, &values, [10, 1_000, 70_000][g.below(3)]);
                }
            }
        }
        check(&log);
    }
}

fn filled(dir: &Path) -> Log {
    let log = open(Arc::new(OsFs), dir);
    (0..16).for_each(|i| append(&log, &[i, i], 70_000));
    log
}

/// Values read when only one is wanted.
fn read_for(log: &Log, wanted: i64) -> Vec<i64> {
    read(log, Some(&equal_to(wanted)))
}

#[test]
fn only_what_may_match_is_read_and_after_a_clean_end_too() {
    let home = tempfile::tempdir().unwrap();
    let log = filled(home.path());
    assert_eq!(read_for(&log, 5), [5, 5]);
    assert_eq!(read_for(&log, 99), Vec::<i64>::new());
    log.save_recovery_point().unwrap();
    drop(log);
    let log = open(Arc::new(OsFs), home.path());
    assert_eq!(read_for(&log, 5), [5, 5]);
    append(&log, &[5], 70_000);
    assert_eq!(read_for(&log, 5), [5, 5, 5]);
}

#[test]
fn what_is_lost_is_made_again_by_the_first_reader_and_kept() {
    let home = tempfile::tempdir().unwrap();
    let log = filled(home.path());
    log.save_recovery_point().unwrap();
    drop(log);
    for entry in std::fs::read_dir(home.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "stats") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let log = open(Arc::new(OsFs), home.path());
    assert_eq!(read_for(&log, 5).len(), 32);
    assert_eq!(read_for(&log, 5), [5, 5]);
    append(&log, &[6], 10);
    log.save_recovery_point().unwrap();
    drop(log);
    let log = open(Arc::new(OsFs), home.path());
    assert!(read_for(&log, 5).len() < 32);
}

#[test]
fn statistics_go_with_their_segment() {
    let home = tempfile::tempdir().unwrap();
    let log = filled(home.path());
    log.save_recovery_point().unwrap();
    let count = |ending: &str| {
        let files = std::fs::read_dir(home.path()).unwrap().map(|e| e.unwrap().path());
        files.filter(|p| p.extension().is_some_and(|e| e == ending)).count()
    };
    let before = count("log");
    assert!(before > 2 && count("stats") == before);
    let gone = log.expire(i64::MAX, Some(1), Offset::MAX).unwrap().len();
    assert!(gone > 0 && count("stats") == before - gone);
    std::fs::write(home.path().join(format!("{:020}.stats", 999)), b"left over").unwrap();
    drop(log);
    open(Arc::new(OsFs), home.path());
    assert_eq!(count("stats"), before - gone);
}
