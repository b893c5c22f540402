//! What becomes of a key's row when a new one arrives. Pure.

mod last_row;

/// How a table merges rows of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MergeEngine {
    /// The newest row wins; a delete removes the key.
    #[default]
    LastRow,
}

/// The decision for one incoming row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing changes and nothing is logged.
    Keep,
    /// The incoming row becomes the key's row.
    Put,
    /// The key goes.
    Delete,
}

impl MergeEngine {
    /// Decides for one incoming row (`upsert`) or delete (`!upsert`) of a key that has a row or not (`present`).
    #[must_use]
    pub fn decide(self, present: bool, upsert: bool) -> Outcome {
        match self {
            Self::LastRow => last_row::decide(present, upsert),
        }
    }
}
