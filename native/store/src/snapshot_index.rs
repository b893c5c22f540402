//! The file that lists a bucket's snapshots and who holds them.
//!
//! Layout, little-endian: magic `SLSN`, version u16, next id u64, snapshot count u32, each (id u64, offset i64, rows i64),
//! lease count u32, each (snapshot u64, until i64 ms, name length u16, name UTF-8); CRC-32C u32 of all before it.

use sluice_base::{Error, Offset, Result, Subject};
use std::collections::BTreeMap;
use std::path::Path;

const MAGIC: &[u8; 4] = b"SLSN";
const VERSION: u16 = 1;

/// One snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) offset: Offset,
    pub(crate) rows: i64,
}

/// Who holds a snapshot until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) snapshot: u64,
    pub(crate) name: String,
    pub(crate) until_ms: i64,
}

/// All snapshots of a bucket and their leases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SnapshotIndex {
    pub(crate) next_id: u64,
    pub(crate) snapshots: BTreeMap<u64, Snapshot>,
    pub(crate) leases: Vec<Lease>,
}

impl SnapshotIndex {
    /// Gives (or extends) a lease; the same holder's lease of an older snapshot of this bucket stays.
    pub(crate) fn hold(&mut self, snapshot: u64, name: &str, until_ms: i64) {
        if !self.leases.iter().any(|l| l.snapshot == snapshot && l.name == name) {
            self.leases.push(Lease { snapshot, name: name.to_owned(), until_ms });
        }
        self.renew(name, until_ms);
    }

    /// All that `name` holds is kept until then.
    pub(crate) fn renew(&mut self, name: &str, until_ms: i64) {
        for lease in self.leases.iter_mut().filter(|l| l.name == name) {
            lease.until_ms = until_ms;
        }
    }

    /// What `name` holds of the newest snapshot of all that it holds, and until when.
    pub(crate) fn newest_of(&self, name: &str) -> Option<&Lease> {
        self.leases.iter().filter(|l| l.name == name).max_by_key(|l| l.snapshot)
    }

    /// Forgets snapshots without a lease, but the newest.
    pub(crate) fn drop_unheld(&mut self) {
        let newest = self.snapshots.last_key_value().map(|(id, _)| *id);
        let Self { snapshots, leases, .. } = self;
        snapshots.retain(|id, _| Some(*id) == newest || leases.iter().any(|l| l.snapshot == *id));
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend(self.next_id.to_le_bytes());
        out.extend(count(self.snapshots.len()).to_le_bytes());
        for (id, snapshot) in &self.snapshots {
            out.extend(id.to_le_bytes());
            out.extend(snapshot.offset.to_le_bytes());
            out.extend(snapshot.rows.to_le_bytes());
        }
        out.extend(count(self.leases.len()).to_le_bytes());
        for lease in &self.leases {
            let name = lease.name.as_bytes().get(..usize::from(u16::MAX)).unwrap_or(lease.name.as_bytes());
            out.extend(lease.snapshot.to_le_bytes());
            out.extend(lease.until_ms.to_le_bytes());
            out.extend(u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes());
            out.extend(name);
        }
        out.extend(crc32c::crc32c(&out).to_le_bytes());
        out
    }

    pub(crate) fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let bad = |what: &str| Error::corrupt(format!("{} {what}", path.display()));
        let Some((body, crc)) = bytes.split_last_chunk::<4>() else { return Err(bad("is too short")) };
        let mut rest = Rest(body);
        if rest.take::<4>() != Some(*MAGIC) {
            return Err(bad("is not a list of snapshots"));
        }
        match rest.take().map(u16::from_le_bytes) {
            Some(VERSION) => {}
            Some(newer) => {
                let what = format!("{} has format version {newer}, this release reads {VERSION}", path.display());
                return Err(Error::unsupported(Subject::File, what));
            }
            None => return Err(bad("is too short")),
        }
        if crc32c::crc32c(body) != u32::from_le_bytes(*crc) {
            return Err(bad("has a wrong checksum"));
        }
        rest.index().ok_or_else(|| bad("is too short"))
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>()?;
        self.0 = tail;
        Some(*head)
    }

    fn index(&mut self) -> Option<SnapshotIndex> {
        let mut index = SnapshotIndex { next_id: u64::from_le_bytes(self.take()?), ..SnapshotIndex::default() };
        for _ in 0..u32::from_le_bytes(self.take()?) {
            let id = u64::from_le_bytes(self.take()?);
            let offset = i64::from_le_bytes(self.take()?);
            index.snapshots.insert(id, Snapshot { offset, rows: i64::from_le_bytes(self.take()?) });
        }
        for _ in 0..u32::from_le_bytes(self.take()?) {
            let snapshot = u64::from_le_bytes(self.take()?);
            let until_ms = i64::from_le_bytes(self.take()?);
            let bytes = usize::from(u16::from_le_bytes(self.take()?));
            let (name, tail) = self.0.split_at_checked(bytes)?;
            self.0 = tail;
            index.leases.push(Lease { snapshot, name: String::from_utf8_lossy(name).into_owned(), until_ms });
        }
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> SnapshotIndex {
        let mut index = SnapshotIndex { next_id: 4, ..SnapshotIndex::default() };
        for id in 1..4 {
            index.snapshots.insert(id, Snapshot { offset: i64::try_from(id).unwrap() * 10, rows: 7 });
        }
        index.hold(2, "job ü", 500);
        index
    }

    #[test]
    fn the_bytes_of_version_1_stay() {
        let mut index = SnapshotIndex { next_id: 3, ..SnapshotIndex::default() };
        index.snapshots.insert(2, Snapshot { offset: 0x0102, rows: -1 });
        index.hold(2, "job", 500);
        let hex: String = index.to_bytes().iter().map(|b| format!("{b:02x}")).collect();
        let golden = [
            "534c534e",
            "0100",
            "0300000000000000",
            "01000000",
            "0200000000000000",
            "0201000000000000",
            "ffffffffffffffff",
            "01000000",
            "0200000000000000",
            "f401000000000000",
            "0300",
            "6a6f62",
        ];
        assert_eq!(hex[..hex.len() - 8], golden.concat());
    }

    #[test]
    fn round_trip() {
        let index = sample();
        assert_eq!(SnapshotIndex::from_bytes(&index.to_bytes(), Path::new("/d/INDEX")).unwrap(), index);
    }

    #[test]
    fn any_flipped_bit_is_refused() {
        let bytes = sample().to_bytes();
        for i in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[i] ^= 1;
            let error = SnapshotIndex::from_bytes(&damaged, Path::new("/d/INDEX")).unwrap_err();
            assert!(error.message().contains("/d/INDEX"), "{error}");
        }
        for cut in 0..bytes.len() {
            assert!(SnapshotIndex::from_bytes(&bytes[..cut], Path::new("/d/INDEX")).is_err());
        }
    }

    #[test]
    fn held_ones_and_the_newest_stay() {
        let mut index = sample();
        index.drop_unheld();
        assert_eq!(index.snapshots.keys().copied().collect::<Vec<_>>(), [2, 3]);
        index.leases.clear();
        index.drop_unheld();
        assert_eq!(index.snapshots.keys().copied().collect::<Vec<_>>(), [3]);
    }
}
