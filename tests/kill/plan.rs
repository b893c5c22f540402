//! What each writer writes, decided by the seed alone: the process that is killed and the one that checks make the same batches.

use crate::tables::Row;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluice_row::ChangeKind;

pub const WRITERS: i32 = 3;
/// Keys of the primary-key table; each belongs to the writer `k % WRITERS`.
pub const KEYS: i32 = 501;
/// Values of the bucket key of the log that goes by key.
const LEDGER_KEYS: i32 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A log whose rows go to their bucket by key.
    Ledger,
    /// A log whose batches go to the buckets in turn.
    Turns,
    /// A primary-key table.
    Rows,
}

pub const KINDS: [Kind; 3] = [Kind::Ledger, Kind::Turns, Kind::Rows];

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ledger => "ledger",
            Self::Turns => "turns",
            Self::Rows => "rows",
        }
    }

    pub fn of(name: &str) -> Self {
        KINDS.into_iter().find(|k| k.name() == name).unwrap()
    }

    pub fn buckets(self) -> i32 {
        if self == Self::Rows { 4 } else { 3 }
    }
}

/// One call of a writer.
#[derive(Debug, Clone)]
pub struct Batch {
    pub rows: Vec<Row>,
    /// One a row for the primary-key table, none for a log.
    pub kinds: Vec<ChangeKind>,
}

/// A number for each combination of seed, life and so on.
pub fn mix(seed: u64, parts: &[i64]) -> u64 {
    parts.iter().fold(seed ^ 0x9e37_79b9_7f4a_7c15, |h, p| {
        let h = (h ^ p.cast_unsigned()).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h ^ (h >> 32)
    })
}

/// The batches of one writer for one table in one life, without end.
#[derive(Debug)]
pub struct Stream {
    random: StdRng,
    kind: Kind,
    writer: i32,
    life: i32,
    /// Number of the next row.
    pub seq: i64,
}

impl Stream {
    pub fn new(seed: u64, kind: Kind, life: i32, writer: i32) -> Self {
        let random = StdRng::seed_from_u64(mix(seed, &[kind as i64, life.into(), writer.into()]));
        Self { random, kind, writer, life, seq: 0 }
    }

    fn size(&mut self) -> i32 {
        match self.random.random_range(0..100) {
            0..60 => self.random.random_range(1..4),
            60..95 => self.random.random_range(10..50),
            _ => self.random.random_range(200..600),
        }
    }

    fn row(&mut self, k: i32) -> Row {
        let length = if self.random.random_range(0..100) == 0 { 2_000 } else { self.random.random_range(0..40) };
        let text = (0..length).map(|_| char::from(self.random.random_range(b' '..b'~'))).collect();
        self.seq += 1;
        Row { k, writer: self.writer, life: self.life, seq: self.seq - 1, text }
    }

    fn key(&mut self) -> i32 {
        match self.kind {
            Kind::Ledger | Kind::Turns => self.random.random_range(0..LEDGER_KEYS),
            Kind::Rows => self.random.random_range(0..KEYS / WRITERS) * WRITERS + self.writer,
        }
    }

    /// The first batch of all touches every key, so that the bucket of each is known afterwards.
    fn keys(&mut self) -> Vec<i32> {
        match (self.seq, self.kind, self.life) {
            (0, Kind::Ledger, _) => (0..LEDGER_KEYS).collect(),
            (0, Kind::Rows, 0) => (0..KEYS / WRITERS).map(|i| i * WRITERS + self.writer).collect(),
            _ => (0..self.size()).map(|_| self.key()).collect(),
        }
    }
}

impl Iterator for Stream {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        let is_first = self.seq == 0;
        let rows: Vec<Row> = self.keys().into_iter().map(|k| self.row(k)).collect();
        let kinds = match self.kind {
            Kind::Ledger | Kind::Turns => Vec::new(),
            Kind::Rows => {
                let mut kind = |_| {
                    let deletes = !is_first && self.random.random_range(0..4) == 0;
                    if deletes { ChangeKind::Delete } else { ChangeKind::UpdateAfter }
                };
                (0..rows.len()).map(&mut kind).collect()
            }
        };
        Some(Batch { rows, kinds })
    }
}
