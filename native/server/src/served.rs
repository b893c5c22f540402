//! Which buckets a client was answered about a moment ago and has not asked for since.
//!
//! Fluss's clients have one fetch under way for each server and leave out of it the buckets whose answers they are still working on, empty
//! ones too. A fetch of the rest would keep them from new rows of those until its patience is over, so it must not wait long meanwhile.

use sluice_base::TableBucket;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A client that has not asked for more after this time has lost interest.
const RECENT: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Served(Mutex<HashMap<TableBucket, Instant>>);

impl Served {
    /// A fetch of these buckets has come: whether the client will soon ask for others too.
    pub(crate) fn asked(&self, buckets: &[TableBucket]) -> bool {
        let now = Instant::now();
        // An entry too many or too few costs a wait.
        let mut served = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for bucket in buckets {
            served.remove(bucket);
        }
        served.retain(|_, at| now.duration_since(*at) < RECENT);
        !served.is_empty()
    }

    /// The fetch of these buckets is answered.
    pub(crate) fn answered(&self, buckets: Vec<TableBucket>) {
        let now = Instant::now();
        let mut served = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        served.extend(buckets.into_iter().map(|bucket| (bucket, now)));
    }
}
