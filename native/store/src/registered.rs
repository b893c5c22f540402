//! The file `producer-offsets`: offsets that clients leave under the name of a producer, for whoever goes on in its name, until a time.
//!
//! The store makes nothing of them. The file is replaced whole; what is over goes with the next change.

use crate::sealed::Sealed;
use serde::{Deserialize, Serialize};
use sluice_base::{Error, ErrorKind, Fs, Offset, PartitionId, Result, Subject, TableBucket, TableId};
use std::collections::BTreeMap;
use std::path::Path;

const FILE: &str = "producer-offsets";
const SEALED: Sealed = Sealed {
    name: FILE,
    magic: "SLUICE-OFFSETS",
    oldest: 1,
    version: 1,
    cure: "put the file back from a backup, or remove it: then sinks that go on after a failure cannot tell where they began",
};
/// As long as a file name, which is what other servers of the protocol keep it as.
const ID_BYTES_MAX: usize = 255;

/// What is kept under one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredOffsets {
    /// Until when, ms since 1970.
    pub expires_ms: i64,
    buckets: Vec<(i64, Option<i64>, i32, Offset)>,
}

impl RegisteredOffsets {
    pub(crate) fn new(expires_ms: i64, offsets: &[(TableBucket, Offset)]) -> Self {
        let bucket = |(b, offset): &(TableBucket, Offset)| (b.table.0, b.partition.map(|p| p.0), b.bucket, *offset);
        Self { expires_ms, buckets: offsets.iter().map(bucket).collect() }
    }

    /// The offsets.
    #[must_use]
    pub fn offsets(&self) -> Vec<(TableBucket, Offset)> {
        let bucket = |(table, partition, bucket, offset): &(i64, Option<i64>, i32, Offset)| {
            (TableBucket { table: TableId(*table), partition: partition.map(PartitionId), bucket: *bucket }, *offset)
        };
        self.buckets.iter().map(bucket).collect()
    }
}

/// All names that are kept.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Registered(BTreeMap<String, RegisteredOffsets>);

impl Registered {
    /// What is kept and not over; nothing where there is no file.
    ///
    /// # Errors
    /// `Corrupt` naming the file; `Unsupported` about `Store` when a newer version wrote it; `Io`.
    pub(crate) fn load(fs: &dyn Fs, root: &Path, now_ms: i64) -> Result<Self> {
        let path = root.join(FILE);
        let bytes = match fs.read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            read => read?,
        };
        let body = SEALED.unseal(&path, &bytes)?;
        let mut all: Self = serde_json::from_slice(body)
            .map_err(|e| SEALED.damaged(&path, "its content cannot be read").with_source(e))?;
        all.0.retain(|_, offsets| offsets.expires_ms > now_ms);
        Ok(all)
    }

    /// Durable when it returns.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn save(&self, fs: &dyn Fs, root: &Path) -> Result<()> {
        let body = serde_json::to_vec(self)
            .map_err(|e| Error::internal("the offsets of producers have no JSON form").with_source(e))?;
        fs.replace(&root.join(FILE), &SEALED.seal(&body))
    }

    /// Keeps offsets under a name that has none; whether it had none.
    ///
    /// # Errors
    /// `Invalid` about `Writer` for an unfit name.
    pub(crate) fn add(&mut self, id: &str, offsets: RegisteredOffsets) -> Result<bool> {
        if id.trim().is_empty() || id.len() > ID_BYTES_MAX || id.contains(['/', '\\', '\0']) || id == "." || id == ".."
        {
            let message =
                format!("'{id}' cannot be the id of a producer: it must have 1 to {ID_BYTES_MAX} bytes and no slash");
            return Err(Error::invalid(Subject::Writer, message));
        }
        if self.0.contains_key(id) {
            return Ok(false);
        }
        self.0.insert(id.to_owned(), offsets);
        Ok(true)
    }

    pub(crate) fn take(&mut self, id: &str) -> Option<RegisteredOffsets> {
        self.0.remove(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_base::OsFs;

    #[test]
    fn names_are_kept_until_they_are_over() {
        let dir = tempfile::tempdir().unwrap();
        let bucket = |partition| TableBucket { table: TableId(7), partition, bucket: 2 };
        let offsets = [(bucket(None), 5), (bucket(Some(PartitionId(3))), 0)];
        let mut all = Registered::load(&OsFs, dir.path(), 0).unwrap();
        assert!(all.add("job", RegisteredOffsets::new(100, &offsets)).unwrap());
        assert!(!all.add("job", RegisteredOffsets::new(900, &[])).unwrap());
        for bad in ["", " ", "a/b", "..", &"x".repeat(256)] {
            assert_eq!(all.add(bad, RegisteredOffsets::new(1, &[])).unwrap_err().subject(), Subject::Writer, "{bad:?}");
        }
        all.save(&OsFs, dir.path()).unwrap();
        let mut again = Registered::load(&OsFs, dir.path(), 99).unwrap();
        assert_eq!(again.take("job").unwrap().offsets(), offsets);
        assert_eq!(again.take("job"), None);
        assert_eq!(Registered::load(&OsFs, dir.path(), 100).unwrap().take("job"), None);
        let mut damaged = OsFs.read(&dir.path().join(FILE)).unwrap();
        *damaged.last_mut().unwrap() ^= 1;
        OsFs.replace(&dir.path().join(FILE), &damaged).unwrap();
        let e = Registered::load(&OsFs, dir.path(), 0).unwrap_err();
        assert!(e.kind() == ErrorKind::Corrupt && e.message().contains(FILE), "{e}");
    }

    #[test]
    fn the_bytes_of_version_1_stay() {
        let dir = tempfile::tempdir().unwrap();
        let mut all = Registered::default();
        let bucket = TableBucket { table: TableId(7), partition: None, bucket: 2 };
        all.add("job", RegisteredOffsets::new(100, &[(bucket, 5)])).unwrap();
        all.save(&OsFs, dir.path()).unwrap();
        let text = String::from_utf8(OsFs.read(&dir.path().join(FILE)).unwrap()).unwrap();
        let (line, body) = text.split_once('\n').unwrap();
        assert!(line.starts_with("SLUICE-OFFSETS 1 "), "{line}");
        assert_eq!(body, r#"{"job":{"expires_ms":100,"buckets":[[7,null,2,5]]}}"#);
    }
}
