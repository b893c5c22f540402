//! Where a shard of the row cache has its entries: a table from hashes to places, one cache line a probe.
//!
//! The half of a hash that decides where a slot stands is kept in the slot, so neither growing nor removing touches an entry.

/// The half of the hash, then the place plus one; zero is empty.
const EMPTY: u64 = 0;
const FIRST_SLOTS: usize = 64;

/// Open addressing, the next free slot being taken.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    slots: Vec<u64>,
    live: usize,
}

const fn half(hash: u64) -> u64 {
    hash << 32
}

const fn place(slot: u64) -> Option<u32> {
    // The low half alone.
    #[expect(clippy::cast_possible_truncation)]
    (slot as u32).checked_sub(1)
}

impl Slots {
    fn mask(&self) -> usize {
        self.slots.len().wrapping_sub(1)
    }

    fn home(&self, slot: u64) -> usize {
        // Smaller than the table.
        usize::try_from(slot >> 32).unwrap_or(0) & self.mask()
    }

    fn at(&self, i: usize) -> u64 {
        self.slots.get(i & self.mask()).copied().unwrap_or(EMPTY)
    }

    fn set(&mut self, i: usize, slot: u64) {
        let i = i & self.mask();
        if let Some(s) = self.slots.get_mut(i) {
            *s = slot;
        }
    }

    /// The first place that may be the one of a hash; mostly it is. Waits for memory once, and for several hashes at the same time.
    pub(crate) fn guess(&self, hash: u64) -> Option<u32> {
        let slot = self.at(self.home(half(hash)));
        if slot >> 32 == half(hash) >> 32 { place(slot) } else { None }
    }

    fn position(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<(usize, u32)> {
        let mut i = self.home(half(hash));
        // A free slot ends each search, for the table is never full.
        while let slot @ 1.. = self.at(i) {
            if slot >> 32 == half(hash) >> 32
                && let Some(place) = place(slot)
                && is(place)
            {
                return Some((i & self.mask(), place));
            }
            i += 1;
        }
        None
    }

    /// The place of a hash which `is` takes for the wanted one.
    pub(crate) fn find(&self, hash: u64, is: impl FnMut(u32) -> bool) -> Option<u32> {
        self.position(hash, is).map(|(_, place)| place)
    }

    /// Adds a place that is not there yet.
    pub(crate) fn insert(&mut self, hash: u64, place: u32) {
        if (self.live + 1) * 3 > self.slots.len() * 2 {
            let wanted = (self.slots.len() * 2).max(FIRST_SLOTS);
            let old = std::mem::replace(&mut self.slots, vec![EMPTY; wanted]);
            for slot in old.into_iter().filter(|s| *s != EMPTY) {
                self.put(slot);
            }
        }
        self.put(half(hash) | (u64::from(place) + 1));
        self.live += 1;
    }

    fn put(&mut self, slot: u64) {
        let mut i = self.home(slot);
        while self.at(i) != EMPTY {
            i += 1;
        }
        self.set(i, slot);
    }

    /// Takes a place out, if it is there.
    pub(crate) fn remove(&mut self, hash: u64, place: u32) {
        let Some((mut hole, _)) = self.position(hash, |p| p == place) else { return };
        self.live -= 1;
        let mut i = hole + 1;
        // What stands behind the hole moves up, unless it would come to stand before its home.
        while let slot @ 1.. = self.at(i) {
            let from_home = i.wrapping_sub(self.home(slot)) & self.mask();
            if from_home >= i.wrapping_sub(hole) & self.mask() {
                self.set(hole, slot);
                hole = i;
            }
            i += 1;
        }
        self.set(hole, EMPTY);
    }

    /// Bytes of memory taken.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn equals_a_set_of_pairs_whatever_the_hashes() {
        let mut state = 7_u64;
        let mut next = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        // Few hashes: long runs of equals, also round the table's end; all halves equal; then many.
        for hashes in
            [vec![0, 1, 63, u64::MAX, 1 << 32], vec![5, 5 | 1 << 40], (0..3000).map(|i| i * 0x9E37_79B9).collect()]
        {
            let (mut slots, mut model) = (Slots::default(), BTreeSet::new());
            for _ in 0..30_000 {
                let hash = hashes[usize::try_from(next(hashes.len() as u64)).unwrap()];
                let place = u32::try_from(next(400)).unwrap();
                let there = slots.find(hash, |p| p == place).is_some();
                // Hashes of the same half are one to the table.
                assert_eq!(there, model.contains(&(hash << 32, place)), "{hash} {place}");
                if next(5) < 2 {
                    slots.remove(hash, place);
                    model.remove(&(hash << 32, place));
                } else if !there {
                    slots.insert(hash, place);
                    model.insert((hash << 32, place));
                }
                assert_eq!(slots.live, model.len());
                if let Some(place) = slots.guess(hash) {
                    assert!(model.contains(&(hash << 32, place)));
                }
            }
            for (half, place) in model {
                slots.remove(half >> 32, place);
            }
            assert!(slots.live == 0 && slots.slots.iter().all(|s| *s == EMPTY));
        }
    }

    #[test]
    fn an_empty_table_finds_nothing() {
        let mut slots = Slots::default();
        assert_eq!(slots.guess(3), None);
        assert_eq!(slots.find(3, |_| true), None);
        slots.remove(3, 1);
        assert_eq!(slots.bytes(), 0);
    }
}
