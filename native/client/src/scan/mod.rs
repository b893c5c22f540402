//! Scanning: splits in, record batches out. Tasks fetch ahead for each split; the reader decodes what it takes.

mod columns;
mod fetch;
mod few;
mod fold;
mod piece;
mod row_scan;
mod rows;
mod state;

use crate::closing::Closing;
use crate::cluster::Cluster;
use crate::offsets;
use crate::table::{RemoteTable, batch_of};
use crate::values::Wanted;
use arrow_array::{RecordBatch, new_empty_array};
use columns::Columns;
use piece::{Piece, RowsPiece};
use rows::Sink;
use sluice_api::{OffsetSpec, ScanBatch, ScanOptions, ScanSplit, ScanStart, Scanner};
use sluice_base::{Error, Offset, Result, Subject};
use sluice_wire::ApiKey;
use state::{Shared, Split, Taken};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An open scanner.
pub(crate) struct RemoteScanner {
    shared: Arc<Shared>,
    closed: Closing,
    /// Whether the servers read snapshots out.
    own: bool,
}

impl Drop for RemoteScanner {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl RemoteScanner {
    pub(crate) fn open(
        cluster: Arc<Cluster>,
        table: RemoteTable,
        options: &ScanOptions,
        closed: Closing,
    ) -> Result<Self> {
        if options.batch_rows_max == 0 {
            return Err(Error::invalid(Subject::Option, "batch_rows_max is 0; a scan needs at least 1 row a batch"));
        }
        let wanted = Wanted::new(&table, options.projection.as_deref())?;
        let own = cluster.block_on(cluster.knows(ApiKey::RowScan))?;
        // How another server leaves columns out of batches of older schemas is not said anywhere.
        let pushes = own || table.info.schema_id == 1;
        let columns = Columns::new(&table, wanted, pushes);
        let runtime = cluster.runtime.clone();
        let shared = Arc::new(Shared::new(cluster, Arc::new(table), columns, options.batch_rows_max));
        runtime.spawn(fetch::drive(shared.clone()));
        Ok(Self { shared, closed, own })
    }

    fn nothing(&self) -> Result<RecordBatch> {
        let output = &self.shared.columns.wanted().output;
        let columns = output.fields().iter().map(|f| new_empty_array(f.data_type())).collect::<Vec<_>>();
        batch_of(output, columns, 0)
    }

    fn end(&self, split: u32, next: ScanStart) -> Result<ScanBatch> {
        self.shared.remove(split);
        let rows = self.nothing()?;
        Ok(ScanBatch { split, rows, kinds: None, base_offset: -1, next, timestamp_ms: -1, finished: true })
    }

    /// What a piece comes to; `None` when it had nothing for the reader.
    fn batch(&self, taken: Taken) -> Result<Option<ScanBatch>> {
        let Taken { token, piece, mut position, stop } = taken;
        let split = token.id;
        match piece {
            Piece::Failed(error) => {
                self.shared.remove(split);
                Err(error)
            }
            Piece::End(next) => self.end(split, next).map(Some),
            Piece::Rows(piece) => {
                let RowsPiece { rows, base_offset, timestamp_ms, next, finished, _place } = piece;
                if finished {
                    self.shared.remove(split);
                } else {
                    self.shared.next_turn(token);
                }
                Ok(Some(ScanBatch { split, rows, kinds: None, base_offset, next, timestamp_ms, finished }))
            }
            Piece::Log(mut piece) => {
                let context = (self.shared.cluster.as_ref(), self.shared.table.as_ref(), &self.shared.columns);
                let rows = piece.next(context, &mut position, stop, self.shared.rows_max);
                let rows = rows.inspect_err(|_| self.shared.remove(split))?;
                let finished = stop.is_some_and(|stop| position >= stop);
                let next = ScanStart::Log { offset: position };
                let Some(log) = rows else {
                    if finished {
                        return self.end(split, next).map(Some);
                    }
                    self.shared.put_back(token, None, position);
                    return Ok(None);
                };
                if finished {
                    self.shared.remove(split);
                } else {
                    self.shared.put_back(token, Some(piece), position);
                }
                let kinds = log.kinds;
                let (base_offset, timestamp_ms) = (log.base_offset, log.timestamp_ms);
                Ok(Some(ScanBatch { split, rows: log.rows, kinds, base_offset, next, timestamp_ms, finished }))
            }
        }
    }

    fn log(&self, split: &ScanSplit, offset: Offset) {
        let token = self.shared.add(split.id, Split::new(split.bucket, split.stop, Some(offset)));
        if split.stop.is_some_and(|stop| offset >= stop) {
            self.shared.push(token, Piece::End(ScanStart::Log { offset }));
        }
    }

    /// Rows that are read on a thread of their own.
    fn rows(&self, split: &ScanSplit, read: impl FnOnce(&Sink) -> Result<()> + Send + 'static) {
        let added = Split::new(split.bucket, split.stop, None);
        let places = added.places.clone();
        let token = self.shared.add(split.id, added);
        let sink = Sink { shared: self.shared.clone(), token, bucket: split.bucket, stop: split.stop, places };
        sink.spawn(read);
    }

    fn has_lake(&self) -> bool {
        let enabled = self.shared.table.info.descriptor.properties.get("table.datalake.enabled");
        enabled.is_some_and(|v| v.trim().eq_ignore_ascii_case("true"))
    }
}

impl Scanner for RemoteScanner {
    fn subscribe(&self, split: ScanSplit) -> Result<()> {
        self.closed.check()?;
        let keyed = self.shared.table.has_primary_key();
        let has_lake = self.has_lake();
        let start = split.start.clone();
        match start {
            ScanStart::Log { offset } => self.log(&split, offset),
            ScanStart::Limit { rows } if keyed || !has_lake || !self.own => {
                self.rows(&split, move |sink| few::read(sink, rows));
            }
            ScanStart::Limit { .. } => self.rows(&split, move |sink| row_scan::read(sink, start)),
            ScanStart::Snapshot { .. } | ScanStart::Current if !keyed && !has_lake => {
                let message = "a log table has no snapshots and no rows by key; scan its log";
                return Err(Error::invalid(Subject::Snapshot, message));
            }
            ScanStart::Snapshot { .. } | ScanStart::Current if self.own => {
                self.rows(&split, move |sink| row_scan::read(sink, start));
            }
            ScanStart::Snapshot { snapshot, skip_rows } if keyed => {
                let until = i64::try_from(snapshot).unwrap_or(i64::MAX);
                self.rows(&split, move |sink| fold::snapshot(sink, until, skip_rows));
            }
            ScanStart::Current if keyed => self.rows(&split, fold::current),
            ScanStart::Snapshot { .. } | ScanStart::Current => {
                // Nothing of a lake behind another server is read here: its log, as long as that is whole.
                let path = self.shared.table.path();
                let earliest = offsets::one(&self.shared.cluster, path, split.bucket, OffsetSpec::Earliest)?;
                if earliest > 0 {
                    let message = format!(
                        "the older rows of {} of table {path} are in its lake only, which is not read through this server; read \
                         {path}$lake beside it, or use Apache Fluss's own connector",
                        split.bucket
                    );
                    return Err(Error::unsupported(Subject::Offset, message));
                }
                self.log(&split, 0);
            }
        }
        Ok(())
    }

    fn unsubscribe(&self, split: u32) {
        self.shared.remove(split);
    }

    fn poll(&self, timeout: Duration) -> Result<Option<ScanBatch>> {
        let deadline =
            Instant::now().checked_add(timeout).unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400));
        loop {
            self.closed.check()?;
            let Some(taken) = self.shared.take(deadline) else { return Ok(None) };
            if let Some(batch) = self.batch(taken)? {
                return Ok(Some(batch));
            }
        }
    }

    fn wake(&self) {
        self.shared.wake();
    }
}
