//! Rows merged but not yet applied to RocksDB.
//!
//! Two layers: the writer fills the active one; a commit freezes it, makes its log records durable, applies it to
//! RocksDB and drops it, while the writer fills the next. A read asks active, then frozen. Each layer keeps its keys
//! and values in one arena, so a row costs no allocation of its own.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;
use std::sync::Arc;

type Hasher = hashbrown::DefaultHashBuilder;

#[derive(Debug, Clone, Copy)]
struct Slot {
    hash: u64,
    key_at: usize,
    value_at: usize,
    key_bytes: u32,
    /// `DELETED` for a deletion.
    value_bytes: u32,
}

const DELETED: u32 = u32::MAX;
/// An arena larger than this is given back instead of being kept for the next layer.
const ARENA_KEPT_BYTES: usize = 16 << 20;

/// Newest change per key.
#[derive(Debug, Default)]
pub struct Layer {
    slots: HashTable<Slot>,
    arena: Vec<u8>,
}

impl Layer {
    fn key(&self, slot: &Slot) -> &[u8] {
        &self.arena[slot.key_at..slot.key_at + slot.key_bytes as usize]
    }

    fn value(&self, slot: &Slot) -> Option<&[u8]> {
        (slot.value_bytes != DELETED).then(|| &self.arena[slot.value_at..slot.value_at + slot.value_bytes as usize])
    }

    pub(crate) fn get(&self, hash: u64, key: &[u8]) -> Option<Option<&[u8]>> {
        self.slots.find(hash, |s| s.hash == hash && self.key(s) == key).map(|s| self.value(s))
    }

    pub(crate) fn put(&mut self, hash: u64, key: &[u8], value: Option<&[u8]>) {
        let Self { slots, arena } = self;
        let same = |s: &Slot| s.hash == hash && &arena[s.key_at..s.key_at + s.key_bytes as usize] == key;
        match slots.entry(hash, same, |s| s.hash) {
            Entry::Occupied(mut found) => {
                let (value_at, value_bytes) = push_value(arena, value);
                let slot = found.get_mut();
                (slot.value_at, slot.value_bytes) = (value_at, value_bytes);
            }
            Entry::Vacant(free) => {
                let key_at = arena.len();
                arena.extend_from_slice(key);
                let (value_at, value_bytes) = push_value(arena, value);
                free.insert(Slot { hash, key_at, value_at, key_bytes: length(key), value_bytes });
            }
        }
    }

    /// All changes, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> + Clone {
        self.slots.iter().map(|s| (self.key(s), self.value(s)))
    }

    /// All changes in key order.
    pub(crate) fn in_key_order(&self) -> Vec<(&[u8], Option<&[u8]>)> {
        let mut rows: Vec<_> = self.iter().collect();
        let shared = shared_prefix(&rows);
        // Eight bytes behind what all keys share decide nearly all comparisons without a look at the arena.
        let mut order: Vec<(u64, usize)> =
            rows.iter().enumerate().map(|(i, (key, _))| (leading(key.get(shared..).unwrap_or_default()), i)).collect();
        let key = |i: usize| rows.get(i).map(|(key, _)| *key);
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key(a.1).cmp(&key(b.1))));
        rows = order.into_iter().filter_map(|(_, i)| rows.get(i).copied()).collect();
        rows
    }

    /// Number of changed keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Bytes of keys and values, those of overwritten values too.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.len()
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.arena.clear();
        if self.arena.capacity() > ARENA_KEPT_BYTES {
            *self = Self::default();
        }
    }
}

/// Bytes with which all keys begin.
fn shared_prefix(rows: &[(&[u8], Option<&[u8]>)]) -> usize {
    let Some(((first, _), others)) = rows.split_first() else { return 0 };
    let same = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    others.iter().fold(first.len(), |shared, (key, _)| same(first.get(..shared).unwrap_or_default(), key))
}

/// The first eight bytes as a number that orders as they do.
fn leading(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(key) {
        *to = *from;
    }
    u64::from_be_bytes(bytes)
}

/// Rows are far below 4 GiB (the store refuses larger ones).
fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(DELETED - 1)
}

fn push_value(arena: &mut Vec<u8>, value: Option<&[u8]>) -> (usize, u32) {
    let at = arena.len();
    match value {
        Some(value) => {
            arena.extend_from_slice(value);
            (at, length(value))
        }
        None => (at, DELETED),
    }
}

/// The changes on their way to RocksDB.
#[derive(Debug, Default)]
pub struct Overlay {
    hasher: Hasher,
    active: Layer,
    frozen: Option<Arc<Layer>>,
    spare: Layer,
}

impl Overlay {
    /// The newest change of a key: `None` when it has none here, `Some(None)` when it was deleted.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        if self.active.is_empty() && self.frozen.is_none() {
            return None;
        }
        let hash = self.hasher.hash_one(key);
        self.active.get(hash, key).or_else(|| self.frozen.as_ref().and_then(|l| l.get(hash, key)))
    }

    /// Notes a change; `None` deletes.
    pub fn put(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.active.put(self.hasher.hash_one(key), key, value);
    }

    /// Freezes the changes noted so far and returns them, to be applied as one. While an earlier frozen layer is not
    /// yet dropped (its commit failed), that one is returned again and the newer changes wait.
    pub fn freeze(&mut self) -> Arc<Layer> {
        if let Some(layer) = &self.frozen {
            return layer.clone();
        }
        let layer = Arc::new(std::mem::replace(&mut self.active, std::mem::take(&mut self.spare)));
        self.frozen = Some(layer.clone());
        layer
    }

    /// Forgets the frozen changes: RocksDB has them now. Drop other references first, so that the memory is used again.
    pub fn drop_frozen(&mut self) {
        if let Some(mut layer) = self.frozen.take().and_then(Arc::into_inner) {
            layer.clear();
            self.spare = layer;
        }
    }

    /// Whether a frozen layer waits to be dropped.
    #[must_use]
    pub fn has_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Bytes of keys and values held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.active.bytes() + self.frozen.as_ref().map_or(0, |l| l.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_change_wins_across_layers() {
        let mut overlay = Overlay::default();
        assert_eq!(overlay.get(b"a"), None);
        overlay.put(b"a", Some(b"1"));
        overlay.put(b"b", Some(b"1"));
        let frozen = overlay.freeze();
        overlay.put(b"a", None);
        assert_eq!(overlay.get(b"a"), Some(None));
        assert_eq!(overlay.get(b"b"), Some(Some(&b"1"[..])));
        assert_eq!(frozen.len(), 2);
        drop(frozen);
        overlay.drop_frozen();
        assert_eq!(overlay.get(b"b"), None);
        assert_eq!(overlay.get(b"a"), Some(None));
    }

    #[test]
    fn key_order_is_that_of_the_bytes() {
        for shared in [&b""[..], b"some common start"] {
            let mut overlay = Overlay::default();
            let mut keys: Vec<Vec<u8>> =
                (0..3000_u32).map(|i| [shared, &i.wrapping_mul(2_654_435_761).to_le_bytes()].concat()).collect();
            keys.extend([vec![], vec![0], vec![0, 0]].map(|tail| [shared, b"12345678", &tail].concat()));
            keys.push(shared.to_vec());
            for key in &keys {
                overlay.put(key, Some(key));
            }
            keys.sort();
            let layer = overlay.freeze();
            assert_eq!(layer.in_key_order().into_iter().map(|(k, _)| k.to_vec()).collect::<Vec<_>>(), keys);
        }
    }

    #[test]
    fn a_frozen_layer_stays_until_dropped() {
        let mut overlay = Overlay::default();
        overlay.put(b"a", Some(b"1"));
        assert_eq!(overlay.freeze().len(), 1);
        overlay.put(b"b", Some(b"1"));
        overlay.put(b"c", Some(b"1"));
        assert_eq!(overlay.freeze().len(), 1);
        overlay.drop_frozen();
        assert_eq!(overlay.freeze().len(), 2);
    }

    #[test]
    fn overwritten_values_are_the_last() {
        let mut overlay = Overlay::default();
        for i in 0..10_000_u32 {
            overlay.put(&(i % 1000).to_le_bytes(), Some(&i.to_le_bytes()));
        }
        let layer = overlay.freeze();
        assert_eq!(layer.len(), 1000);
        for (key, value) in layer.iter() {
            let key = u32::from_le_bytes(key.try_into().unwrap());
            assert_eq!(value.unwrap(), (key + 9000).to_le_bytes());
        }
    }
}
