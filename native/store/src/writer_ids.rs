//! Ids of idempotent writers: each is given once in a store's life, whatever crashes.

use crate::counter::{Counter, Take};
use sluice_base::{Clock, Error, Fs, Result, Subject};
use std::sync::Arc;

const FILE: &str = "writer-ids";
const MAGIC: &str = "SLUICE-WRITERS 1";
const STEP: i64 = 1000;

/// Gives ids.
#[derive(Debug)]
pub(crate) struct WriterIds(Counter);

impl WriterIds {
    pub(crate) fn new(root: &std::path::Path) -> Self {
        Self(Counter::new(root.join(FILE), MAGIC, "remove it to begin a new count"))
    }

    /// A new id, from 0 up.
    ///
    /// # Errors
    /// `Corrupt` naming the file; `Io`, `Busy` about `Disk`.
    pub(crate) fn next(&self, fs: &Arc<dyn Fs>, clock: &dyn Clock) -> Result<i64> {
        // Without the file the clock says where to begin: behind all ids of a store that lost it, which its logs may still name.
        let missing = || Ok(clock.now_ms().max(0));
        let one = Take { count: 1, step: STEP, max: i64::MAX };
        let id = self.0.take(fs.as_ref(), one, missing)?;
        id.ok_or_else(|| Error::unsupported(Subject::Writer, "the store has given all ids of writers that there are"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_base::{ErrorKind, OsFs, SystemClock};

    #[test]
    fn no_id_is_given_twice() {
        let dir = tempfile::tempdir().unwrap();
        let fs: Arc<dyn Fs> = Arc::new(OsFs);
        let first = WriterIds::new(dir.path());
        let mut last = first.next(&fs, &SystemClock).unwrap();
        for _ in 0..STEP + 5 {
            let id = first.next(&fs, &SystemClock).unwrap();
            assert_eq!(id, last + 1);
            last = id;
        }
        let again = WriterIds::new(dir.path());
        assert!(again.next(&fs, &SystemClock).unwrap() > last, "after a crash");
        fs.replace(&dir.path().join(FILE), b"nonsense").unwrap();
        let e = WriterIds::new(dir.path()).next(&fs, &SystemClock).unwrap_err();
        assert!(e.kind() == ErrorKind::Corrupt && e.message().contains(FILE), "{e}");
    }
}
