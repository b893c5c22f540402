//! A count that gives no number twice in a store's life, whatever crashes.
//!
//! Its file reads `<magic> <number>`, replaced as a whole: all below the number may have been given. It is moved on in steps, so that most
//! numbers cost no write.

use sluice_base::{Error, ErrorKind, Fs, Result};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Gives numbers.
#[derive(Debug)]
pub(crate) struct Counter {
    path: PathBuf,
    magic: &'static str,
    /// What to do when the file is damaged.
    cure: &'static str,
    state: Mutex<Option<State>>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    next: i64,
    /// The number in the file.
    reserved: i64,
}

/// How many numbers are wanted, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Take {
    /// So many that follow one another.
    pub(crate) count: i64,
    /// So many are reserved at once.
    pub(crate) step: i64,
    /// The greatest that may be given.
    pub(crate) max: i64,
}

impl Counter {
    pub(crate) const fn new(path: PathBuf, magic: &'static str, cure: &'static str) -> Self {
        Self { path, magic, cure, state: Mutex::new(None) }
    }

    /// The first of some numbers; `None` when so many are no longer left. `missing` says where to begin without the file.
    ///
    /// # Errors
    /// `Corrupt` naming the file; `Io`, `Busy` about `Disk`; those of `missing`.
    pub(crate) fn take(&self, fs: &dyn Fs, take: Take, missing: impl FnOnce() -> Result<i64>) -> Result<Option<i64>> {
        let mut slot = self.lock();
        let mut state = match *slot {
            Some(state) => state,
            None => self.load(fs, missing)?,
        };
        // One above the greatest cannot be said of the greatest number there is, which therefore is not given.
        let limit = take.max.saturating_add(1);
        let Some(end) = state.next.checked_add(take.count).filter(|end| *end <= limit) else { return Ok(None) };
        if end > state.reserved {
            let reserved = state.next.saturating_add(take.step).clamp(end, limit);
            self.save(fs, reserved)?;
            state.reserved = reserved;
        }
        let first = state.next;
        state.next = end;
        *slot = Some(state);
        Ok(Some(first))
    }

    /// Writes the file of a new count.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn begin(&self, fs: &dyn Fs, first: i64) -> Result<()> {
        self.save(fs, first)
    }

    /// Gives back what is reserved and not given, when nobody will ask again before the file is read anew.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`: then those numbers are never given.
    pub(crate) fn end(&self, fs: &dyn Fs) -> Result<()> {
        match self.lock().take() {
            Some(state) if state.next < state.reserved => self.save(fs, state.next),
            _ => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        // Changed by whole assignments only.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save(&self, fs: &dyn Fs, number: i64) -> Result<()> {
        fs.replace(&self.path, format!("{} {number}\n", self.magic).as_bytes())
    }

    fn load(&self, fs: &dyn Fs, missing: impl FnOnce() -> Result<i64>) -> Result<State> {
        let bytes = match fs.read(&self.path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let next = missing()?;
                return Ok(State { next, reserved: next });
            }
            read => read?,
        };
        let text = std::str::from_utf8(&bytes).unwrap_or("").trim_end_matches('\n');
        let number = text.strip_prefix(self.magic).and_then(|n| n.trim().parse::<i64>().ok()).filter(|n| *n >= 0);
        let next = number.ok_or_else(|| {
            Error::corrupt(format!("{} does not read '{} <number>'; {}", self.path.display(), self.magic, self.cure))
        })?;
        Ok(State { next, reserved: next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_base::OsFs;

    fn none() -> Result<i64> {
        Err(Error::internal("the file is there"))
    }

    #[test]
    fn what_is_reserved_is_given_once_and_given_back_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let open = || Counter::new(dir.path().join("c"), "COUNT 1", "remove it");
        let some = |count| Take { count, step: 10, max: 40 };
        let first = open();
        first.begin(&OsFs, 1).unwrap();
        assert_eq!(first.take(&OsFs, some(3), none).unwrap(), Some(1));
        assert_eq!(first.take(&OsFs, some(1), none).unwrap(), Some(4));
        // Not ended: what was reserved is lost.
        let second = open();
        assert_eq!(second.take(&OsFs, some(1), none).unwrap(), Some(11));
        second.end(&OsFs).unwrap();
        let third = open();
        assert_eq!(third.take(&OsFs, some(25), none).unwrap(), Some(12), "more than a step");
        assert_eq!(third.take(&OsFs, some(5), none).unwrap(), None);
        assert_eq!(third.take(&OsFs, some(4), none).unwrap(), Some(37), "up to the greatest");
        assert_eq!(third.take(&OsFs, some(1), none).unwrap(), None);
        third.end(&OsFs).unwrap();
        assert_eq!(open().take(&OsFs, some(1), none).unwrap(), None);
    }

    #[test]
    fn a_missing_or_strange_file_is_told_of() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c");
        let take = || {
            Counter::new(path.clone(), "COUNT 1", "remove it").take(
                &OsFs,
                Take { count: 1, step: 1, max: i64::MAX },
                || Ok(7),
            )
        };
        assert_eq!(take().unwrap(), Some(7));
        for strange in ["", "COUNT 2 5\n", "COUNT 1 -5\n", "COUNT 1 five\n"] {
            std::fs::write(&path, strange).unwrap();
            let e = take().unwrap_err();
            assert!(e.kind() == ErrorKind::Corrupt && e.message().contains("COUNT 1 <number>"), "{e}");
        }
    }
}
