//! The last errors, for those who look: few, short, each kind once with a count.

use sluice_base::{Clock, SystemClock};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// As many are kept.
const TROUBLES_MAX: usize = 64;
/// So much of a message is kept.
const MESSAGE_CHARS_MAX: usize = 400;

/// One error, or several that are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// When it was last seen, ms since 1970.
    pub(crate) at_ms: i64,
    pub(crate) times: u64,
    /// What was asked.
    pub(crate) what: String,
    /// Who asked, if that is known.
    pub(crate) client: String,
    pub(crate) message: String,
}

/// The errors of a server, newest last.
#[derive(Debug, Default)]
pub(crate) struct Troubles(Mutex<VecDeque<Trouble>>);

impl Troubles {
    pub(crate) fn note(&self, what: &str, client: &str, message: &str) {
        let message: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
        // Whole entries, whatever panicked.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = kept.iter().position(|t| t.what == what && t.client == client && t.message == message);
        let times = same.and_then(|at| kept.remove(at)).map_or(1, |before| before.times.saturating_add(1));
        if kept.len() == TROUBLES_MAX {
            kept.pop_front();
        }
        let (what, client) = (what.to_owned(), client.to_owned());
        kept.push_back(Trouble { at_ms: SystemClock.now_ms(), times, what, client, message });
    }

    /// All that are kept, newest first.
    pub(crate) fn newest_first(&self) -> Vec<Trouble> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_kept_and_equal_ones_once() {
        let troubles = Troubles::default();
        for i in 0..1000 {
            troubles.note("Lookup", "a", "the same");
            troubles.note("Lookup", "a", &format!("{i} {}", "x".repeat(10_000)));
        }
        let kept = troubles.newest_first();
        assert_eq!(kept.len(), TROUBLES_MAX);
        assert!(kept.iter().all(|t| t.message.len() <= MESSAGE_CHARS_MAX));
        assert!(kept[0].message.starts_with("999 "));
        assert_eq!((kept[1].message.as_str(), kept[1].times), ("the same", 1000));
    }
}
