//! Rows offered to a store that may refuse them, and what it must hold then: all that it acknowledged, and of the rest nothing but what was
//! offered.

use crate::seed;
use crate::tables::{Row, Table, batch};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluice_api::Writer;
use sluice_base::{Error, ErrorKind, Offset, Result, Subject};
use sluice_row::ChangeKind;
use sluice_testkit::{KeyModel, Logged};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a call may wait for a disk that is full.
const PATIENCE: Duration = Duration::from_secs(3);
const KEYS: i32 = 2_000;

/// Rows offered to one table.
pub struct Offers {
    /// Once set, the disk may claim to have what it has not.
    lies: Arc<AtomicBool>,
    random: StdRng,
    keyed: bool,
    seq: i64,
    /// For a log: all rows acknowledged. For keys: the values that each may have, the last acknowledged one first.
    acknowledged: BTreeMap<i64, Row>,
    doubtful: BTreeMap<i64, Row>,
    values: BTreeMap<i32, Vec<Option<Row>>>,
}

impl Offers {
    pub fn new(keyed: bool) -> Self {
        Self {
            lies: Arc::default(),
            random: StdRng::seed_from_u64(seed() ^ u64::from(keyed)),
            keyed,
            seq: 0,
            acknowledged: BTreeMap::new(),
            doubtful: BTreeMap::new(),
            values: BTreeMap::new(),
        }
    }

    /// What is acknowledged after `lies` was set counts as refused.
    pub fn doubt_after(&mut self, lies: &Arc<AtomicBool>) {
        self.lies = lies.clone();
    }

    fn row(&mut self, text: usize) -> Row {
        let k = self.random.random_range(0..KEYS);
        // Nothing that compresses, so that space runs out soon.
        let text = (0..text).map(|_| char::from(self.random.random_range(b' '..b'~'))).collect();
        self.seq += 1;
        Row { k, writer: 0, life: 0, seq: self.seq, text }
    }

    /// Writes and waits until it is durable.
    pub fn offer(&mut self, writer: &mut dyn Writer, rows: usize, text: usize) -> Result<()> {
        let rows: Vec<Row> = (0..rows).map(|_| self.row(text)).collect();
        let kind = |r: &Row| if r.seq % 7 == 0 { ChangeKind::Delete } else { ChangeKind::UpdateAfter };
        let kinds: Vec<ChangeKind> = if self.keyed { rows.iter().map(kind).collect() } else { Vec::new() };
        let done = writer.write(&batch(&rows), &kinds);
        // A refused batch may have reached some of its buckets; what did is waited for.
        let done = done.and(writer.flush(PATIENCE));
        let is_safe = done.is_ok() && !self.lies.load(Ordering::SeqCst);
        for row in rows {
            if self.keyed {
                let values = self.values.entry(row.k).or_insert_with(|| vec![None]);
                if is_safe {
                    values.clear();
                }
                values.push((kind(&row) != ChangeKind::Delete).then_some(row));
            } else {
                let to = if is_safe { &mut self.acknowledged } else { &mut self.doubtful };
                to.insert(row.seq, row);
            }
        }
        done
    }

    /// Offers batches of about 100 KB until one is refused.
    pub fn fill(&mut self, writer: &mut dyn Writer) -> Error {
        for _ in 0..1_000 {
            if let Err(e) = self.offer(writer, 200, 500) {
                return e;
            }
        }
        panic!("a small disk took 100 MB");
    }

    /// Offers again and again, to all buckets, until the store accepts.
    #[track_caller]
    pub fn heal(&mut self, writer: &mut dyn Writer, within: Duration) {
        let started = Instant::now();
        while let Err(e) = self.offer(writer, 60, 20) {
            assert_refused(&e);
            assert!(started.elapsed() < within, "still refused after {:?}: {e}", started.elapsed());
        }
    }

    /// Compares all that the table holds, read in every way that it can be.
    pub fn check(&mut self, table: &Table<'_>) {
        if self.keyed { self.check_rows(table) } else { self.check_log(table) }
    }

    fn check_log(&self, table: &Table<'_>) {
        let mut found = BTreeSet::new();
        for bucket in 0..table.buckets {
            let events = table.log_from(bucket, 0).unwrap();
            assert!(events.is_sorted_by(|a, b| a.row.seq < b.row.seq), "bucket {bucket}: out of order");
            for event in events {
                let seq = event.row.seq;
                let due = self.acknowledged.get(&seq).or(self.doubtful.get(&seq));
                assert_eq!(due, Some(&event.row), "bucket {bucket}, offset {}", event.offset);
                assert!(found.insert(seq), "row {seq} is there twice");
            }
        }
        let lost: Vec<&i64> = self.acknowledged.keys().filter(|seq| !found.contains(seq)).collect();
        assert!(lost.is_empty(), "acknowledged rows are lost: {lost:?}; the newest one is {}", self.seq);
        assert_eq!(table.row_count().unwrap(), i64::try_from(found.len()).ok());
    }

    fn check_rows(&mut self, table: &Table<'_>) {
        let mut all = BTreeMap::new();
        for bucket in 0..table.buckets {
            let log = table.log_from(bucket, 0).unwrap().into_iter();
            let log: Vec<_> = log.map(|e| Logged { offset: e.offset, kind: e.kind, row: e.row }).collect();
            let rows = KeyModel::replay(&log, Offset::MAX, |r: &Row| r.k);
            assert_eq!(table.current(bucket).unwrap(), rows, "bucket {bucket}: rows and changelog");
            all.extend(rows);
        }
        let keys: Vec<i32> = (0..KEYS).collect();
        for (k, found) in keys.iter().zip(table.get(&keys).unwrap()) {
            assert_eq!(found.as_ref(), all.get(k), "key {k}: lookup and scan");
            let values = self.values.entry(*k).or_insert_with(|| vec![None]);
            let at = values.iter().rposition(|v| *v == found);
            assert!(at.is_some(), "key {k} is {found:?}, none of {values:?}");
            // What was seen does not become unseen.
            values.drain(..at.unwrap_or(0));
        }
        assert_eq!(table.row_count().unwrap(), i64::try_from(all.len()).ok());
    }
}

/// An error that says that there is no space and what to do. Only what was written in part may not be written again.
#[track_caller]
pub fn assert_refused(e: &Error) {
    let partly = e.message().contains("some rows of the batch are written");
    assert_eq!((e.kind(), e.subject()), (if partly { ErrorKind::Io } else { ErrorKind::Busy }, Subject::Disk), "{e}");
    assert!(e.message().contains("No space left") && e.message().contains("free some space"), "{e}");
}
