//! The oracle: what a bucket must answer, in the plainest form. A primary-key bucket is a sorted map with its changelog, a log a list.

use sluice_base::Offset;
use sluice_row::ChangeKind;
use std::collections::BTreeMap;
use std::ops::Range;

/// One change of a primary-key bucket, as a writer sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyChange<K, R> {
    /// Puts the row under the key, whatever was there.
    Upsert(K, R),
    /// Removes the key.
    Delete(K),
}

/// What the log of a primary-key bucket holds at one offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged<R> {
    /// Its offset.
    pub offset: Offset,
    /// What became of the row.
    pub kind: ChangeKind,
    /// The row: before the change for `UpdateBefore` and `Delete`, after it otherwise.
    pub row: R,
}

/// A primary-key bucket with the default merge engine and the full changelog.
#[derive(Debug, Clone)]
pub struct KeyModel<K, R> {
    rows: BTreeMap<K, R>,
    log: Vec<Logged<R>>,
    end: Offset,
}

impl<K, R> Default for KeyModel<K, R> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), log: Vec::new(), end: 0 }
    }
}

impl<K: Ord + Clone, R: Clone> KeyModel<K, R> {
    /// Applies one request and returns the offsets it took: those of its changes, or one offset without a row when nothing changed.
    /// An update is logged even if the row stays the same; deleting a key that is not there is no change.
    pub fn apply(&mut self, request: impl IntoIterator<Item = KeyChange<K, R>>) -> Range<Offset> {
        let start = self.end;
        for change in request {
            match change {
                KeyChange::Upsert(key, row) => match self.rows.insert(key, row.clone()) {
                    None => self.append(ChangeKind::Insert, row),
                    Some(before) => {
                        self.append(ChangeKind::UpdateBefore, before);
                        self.append(ChangeKind::UpdateAfter, row);
                    }
                },
                KeyChange::Delete(key) => {
                    if let Some(before) = self.rows.remove(&key) {
                        self.append(ChangeKind::Delete, before);
                    }
                }
            }
        }
        self.end = self.end.max(start + 1);
        start..self.end
    }

    fn append(&mut self, kind: ChangeKind, row: R) {
        self.log.push(Logged { offset: self.end, kind, row });
        self.end += 1;
    }

    /// The row under a key.
    pub fn get(&self, key: &K) -> Option<&R> {
        self.rows.get(key)
    }

    /// All rows in key order.
    pub fn rows(&self) -> &BTreeMap<K, R> {
        &self.rows
    }

    /// The changelog from an offset on.
    pub fn log_from(&self, from: Offset) -> &[Logged<R>] {
        &self.log[self.log.partition_point(|l| l.offset < from)..]
    }

    /// The offset that the next request gets.
    pub fn end(&self) -> Offset {
        self.end
    }

    /// What a reader has who started empty and applied the changelog up to `end`.
    ///
    /// # Panics
    /// When the changelog contradicts itself: an insert of a key that is there, or a change of one that is not.
    pub fn replay(log: &[Logged<R>], end: Offset, key: impl Fn(&R) -> K) -> BTreeMap<K, R>
    where
        R: PartialEq + std::fmt::Debug,
    {
        let mut rows = BTreeMap::new();
        for Logged { kind, row, offset } in log.iter().take_while(|l| l.offset < end) {
            let gone = match kind {
                ChangeKind::UpdateBefore | ChangeKind::Delete => rows.remove(&key(row)),
                _ => rows.insert(key(row), row.clone()),
            };
            let removes = matches!(kind, ChangeKind::UpdateBefore | ChangeKind::Delete);
            assert_eq!(
                gone.as_ref(),
                removes.then_some(row),
                "change {kind:?} at offset {offset} contradicts what was there"
            );
        }
        rows
    }
}

/// A log bucket.
#[derive(Debug, Clone)]
pub struct LogModel<R> {
    rows: Vec<R>,
}

impl<R> Default for LogModel<R> {
    fn default() -> Self {
        Self { rows: Vec::new() }
    }
}

impl<R> LogModel<R> {
    /// Appends rows and returns the offsets they got.
    pub fn append(&mut self, rows: impl IntoIterator<Item = R>) -> Range<Offset> {
        let start = self.end();
        self.rows.extend(rows);
        start..self.end()
    }

    /// The rows from an offset on.
    pub fn from(&self, from: Offset) -> &[R] {
        let from = usize::try_from(from).unwrap_or(0).min(self.rows.len());
        &self.rows[from..]
    }

    /// The offset that the next row gets.
    pub fn end(&self) -> Offset {
        Offset::try_from(self.rows.len()).unwrap_or(Offset::MAX)
    }

    /// Forgets what lies at or beyond `end`, as a crash may.
    pub fn truncate(&mut self, end: Offset) {
        self.rows.truncate(usize::try_from(end).unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ChangeKind::{Delete as Gone, Insert, UpdateAfter, UpdateBefore};
    use KeyChange::{Delete, Upsert};

    #[test]
    fn a_changelog_replays_to_the_rows() {
        let mut model = KeyModel::default();
        assert_eq!(model.apply([Upsert(1, (1, 'a')), Upsert(2, (2, 'b')), Upsert(1, (1, 'c'))]), 0..4);
        assert_eq!(model.apply([Delete(3)]), 4..5, "a request without a change takes one offset");
        assert_eq!(model.apply([Delete(2), Upsert(1, (1, 'c'))]), 5..8);
        let kinds: Vec<_> = model.log_from(0).iter().map(|l| (l.offset, l.kind)).collect();
        let due = [
            (0, Insert),
            (1, Insert),
            (2, UpdateBefore),
            (3, UpdateAfter),
            (5, Gone),
            (6, UpdateBefore),
            (7, UpdateAfter),
        ];
        assert_eq!(kinds, due);
        assert_eq!(&KeyModel::replay(model.log_from(0), model.end(), |r: &(i32, char)| r.0), model.rows());
        assert_eq!(model.get(&1), Some(&(1, 'c')));
        assert_eq!(model.log_from(6).len(), 2);
    }

    #[test]
    #[should_panic(expected = "contradicts")]
    fn a_change_of_a_row_that_is_not_there_is_seen() {
        let log = [Logged { offset: 0, kind: Gone, row: (1, 'a') }];
        KeyModel::replay(&log, 1, |r: &(i32, char)| r.0);
    }

    #[test]
    fn a_log_keeps_what_came_in_order() {
        let mut model = LogModel::default();
        assert_eq!(model.append([1, 2, 3]), 0..3);
        assert_eq!(model.append([4]), 3..4);
        assert_eq!(model.from(2), [3, 4]);
        model.truncate(1);
        assert_eq!((model.end(), model.from(0)), (1, &[1][..]));
    }
}
