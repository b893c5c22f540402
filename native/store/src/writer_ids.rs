//! Ids of idempotent writers: each is given once in a store's life, whatever crashes.
//!
//! The file `writer-ids` holds a number below which all may have been given. It is moved on in steps, so that most ids cost no write.

use sluice_base::{Clock, Error, ErrorKind, Fs, Result};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

const FILE: &str = "writer-ids";
const MAGIC: &str = "SLUICE-WRITERS 1";
const STEP: i64 = 1000;

/// Gives ids.
#[derive(Debug)]
pub(crate) struct WriterIds {
    path: PathBuf,
    state: Mutex<Option<State>>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    next: i64,
    /// The number in the file.
    reserved: i64,
}

impl WriterIds {
    pub(crate) fn new(root: &std::path::Path) -> Self {
        Self { path: root.join(FILE), state: Mutex::new(None) }
    }

    /// A new id, from 0 up.
    ///
    /// # Errors
    /// `Corrupt` naming the file; `Io`, `Busy` about `Disk`.
    pub(crate) fn next(&self, fs: &Arc<dyn Fs>, clock: &dyn Clock) -> Result<i64> {
        // Changed by whole assignments only.
        let mut slot = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = match *slot {
            Some(state) => state,
            None => self.load(fs.as_ref(), clock)?,
        };
        if state.next >= state.reserved {
            let reserved = state.next.saturating_add(STEP);
            fs.replace(&self.path, format!("{MAGIC} {reserved}\n").as_bytes())?;
            state.reserved = reserved;
        }
        let id = state.next;
        state.next += 1;
        *slot = Some(state);
        Ok(id)
    }

    /// Without the file the clock says where to begin: behind all ids of a store that lost it, which its logs may still name.
    fn load(&self, fs: &dyn Fs, clock: &dyn Clock) -> Result<State> {
        let bytes = match fs.read(&self.path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let next = clock.now_ms().max(0);
                return Ok(State { next, reserved: next });
            }
            read => read?,
        };
        let text = std::str::from_utf8(&bytes).unwrap_or("").trim_end_matches('\n');
        let number = text.strip_prefix(MAGIC).and_then(|n| n.trim().parse::<i64>().ok()).filter(|n| *n >= 0);
        let next = number.ok_or_else(|| {
            Error::corrupt(format!(
                "{} does not read '{MAGIC} <number>'; remove it to begin a new count",
                self.path.display()
            ))
        })?;
        Ok(State { next, reserved: next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_base::{OsFs, SystemClock};

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
