//! Reading a bucket's log: from an offset, below the high watermark, to a stop.

use super::filter::ScanFilter;
use super::projection::Wanted;
use crate::bucket::Bucket;
use arrow_array::RecordBatch;
use sluice_api::{ScanBatch, ScanStart};
use sluice_base::{Offset, Result};
use sluice_log::StoredBatch;
use sluice_row::ChangeKind;
use std::collections::VecDeque;

/// Bytes read from the log at once.
const READ_BYTES: usize = 1 << 20;

/// A decoded batch of which some rows are still to be handed out.
#[derive(Debug)]
struct Decoded {
    rows: RecordBatch,
    kinds: Option<Vec<ChangeKind>>,
    base_offset: Offset,
    end: Offset,
    timestamp_ms: i64,
}

/// A split's position in the log.
#[derive(Debug)]
pub(crate) struct LogPart {
    next: Offset,
    stop: Option<Offset>,
    read: VecDeque<StoredBatch>,
    decoded: Option<Decoded>,
    /// Whether a condition may leave rows out.
    filtered: bool,
    /// Rows were left out since the position was last told.
    skipped: bool,
}

impl LogPart {
    pub(crate) fn new(start: Offset, stop: Option<Offset>) -> Self {
        Self { next: start, stop, read: VecDeque::new(), decoded: None, filtered: true, skipped: false }
    }

    /// A number of rows, whether they are wanted or not.
    pub(crate) fn newest(start: Offset, stop: Offset) -> Self {
        Self { filtered: false, ..Self::new(start, Some(stop)) }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.stop.is_some_and(|stop| self.next >= stop)
    }

    /// The offset of the next row.
    pub(crate) const fn offset(&self) -> Offset {
        self.next
    }

    /// Whether it has no end.
    pub(super) fn follows(&self) -> bool {
        self.stop.is_none()
    }

    pub(super) fn position(&self) -> ScanStart {
        ScanStart::Log { offset: self.next }
    }

    /// Whether rows were left out that the caller does not know of yet; asking tells it.
    pub(super) fn has_skipped(&mut self) -> bool {
        std::mem::take(&mut self.skipped)
    }

    /// The next rows, or `None` when readers may see no more for now or the split is finished. Batches without rows move
    /// the position only.
    pub(crate) fn next(
        &mut self,
        bucket: &Bucket,
        wanted: &mut Wanted,
        mut filter: Option<&mut ScanFilter>,
        rows_max: usize,
    ) -> Result<Option<ScanBatch>> {
        loop {
            if self.is_finished() {
                return Ok(None);
            }
            if let Some(batch) = self.take_decoded(rows_max) {
                return Ok(Some(batch));
            }
            if self.read.is_empty() {
                let limit = self.stop.map_or(Offset::MAX, |s| s).min(bucket.progress.high());
                if self.next >= limit {
                    return Ok(None);
                }
                let filter = filter.as_deref_mut().filter(|_| self.filtered);
                let before = self.next;
                self.read(bucket, filter, limit).map_err(|e| e.context(bucket.id))?;
                if self.read.is_empty() && self.next > before {
                    continue;
                }
            }
            let Some(batch) = self.read.pop_front() else { return Ok(None) };
            self.decode(&batch, wanted).map_err(|e| e.context(bucket.id))?;
        }
    }

    /// Reads on below `limit`, or moves the position over rows that are not wanted.
    fn read(&mut self, bucket: &Bucket, filter: Option<&mut ScanFilter>, limit: Offset) -> Result<()> {
        let log = bucket.log()?;
        let Some(filter) = filter else {
            self.read = log.read(self.next, limit, READ_BYTES)?.into();
            return Ok(());
        };
        let ahead = filter.ahead(&log, self.next, limit)?;
        self.skipped |= ahead.from > self.next;
        self.next = ahead.from;
        if ahead.until > ahead.from {
            let batches = log.read(ahead.from, ahead.until, READ_BYTES)?;
            if !ahead.known {
                filter.describe(&log, &batches);
            }
            self.read = batches.into();
        }
        Ok(())
    }

    fn decode(&mut self, batch: &StoredBatch, wanted: &mut Wanted) -> Result<()> {
        let header = &batch.header;
        let end = header.next_offset();
        if header.record_count == 0 {
            self.next = self.next.max(end);
            return Ok(());
        }
        let (rows, kinds) = wanted.decode(batch)?;
        self.decoded =
            Some(Decoded { rows, kinds, base_offset: header.base_offset, end, timestamp_ms: header.timestamp_ms });
        Ok(())
    }

    /// Rows from the position on, as far as the stop and the bound allow.
    fn take_decoded(&mut self, rows_max: usize) -> Option<ScanBatch> {
        let decoded = self.decoded.as_ref()?;
        let end = decoded.end.min(self.stop.unwrap_or(Offset::MAX));
        let at =
            |offset: Offset| usize::try_from(offset - decoded.base_offset).unwrap_or(0).min(decoded.rows.num_rows());
        let start = at(self.next);
        let count = (at(end) - start.min(at(end))).min(rows_max);
        if count == 0 {
            self.next = self.next.max(decoded.end);
            self.decoded = None;
            return None;
        }
        let rows = decoded.rows.slice(start, count);
        let kinds = decoded.kinds.as_ref().map(|k| k.get(start..start + count).unwrap_or_default().to_vec());
        let base_offset = self.next.max(decoded.base_offset);
        let timestamp_ms = decoded.timestamp_ms;
        self.next = base_offset + i64::try_from(count).unwrap_or(0);
        self.skipped = false;
        if self.next >= decoded.end {
            self.decoded = None;
        }
        Some(ScanBatch {
            split: 0,
            rows,
            kinds,
            base_offset,
            next: self.position(),
            timestamp_ms,
            finished: self.is_finished(),
        })
    }
}
