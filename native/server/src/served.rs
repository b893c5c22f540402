//! Of which buckets a client was given rows a moment ago.
//!
//! Fluss's clients have one fetch under way for each server and leave out of it the buckets whose rows they are still working on. A fetch of
//! buckets that have run dry would keep them from the others' rows until its patience is over, so it must not wait long meanwhile.

use sluice_base::TableBucket;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A client that has not asked for more after this time has lost interest.
const RECENT: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Served(Mutex<HashMap<TableBucket, Instant>>);

impl Served {
    /// A fetch was answered: for each of its buckets whether there were rows.
    pub(crate) fn answered(&self, buckets: impl Iterator<Item = (TableBucket, bool)>) {
        let now = Instant::now();
        // An entry too many or too few costs a wait.
        let mut served = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (bucket, rows) in buckets {
            if rows {
                served.insert(bucket, now);
            } else {
                served.remove(&bucket);
            }
        }
        served.retain(|_, at| now.duration_since(*at) < RECENT);
    }

    /// Whether the client will soon ask for more of other buckets than these.
    pub(crate) fn has_others(&self, asked: &[TableBucket]) -> bool {
        let now = Instant::now();
        let served = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        served.iter().any(|(bucket, at)| now.duration_since(*at) < RECENT && !asked.contains(bucket))
    }
}
