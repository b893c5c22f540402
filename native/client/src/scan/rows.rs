//! Rows that stand before a log or for themselves: snapshots, current rows, the first or last few. Each split reads them on a thread that
//! may wait; few of them at a time.

use super::piece::{Piece, RowsPiece};
use super::state::{Shared, Token};
use crate::outbox::is_partition_gone;
use arrow_array::RecordBatch;
use sluice_api::ScanStart;
use sluice_base::{Error, ErrorKind, Offset, Result, Subject, TableBucket};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Where a thread's rows go.
pub(crate) struct Sink {
    pub(crate) shared: Arc<Shared>,
    pub(crate) token: Token,
    pub(crate) bucket: TableBucket,
    pub(crate) stop: Option<Offset>,
    pub(crate) places: Arc<Semaphore>,
}

/// Rows with what a reader is told of them.
pub(crate) struct Told {
    pub(crate) rows: RecordBatch,
    pub(crate) base_offset: Offset,
    pub(crate) timestamp_ms: i64,
    pub(crate) next: ScanStart,
    pub(crate) finished: bool,
}

impl Told {
    /// Rows of a snapshot.
    pub(crate) const fn snapshot(rows: RecordBatch, next: ScanStart, finished: bool) -> Self {
        Self { rows, base_offset: -1, timestamp_ms: -1, next, finished }
    }
}

/// The split is not there any more.
pub(crate) fn left() -> Error {
    Error::new(ErrorKind::Closed, Subject::None, "the split was left")
}

impl Sink {
    /// Gives rows to the reader once it has room.
    ///
    /// # Errors
    /// `Closed` when the split is not there any more.
    pub(crate) fn give(&self, told: Told) -> Result<()> {
        let place: OwnedSemaphorePermit =
            self.shared.cluster.block_on(self.places.clone().acquire_owned()).map_err(|_| left())?;
        let Told { rows, base_offset, timestamp_ms, next, finished } = told;
        let piece = RowsPiece { rows, base_offset, timestamp_ms, next, finished, _place: place };
        if self.shared.push(self.token, Piece::Rows(piece)) { Ok(()) } else { Err(left()) }
    }

    /// All rows of a snapshot were given: the log follows, or the split ends.
    pub(crate) fn then_log(&self, offset: Offset) {
        let next = ScanStart::Log { offset };
        if self.stop.is_some_and(|stop| offset >= stop) {
            self.shared.push(self.token, Piece::End(next));
        } else {
            self.shared.then_log(self.token, offset);
        }
    }

    /// Runs a reading on a thread of its own; what it fails with is told to the reader.
    pub(crate) fn spawn(self, read: impl FnOnce(&Self) -> Result<()> + Send + 'static) {
        let runtime = self.shared.cluster.runtime.clone();
        runtime.spawn(async move {
            let Ok(turn) = self.shared.row_tasks.clone().acquire_owned().await else { return };
            let (shared, token, stop) = (self.shared.clone(), self.token, self.stop);
            let done = tokio::task::spawn_blocking(move || read(&self)).await;
            drop(turn);
            match done {
                Ok(Ok(())) => {}
                Ok(Err(error)) if error.kind() == ErrorKind::Closed && error.subject() == Subject::None => {}
                // Nothing of the partition is left to read, as when its log is being read.
                Ok(Err(error)) if is_partition_gone(&error) && stop.is_none() => {
                    shared.push(token, Piece::End(ScanStart::Log { offset: 0 }));
                }
                Ok(Err(error)) => shared.fail(token, error),
                Err(_) => shared.fail(token, Error::internal("a defect of the client stopped a read")),
            }
        });
    }
}
