//! A log with small segments, a model of what it must hold, and a script that uses every part of it.

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use sluice_base::{Error, ErrorKind, Fs, Offset, SchemaId, Subject};
use sluice_log::{BatchHeader, Compression, Log, LogSettings, Recovery, encode_batch};
use sluice_testkit::ManualClock;
use std::path::Path;
use std::sync::Arc;

/// Small enough that a short script rolls segments and saves recovery points.
pub fn settings() -> LogSettings {
    LogSettings {
        segment_bytes_max: 3_000,
        index_interval_bytes: 200,
        recovery_interval_bytes: 1_200,
        verify_on_read: true,
    }
}

pub fn open(fs: Arc<dyn Fs>, dir: &Path) -> Result<(Log, Recovery), Error> {
    Log::open(fs, Arc::new(ManualClock::new(1_000)), dir, settings())
}

/// A new directory, in memory where the system has such a place: thousands are made, and the faulty file system keeps for itself
/// what a disk would have kept.
pub fn tempdir() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.unwrap()
}

/// Length of all segment files.
pub fn bytes_on_disk(dir: &Path) -> u64 {
    let paths = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    paths.filter(|p| p.extension().is_some_and(|e| e == "log")).map(|p| std::fs::metadata(p).unwrap().len()).sum()
}

/// A batch of `rows` rows with texts of `text` bytes that are no zeros.
pub fn batch(number: usize, rows: usize, text: usize) -> Vec<u8> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|i| -((number * 100 + i) as i64) - 1)));
    let word = char::from(b'a' + (number % 26) as u8).to_string().repeat(text);
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(std::iter::repeat_n(word, rows)));
    let rows = RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap();
    let mut out = Vec::new();
    encode_batch(Some(&rows), None, SchemaId(1), (-1, -1), Compression::None, &mut out).unwrap();
    out
}

/// What the log was told and what it acknowledged.
#[derive(Debug, Default)]
pub struct Model {
    /// Batches in order, as stamped. The last one may have been refused or may be lost.
    pub batches: Vec<Vec<u8>>,
    /// Everything below was acknowledged as durable.
    pub synced: Offset,
    /// No expiry was asked to go further.
    pub expired_upto: Offset,
}

pub fn header(batch: &[u8]) -> BatchHeader {
    BatchHeader::parse(batch).unwrap()
}

impl Model {
    pub fn end(&self) -> Offset {
        self.batches.last().map_or(0, |b| header(b).next_offset())
    }

    /// Forgets what lies behind `end`, which must be a place between batches.
    pub fn cut_to(&mut self, end: Offset) {
        self.batches.retain(|b| header(b).base_offset < end);
        assert_eq!(self.end(), end, "a batch was cut in two");
    }

    /// Compares all that the log holds.
    pub fn check(&self, log: &Log) {
        let (start, end) = (log.start_offset(), log.end_offset());
        assert!(end >= self.synced, "acknowledged rows are lost: {} were synced, {end} are there", self.synced);
        assert!(end <= self.end(), "rows were invented: {} were appended, {end} are there", self.end());
        assert!(start <= self.expired_upto.max(0), "{start} is kept, though only {} may go", self.expired_upto);
        let mut expected = self.batches.iter().filter(|b| header(b).base_offset >= start);
        let mut from = start;
        while from < end {
            let read = log.read(from, i64::MAX, 2_000).unwrap();
            assert!(!read.is_empty(), "nothing at {from} of {end}");
            for b in &read {
                assert_eq!(Some(b.bytes.as_slice()), expected.next().map(Vec::as_slice));
                from = b.header.next_offset();
            }
        }
    }
}

/// One step of the script.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Append(usize, usize),
    Sync,
    SavePoint,
    Expire(Offset),
    Read,
    FindTime,
}

/// Touches everything: small and large batches, several in one sync, rolls with and without a sync before, expiry.
pub fn script() -> Vec<Step> {
    use Step::{Append, Expire, FindTime, Read, SavePoint, Sync};
    vec![
        Append(1, 0),
        Sync,
        Append(3, 20),
        Append(2, 300),
        Read,
        Sync,
        Append(1, 900),
        Append(0, 0),
        Append(5, 100),
        Sync,
        Append(2, 700),
        Append(1, 10),
        Append(4, 400),
        Read,
        FindTime,
        Sync,
        Expire(5),
        Append(1, 2_500),
        Append(1, 5),
        Sync,
        SavePoint,
        Append(2, 600),
        Append(2, 1_100),
        Expire(14),
        Sync,
        Append(1, 40),
        Read,
        Sync,
        Append(7, 7),
    ]
}

/// Takes one step; the model learns of it as far as the log may have done it.
pub fn take(log: &Log, model: &mut Model, step: Step) -> Result<(), Error> {
    match step {
        Step::Append(rows, text) => {
            let (end, mut bytes) = (log.end_offset(), batch(model.batches.len(), rows, text));
            let done = log.append(&mut bytes);
            // Refused, but stamped: a crash may still find it whole.
            if done.is_ok() || header(&bytes).base_offset == end {
                model.batches.push(bytes);
            }
            done.map(drop)
        }
        Step::Sync => {
            model.synced = log.sync()?;
            Ok(())
        }
        Step::SavePoint => log.save_recovery_point(),
        Step::Expire(keep_from) => {
            model.expired_upto = model.expired_upto.max(keep_from);
            log.expire(i64::MAX, Some(1), keep_from).map(drop)
        }
        Step::Read => {
            let mut from = log.start_offset();
            while let Some(last) = log.read(from, i64::MAX, 1_000)?.last() {
                from = last.header.next_offset();
            }
            Ok(())
        }
        Step::FindTime => {
            assert!(log.offset_for_timestamp(1_000)?.is_some());
            Ok(())
        }
    }
}

/// An error that a failing disk may cause, and no other.
pub fn assert_disk_error(e: &Error) {
    let disk = matches!((e.kind(), e.subject()), (ErrorKind::Io, _) | (ErrorKind::Busy, Subject::Disk));
    assert!(disk, "{:?} {e}", e.kind());
}
