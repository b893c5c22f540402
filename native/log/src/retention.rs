//! Which segments may go: a pure decision, oldest first.

use sluice_base::Offset;

/// What retention knows of a closed segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Age {
    /// Offset behind its last record.
    pub end: Offset,
    /// Timestamp of its last batch; `None` when it has none.
    pub last_timestamp_ms: Option<i64>,
}

/// Whether a closed segment may go: all of it is older than the time to live and nobody needs any of it.
/// Without a time to live nothing goes.
pub(crate) fn may_go(age: Age, now_ms: i64, ttl_ms: Option<i64>, keep_from: Offset) -> bool {
    let expired = |ttl: i64| age.last_timestamp_ms.is_none_or(|last| last.saturating_add(ttl) < now_ms);
    age.end <= keep_from && ttl_ms.is_some_and(expired)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_goes_when_its_last_batch_is_too_old_and_nobody_needs_it() {
        let age = Age { end: 100, last_timestamp_ms: Some(1_000) };
        for (now, ttl, keep_from, goes) in [
            (2_000, Some(999), 100, true),
            (2_000, Some(1_000), 100, false),
            (2_000, Some(0), 100, true),
            (2_000, Some(999), 99, false),
            (i64::MAX, None, 100, false),
            (2_000, Some(i64::MAX), 100, false),
            (0, Some(5), 100, false),
        ] {
            assert_eq!(may_go(age, now, ttl, keep_from), goes, "now {now}, ttl {ttl:?}, keep from {keep_from}");
        }
        assert!(may_go(Age { end: 7, last_timestamp_ms: None }, 0, Some(1 << 40), 7));
    }
}
