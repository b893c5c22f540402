//! What has come for a split and waits for the reader.

use super::columns::Columns;
use crate::cluster::Cluster;
use crate::table::RemoteTable;
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use bytes::Bytes;
use sluice_api::ScanStart;
use sluice_base::{Error, Offset, Result};
use sluice_log::{BATCH_HEADER_BYTES, BatchHeader};
use sluice_row::ChangeKind;
use tokio::sync::OwnedSemaphorePermit;

/// One of them.
#[derive(Debug)]
pub(crate) enum Piece {
    Log(LogPiece),
    Rows(RowsPiece),
    /// The split is over.
    End(ScanStart),
    Failed(Error),
}

/// Rows that are decoded.
#[derive(Debug)]
pub(crate) struct RowsPiece {
    pub(crate) rows: RecordBatch,
    pub(crate) base_offset: Offset,
    pub(crate) timestamp_ms: i64,
    pub(crate) next: ScanStart,
    pub(crate) finished: bool,
    /// Gives the place of this piece to the next one.
    pub(crate) _place: OwnedSemaphorePermit,
}

/// Rows of a log, in order.
#[derive(Debug)]
pub(crate) struct LogRows {
    pub(crate) rows: RecordBatch,
    pub(crate) kinds: Option<Vec<ChangeKind>>,
    pub(crate) base_offset: Offset,
    pub(crate) timestamp_ms: i64,
}

impl LogRows {
    /// Takes the first `count` rows off.
    fn split_off_front(&mut self, count: usize) -> Self {
        let left = self.rows.num_rows() - count;
        let taken = i64::try_from(count).unwrap_or(i64::MAX);
        let front = Self {
            rows: self.rows.slice(0, count),
            kinds: self.kinds.as_mut().map(|kinds| kinds.drain(..count).collect()),
            base_offset: self.base_offset,
            timestamp_ms: self.timestamp_ms,
        };
        self.rows = self.rows.slice(count, left);
        self.base_offset += taken;
        front
    }
}

/// Whole batches as they were fetched.
#[derive(Debug)]
pub(crate) struct LogPiece {
    bytes: Buffer,
    at: usize,
    /// What is left of the last batch.
    rest: Option<LogRows>,
}

/// The length of the whole batches at the front, and the offset behind them; `None` without one.
///
/// # Errors
/// `Corrupt`, `Unsupported`.
pub(crate) fn whole_batches(bytes: &[u8]) -> Result<Option<(usize, Offset)>> {
    let (mut length, mut next) = (0, None);
    while let Some(rest) = bytes.get(length..).filter(|rest| rest.len() >= BATCH_HEADER_BYTES) {
        let header = BatchHeader::parse(rest)?;
        if header.total_bytes() > rest.len() {
            break;
        }
        length += header.total_bytes();
        next = Some(header.next_offset());
    }
    Ok(next.map(|next| (length, next)))
}

impl LogPiece {
    /// `length` is that of the whole batches.
    pub(crate) fn new(bytes: &Bytes, length: usize) -> Self {
        Self { bytes: Buffer::from(bytes.slice(..length)), at: 0, rest: None }
    }

    /// The next rows from `from` on and before `stop`, at most `rows_max`; `None` when there are no more. `from` moves behind what was passed
    /// over or given out.
    ///
    /// # Errors
    /// Those of [`Columns::decode`].
    pub(crate) fn next(
        &mut self,
        (cluster, table, columns): (&Cluster, &RemoteTable, &Columns),
        from: &mut Offset,
        stop: Option<Offset>,
        rows_max: usize,
    ) -> Result<Option<LogRows>> {
        while stop.is_none_or(|stop| *from < stop) {
            let Some(mut rows) = self.rest.take() else {
                if self.at >= self.bytes.len() {
                    break;
                }
                self.rest = self.decode(cluster, table, columns, from)?;
                continue;
            };
            let passed = usize::try_from(*from - rows.base_offset).unwrap_or(0).min(rows.rows.num_rows());
            drop(rows.split_off_front(passed));
            if stop.is_some_and(|stop| rows.base_offset >= stop) {
                // What stood before it is gone, and it is behind the end.
                *from = rows.base_offset;
                break;
            }
            let room = stop.map_or(usize::MAX, |stop| usize::try_from(stop - rows.base_offset).unwrap_or(0));
            let count = rows.rows.num_rows().min(rows_max).min(room);
            if count == 0 {
                continue;
            }
            let front = rows.split_off_front(count);
            *from = rows.base_offset;
            if rows.rows.num_rows() > 0 {
                self.rest = Some(rows);
            }
            return Ok(Some(front));
        }
        Ok(None)
    }

    /// The next batch; one before `from` is passed over, one without rows moves it.
    fn decode(
        &mut self,
        cluster: &Cluster,
        table: &RemoteTable,
        columns: &Columns,
        from: &mut Offset,
    ) -> Result<Option<LogRows>> {
        let header = BatchHeader::parse(self.bytes.get(self.at..).unwrap_or_default())?;
        let batch = self.bytes.slice_with_length(self.at, header.total_bytes());
        self.at += header.total_bytes();
        if header.next_offset() <= *from {
            return Ok(None);
        }
        if header.record_count == 0 {
            *from = header.next_offset();
            return Ok(None);
        }
        let (rows, kinds) = columns.decode(cluster, table, &header, &batch)?;
        Ok(Some(LogRows { rows, kinds, base_offset: header.base_offset, timestamp_ms: header.timestamp_ms }))
    }
}
