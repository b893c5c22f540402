//! Engines that choose between whole rows, and what a delete does.

/// How a table merges rows of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MergeEngine {
    /// The newest row wins.
    #[default]
    LastRow,
    /// The oldest row wins.
    FirstRow,
    /// The row with the highest version wins; of equal ones the newest.
    Versioned {
        /// Position of the version's column.
        column: usize,
    },
    /// Each column has a function of its own.
    Aggregation,
}

/// What a delete does to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeleteBehavior {
    /// The key goes; a partial delete sets its columns to NULL.
    #[default]
    Allow,
    /// Nothing.
    Ignore,
    /// The request is refused.
    Disable,
    /// What the row brought in is taken back out of each column's aggregate, also for the row before an update.
    Retract,
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
    /// Decides for one incoming row of a key that has a row or not (`present`). `versions` are those of the stored and of the incoming row
    /// and only looked at by [`MergeEngine::Versioned`]; NULL is the lowest.
    #[must_use]
    pub fn decide(self, present: bool, versions: (Option<i64>, Option<i64>)) -> Outcome {
        match self {
            Self::FirstRow if present => Outcome::Keep,
            Self::Versioned { .. } if present && versions.1 < versions.0 => Outcome::Keep,
            // An upsert always counts, also when the row is byte for byte the old one.
            _ => Outcome::Put,
        }
    }
}

impl DeleteBehavior {
    /// Decides for one delete. Of an absent key it is no change.
    #[must_use]
    pub fn decide(self, present: bool) -> Outcome {
        if present && self == Self::Allow { Outcome::Delete } else { Outcome::Keep }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: (Option<i64>, Option<i64>) = (None, None);

    #[test]
    fn the_last_row_wins_even_if_it_is_equal() {
        for present in [false, true] {
            assert_eq!(MergeEngine::LastRow.decide(present, ANY), Outcome::Put);
        }
    }

    #[test]
    fn the_first_row_stays() {
        assert_eq!(MergeEngine::FirstRow.decide(false, ANY), Outcome::Put);
        assert_eq!(MergeEngine::FirstRow.decide(true, ANY), Outcome::Keep);
    }

    #[test]
    fn versions_decide_null_is_lowest_and_equal_replaces() {
        let engine = MergeEngine::Versioned { column: 1 };
        for (stored, incoming, due) in [
            (Some(1000), Some(999), Outcome::Keep),
            (Some(1000), Some(1000), Outcome::Put),
            (Some(1000), Some(1001), Outcome::Put),
            (Some(i64::MIN), None, Outcome::Keep),
            (None, None, Outcome::Put),
            (None, Some(-5), Outcome::Put),
        ] {
            assert_eq!(engine.decide(true, (stored, incoming)), due, "{stored:?} {incoming:?}");
        }
        assert_eq!(engine.decide(false, (None, None)), Outcome::Put);
    }

    #[test]
    fn only_an_allowed_delete_of_a_row_that_is_there_deletes() {
        use DeleteBehavior::{Allow, Disable, Ignore, Retract};
        for behavior in [Allow, Ignore, Disable, Retract] {
            assert_eq!(behavior.decide(false), Outcome::Keep);
            let due = if behavior == Allow { Outcome::Delete } else { Outcome::Keep };
            assert_eq!(behavior.decide(true), due);
        }
    }
}
