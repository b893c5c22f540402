//! Merging one batch of incoming rows into the rows that are there: pure bookkeeping over positions, no bytes decoded.
//!
//! Rows of one key within the batch are merged in order: row n sees row n-1. The rows before the batch are looked up
//! once per key, all together.

use super::Upsert;
use super::groups::Groups;
use super::merger::{Columns, Image, Merger};
use super::version::Versions;
use crate::packed::Packed;
use arrow_array::{Array, RecordBatch};
use hashbrown::{DefaultHashBuilder, HashTable};
use sluice_base::Result;
use sluice_kv::{DeleteBehavior, Effect, Kv, MergeEngine, Outcome, Overlay, Prior, Step};
use sluice_row::ChangeKind;
use std::hash::BuildHasher;

/// The row of a key at some point of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Current {
    Absent,
    /// The row from before the batch: a position in [`Merge::old_values`].
    Old(u32),
    /// A row of the batch; where columns are merged, one of the merged rows.
    Row(u32),
}

/// Stands in the place of a key's position for a row that has none.
const NO_KEY: u32 = u32::MAX;

/// One key of the batch.
#[derive(Debug, Clone, Copy)]
struct Key {
    hash: u64,
    /// The first row that has it.
    row: u32,
    /// Whether a row of the batch deletes it.
    deleted: bool,
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
    pub(super) changes: Changes,
}

impl Merge {
    /// Finds the distinct keys of the batch's `rows`.
    pub(super) fn start(&mut self, batch: &Upsert<'_>, rows: &[u32]) {
        self.table.clear();
        self.keys.clear();
        self.key_of_row.clear();
        self.old_values.clear();
        self.changes.clear();
        let Self { hasher, table, keys, key_of_row, .. } = self;
        for &row in rows {
            // An old image changes nothing and has no key.
            if batch.kind(row) == ChangeKind::UpdateBefore {
                key_of_row.push(NO_KEY);
                continue;
            }
            let key = batch.key(row);
            let hash = hasher.hash_one(key);
            let same = |k: &u32| keys.get(*k as usize).is_some_and(|k| k.hash == hash && batch.key(k.row) == key);
            let at = match table.find(hash, same) {
                Some(at) => *at,
                None => {
                    let at = position(keys.len());
                    keys.push(Key { hash, row, deleted: false, before: Current::Absent, now: Current::Absent });
                    table.insert_unique(hash, at, |k| keys.get(*k as usize).map_or(0, |k| k.hash));
                    at
                }
            };
            if batch.kind(row) == ChangeKind::Delete
                && let Some(key) = keys.get_mut(at as usize)
            {
                key.deleted = true;
            }
            key_of_row.push(at);
        }
    }

    /// Looks up the rows from before the batch: what is on its way first, then RocksDB, in one call. With a blind image only those that
    /// may be deleted.
    pub(super) fn load_old(&mut self, batch: &Upsert<'_>, image: Image, overlay: &Overlay, kv: &Kv) -> Result<()> {
        let Self { keys, old_values, .. } = self;
        let wanted = |key: &Key| image != Image::Blind || key.deleted;
        let mut asked: Vec<&[u8]> = Vec::with_capacity(keys.len());
        let mut asked_keys: Vec<usize> = Vec::with_capacity(keys.len());
        for (i, key) in keys.iter_mut().enumerate().filter(|(_, key)| wanted(key)) {
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

    /// Merges whole rows in order and writes the changelog down.
    pub(super) fn run(
        &mut self,
        engine: MergeEngine,
        merger: &Merger,
        batch: &Upsert<'_>,
        rows: &[u32],
        versions: &Versions,
    ) {
        let Self { keys, key_of_row, changes, .. } = self;
        for (&row, &key) in rows.iter().zip(key_of_row.iter()) {
            let Some(key) = keys.get_mut(key as usize) else { continue };
            let present = key.now != Current::Absent;
            let outcome = match batch.kind(row) {
                ChangeKind::Delete => merger.deletes.decide(present),
                _ => engine.decide(present, (versions.stored(key.now), versions.incoming(row))),
            };
            match outcome {
                Outcome::Keep => {}
                Outcome::Put => key.now = changes.put(merger.image, key.now, Current::Row(row)),
                Outcome::Delete => key.now = changes.delete(key.now),
            }
        }
    }

    /// Decides what each row does to its key's columns and writes the changelog down; `old` are the rows from before the batch.
    ///
    /// # Errors
    /// `Invalid` about `Row` when a partial delete meets a column that cannot be NULL.
    pub(super) fn steps(
        &mut self,
        columns: &Columns,
        merger: &Merger,
        batch: &Upsert<'_>,
        rows: &[u32],
        old: &RecordBatch,
        groups: &mut Groups,
    ) -> Result<Vec<Step>> {
        let Self { keys, key_of_row, changes, .. } = self;
        let mut steps: Vec<Step> = Vec::with_capacity(rows.len());
        let mut bare: Vec<bool> = Vec::with_capacity(rows.len());
        for ((at, &row), &key) in (0_u32..).zip(rows).zip(key_of_row.iter()) {
            let Some(key) = keys.get_mut(key as usize) else {
                groups.push(at, ChangeKind::UpdateBefore, Prior::Absent);
                steps.push(Step { prior: Prior::Absent, effect: Effect::Skip });
                bare.push(true);
                continue;
            };
            let prior = match key.now {
                Current::Absent => Prior::Absent,
                Current::Old(at) => Prior::Old(at),
                Current::Row(at) => Prior::Row(at),
            };
            // Whether all columns that the writer leaves to others are NULL. Nothing in this batch changes them.
            let is_bare = match prior {
                Prior::Absent => true,
                Prior::Old(at) => {
                    merger.deletes == DeleteBehavior::Allow
                        && columns.others.iter().all(|c| old.column(*c).is_null(at as usize))
                }
                Prior::Row(at) => bare.get(at as usize).copied().unwrap_or(true),
            };
            let (counts, keeps) = groups.push(at, batch.kind(row), prior);
            let stale = !columns.groups.is_empty() && columns.plain.is_empty() && !counts;
            let goes = is_bare && !keeps;
            let effect = match (batch.kind(row), prior) {
                (ChangeKind::Delete, _) if stale && !goes => Effect::Skip,
                (ChangeKind::Delete, prior) => columns.delete(merger.deletes, prior, goes)?,
                (_, Prior::Old(_) | Prior::Row(_)) if columns.key_only || stale => Effect::Skip,
                _ => Effect::Merge,
            };
            match effect {
                Effect::Skip
                    if batch.kind(row) == ChangeKind::Delete && columns.removes(merger.deletes, prior, goes) =>
                {
                    key.now = changes.delete(key.now);
                }
                Effect::Skip => {}
                _ => key.now = changes.put(merger.image, key.now, Current::Row(at)),
            }
            steps.push(Step { prior, effect });
            bare.push(is_bare);
        }
        Ok(steps)
    }

    /// An upper bound, roughly, of the bytes that the merged rows will have: those of each key's old row and all that is added to it.
    pub(super) fn merged_bytes(&self, row_bytes: usize) -> usize {
        let old = |key: &Key| match key.before {
            Current::Old(at) => self.old_values.get(at as usize).len(),
            _ => 0,
        };
        let mut sizes: Vec<usize> = self.keys.iter().map(old).collect();
        let mut total = 0_usize;
        for key in &self.key_of_row {
            if let Some(size) = sizes.get_mut(*key as usize) {
                *size += row_bytes;
                total = total.saturating_add(*size);
            }
        }
        total
    }

    /// What the batch leaves behind for each key that it changed: a row that has the key, and the key's row now (`None`: it is gone).
    pub(super) fn left(&self) -> impl Iterator<Item = (u32, Option<u32>)> + '_ {
        self.keys.iter().filter(|k| k.now != k.before).map(|key| match key.now {
            Current::Row(row) => (key.row, Some(row)),
            Current::Absent | Current::Old(_) => (key.row, None),
        })
    }
}

/// The changelog under construction: kinds, and where each row comes from.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) kinds: Vec<ChangeKind>,
    pub(super) sources: Vec<Current>,
    /// Change in the number of live rows; without meaning for a blind image.
    pub(super) rows_delta: i64,
}

impl Changes {
    fn clear(&mut self) {
        self.kinds.clear();
        self.sources.clear();
        self.rows_delta = 0;
    }

    fn put(&mut self, image: Image, before: Current, after: Current) -> Current {
        let present = before != Current::Absent;
        if present && image == Image::Full {
            self.kinds.push(ChangeKind::UpdateBefore);
            self.sources.push(before);
        }
        let updates = present || image == Image::Blind;
        self.kinds.push(if updates { ChangeKind::UpdateAfter } else { ChangeKind::Insert });
        self.sources.push(after);
        self.rows_delta += i64::from(!present);
        after
    }

    fn delete(&mut self, before: Current) -> Current {
        self.kinds.push(ChangeKind::Delete);
        self.sources.push(before);
        self.rows_delta -= 1;
        Current::Absent
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
