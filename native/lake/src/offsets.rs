//! How far each bucket's log is in the lake, as a snapshot's properties record it.
//!
//! Every snapshot of ours names all buckets ever tiered, so the newest one alone tells where to go on.

use crate::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use sluice_base::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// The property that holds the offsets as JSON.
pub(crate) const PROPERTY: &str = "sluice.offsets";
const VERSION: u32 = 1;

/// A partition of the log. One that is dropped and made again has the same name, another id, and offsets that begin anew.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LakePartition {
    /// Its name: its values with `$` between them.
    pub name: String,
    /// Its id.
    pub id: i64,
}

/// A bucket of the log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LakeBucket {
    /// Its partition; `None` for a table without partitions.
    pub partition: Option<LakePartition>,
    /// The bucket's number.
    pub bucket: i32,
}

impl fmt::Display for LakeBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.partition {
            Some(partition) => write!(f, "bucket {} of partition {}", self.bucket, partition.name),
            None => write!(f, "bucket {}", self.bucket),
        }
    }
}

/// For each bucket the offsets of the round that moved it last: its log up to the end (exclusive) is in the lake.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LakeOffsets(BTreeMap<LakeBucket, Recorded>);

/// What is recorded of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Recorded {
    range: Range<i64>,
    /// What its offsets are counted from in sequence numbers.
    base: i64,
}

#[derive(Serialize, Deserialize)]
struct Json {
    version: u32,
    buckets: Vec<BucketJson>,
}

#[derive(Serialize, Deserialize)]
struct BucketJson {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition_id: Option<i64>,
    bucket: i32,
    start: i64,
    end: i64,
    #[serde(default, skip_serializing_if = "is_zero")]
    base: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(base: &i64) -> bool {
    *base == 0
}

impl LakeOffsets {
    /// Up to where (exclusive) a bucket's log is in the lake; `None` when none of it is.
    #[must_use]
    pub fn end(&self, bucket: &LakeBucket) -> Option<i64> {
        self.0.get(bucket).map(|recorded| recorded.range.end)
    }

    /// What the offsets of a bucket are counted from in sequence numbers: behind those of all partitions that had its name before, so that
    /// rows of one key are merged in the order in which they came.
    #[must_use]
    pub fn sequence_base(&self, bucket: &LakeBucket) -> i64 {
        if let Some(recorded) = self.0.get(bucket) {
            return recorded.base;
        }
        let Some(partition) = &bucket.partition else { return 0 };
        let named = |of: &LakeBucket| of.partition.as_ref().is_some_and(|p| p.name == partition.name);
        let former = self.0.iter().filter(|(of, _)| of.bucket == bucket.bucket && named(of));
        former.map(|(_, recorded)| recorded.base + recorded.range.end).max().unwrap_or(0)
    }

    /// All buckets with the range that the round that moved them last brought.
    pub fn iter(&self) -> impl Iterator<Item = (&LakeBucket, &Range<i64>)> {
        self.0.iter().map(|(bucket, recorded)| (bucket, &recorded.range))
    }

    pub(crate) fn set(&mut self, bucket: LakeBucket, range: Range<i64>, base: i64) {
        self.0.insert(bucket, Recorded { range, base });
    }

    /// These offsets, moved on by those of a round.
    pub(crate) fn moved_by(&self, round: &Self) -> Self {
        let mut all = self.0.clone();
        all.extend(round.0.clone());
        Self(all)
    }

    /// What a snapshot records; `None` when it is none of ours.
    ///
    /// # Errors
    /// `Corrupt` when the property is damaged or of a newer version.
    pub(crate) fn of(snapshot: &Snapshot) -> Result<Option<Self>> {
        let Some(text) = snapshot.properties.as_ref().and_then(|p| p.get(PROPERTY)) else { return Ok(None) };
        let damaged = |why: &dyn fmt::Display| {
            Error::corrupt(format!("lake snapshot {}: property '{PROPERTY}' {why}: {text}", snapshot.id))
        };
        let json: Json = serde_json::from_str(text).map_err(|e| damaged(&e))?;
        if json.version != VERSION {
            return Err(damaged(&format_args!("has version {}, this reads {VERSION}", json.version)));
        }
        let entry = |b: BucketJson| {
            let partition = b.partition.map(|name| LakePartition { name, id: b.partition_id.unwrap_or(0) });
            (LakeBucket { partition, bucket: b.bucket }, Recorded { range: b.start..b.end, base: b.base })
        };
        Ok(Some(Self(json.buckets.into_iter().map(entry).collect())))
    }

    pub(crate) fn to_json(&self) -> Result<String> {
        let entry = |(bucket, recorded): (&LakeBucket, &Recorded)| BucketJson {
            partition: bucket.partition.as_ref().map(|p| p.name.clone()),
            partition_id: bucket.partition.as_ref().map(|p| p.id),
            bucket: bucket.bucket,
            start: recorded.range.start,
            end: recorded.range.end,
            base: recorded.base,
        };
        let json = Json { version: VERSION, buckets: self.0.iter().map(entry).collect() };
        serde_json::to_string(&json).map_err(|e| Error::internal(format!("lake offsets have no JSON form: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, id: i64, bucket: i32) -> LakeBucket {
        LakeBucket { partition: Some(LakePartition { name: name.to_owned(), id }), bucket }
    }

    #[test]
    fn a_partition_made_again_is_counted_from_behind_the_former() {
        let mut offsets = LakeOffsets::default();
        assert_eq!(offsets.sequence_base(&of("a", 1, 0)), 0);
        offsets.set(of("a", 1, 0), 0..10, 0);
        offsets.set(of("a", 1, 1), 0..70, 0);
        offsets.set(of("b", 2, 0), 0..50, 0);
        assert_eq!(offsets.sequence_base(&of("a", 1, 0)), 0);
        assert_eq!(offsets.sequence_base(&of("a", 3, 0)), 10);
        offsets.set(of("a", 3, 0), 0..5, 10);
        assert_eq!([3, 4].map(|id| offsets.sequence_base(&of("a", id, 0))), [10, 15]);
        let json: Json = serde_json::from_str(&offsets.to_json().unwrap()).unwrap();
        let last = json.buckets.iter().find(|b| b.partition_id == Some(3)).unwrap();
        assert_eq!((last.partition.as_deref(), last.bucket, last.end, last.base), (Some("a"), 0, 5, 10));
    }

    #[test]
    fn what_was_recorded_before_partitions_had_ids_is_read() {
        let json: Json = serde_json::from_str(r#"{"version":1,"buckets":[{"bucket":2,"start":3,"end":9}]}"#).unwrap();
        let one = &json.buckets[0];
        assert_eq!(
            (&one.partition, one.partition_id, one.bucket, one.start, one.end, one.base),
            (&None, None, 2, 3, 9, 0)
        );
    }
}
