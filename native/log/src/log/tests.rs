use super::*;
use crate::{BatchDecoder, Compression, encode_batch, verify_crc};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;
use sluice_base::{OsFs, SchemaId};
use sluice_testkit::{FaultFs, ManualClock};
use std::sync::atomic::AtomicBool;

fn rows(first: i64, count: usize, text: &str) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + count as i64));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(std::iter::repeat_n(text, count)));
    RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()
}

/// A batch of rows that are numbered by their offsets.
fn batch(first: i64, count: usize, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    encode_batch(Some(&rows(first, count, text)), None, SchemaId(1), (-1, -1), Compression::None, &mut out).unwrap();
    out
}

struct Bench {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    settings: LogSettings,
}

impl Bench {
    fn new(segment_bytes_max: u64) -> Self {
        let settings = LogSettings { segment_bytes_max, ..LogSettings::default() };
        Self { dir: tempfile::tempdir().unwrap(), clock: Arc::new(ManualClock::new(1_000)), settings }
    }

    fn open(&self) -> (Log, Recovery) {
        Log::open(Arc::new(OsFs), Arc::clone(&self.clock) as _, self.dir.path(), self.settings.clone()).unwrap()
    }

    fn segment(&self, base: i64) -> PathBuf {
        crate::segment::log_path(self.dir.path(), base)
    }
}

fn append(log: &Log, count: usize, text: &str) -> Appended {
    log.append(&mut batch(log.end_offset(), count, text)).unwrap()
}

/// Reads everything from `from` and checks that each row's number is its offset. Returns the end.
fn check_rows(log: &Log, mut from: Offset, bytes_max: usize) -> Result<Offset> {
    let decoder = BatchDecoder::new(rows(0, 1, "").schema(), Some(&[0]));
    loop {
        let batches = log.read(from, i64::MAX, bytes_max)?;
        let Some(last) = batches.last() else { return Ok(from) };
        let first = batches.first().unwrap().header;
        assert!(first.base_offset <= from && first.next_offset() > from);
        from = last.header.next_offset();
        for b in &batches {
            assert!(verify_crc(&b.bytes));
            let (decoded, _) = decoder.decode(&b.bytes).unwrap();
            let numbers = decoded.column(0).to_data();
            let numbers: Int64Array = numbers.into();
            let offsets = b.header.base_offset..b.header.next_offset();
            assert!(numbers.values().iter().copied().eq(offsets));
        }
    }
}

#[test]
fn what_was_appended_is_read_before_and_after_reopening() {
    let bench = Bench::new(4_000);
    let (log, _) = bench.open();
    assert_eq!((log.start_offset(), log.end_offset(), log.durable_offset()), (0, 0, 0));
    assert!(log.read(0, i64::MAX, 1000).unwrap().is_empty());
    for i in 0..50 {
        append(&log, i % 7 + 1, &"x".repeat(i * 5));
    }
    let end = log.end_offset();
    assert_eq!(log.durable_offset(), 0);
    assert_eq!(log.sync().unwrap(), end);
    assert_eq!(log.durable_offset(), end);
    assert!(log.all_segments().len() > 3);
    for bytes_max in [1, 500, 3_000, 1 << 20] {
        assert_eq!(check_rows(&log, 0, bytes_max).unwrap(), end);
    }
    drop(log);
    let (log, recovery) = bench.open();
    assert_eq!((log.start_offset(), log.end_offset(), log.durable_offset()), (0, end, end));
    assert_eq!((recovery.cut_bytes, recovery.cut, recovery.damaged), (0, None, Vec::new()));
    for from in 0..end {
        assert_eq!(check_rows(&log, from, 700).unwrap(), end);
    }
    append(&log, 3, "more");
    assert_eq!(check_rows(&log, 0, 1 << 20).unwrap(), end + 3);
    let on_disk: u64 = log.all_segments().iter().map(|s| std::fs::metadata(&s.path).unwrap().len()).sum();
    assert_eq!(log.size_bytes(), on_disk);
}

#[test]
fn a_read_stops_at_its_limits_but_gives_at_least_one_batch() {
    let bench = Bench::new(1 << 20);
    let (log, _) = bench.open();
    for _ in 0..10 {
        append(&log, 10, "text");
    }
    let size = batch(0, 10, "text").len();
    let bases = |from, limit, bytes| {
        let read = log.read(from, limit, bytes).unwrap();
        read.iter().map(|b| b.header.base_offset).collect::<Vec<_>>()
    };
    assert_eq!(bases(0, 100, 0), [0]);
    assert_eq!(bases(35, 100, size * 3), [30, 40, 50]);
    assert_eq!(bases(35, 100, size * 3 - 1), [30, 40]);
    assert_eq!(bases(0, 30, 1 << 20), [0, 10, 20]);
    assert_eq!(bases(0, 31, 1 << 20), [0, 10, 20, 30]);
    assert_eq!(bases(99, 1000, 1 << 20), [90]);
    assert!(bases(100, 1000, 1 << 20).is_empty());
    assert!(bases(50, 50, 1 << 20).is_empty());
}

#[test]
fn offsets_out_of_range_are_told_the_range() {
    let bench = Bench::new(1_024);
    let (log, _) = bench.open();
    for _ in 0..10 {
        append(&log, 10, "some text of some length");
    }
    log.sync().unwrap();
    bench.clock.set(10_000);
    let gone = log.expire(10_000, Some(100), 55).unwrap();
    assert!(!gone.is_empty());
    let start = log.start_offset();
    assert!((1..=55).contains(&start), "{start}");
    for from in [-1, 0, start - 1, 101] {
        let e = log.read(from, i64::MAX, 100).unwrap_err();
        assert_eq!((e.kind(), e.subject()), (ErrorKind::Invalid, Subject::Offset));
        assert!(e.message().contains(&format!("offset {from} is out of range")), "{e}");
        assert!(e.message().contains(&format!("{start} to 100")), "{e}");
    }
    assert_eq!(check_rows(&log, start, 100).unwrap(), 100);
}

#[test]
fn timestamps_never_go_back_and_are_found() {
    let bench = Bench::new(2_048);
    let (log, _) = bench.open();
    for now in [1_000, 1_000, 5_000, 4_000, 9_000, 9_001, 20_000] {
        bench.clock.set(now);
        for _ in 0..20 {
            append(&log, 5, "t");
        }
    }
    let expected = |ts| match ts {
        ..=1_000 => Some(0),
        1_001..=5_000 => Some(200),
        5_001..=9_000 => Some(400),
        9_001 => Some(500),
        9_002..=20_000 => Some(600),
        _ => None,
    };
    let times = [i64::MIN, 0, 1_000, 1_001, 4_000, 5_000, 5_001, 9_000, 9_001, 9_002, 20_000, 20_001, i64::MAX];
    for ts in times {
        assert_eq!(log.offset_for_timestamp(ts).unwrap(), expected(ts), "{ts}");
    }
    log.sync().unwrap();
    drop(log);
    bench.clock.set(50);
    let (log, _) = bench.open();
    for ts in times {
        assert_eq!(log.offset_for_timestamp(ts).unwrap(), expected(ts), "{ts} after reopening");
    }
    assert_eq!(append(&log, 1, "t").timestamp_ms, 20_000, "the clock went back");
    assert_eq!(Log::offset_for_timestamp(&Bench::new(2_048).open().0, 0).unwrap(), None);
}

#[test]
fn expiry_keeps_what_is_young_or_needed_and_survives_reopening() {
    let bench = Bench::new(1_500);
    let (log, _) = bench.open();
    for now in 1..=40 {
        bench.clock.set(now * 100);
        append(&log, 10, "some text");
    }
    let bases: Vec<_> = log.all_segments().iter().map(|s| s.base).collect();
    assert!(log.expire(10_000, Some(0), i64::MAX).unwrap().is_empty(), "nothing is durable yet");
    log.sync().unwrap();
    assert!(log.expire(1 << 40, None, i64::MAX).unwrap().is_empty());
    assert!(log.expire(1 << 40, Some(0), bases[1] - 1).unwrap().is_empty());
    assert_eq!(log.expire(1 << 40, Some(0), bases[1]).unwrap(), [bases[0]]);
    let young_from = 2_000;
    let gone = log.expire(young_from + 500, Some(500), i64::MAX).unwrap();
    assert!(!gone.is_empty());
    let found = log.offset_for_timestamp(young_from).unwrap().unwrap();
    assert!(log.start_offset() <= found);
    assert_eq!(log.expire(1 << 40, Some(0), i64::MAX).unwrap().len(), bases.len() - 2 - gone.len());
    assert_eq!(log.start_offset(), *bases.last().unwrap(), "the open segment stays");
    let on_disk = std::fs::metadata(bench.segment(log.start_offset())).unwrap().len();
    assert_eq!(log.size_bytes(), on_disk);
    drop(log);
    let (log, _) = bench.open();
    assert_eq!((log.start_offset(), log.end_offset()), (*bases.last().unwrap(), 400));
    assert_eq!(check_rows(&log, log.start_offset(), 1 << 20).unwrap(), 400);
}

#[test]
fn opening_checks_only_what_lies_behind_the_recovery_point() {
    let mut bench = Bench::new(1 << 20);
    bench.settings.recovery_interval_bytes = 50_000;
    let (log, recovery) = bench.open();
    assert_eq!(recovery.checked_bytes, 0);
    for _ in 0..200 {
        append(&log, 20, &"y".repeat(100));
        log.sync().unwrap();
    }
    drop(log);
    let (log, recovery) = bench.open();
    let size = log.size_bytes();
    assert!(size > 500_000);
    assert!((1..=50_000).contains(&recovery.checked_bytes), "{recovery:?}");
    drop(log);
    assert_eq!(bench.open().1.checked_bytes, 0, "opening saved the point");
    let (log, _) = bench.open();
    append(&log, 1, "");
    log.save_recovery_point().unwrap();
    drop(log);
    assert_eq!(bench.open().1.checked_bytes, 0, "closing saved the point");
    std::fs::remove_file(bench.dir.path().join("recovery.point")).unwrap();
    let (log, recovery) = bench.open();
    assert!(recovery.checked_bytes > size - 100, "without the point all is checked");
    assert_eq!(check_rows(&log, 0, 1 << 20).unwrap(), 4_001);
}

#[test]
fn lost_or_damaged_indexes_are_made_again() {
    let mut bench = Bench::new(10_000);
    bench.settings.index_interval_bytes = 300;
    let (log, _) = bench.open();
    for _ in 0..200 {
        append(&log, 3, "text");
    }
    log.save_recovery_point().unwrap();
    let indexes = || {
        std::fs::read_dir(bench.dir.path())
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| p.extension().is_some_and(|e| e == "index"))
    };
    let good: Vec<_> = indexes().map(|p| (p.clone(), std::fs::read(p).unwrap())).collect();
    assert!(good.len() > 3);
    drop(log);
    type Damage<'a> = &'a dyn Fn(&Path, &[u8]);
    let damages: [Damage<'_>; 4] = [
        &|path, _| std::fs::remove_file(path).unwrap(),
        &|path, good| std::fs::write(path, &good[..good.len() / 2 + 5]).unwrap(),
        &|path, _| std::fs::write(path, b"").unwrap(),
        &|path, good| std::fs::write(path, good.iter().map(|b| b ^ 0x10).collect::<Vec<_>>()).unwrap(),
    ];
    for damage in damages {
        good.iter().for_each(|(path, bytes)| damage(path, bytes));
        let (log, recovery) = bench.open();
        assert_eq!(recovery.checked_bytes, 0);
        assert_eq!(check_rows(&log, 0, 2_000).unwrap(), 600);
        for from in [1, 299, 599] {
            assert_eq!(check_rows(&log, from, 1).unwrap(), 600);
        }
        append(&log, 3, "text");
        log.save_recovery_point().unwrap();
        for (path, bytes) in &good {
            let again = std::fs::read(path).unwrap();
            assert!(again.starts_with(bytes), "{}", path.display());
        }
        drop(log);
        // Back to 600 rows for the next round.
        let (log, _) = bench.open();
        let last = log.all_segments().last().unwrap().path.clone();
        drop(log);
        let len = std::fs::metadata(&last).unwrap().len() - batch(0, 3, "text").len() as u64;
        std::fs::OpenOptions::new().write(true).open(&last).unwrap().set_len(len).unwrap();
        std::fs::remove_file(bench.dir.path().join("recovery.point")).unwrap();
        drop(bench.open());
    }
}

#[test]
fn few_closed_segments_stay_open() {
    let bench = Bench::new(1_024);
    let (log, _) = bench.open();
    for _ in 0..100 {
        append(&log, 10, "some text of some length");
    }
    log.sync().unwrap();
    assert_eq!(check_rows(&log, 0, 1).unwrap(), 1_000);
    assert!(log.all_segments().len() > 20);
    let held = log.all_segments().iter().filter(|s| s.is_at_hand()).count();
    assert!(held <= CLOSED_SEGMENTS_OPEN_MAX + 1, "{held}");
}

#[test]
fn appends_and_reads_go_on_while_others_sync() {
    let bench = Bench::new(30_000);
    let (log, _) = bench.open();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let end = log.end_offset();
                    assert!(log.sync().unwrap() >= end);
                    assert!(log.durable_offset() <= log.end_offset());
                }
            });
        }
        scope.spawn(|| {
            let mut from = 0;
            while !done.load(Ordering::Relaxed) {
                from = check_rows(&log, from, 5_000).unwrap();
            }
        });
        for i in 0..2_000 {
            append(&log, i % 20 + 1, "text");
        }
        done.store(true, Ordering::Relaxed);
    });
    let end = log.sync().unwrap();
    assert_eq!(end, log.end_offset());
    assert_eq!(check_rows(&log, 0, 1 << 20).unwrap(), end);
}

/// Batches that arrive while the disk syncs are neither held up nor taken for durable; one more sync takes them all.
#[test]
fn one_sync_serves_all_that_came_during_the_last() {
    let bench = Bench::new(1 << 20);
    let fs = FaultFs::new();
    let clock = Arc::clone(&bench.clock) as Arc<dyn Clock>;
    let log = Log::open(Arc::new(fs.clone()), clock, bench.dir.path(), bench.settings.clone()).unwrap().0;
    let log = Arc::new(log);
    let syncs = Arc::new(AtomicI64::new(0));
    append(&log, 5, "before");
    log.sync().unwrap();
    append(&log, 5, "before");
    let (arriving, counted) = (Arc::clone(&log), Arc::clone(&syncs));
    fs.during_sync(move || {
        if counted.fetch_add(1, Ordering::SeqCst) == 0 {
            let (log, (done, wait)) = (Arc::clone(&arriving), std::sync::mpsc::channel());
            std::thread::spawn(move || {
                (0..3).for_each(|_| assert_eq!(append(&log, 5, "during").next_offset, log.end_offset()));
                assert_eq!(check_rows(&log, 0, 1 << 20).unwrap(), 25);
                done.send(()).unwrap();
            });
            wait.recv_timeout(std::time::Duration::from_secs(20)).expect("an append waits for the disk");
        }
    });
    assert_eq!(log.sync().unwrap(), 10);
    assert_eq!((log.durable_offset(), log.end_offset()), (10, 25));
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| assert_eq!(log.sync().unwrap(), 25))));
    });
    assert_eq!(syncs.load(Ordering::SeqCst), 2, "four callers share one sync");
}

#[test]
fn concurrent_appenders_take_turns() {
    let bench = Bench::new(20_000);
    let (log, _) = bench.open();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..250 {
                    let at = log.append(&mut batch(0, 2, "t")).unwrap();
                    assert_eq!(at.next_offset, at.base_offset + 2);
                }
            });
        }
    });
    assert_eq!(log.end_offset(), 2_000);
    let mut next = 0;
    while let Some(last) = log.read(next, i64::MAX, 10_000).unwrap().last() {
        next = last.header.next_offset();
    }
    assert_eq!(next, 2_000);
}

#[test]
fn bytes_that_are_not_one_batch_are_refused() {
    let bench = Bench::new(20_000);
    let (log, _) = bench.open();
    let mut long = batch(0, 2, "t");
    long.push(0);
    assert_eq!(log.append(&mut long).unwrap_err().kind(), ErrorKind::Invalid);
    assert!(log.append(&mut [0; 20]).is_err());
    assert_eq!((log.end_offset(), log.size_bytes()), (0, 0));
    let bad = LogSettings { segment_bytes_max: 0, ..LogSettings::default() };
    let e = Log::open(Arc::new(OsFs), Arc::new(ManualClock::new(0)), bench.dir.path(), bad).unwrap_err();
    assert!(e.message().contains("segment_bytes_max"), "{e}");
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let bench = Bench::new(20_000);
    let (log, _) = bench.open();
    append(&log, 1, "t");
    log.sync().unwrap();
    drop(log);
    for name in ["00000000000000000000.log", "recovery.point"] {
        let path = bench.dir.path().join(name);
        let good = std::fs::read(&path).unwrap();
        let mut newer = good.clone();
        newer[8] = 2;
        let crc = crc32c::crc32c(&newer[..60]);
        newer[60..64].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(&path, &newer).unwrap();
        let opened = Log::open(Arc::new(OsFs), Arc::new(ManualClock::new(0)), bench.dir.path(), bench.settings.clone());
        let e = opened.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported);
        assert!(e.message().contains(name) && e.message().contains("version 2"), "{e}");
        std::fs::write(&path, good).unwrap();
    }
}

#[test]
fn a_missing_segment_is_named() {
    let bench = Bench::new(20_000);
    let (log, _) = bench.open();
    append(&log, 1, "t");
    log.sync().unwrap();
    drop(log);
    std::fs::remove_file(bench.segment(0)).unwrap();
    let opened = Log::open(Arc::new(OsFs), Arc::new(ManualClock::new(0)), bench.dir.path(), bench.settings.clone());
    assert!(opened.unwrap_err().message().contains("00000000000000000000.log is missing"));
}

#[derive(Debug, Clone)]
enum Op {
    Append(usize, usize),
    Sync,
    Reopen,
    Read(usize, usize),
    Expire(usize),
    Tick(i64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..30_usize, 0..60_usize).prop_map(|(rows, text)| Op::Append(rows, text)),
        2 => Just(Op::Sync),
        1 => Just(Op::Reopen),
        4 => (0..1000_usize, 0..5_000_usize).prop_map(|(from, bytes)| Op::Read(from, bytes)),
        1 => (0..1000_usize).prop_map(Op::Expire),
        2 => (-5..50_i64).prop_map(Op::Tick),
    ]
}

/// What the log must answer: batches as they were stamped.
#[derive(Default)]
struct Model {
    batches: Vec<Vec<u8>>,
    headers: Vec<BatchHeader>,
}

impl Model {
    fn check_read(&self, log: &Log, from: Offset, bytes_max: usize) {
        let read = log.read(from, i64::MAX, bytes_max).unwrap();
        let first = self.headers.iter().position(|h| h.next_offset() > from).unwrap_or(self.headers.len());
        assert_eq!(read.is_empty(), first == self.headers.len());
        for (found, expected) in read.iter().zip(&self.batches[first..]) {
            assert_eq!(found.bytes.as_slice(), expected);
        }
        let total: usize = read.iter().map(|b| b.bytes.len()).sum();
        assert!(read.len() <= 1 || total <= bytes_max);
    }

    fn check_times(&self, log: &Log) {
        let start = log.start_offset();
        for time in self.headers.iter().map(|h| h.timestamp_ms).flat_map(|t| [t, t + 1]) {
            let kept = self.headers.iter().filter(|h| h.base_offset >= start);
            let expected = kept.clone().find(|h| h.timestamp_ms >= time).map(|h| h.base_offset);
            assert_eq!(log.offset_for_timestamp(time).unwrap(), expected);
        }
    }
}

fn run(bench: &Bench, ops: Vec<Op>) {
    let (mut log, _) = bench.open();
    let mut model = Model::default();
    for op in ops {
        match op {
            Op::Append(count, text) => {
                let mut bytes = batch(log.end_offset(), count, &"z".repeat(text));
                let appended = log.append(&mut bytes).unwrap();
                let header = BatchHeader::parse(&bytes).unwrap();
                assert_eq!((header.base_offset, header.timestamp_ms), (appended.base_offset, appended.timestamp_ms));
                model.headers.push(header);
                model.batches.push(bytes);
            }
            Op::Sync => assert_eq!(log.sync().unwrap(), log.end_offset()),
            Op::Reopen => {
                drop(log);
                let recovery;
                (log, recovery) = bench.open();
                assert_eq!((recovery.cut, recovery.damaged), (None, Vec::new()));
            }
            Op::Read(part, bytes_max) => {
                let (start, end) = (log.start_offset(), log.end_offset());
                model.check_read(&log, start + (end - start) * part as i64 / 1000, bytes_max);
            }
            Op::Expire(part) => {
                let keep_from = log.end_offset() * part as i64 / 1000;
                let start = log.start_offset();
                log.expire(i64::MAX, Some(1), keep_from).unwrap();
                assert!(log.start_offset() <= keep_from.max(start));
            }
            Op::Tick(by) => bench.clock.advance(by),
        }
        assert_eq!(log.end_offset(), model.headers.last().map_or(0, BatchHeader::next_offset));
    }
    model.check_times(&log);
    model.check_read(&log, log.start_offset(), 1 << 30);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_run_agrees_with_the_model(ops in prop::collection::vec(op(), 1..80), interval in 1..5_000_u64) {
        let mut bench = Bench::new(6_000);
        bench.settings.index_interval_bytes = interval;
        bench.settings.recovery_interval_bytes = interval * 4;
        run(&bench, ops);
    }
}
