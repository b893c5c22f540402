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

/// A bucket of the log, by the name of its partition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LakeBucket {
    /// The partition's name; `None` for a table without partitions.
    pub partition: Option<String>,
    /// The bucket's number.
    pub bucket: i32,
}

impl fmt::Display for LakeBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.partition {
            Some(partition) => write!(f, "bucket {} of partition {partition}", self.bucket),
            None => write!(f, "bucket {}", self.bucket),
        }
    }
}

/// For each bucket the offsets of the round that moved it last: its log up to the end (exclusive) is in the lake.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LakeOffsets(BTreeMap<LakeBucket, Range<i64>>);

#[derive(Serialize, Deserialize)]
struct Json {
    version: u32,
    buckets: Vec<BucketJson>,
}

#[derive(Serialize, Deserialize)]
struct BucketJson {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition: Option<String>,
    bucket: i32,
    start: i64,
    end: i64,
}

impl LakeOffsets {
    /// Up to where (exclusive) a bucket's log is in the lake; `None` when none of it is.
    #[must_use]
    pub fn end(&self, bucket: &LakeBucket) -> Option<i64> {
        self.0.get(bucket).map(|range| range.end)
    }

    /// All buckets with the range that the round that moved them last brought.
    pub fn iter(&self) -> impl Iterator<Item = (&LakeBucket, &Range<i64>)> {
        self.0.iter()
    }

    pub(crate) fn set(&mut self, bucket: LakeBucket, range: Range<i64>) {
        self.0.insert(bucket, range);
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
        let entry = |b: BucketJson| (LakeBucket { partition: b.partition, bucket: b.bucket }, b.start..b.end);
        Ok(Some(Self(json.buckets.into_iter().map(entry).collect())))
    }

    pub(crate) fn to_json(&self) -> Result<String> {
        let entry = |(bucket, range): (&LakeBucket, &Range<i64>)| BucketJson {
            partition: bucket.partition.clone(),
            bucket: bucket.bucket,
            start: range.start,
            end: range.end,
        };
        let json = Json { version: VERSION, buckets: self.0.iter().map(entry).collect() };
        serde_json::to_string(&json).map_err(|e| Error::internal(format!("lake offsets have no JSON form: {e}")))
    }
}
