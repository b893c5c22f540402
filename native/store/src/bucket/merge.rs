//! Merging one batch of incoming rows into the rows that are there: pure bookkeeping over positions, no bytes decoded.
//!
//! Rows of one key within the batch are merged in order: row n sees row n-1. The rows before the batch are looked up
//! once per key, all together.

use super::Upsert;
use crate::packed::Packed;
use hashbrown::{DefaultHashBuilder, HashTable};
use sluice_base::Result;
use sluice_kv::{Kv, MergeEngine, Outcome, Overlay};
use sluice_row::ChangeKind;
use std::hash::BuildHasher;

/// The row of a key at some point of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Current {
    Absent,
    /// The row from before the batch: a position in [`Merge::old_values`].
    Old(u32),
    /// A row of the batch.
    Row(u32),
}

/// One key of the batch.
#[derive(Debug, Clone, Copy)]
struct Key {
    hash: u64,
    /// The first row that has it.
    row: u32,
    before: Current,
    now: Current,
}

/// Memory used again for the next batch.
#[derive(Debug, Default)]
pub(super) struct Merge {
    hasher: DefaultHashBuilder,
    table: HashTable<u32>,
    keys: Vec<Key>,
    /// For each incoming row its key's position in `keys`.
    key_of_row: Vec<u32>,
    /// Values from before the batch.
    pub(super) old_values: Packed,
    /// The changelog: kinds and where each row comes from.
    pub(super) kinds: Vec<ChangeKind>,
    pub(super) sources: Vec<Current>,
    /// Change in the number of live rows.
    pub(super) rows_delta: i64,
}

impl Merge {
    /// Finds the distinct keys of the batch's `rows`.
    pub(super) fn start(&mut self, batch: &Upsert<'_>, rows: &[u32]) {
        self.table.clear();
        self.keys.clear();
        self.key_of_row.clear();
        self.old_values.clear();
        self.kinds.clear();
        self.sources.clear();
        self.rows_delta = 0;
        let Self { hasher, table, keys, key_of_row, .. } = self;
        for &row in rows {
            let key = batch.key(row);
            let hash = hasher.hash_one(key);
            let same = |k: &u32| keys.get(*k as usize).is_some_and(|k| k.hash == hash && batch.key(k.row) == key);
            let at = match table.find(hash, same) {
                Some(at) => *at,
                None => {
                    let at = position(keys.len());
                    keys.push(Key { hash, row, before: Current::Absent, now: Current::Absent });
                    table.insert_unique(hash, at, |k| keys.get(*k as usize).map_or(0, |k| k.hash));
                    at
                }
            };
            key_of_row.push(at);
        }
    }

    /// Looks up the rows from before the batch: what is on its way first, then RocksDB, in one call.
    pub(super) fn load_old(&mut self, batch: &Upsert<'_>, overlay: &Overlay, kv: &Kv) -> Result<()> {
        let Self { keys, old_values, .. } = self;
        let mut asked: Vec<&[u8]> = Vec::with_capacity(keys.len());
        let mut asked_keys: Vec<usize> = Vec::with_capacity(keys.len());
        for (i, key) in keys.iter_mut().enumerate() {
            match overlay.get(batch.key(key.row)) {
                Some(Some(value)) => key.before = Current::Old(remember(old_values, value)),
                Some(None) => {}
                None => {
                    asked.push(batch.key(key.row));
                    asked_keys.push(i);
                }
            }
        }
        kv.multi_get(&asked, |i, value| {
            let key = asked_keys.get(i).and_then(|k| keys.get_mut(*k));
            if let (Some(key), Some(value)) = (key, value) {
                key.before = Current::Old(remember(old_values, value));
            }
        })?;
        for key in keys {
            key.now = key.before;
        }
        Ok(())
    }

    /// Merges the rows in order and writes the changelog down.
    pub(super) fn run(&mut self, engine: MergeEngine, batch: &Upsert<'_>, rows: &[u32]) {
        let Self { keys, key_of_row, kinds, sources, rows_delta, .. } = self;
        for (&row, &key) in rows.iter().zip(key_of_row.iter()) {
            let Some(key) = keys.get_mut(key as usize) else { continue };
            let upsert = match batch.kind(row) {
                ChangeKind::UpdateBefore => continue,
                ChangeKind::Delete => false,
                ChangeKind::Append | ChangeKind::Insert | ChangeKind::UpdateAfter => true,
            };
            let present = key.now != Current::Absent;
            match engine.decide(present, upsert) {
                Outcome::Keep => {}
                Outcome::Put => {
                    if present {
                        kinds.extend([ChangeKind::UpdateBefore, ChangeKind::UpdateAfter]);
                        sources.extend([key.now, Current::Row(row)]);
                    } else {
                        kinds.push(ChangeKind::Insert);
                        sources.push(Current::Row(row));
                        *rows_delta += 1;
                    }
                    key.now = Current::Row(row);
                }
                Outcome::Delete => {
                    kinds.push(ChangeKind::Delete);
                    sources.push(key.now);
                    *rows_delta -= 1;
                    key.now = Current::Absent;
                }
            }
        }
    }

    /// Notes what the batch leaves behind for each key that it changed.
    pub(super) fn apply(&self, batch: &Upsert<'_>, overlay: &mut Overlay) {
        for key in self.keys.iter().filter(|k| k.now != k.before) {
            match key.now {
                Current::Row(row) => overlay.put(batch.key(key.row), Some(batch.value(row))),
                Current::Absent | Current::Old(_) => overlay.put(batch.key(key.row), None),
            }
        }
    }
}

fn remember(values: &mut Packed, value: &[u8]) -> u32 {
    values.push(value);
    position(values.len() - 1)
}

/// A batch has fewer than 2^31 rows (Arrow's own bound in the protocol).
fn position(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}
