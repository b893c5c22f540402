//! The default engine: the newest row wins.

use super::Outcome;

/// An upsert always counts, also when the row is byte for byte the old one; deleting an absent key does nothing.
pub(super) fn decide(present: bool, upsert: bool) -> Outcome {
    match (upsert, present) {
        (true, _) => Outcome::Put,
        (false, true) => Outcome::Delete,
        (false, false) => Outcome::Keep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions() {
        assert_eq!(decide(false, true), Outcome::Put);
        assert_eq!(decide(true, true), Outcome::Put);
        assert_eq!(decide(true, false), Outcome::Delete);
        assert_eq!(decide(false, false), Outcome::Keep);
    }
}
