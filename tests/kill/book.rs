//! What a store must hold after a kill, kept from round to round, and the comparison.
//!
//! For each bucket the book keeps the log as the last check saw it: that part must never change again. Behind it each writer's rows must be
//! a beginning of what the plan gives to the bucket, cut between two calls, and at least as long as what was acknowledged.

use crate::parent::Said;
use crate::plan::{Batch, KEYS, KINDS, Kind, Stream, WRITERS};
use crate::tables::{Event, Row, Table};
use sluice_api::{Connection, OffsetSpec};
use sluice_base::Offset;
use sluice_row::ChangeKind;
use sluice_store::LocalStore;
use sluice_testkit::{KeyChange, KeyModel, Logged};
use std::collections::BTreeMap;

/// The rows of a primary-key bucket.
type Rows = BTreeMap<i32, Row>;

pub struct Book {
    seed: u64,
    /// The life that was written in since the last check, and what it was promised.
    life: Option<(i32, Said)>,
    /// Each bucket's log.
    logs: BTreeMap<(Kind, i32), Vec<Event>>,
    /// The bucket that each key was seen in.
    homes: BTreeMap<(Kind, i32), i32>,
    /// Current rows of each bucket of the primary-key table.
    rows: BTreeMap<i32, Rows>,
}

impl Book {
    pub fn new(seed: u64) -> Self {
        Self { seed, life: None, logs: BTreeMap::new(), homes: BTreeMap::new(), rows: BTreeMap::new() }
    }

    /// A process that wrote was killed. To be checked before the next one writes.
    pub fn note(&mut self, life: i32, said: Said) {
        assert!(self.life.replace((life, said)).is_none());
    }

    pub fn rows_seen(&self) -> usize {
        self.logs.values().map(Vec::len).sum()
    }

    /// Compares the store with all that is known. `whole`: reads every log from its beginning, not only what is new.
    pub fn check(&mut self, store: &LocalStore, whole: bool) {
        for kind in KINDS {
            let table = Table::of(store, kind.name()).unwrap();
            let fresh: Vec<Vec<Event>> = (0..kind.buckets()).map(|b| self.read(kind, &table, b, whole)).collect();
            self.learn_homes(kind, &fresh);
            let (life, said) = self.life.clone().unwrap_or((-1, Said::default()));
            self.check_life(kind, life, &said, &fresh);
            for (bucket, events) in (0..).zip(fresh) {
                self.logs.entry((kind, bucket)).or_default().extend(events);
            }
        }
        self.check_rows(&Table::of(store, Kind::Rows.name()).unwrap(), whole);
        self.life = None;
    }

    /// What is new in a bucket's log. The part that is known must be as it was.
    fn read(&self, kind: Kind, table: &Table<'_>, bucket: i32, whole: bool) -> Vec<Event> {
        let none = Vec::new();
        let known = self.logs.get(&(kind, bucket)).unwrap_or(&none);
        let known_end = known.last().map_or(0, |e| e.offset + 1);
        let mut events = table.log_from(bucket, if whole { 0 } else { known_end }).unwrap();
        if whole {
            assert!(events.starts_with(known), "{kind:?} {bucket}: rows that were there are gone or changed");
            events.drain(..known.len());
        }
        let first = table.store.list_offsets(&[table.bucket(bucket)], OffsetSpec::Earliest).unwrap()[0];
        let end = table.end(bucket).unwrap();
        assert!(
            first == 0 && end > events.last().map_or(known_end - 1, |e| e.offset),
            "{kind:?} {bucket}: {first}..{end}"
        );
        let seen = self.life.as_ref().and_then(|(_, said)| said.seen.get(&(kind, bucket))).copied().unwrap_or(0);
        assert!(seen <= end, "{kind:?} {bucket}: a reader had read up to {seen}, the log ends at {end}");
        let offsets: Vec<Offset> = events.iter().map(|e| e.offset).collect();
        match kind {
            Kind::Rows => assert!(offsets.is_sorted_by(|a, b| a < b), "{kind:?} {bucket}: offsets {offsets:?}"),
            _ => assert!(offsets.into_iter().eq(known_end..end), "{kind:?} {bucket}: an offset without a row"),
        }
        if kind != Kind::Rows {
            let life = self.life.as_ref().map(|(life, _)| *life);
            let stranger = events.iter().find(|e| Some(e.row.life) != life);
            assert!(stranger.is_none(), "{kind:?} {bucket}: {stranger:?} was not written in life {life:?}");
        }
        events
    }

    fn learn_homes(&mut self, kind: Kind, fresh: &[Vec<Event>]) {
        if kind == Kind::Turns {
            return;
        }
        for (bucket, events) in (0..).zip(fresh) {
            for event in events {
                let home = *self.homes.entry((kind, event.row.k)).or_insert(bucket);
                assert_eq!(home, bucket, "{kind:?}: key {} is in two buckets", event.row.k);
            }
        }
    }

    fn check_life(&mut self, kind: Kind, life: i32, said: &Said, fresh: &[Vec<Event>]) {
        for writer in 0..WRITERS {
            let acknowledged = said.acknowledged.get(&(kind, writer)).copied().unwrap_or(0);
            let of = |e: &&Event| if kind == Kind::Rows { e.row.k % WRITERS == writer } else { e.row.writer == writer };
            let found: Vec<Vec<&Event>> = fresh.iter().map(|events| events.iter().filter(of).collect()).collect();
            let last = found.iter().flatten().filter(|e| e.row.life == life).map(|e| e.row.seq + 1).max().unwrap_or(0);
            let plan = plan(self.seed, kind, life, writer, last.max(acknowledged));
            let who = format!("{kind:?}, life {life}, writer {writer}, {acknowledged} rows acknowledged");
            match kind {
                Kind::Ledger => self.check_ledger(&who, &plan, acknowledged, &found),
                Kind::Turns => check_turns(&who, &plan, acknowledged, &found),
                Kind::Rows => self.check_changes(&who, (life, writer), acknowledged, &found),
            }
        }
    }

    fn check_ledger(&self, who: &str, plan: &[Batch], acknowledged: i64, found: &[Vec<&Event>]) {
        let home = |row: &Row| self.homes.get(&(Kind::Ledger, row.k)).copied();
        let lost = plan.iter().flat_map(|b| &b.rows).find(|r| r.seq < acknowledged && home(r).is_none());
        assert!(lost.is_none(), "{who}: lost {lost:?}");
        for (bucket, found) in (0..).zip(found) {
            let mut due = Vec::new();
            let mut cuts = vec![0];
            for batch in plan {
                due.extend(batch.rows.iter().filter(|r| home(r) == Some(bucket)));
                cuts.push(due.len());
            }
            let safe = due.partition_point(|r| r.seq < acknowledged);
            check_beginning(&format!("{who}, bucket {bucket}"), &due, found, &cuts, safe, |due, e| {
                e.kind == ChangeKind::Append && e.row == **due
            });
        }
    }

    /// The changelog of one writer's keys in each bucket, and the rows that it leaves.
    fn check_changes(&mut self, who: &str, (life, writer): (i32, i32), acknowledged: i64, found: &[Vec<&Event>]) {
        for (bucket, events) in (0..).zip(found) {
            let who = format!("{who}, bucket {bucket}");
            // A delete says nothing of its own number, so the plan goes on until it explains all changes.
            let mut model = KeyModel::<i32, Row>::default();
            let before = self.rows.entry(bucket).or_default();
            model.apply(before.values().filter(|r| r.k % WRITERS == writer).map(|r| KeyChange::Upsert(r.k, r.clone())));
            let (start, mut cuts, mut safe) = (model.end(), vec![0], 0);
            let homes = &self.homes;
            let home = |row: &Row| homes.get(&(Kind::Rows, row.k)).copied();
            let mut stream = Stream::new(self.seed, Kind::Rows, life, writer);
            while stream.seq < acknowledged || model.log_from(start).len() < events.len() {
                let batch = stream.next().unwrap();
                let changes = || batch.rows.iter().zip(&batch.kinds);
                // A delete of a key that never was leaves no trace.
                let lost = changes()
                    .find(|(r, kind)| r.seq < acknowledged && home(r).is_none() && **kind != ChangeKind::Delete);
                assert!(lost.is_none(), "{who}: lost {lost:?}");
                let here = changes().filter(|(r, _)| home(r) == Some(bucket));
                model.apply(here.map(|(r, kind)| match kind {
                    ChangeKind::Delete => KeyChange::Delete(r.k),
                    _ => KeyChange::Upsert(r.k, r.clone()),
                }));
                cuts.push(model.log_from(start).len());
                if stream.seq <= acknowledged {
                    safe = model.log_from(start).len();
                }
            }
            let due: Vec<&Logged<Row>> = model.log_from(start).iter().collect();
            check_beginning(&who, &due, events, &cuts, safe, |due, e| e.kind == due.kind && e.row == due.row);
            for event in events {
                match event.kind {
                    ChangeKind::Delete => before.remove(&event.row.k),
                    ChangeKind::UpdateBefore => None,
                    _ => before.insert(event.row.k, event.row.clone()),
                };
            }
        }
    }

    /// The primary-key table as a whole: changelog, rows, lookups and counts tell the same.
    fn check_rows(&self, table: &Table<'_>, whole: bool) {
        let mut all = Rows::new();
        for (bucket, rows) in &self.rows {
            if whole {
                assert_eq!(self.replay(*bucket, Offset::MAX), *rows, "bucket {bucket}: the replayed changelog");
            }
            assert_eq!(table.current(*bucket).unwrap(), *rows, "bucket {bucket}: the current rows");
            all.extend(rows.clone());
        }
        let keys: Vec<i32> = (-1..=KEYS).collect();
        let due: Vec<Option<Row>> = keys.iter().map(|k| all.get(k).cloned()).collect();
        assert_eq!(table.get(&keys).unwrap(), due, "lookups");
        assert_eq!(table.row_count().unwrap(), i64::try_from(all.len()).ok(), "count of rows");
        for kind in [Kind::Ledger, Kind::Turns] {
            let logged: usize = (0..kind.buckets()).filter_map(|b| self.logs.get(&(kind, b))).map(Vec::len).sum();
            let table = Table::of(table.store, kind.name()).unwrap();
            assert_eq!(table.row_count().unwrap(), i64::try_from(logged).ok(), "count of {kind:?}");
        }
    }

    /// The rows of a bucket after its changes below `end`.
    fn replay(&self, bucket: i32, end: Offset) -> Rows {
        let log = self.logs.get(&(Kind::Rows, bucket)).into_iter().flatten();
        let log: Vec<_> = log.map(|e| Logged { offset: e.offset, kind: e.kind, row: e.row.clone() }).collect();
        KeyModel::replay(&log, end, |r: &Row| r.k)
    }

    /// Snapshots that were held when the process was killed can be read, and the log goes on behind them.
    pub fn check_snapshots(&self, store: &LocalStore, said: &Said) {
        let table = Table::of(store, Kind::Rows.name()).unwrap();
        for held in &said.held {
            let (rows, log) = table.snapshot(held.bucket, held.id).unwrap();
            assert_eq!(rows, self.replay(held.bucket, held.offset), "{held:?}: its rows");
            let known = &self.logs[&(Kind::Rows, held.bucket)];
            assert_eq!(log, known[known.partition_point(|e| e.offset < held.offset)..], "{held:?}: the log behind it");
        }
    }
}

/// The plan's batches up to row `upto`.
fn plan(seed: u64, kind: Kind, life: i32, writer: i32, upto: i64) -> Vec<Batch> {
    let mut stream = Stream::new(seed, kind, life, writer);
    let mut batches = Vec::new();
    while stream.seq < upto {
        batches.extend(stream.next());
    }
    batches
}

/// Found is a beginning of what is due, cut where one of `cuts` says, and not shorter than `safe`.
fn check_beginning<D: std::fmt::Debug>(
    who: &str,
    due: &[D],
    found: &[&Event],
    cuts: &[usize],
    safe: usize,
    same: impl Fn(&D, &Event) -> bool,
) {
    for (i, event) in found.iter().enumerate() {
        assert!(due.get(i).is_some_and(|d| same(d, event)), "{who}: row {i} is {event:?}, not {:?}", due.get(i));
    }
    assert!(
        found.len() >= safe,
        "{who}: {} of {safe} acknowledged rows are there; lost {:?}",
        found.len(),
        due[found.len()]
    );
    assert!(cuts.contains(&found.len()), "{who}: a call was cut in two after {} rows", found.len());
}

/// Each batch lies whole in one bucket, once, in the order written.
fn check_turns(who: &str, plan: &[Batch], acknowledged: i64, found: &[Vec<&Event>]) {
    let mut there = BTreeMap::new();
    for (bucket, found) in found.iter().enumerate() {
        assert!(found.is_sorted_by(|a, b| a.row.seq < b.row.seq), "{who}, bucket {bucket}: order");
        for event in found {
            let before = there.insert(event.row.seq, (bucket, event.offset, *event));
            assert!(before.is_none(), "{who}: row {} is there twice", event.row.seq);
        }
    }
    let mut count = 0;
    for batch in plan {
        let Some((home, offset, _)) = there.get(&batch.rows[0].seq).copied() else {
            assert!(batch.rows[0].seq >= acknowledged, "{who}: lost {:?}", batch.rows[0]);
            continue;
        };
        for (row, offset) in batch.rows.iter().zip(offset..) {
            let found = there.get(&row.seq);
            let whole = found.is_some_and(|(b, o, e)| (*b, *o) == (home, offset) && e.row == *row);
            assert!(whole, "{who}: {row:?} was to be in bucket {home} at {offset}, not {found:?}");
            count += 1;
        }
    }
    assert_eq!(count, there.len(), "{who}: rows that nobody wrote");
}
