//! The rows of one bucket as lake files: its log from where the lake ends, or its rows by key where the log does not reach back so far.

use super::round::Until;
use crate::TableMeta;
use crate::bucket::Bucket;
use crate::scan::{LogPart, RowPart, Wanted};
use crate::snapshot;
use crate::table::Table;
use sluice_base::{Error, ErrorKind, Offset, Result, Subject};
use sluice_lake::{AppendWriter, KeyedWriter, LakeTable, WrittenFiles};
use std::ops::Range;
use std::sync::Arc;

/// Rows handed to a lake file at a time.
const BATCH_ROWS: usize = 8 << 10;
/// Who holds the snapshot of rows that a first round reads, and how long at most after its process has died.
const LEASE: &str = "sluice-tiering";
const LEASE_MS: u64 = 3_600_000;

/// Reads buckets of one table and writes their files.
pub(super) struct BucketRows<'t> {
    lake_table: &'t LakeTable,
    meta: Arc<TableMeta>,
    wanted: Wanted,
}

impl<'t> BucketRows<'t> {
    /// `meta` is the table as it was before its lake table was opened: that has all of its columns then.
    pub(super) fn new(lake_table: &'t LakeTable, table: &Table, meta: &Arc<TableMeta>) -> Result<Self> {
        let meta = meta.clone();
        let wanted = Wanted::new(table.meta.clone(), &meta, None)?;
        Ok(Self { lake_table, meta, wanted })
    }

    /// Writes what `log` (the offsets that can be read) has from `start` on, `None` when the lake has nothing of the bucket yet, or a part of it
    /// when the time is over; tells the range that the files stand for. Sequence numbers are offsets counted from `base`.
    pub(super) fn write(
        &mut self,
        bucket: &Arc<Bucket>,
        start: Option<Offset>,
        log: Range<Offset>,
        base: i64,
        until: &Until<'_>,
    ) -> Result<(Range<Offset>, WrittenFiles)> {
        let behind = log.start > start.unwrap_or(0);
        if self.meta.has_primary_key() && behind {
            return match start {
                None => self.write_snapshot(bucket, base, until),
                Some(start) => Err(self.gap(bucket, start, log.start)),
            };
        }
        // Rows that a log table's log has lost while the lake was switched off are lost to the lake too.
        let first = start.unwrap_or(log.start);
        let (end, files) = self.write_log(bucket, first.max(log.start)..log.end, base, until)?;
        Ok((first..end, files))
    }

    fn write_log(
        &mut self,
        bucket: &Bucket,
        range: Range<Offset>,
        base: i64,
        until: &Until<'_>,
    ) -> Result<(Offset, WrittenFiles)> {
        if !bucket.context.syncs() {
            // What the lake has must not be lost to the log by a power cut: other rows would get its offsets.
            bucket.log()?.sync()?;
        }
        let mut writer = Writer::new(self.lake_table, &self.meta, bucket.id.bucket, base);
        let mut log = LogPart::new(range.start, Some(range.end));
        while let Some(batch) = log.next(bucket, &mut self.wanted, None, BATCH_ROWS)? {
            until.check_stopped()?;
            match &mut writer {
                Writer::Append(writer) => writer.write(&batch.rows, batch.base_offset, batch.timestamp_ms)?,
                Writer::Keyed(writer) => {
                    let kinds = batch.kinds.as_deref().unwrap_or_default();
                    writer.write(&batch.rows, kinds, batch.base_offset, batch.timestamp_ms)?;
                }
            }
            if until.is_over() {
                break;
            }
        }
        Ok((log.offset(), writer.finish()?))
    }

    /// All rows by key as they are now, as if each had just been inserted.
    fn write_snapshot(
        &mut self,
        bucket: &Bucket,
        base: i64,
        until: &Until<'_>,
    ) -> Result<(Range<Offset>, WrittenFiles)> {
        let (id, end) = bucket.acquire_snapshot(LEASE, LEASE_MS)?;
        let writer = KeyedWriter::new(self.lake_table, bucket.id.bucket).counting_from(base);
        let written = self.write_rows(bucket, writer, (id, end), until);
        bucket.release_snapshot_if_any(LEASE)?;
        Ok((0..end, written?))
    }

    fn write_rows(
        &mut self,
        bucket: &Bucket,
        mut writer: KeyedWriter<'t>,
        (id, end): (u64, Offset),
        until: &Until<'_>,
    ) -> Result<WrittenFiles> {
        let now = bucket.context.clock.now_ms();
        let opened = snapshot::open(bucket, id)?;
        let mut rows = RowPart::new(opened.scan(0)?, 0, None);
        while !rows.ended {
            until.check_stopped()?;
            // Behind them come the changes from `end` on.
            writer.write_snapshot(&rows.next(&self.wanted, BATCH_ROWS)?, end - 1, now)?;
        }
        writer.finish()
    }

    fn gap(&self, bucket: &Bucket, lake: Offset, log: Offset) -> Error {
        let message = format!(
            "the lake of table {} has bucket {} up to offset {lake}, but its changelog begins at {log}: changes between the two expired while \
             'table.datalake.enabled' was false. Drop the lake table, then set the option to false and to true: the lake is filled anew",
            self.meta.path, bucket.id.bucket
        );
        Error::new(ErrorKind::Conflict, Subject::Table, message)
    }
}

enum Writer<'t> {
    Append(Box<AppendWriter<'t>>),
    Keyed(Box<KeyedWriter<'t>>),
}

impl<'t> Writer<'t> {
    fn new(table: &'t LakeTable, meta: &TableMeta, bucket: i32, base: i64) -> Self {
        match meta.has_primary_key() {
            true => Self::Keyed(Box::new(KeyedWriter::new(table, bucket).counting_from(base))),
            false => Self::Append(Box::new(AppendWriter::new(table, bucket).counting_from(base))),
        }
    }

    fn finish(self) -> Result<WrittenFiles> {
        match self {
            Self::Append(writer) => writer.finish(),
            Self::Keyed(writer) => writer.finish(),
        }
    }
}
