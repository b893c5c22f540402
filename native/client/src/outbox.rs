//! Rows of one writer on their way: for each bucket one batch under way, and behind it what gathers meanwhile.
//!
//! A batch has a number among its writer's in its bucket and is sent with the same bytes until its server has answered, so that it is there
//! once however often it arrives. Nothing waits for company: the first rows go at once.

use crate::cluster::{Cluster, PAUSE_MAX, PAUSE_MIN, To, dropped};
use crate::refusal::{Answer, Refusal, part};
use crate::table::RemoteTable;
use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use sluice_base::{Error, ErrorKind, PartitionId, Result, Subject, TableBucket};
use sluice_log::encode_batch;
use sluice_wire::message::{
    ProduceLogBucketRequest, ProduceLogRequest, ProduceLogResponse, PutKvBucketRequest, PutKvRequest, PutKvResponse,
};
use sluice_wire::{ApiKey, ErrorCode, KvBatchWriter};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A batch is sent again for so many times the patience of one request; then its writer fails.
const PATIENCE_REQUESTS: u32 = 2;
/// Rows are acknowledged by all replicas.
const ACKS_ALL: i32 = -1;
/// How an aggregating table takes values as they are.
const OVERWRITE: i32 = 1;

/// Rows that gather for one bucket.
pub(crate) enum Gathered {
    Appends { rows: Vec<RecordBatch>, bytes: usize },
    ByKey(Box<KvBatchWriter>),
}

impl Gathered {
    fn bytes(&self) -> usize {
        match self {
            Self::Appends { bytes, .. } => *bytes,
            Self::ByKey(batch) => batch.bytes(),
        }
    }
}

/// Rows of one call for one bucket.
pub(crate) enum Part {
    Appends(RecordBatch, usize),
    /// Encoded keys and rows, one after the other; a row without bytes deletes.
    ByKey {
        bytes: Vec<u8>,
        ends: Vec<(usize, usize)>,
    },
}

impl Part {
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Appends(_, bytes) => *bytes,
            Self::ByKey { bytes, .. } => bytes.len(),
        }
    }
}

/// One bucket's queue.
#[derive(Default)]
struct Queue {
    next_sequence: i32,
    busy: bool,
    gathered: VecDeque<Gathered>,
    /// Bytes of room that its rows have taken.
    room: usize,
}

#[derive(Default)]
struct State {
    queues: BTreeMap<TableBucket, Queue>,
    /// Why rows were lost; nothing is sent after it.
    failed: Option<(ErrorKind, Subject, String)>,
    gone: BTreeSet<PartitionId>,
}

/// Sends the rows of one writer.
pub(crate) struct Outbox {
    cluster: Arc<Cluster>,
    table: Arc<RemoteTable>,
    writer_id: i64,
    target_columns: Vec<i32>,
    overwrite: bool,
    state: Mutex<State>,
    changed: Condvar,
}

impl Outbox {
    pub(crate) fn new(
        cluster: Arc<Cluster>,
        table: Arc<RemoteTable>,
        writer_id: i64,
        target_columns: Vec<i32>,
        overwrite: bool,
    ) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self { cluster, table, writer_id, target_columns, overwrite, state, changed }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why rows of an earlier call were lost.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.lock().failed {
            None => Ok(()),
            Some((kind, subject, message)) => Err(Error::new(*kind, *subject, message.clone())),
        }
    }

    /// Partitions that were found to be gone since the last call.
    pub(crate) fn gone(&self) -> BTreeSet<PartitionId> {
        std::mem::take(&mut self.lock().gone)
    }

    /// Queues rows behind those of earlier calls. The caller has taken room for them.
    pub(crate) fn put(self: &Arc<Self>, parts: BTreeMap<TableBucket, Part>) -> Result<()> {
        let mut state = self.lock();
        for (bucket, part) in parts {
            let queue = state.queues.entry(bucket).or_default();
            queue.room += part.bytes();
            gather(queue, part, &self.table, self.cluster.settings.batch_bytes)?;
            if !std::mem::replace(&mut queue.busy, true) {
                self.cluster.runtime.spawn(drain(self.clone(), bucket));
            }
        }
        Ok(())
    }

    /// Waits until all that was put is acknowledged.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<()> {
        let busy = |state: &mut State| state.failed.is_none() && state.queues.values().any(|q| q.busy);
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, busy);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let left = state.queues.values().filter(|q| q.busy).count();
        let failed = state.failed.is_some();
        drop(state);
        if failed || left == 0 {
            return self.check();
        }
        let message = format!("rows of {left} buckets of table {} are not acknowledged yet", self.table.path());
        Err(Error::new(ErrorKind::Busy, Subject::Disk, message))
    }

    /// The next batch of a bucket with its number; `None` ends the sending until more is put.
    fn next(&self, bucket: TableBucket) -> Option<(Gathered, i32)> {
        let mut state = self.lock();
        let failed = state.failed.is_some();
        let queue = state.queues.get_mut(&bucket)?;
        if failed {
            queue.gathered.clear();
        }
        let Some(next) = queue.gathered.pop_front() else {
            queue.busy = false;
            self.cluster.room.give_back(std::mem::take(&mut queue.room));
            drop(state);
            self.changed.notify_all();
            return None;
        };
        let sequence = queue.next_sequence;
        queue.next_sequence = sequence.checked_add(1).unwrap_or(0);
        Some((next, sequence))
    }

    fn settle(&self, bucket: TableBucket, bytes: usize, outcome: Answer<()>) {
        let mut state = self.lock();
        if let Some(queue) = state.queues.get_mut(&bucket) {
            let freed = bytes.min(queue.room);
            queue.room -= freed;
            self.cluster.room.give_back(freed);
        }
        match outcome {
            Ok(()) => {}
            // Rows went with their partition.
            Err(refusal) if is_partition_gone(&refusal.error) => {
                state.gone.extend(bucket.partition);
                if let Some(queue) = state.queues.get_mut(&bucket) {
                    queue.gathered.clear();
                }
            }
            Err(refusal) => {
                let error = refusal.error.context(format_args!("writing to table {}", self.table.path()));
                let failure = (error.kind(), error.subject(), error.message().to_owned());
                state.failed.get_or_insert(failure);
                drop(state);
                self.changed.notify_all();
            }
        }
    }

    fn seal(&self, gathered: Gathered, sequence: i32) -> Result<Vec<u8>> {
        let writer = (self.writer_id, sequence);
        let rows = match gathered {
            Gathered::ByKey(batch) => return Ok(batch.finish_as(writer)),
            Gathered::Appends { rows, .. } => rows,
        };
        let whole = match rows.as_slice() {
            [one] => one.clone(),
            several => concat_batches(&self.table.arrow, several)
                .map_err(|e| Error::invalid(Subject::Row, format!("rows cannot be put together: {e}")))?,
        };
        let mut out = Vec::new();
        encode_batch(Some(&whole), None, self.table.schema_id(), writer, self.table.compression, &mut out)?;
        Ok(out)
    }

    async fn send(&self, bucket: TableBucket, records: Vec<u8>) -> Answer<()> {
        let patience = self.cluster.settings.request_timeout;
        let timeout_ms = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        let (table_id, partition_id) = (bucket.table.0, bucket.partition.map(|p| p.0));
        let request = if self.table.has_primary_key() {
            let part = PutKvBucketRequest { partition_id, bucket_id: bucket.bucket, records: records.into() };
            let agg_mode = self.overwrite.then_some(OVERWRITE);
            let target_columns = self.target_columns.clone();
            let buckets_req = vec![part];
            Sealed::Put(PutKvRequest { acks: ACKS_ALL, table_id, timeout_ms, target_columns, buckets_req, agg_mode })
        } else {
            let part = ProduceLogBucketRequest { partition_id, bucket_id: bucket.bucket, records };
            Sealed::Produce(ProduceLogRequest { acks: ACKS_ALL, table_id, timeout_ms, buckets_req: vec![part] })
        };
        let (begun, mut pause) = (Instant::now(), PAUSE_MIN);
        let to = To::Leader(self.table.path(), bucket);
        loop {
            let refusal = match self.send_once(to, &request).await {
                // It had arrived before.
                Err(refusal) if refusal.code == ErrorCode::DuplicateSequence => return Ok(()),
                Err(refusal) => refusal,
                Ok(()) => return Ok(()),
            };
            if !refusal.heals() || begun.elapsed() + pause >= patience * PATIENCE_REQUESTS {
                return Err(refusal);
            }
            self.cluster.doubt(to, &refusal).await;
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    async fn send_once(&self, to: To<'_>, request: &Sealed) -> Answer<()> {
        let nothing = || Refusal::network("the server answered without a word about the rows", true);
        match request {
            Sealed::Put(request) => {
                let answer: PutKvResponse = self.cluster.try_ask(to, ApiKey::PutKv, request).await?;
                let told = answer.buckets_resp.into_iter().next().ok_or_else(nothing)?;
                part(told.error_code, told.error_message)
            }
            Sealed::Produce(request) => {
                let answer: ProduceLogResponse = self.cluster.try_ask(to, ApiKey::ProduceLog, request).await?;
                let told = answer.buckets_resp.into_iter().next().ok_or_else(nothing)?;
                part(told.error_code, told.error_message)
            }
        }
    }
}

enum Sealed {
    Put(PutKvRequest),
    Produce(ProduceLogRequest),
}

/// Adds rows to the last batch of a queue, or begins another.
fn gather(queue: &mut Queue, part: Part, table: &RemoteTable, batch_bytes: usize) -> Result<()> {
    match part {
        Part::Appends(batch, added) => match queue.gathered.back_mut() {
            Some(Gathered::Appends { rows, bytes }) if *bytes + added <= batch_bytes => {
                rows.push(batch);
                *bytes += added;
            }
            _ => queue.gathered.push_back(Gathered::Appends { rows: vec![batch], bytes: added }),
        },
        Part::ByKey { bytes, ends } => {
            let mut start = 0;
            for (key_end, end) in ends {
                let full = queue.gathered.back().is_none_or(|b| b.bytes() + (end - start) > batch_bytes);
                if full {
                    let batch = KvBatchWriter::new(table.schema_id(), (-1, -1));
                    queue.gathered.push_back(Gathered::ByKey(Box::new(batch)));
                }
                if let Some(Gathered::ByKey(batch)) = queue.gathered.back_mut() {
                    let key = bytes.get(start..key_end).unwrap_or_default();
                    let row = bytes.get(key_end..end).filter(|row| !row.is_empty());
                    batch.push(key, row)?;
                }
                start = end;
            }
        }
    }
    Ok(())
}

/// Sends a bucket's batches one after the other until there are none.
async fn drain(outbox: Arc<Outbox>, bucket: TableBucket) {
    while let Some((gathered, sequence)) = outbox.next(bucket) {
        let bytes = gathered.bytes();
        let sealing = outbox.clone();
        // Packing takes time that the threads of sockets do not have.
        let sealed = tokio::task::spawn_blocking(move || sealing.seal(gathered, sequence)).await;
        let outcome = match sealed {
            Ok(Ok(records)) => outbox.send(bucket, records).await,
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Error::internal("a defect of the client stopped the packing of rows").into()),
        };
        let outcome = outcome.map_err(|refusal| outbox.explained(refusal));
        outbox.settle(bucket, bytes, outcome);
    }
}

impl Outbox {
    /// Says of a bucket that its server does not know that the table is gone.
    fn explained(&self, refusal: Refusal) -> Refusal {
        match refusal.code {
            ErrorCode::TableNotExist => Refusal { error: dropped(self.table.path()), ..refusal },
            _ => refusal,
        }
    }
}

pub(crate) fn is_partition_gone(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound && error.subject() == Subject::Partition
}
