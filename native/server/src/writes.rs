//! Writes that are ordered in their buckets and wait to become durable.

use crate::answer::{Failed, Reply};
use crate::limits::WRITE_WAIT_MAX;
use sluice_base::{Result, TableBucket};
use sluice_wire::ErrorCode;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// When a write is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acks {
    /// Once it is ordered.
    None,
    /// Once it is durable and visible. The one copy is also all copies.
    Durable,
}

impl Acks {
    pub(crate) fn from_number(acks: i32) -> Reply<Self> {
        match acks {
            0 => Ok(Self::None),
            1 | -1 => Ok(Self::Durable),
            _ => Err(Failed::new(ErrorCode::InvalidRequiredAcks, format!("Invalid required acks: {acks}"))),
        }
    }
}

/// How long a client lets a write wait.
pub(crate) fn patience(timeout_ms: i32) -> Duration {
    Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0).max(1)).min(WRITE_WAIT_MAX)
}

/// One bucket's part of a write.
pub(crate) struct Write {
    pub(crate) bucket: TableBucket,
    /// The offset to answer with, and who will say that the rows are safe.
    placed: Reply<(Option<i64>, oneshot::Receiver<Result<()>>)>,
}

impl Write {
    /// Has rows put into a bucket; `work` gets what is to be called when they are safe.
    pub(crate) fn begin<T>(
        bucket: TableBucket,
        work: impl FnOnce(Box<dyn FnOnce(Result<()>) + Send>) -> Reply<T>,
        offset: impl FnOnce(T) -> Option<i64>,
    ) -> Self {
        let (sender, receiver) = oneshot::channel();
        let then = Box::new(move |settled| {
            // Nobody waits any more: the client's patience is over.
            let _ = sender.send(settled);
        });
        Self { bucket, placed: work(then).map(|done| (offset(done), receiver)) }
    }

    async fn settle(self, acks: Acks, deadline: Instant) -> Reply<Option<i64>> {
        let (offset, settled) = self.placed?;
        if acks == Acks::None {
            return Ok(offset);
        }
        match tokio::time::timeout_at(deadline, settled).await {
            Ok(Ok(Ok(()))) => Ok(offset),
            Ok(Ok(Err(e))) => Err(e.into()),
            Ok(Err(_)) => Err(Failed::new(ErrorCode::NotLeaderOrFollower, "the server goes down")),
            Err(_) => Err(Failed::new(ErrorCode::RequestTimeOut, "the rows are not durable yet")),
        }
    }
}

/// Waits until all parts are safe, or `patience` is over.
pub(crate) async fn settle(
    writes: Vec<Write>,
    acks: Acks,
    deadline: Instant,
) -> Vec<(TableBucket, Reply<Option<i64>>)> {
    let mut settled = Vec::with_capacity(writes.len());
    for write in writes {
        let bucket = write.bucket;
        settled.push((bucket, write.settle(acks, deadline).await));
    }
    settled
}

/// The bucket that a request names.
pub(crate) fn bucket(table_id: i64, partition_id: Option<i64>, bucket: i32) -> TableBucket {
    TableBucket { table: sluice_base::TableId(table_id), partition: partition_id.map(sluice_base::PartitionId), bucket }
}
