//! Rows kept in front of RocksDB, for all buckets of a store together: a lookup of a hot key costs one hash probe.
//!
//! Holds what RocksDB holds, never more: a write goes to RocksDB first and then in here (a deletion as "no row"); a row
//! that a read found is added only if no write of its key can have been forgotten since the read began. Each shard is
//! a ring of bytes in which the oldest entry goes first, so memory is bounded exactly and a row costs no allocation.

use crate::slots::Slots;
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;
use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};

const SHARDS: usize = 64;
/// Size, owner, hash, key length, value length.
const HEADER_BYTES: usize = 24;
/// Keys whose entries are fetched from memory at the same time.
const WARMED: usize = 32;
const DEAD: u32 = u32::MAX;
const NO_ROW: u32 = u32::MAX;
/// The first piece of a shard's memory.
const FIRST_BYTES: usize = 64 << 10;

/// What the cache knows of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Probe<R> {
    /// The row, or that there is none.
    Known(R),
    /// Nothing; read it and offer it with this ticket.
    Unknown(Ticket),
}

/// A key's hash, and when it was missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    hash: u64,
    missed_at: u64,
    oversized: u64,
}

/// The cache of one store.
#[derive(Debug)]
pub(crate) struct RowCache {
    hasher: DefaultHashBuilder,
    shards: Vec<Mutex<Shard>>,
}

/// Positions count all bytes ever written; the place in `ring` is the position modulo `capacity`.
#[derive(Debug, Default)]
struct Shard {
    /// Places of live entries, in units of 8 bytes.
    table: Slots,
    ring: Vec<u8>,
    capacity: usize,
    head: u64,
    tail: u64,
    /// Writes that were too large to be kept here.
    oversized: u64,
}

/// One entry's head, as it stands in the ring.
#[derive(Debug, Clone, Copy)]
struct Head {
    size: u32,
    owner: u32,
    hash: u64,
    key_bytes: u32,
    value_bytes: u32,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..at + N).and_then(|b| b.try_into().ok()).unwrap_or([0; N])
}

const fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(8)
}

impl Shard {
    fn place(&self, position: u64) -> usize {
        usize::try_from(position % self.capacity as u64).unwrap_or(0)
    }

    fn head_at(&self, place: usize) -> Head {
        let bytes = self.ring.get(place..).unwrap_or_default();
        Head {
            size: u32::from_le_bytes(number(bytes, 0)),
            owner: u32::from_le_bytes(number(bytes, 4)),
            hash: u64::from_le_bytes(number(bytes, 8)),
            key_bytes: u32::from_le_bytes(number(bytes, 16)),
            value_bytes: u32::from_le_bytes(number(bytes, 20)),
        }
    }

    fn store(&mut self, place: usize, bytes: &[u8]) {
        if let Some(target) = self.ring.get_mut(place..place + bytes.len()) {
            target.copy_from_slice(bytes);
        }
    }

    fn is(&self, place: usize, owner: u32, hash: u64, key: &[u8]) -> bool {
        let head = self.head_at(place);
        head.hash == hash && head.owner == owner && {
            let from = place + HEADER_BYTES;
            self.ring.get(from..from + head.key_bytes as usize) == Some(key)
        }
    }

    fn find(&self, owner: u32, hash: u64, key: &[u8]) -> Option<usize> {
        self.table.find(hash, |p| self.is(place_of(p), owner, hash, key)).map(place_of)
    }

    fn value(&self, place: usize) -> Option<&[u8]> {
        let head = self.head_at(place);
        let from = place + HEADER_BYTES + head.key_bytes as usize;
        (head.value_bytes != NO_ROW).then(|| self.ring.get(from..from + head.value_bytes as usize).unwrap_or_default())
    }

    fn put(&mut self, owner: u32, hash: u64, key: &[u8], value: Option<&[u8]>) {
        let bytes = value.map_or(0, <[u8]>::len);
        if let Some(place) = self.find(owner, hash, key) {
            let room = (self.head_at(place).size as usize).saturating_sub(HEADER_BYTES + key.len());
            if bytes <= room {
                self.store(place + 20, &length(value).to_le_bytes());
                self.store(place + HEADER_BYTES + key.len(), value.unwrap_or_default());
                return;
            }
            self.forget(place);
        }
        let size = padded(HEADER_BYTES + key.len() + bytes);
        if size > self.capacity / 8 {
            self.oversized += 1;
            return;
        }
        let place = self.make_room(size);
        let head = Head { size: small(size), owner, hash, key_bytes: small(key.len()), value_bytes: length(value) };
        self.store(place, &head.to_bytes());
        self.store(place + HEADER_BYTES, key);
        self.store(place + HEADER_BYTES + key.len(), value.unwrap_or_default());
        self.table.insert(hash, small(place / 8));
    }

    /// Brings what stands of some hashes into the processor's cache. One after the other each would wait for memory twice; so all wait
    /// together, first for their slots and then for their entries.
    fn warm(&self, hashes: impl Iterator<Item = u64>) {
        let mut places = [None; WARMED];
        for (place, hash) in places.iter_mut().zip(hashes) {
            *place = self.table.guess(hash);
        }
        let seen = places.iter().flatten().fold(0, |seen, p| seen ^ self.head_at(place_of(*p)).hash);
        black_box(seen);
    }

    /// Takes an entry out of the table; its bytes stay until the ring comes round.
    fn forget(&mut self, place: usize) {
        let head = self.head_at(place);
        if head.owner != DEAD {
            self.table.remove(head.hash, small(place / 8));
            self.store(place + 4, &DEAD.to_le_bytes());
        }
    }

    /// A place for `size` bytes in one piece, at the cost of the oldest entries.
    fn make_room(&mut self, size: usize) -> usize {
        let to_end = self.capacity - self.place(self.tail);
        if to_end < size {
            self.evict(to_end);
            let place = self.place(self.tail);
            self.grow(place + to_end);
            self.store(place, &small(to_end).to_le_bytes());
            self.store(place + 4, &DEAD.to_le_bytes());
            self.tail += to_end as u64;
        }
        self.evict(size);
        let place = self.place(self.tail);
        self.grow(place + size);
        self.tail += size as u64;
        place
    }

    fn evict(&mut self, size: usize) {
        while self.tail - self.head + size as u64 > self.capacity as u64 {
            let place = self.place(self.head);
            self.forget(place);
            self.head += u64::from(self.head_at(place).size.max(8));
        }
    }

    fn grow(&mut self, bytes: usize) {
        if self.ring.len() < bytes {
            let wanted = bytes.max(self.ring.len() * 2).max(FIRST_BYTES).min(self.capacity);
            self.ring.reserve_exact(wanted - self.ring.len());
            self.ring.resize(wanted, 0);
        }
    }
}

impl Head {
    fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        out[..4].copy_from_slice(&self.size.to_le_bytes());
        out[4..8].copy_from_slice(&self.owner.to_le_bytes());
        out[8..16].copy_from_slice(&self.hash.to_le_bytes());
        out[16..20].copy_from_slice(&self.key_bytes.to_le_bytes());
        out[20..].copy_from_slice(&self.value_bytes.to_le_bytes());
        out
    }
}

fn place_of(p: u32) -> usize {
    p as usize * 8
}

/// Entries are smaller than a shard, and a shard than 4 GiB.
fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(0)
}

/// The table of a shard looks at the other half of the hash.
fn shard_of(hash: u64) -> usize {
    usize::try_from(hash >> 32).unwrap_or(0) % SHARDS
}

fn length(value: Option<&[u8]>) -> u32 {
    value.map_or(NO_ROW, |v| small(v.len()))
}

impl RowCache {
    /// A cache of at most about `bytes`; memory is taken as rows come.
    pub(crate) fn new(bytes: u64) -> Self {
        let capacity = usize::try_from(bytes / SHARDS as u64).unwrap_or(0).min(2 << 30) & !7;
        let shard = || Mutex::new(Shard { capacity, ..Shard::default() });
        Self { hasher: DefaultHashBuilder::default(), shards: (0..SHARDS).map(|_| shard()).collect() }
    }

    fn shard(&self, hash: u64) -> Option<MutexGuard<'_, Shard>> {
        // No code that can panic runs while a shard is changed.
        self.shards.get(shard_of(hash)).map(|s| s.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Positions and hashes of keys, shard by shard, the order of equal keys kept.
    fn by_shard<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) -> Vec<(usize, u64)> {
        let mut all: Vec<_> = keys.map(|key| self.hasher.hash_one(key)).enumerate().collect();
        all.sort_by_key(|(_, hash)| shard_of(*hash));
        all
    }

    /// What is known of many keys: `found` gets position and row (or that there is none) while a shard is locked, in no fixed order.
    /// Returns the positions of the others, each to be read and offered with its ticket.
    pub(crate) fn get_many(
        &self,
        owner: u32,
        keys: &[&[u8]],
        mut found: impl FnMut(usize, Option<&[u8]>),
    ) -> Vec<(usize, Ticket)> {
        let mut missed = Vec::new();
        for some in self.by_shard(keys.iter().copied()).chunk_by(|a, b| shard_of(a.1) == shard_of(b.1)) {
            let Some(shard) = some.first().and_then(|(_, hash)| self.shard(*hash)) else { continue };
            for few in some.chunks(WARMED) {
                shard.warm(few.iter().map(|(_, hash)| *hash));
                for (i, hash) in few {
                    let key = keys.get(*i).copied().unwrap_or_default();
                    match shard.find(owner, *hash, key) {
                        Some(place) => found(*i, shard.value(place)),
                        None => {
                            missed.push((*i, Ticket { hash: *hash, missed_at: shard.tail, oversized: shard.oversized }))
                        }
                    }
                }
            }
        }
        missed
    }

    /// Notes many writes that RocksDB has, or will get before anybody can miss them.
    pub(crate) fn put_many(&self, owner: u32, rows: &[(&[u8], Option<&[u8]>)]) {
        for some in self.by_shard(rows.iter().map(|(key, _)| *key)).chunk_by(|a, b| shard_of(a.1) == shard_of(b.1)) {
            let Some(mut shard) = some.first().and_then(|(_, hash)| self.shard(*hash)) else { continue };
            for few in some.chunks(WARMED) {
                shard.warm(few.iter().map(|(_, hash)| *hash));
                for (i, hash) in few {
                    if let Some((key, value)) = rows.get(*i) {
                        shard.put(owner, *hash, key, *value);
                    }
                }
            }
        }
    }

    /// What is known of a key; `found` gets the row (or that there is none) while the shard is locked.
    pub(crate) fn get<R>(&self, owner: u32, key: &[u8], found: impl FnOnce(Option<&[u8]>) -> R) -> Probe<R> {
        let hash = self.hasher.hash_one(key);
        let Some(shard) = self.shard(hash) else { return Probe::Unknown(Ticket { hash, missed_at: 0, oversized: 0 }) };
        match shard.find(owner, hash, key) {
            Some(place) => Probe::Known(found(shard.value(place))),
            None => Probe::Unknown(Ticket { hash, missed_at: shard.tail, oversized: shard.oversized }),
        }
    }

    #[cfg(test)]
    fn put(&self, owner: u32, key: &[u8], value: Option<&[u8]>) {
        let hash = self.hasher.hash_one(key);
        if let Some(mut shard) = self.shard(hash) {
            shard.put(owner, hash, key, value);
        }
    }

    /// Offers a row that was read after a miss. It is not taken when a write may have come and gone since.
    pub(crate) fn offer(&self, owner: u32, key: &[u8], value: &[u8], ticket: Ticket) {
        if let Some(mut shard) = self.shard(ticket.hash)
            && shard.head <= ticket.missed_at
            && shard.oversized == ticket.oversized
            && shard.find(owner, ticket.hash, key).is_none()
        {
            shard.put(owner, ticket.hash, key, Some(value));
        }
    }

    /// Bytes of memory taken.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = |s: &Mutex<Shard>| {
            let shard = s.lock().unwrap_or_else(PoisonError::into_inner);
            (shard.ring.len() + shard.table.bytes()) as u64
        };
        self.shards.iter().map(bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn get(cache: &RowCache, owner: u32, key: &[u8]) -> Option<Option<Vec<u8>>> {
        match cache.get(owner, key, |v| v.map(<[u8]>::to_vec)) {
            Probe::Known(row) => Some(row),
            Probe::Unknown(_) => None,
        }
    }

    #[test]
    fn never_answers_anything_but_the_newest_write() {
        // So small that entries are pushed out all the time.
        let cache = RowCache::new(64 * 2048);
        let mut newest: HashMap<(u32, Vec<u8>), Option<Vec<u8>>> = HashMap::new();
        let mut state = 3_u64;
        let mut next = move |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % n
        };
        let (mut known, mut unknown) = (0, 0);
        for _ in 0..200_000 {
            let owner = u32::try_from(next(2)).unwrap();
            let key = next(3000).to_string().into_bytes();
            if next(3) == 0 {
                let value = (next(5) > 0).then(|| vec![u8::try_from(next(256)).unwrap(); next(120)]);
                cache.put(owner, &key, value.as_deref());
                newest.insert((owner, key), value);
            } else if let Some(row) = get(&cache, owner, &key) {
                assert_eq!(Some(&row), newest.get(&(owner, key)));
                known += 1;
            } else {
                unknown += 1;
            }
        }
        assert!(known > 10_000 && unknown > 10_000, "{known} {unknown}");
        assert!(cache.bytes() < 64 * 2048 * 2);
    }

    #[test]
    fn many_at_once_equal_one_by_one() {
        let (many, single) =
            (RowCache::new(64 * 4096), RowCache { hasher: DefaultHashBuilder::default(), ..RowCache::new(64 * 4096) });
        let mut state = 9_u64;
        let mut next = move |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % n
        };
        let mut newest: HashMap<Vec<u8>, Option<Vec<u8>>> = HashMap::new();
        let (mut known, mut unknown) = (0, 0);
        for round in 0..300 {
            // The same key several times in one round too.
            let rows: Vec<(Vec<u8>, Option<Vec<u8>>)> = (0..next(900))
                .map(|i| {
                    (
                        next(4000).to_string().into_bytes(),
                        (next(6) > 0).then(|| vec![u8::try_from(i % 251).unwrap(); next(90)]),
                    )
                })
                .collect();
            let given: Vec<_> = rows.iter().map(|(key, value)| (key.as_slice(), value.as_deref())).collect();
            many.put_many(7, &given);
            given.iter().for_each(|(key, value)| single.put(7, key, *value));
            newest.extend(rows.iter().cloned());
            let keys: Vec<Vec<u8>> = (0..next(700)).map(|_| next(5000).to_string().into_bytes()).collect();
            let asked: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let mut answers = vec![0; keys.len()];
            let missed = many.get_many(7, &asked, |i, row| {
                answers[i] += 1;
                assert_eq!(Some(&row.map(<[u8]>::to_vec)), newest.get(&keys[i]), "round {round}");
            });
            known += keys.len() - missed.len();
            unknown += missed.len();
            missed.iter().for_each(|(i, _)| answers[*i] += 1);
            assert!(answers.iter().all(|n| *n == 1), "each key is answered once");
            keys.iter().filter_map(|key| get(&single, 7, key).map(|row| (key, row))).for_each(|(key, row)| {
                assert_eq!(Some(&row), newest.get(key), "round {round}");
            });
        }
        assert!(known > 10_000 && unknown > 10_000, "{known} {unknown}");
    }

    #[test]
    fn an_offer_loses_against_any_write_since_the_miss() {
        let cache = RowCache::new(1 << 20);
        let miss = |key: &[u8]| match cache.get(1, key, |_| ()) {
            Probe::Unknown(ticket) => ticket,
            Probe::Known(()) => panic!("known"),
        };
        let ticket = miss(b"a");
        cache.offer(1, b"a", b"old", ticket);
        assert_eq!(get(&cache, 1, b"a"), Some(Some(b"old".to_vec())));
        let ticket = miss(b"b");
        cache.put(1, b"b", None);
        cache.offer(1, b"b", b"old", ticket);
        assert_eq!(get(&cache, 1, b"b"), Some(None));
        let ticket = miss(b"large");
        cache.put(1, b"large", Some(&[1; 100_000]));
        cache.offer(1, b"large", b"old", ticket);
        assert_eq!(get(&cache, 1, b"large"), None);
        // The write of `c` is pushed out again before the offer comes: it must not bring the old row back.
        let ticket = miss(b"c");
        cache.put(1, b"c", Some(b"new"));
        for i in 0..100_000_u32 {
            cache.put(1, &i.to_le_bytes(), Some(&[0; 64]));
        }
        assert_eq!(get(&cache, 1, b"c"), None);
        cache.offer(1, b"c", b"old", ticket);
        assert_eq!(get(&cache, 1, b"c"), None);
    }

    #[test]
    fn a_cache_of_nothing_and_an_oversized_row_are_harmless() {
        let none = RowCache::new(0);
        none.put(1, b"a", Some(b"1"));
        assert_eq!(get(&none, 1, b"a"), None);
        let small = RowCache::new(64 << 10);
        small.put(1, b"a", Some(b"1"));
        small.put(1, b"a", Some(&[0; 100_000]));
        assert_eq!(get(&small, 1, b"a"), None);
    }
}
