//! Rows of one writer on their way: for each bucket one batch under way, and behind it what gathers meanwhile.
//!
//! A batch has a number among its writer's in its bucket and is sent with the same bytes until its server has answered, so that it is there
//! once however often it arrives. Nothing waits for company: the first rows go at once.

use crate::cluster::{Cluster, PAUSE_MAX, PAUSE_MIN, To, dropped};
use crate::refusal::{Answer, Refusal, part};
use crate::router::create;
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
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A batch is sent again for so many times the patience of one request; then its writer fails.
const PATIENCE_REQUESTS: u32 = 2;
/// Rows are acknowledged by all replicas.
const ACKS_ALL: i32 = -1;

/// Rows that gather for one bucket.
#[derive(Clone)]
pub(crate) enum Gathered {
    Appends {
        rows: Vec<RecordBatch>,
        bytes: usize,
    },
    /// With `true` the table takes the rows back.
    ByKey(Box<KvBatchWriter>, bool),
}

impl Gathered {
    fn bytes(&self) -> usize {
        match self {
            Self::Appends { bytes, .. } => *bytes,
            Self::ByKey(batch, _) => batch.bytes(),
        }
    }
}

/// Rows of one call for one bucket.
pub(crate) enum Part {
    Appends(RecordBatch, usize),
    /// Encoded keys and rows, one after the other; a row without bytes deletes.
    ByKey {
        bytes: Vec<u8>,
        ends: Vec<Ends>,
    },
}

/// Where a key ends and its row, and whether the row is taken back.
pub(crate) struct Ends {
    pub(crate) key: usize,
    pub(crate) row: usize,
    pub(crate) takes_back: bool,
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
    /// Values and numbers of buckets of the partitions that rows are for, as far as they may be made anew.
    partitions: BTreeMap<PartitionId, (Vec<String>, i32)>,
    /// Where the rows of buckets go whose partition was dropped and made anew.
    moved: BTreeMap<TableBucket, TableBucket>,
    /// The newest partition of each values.
    newest: BTreeMap<Vec<String>, PartitionId>,
    /// Partitions that were made anew, and the dropped one that each stands for.
    anew: BTreeMap<PartitionId, PartitionId>,
}

impl State {
    fn learn(&mut self, partition: PartitionId, values: Vec<String>, buckets: i32) {
        if let Some(older) = self.newest.insert(values.clone(), partition)
            && older < partition
        {
            self.anew.insert(partition, older);
        }
        self.partitions.insert(partition, (values, buckets));
    }

    /// The queue that rows for a bucket join. Behind a partition that was made anew, rows of its bucket may still wait in the queue of the
    /// dropped one, and newer ones must not overtake them.
    fn queue_for(&self, bucket: TableBucket) -> TableBucket {
        let mut place = bucket;
        // Each step goes to a partition that is newer, so this ends.
        while let Some(next) = self.moved.get(&place) {
            place = *next;
        }
        let mut older = place;
        while let Some(partition) = older.partition.and_then(|p| self.anew.get(&p)) {
            older.partition = Some(*partition);
            if !self.moved.contains_key(&older) && self.queues.get(&older).is_some_and(|queue| queue.busy) {
                place = older;
            }
        }
        place
    }
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

    /// Remembers how partitions could be made anew.
    pub(crate) fn note(
        &self,
        partitions: impl Iterator<Item = (PartitionId, i32)>,
        values: impl Fn(PartitionId) -> Option<Vec<String>>,
    ) {
        let mut state = self.lock();
        let mut last = None;
        for (partition, buckets) in partitions {
            if last.replace(partition) != Some(partition)
                && !state.partitions.contains_key(&partition)
                && let Some(values) = values(partition)
            {
                state.learn(partition, values, buckets);
            }
        }
    }

    /// Queues rows behind those of earlier calls. The caller has taken room for them.
    pub(crate) fn put(self: &Arc<Self>, parts: BTreeMap<TableBucket, Part>) -> Result<()> {
        let mut state = self.lock();
        for (bucket, part) in parts {
            let bucket = state.queue_for(bucket);
            let queue = state.queues.entry(bucket).or_default();
            queue.room += part.bytes();
            gather(queue, part, &self.table, self.cluster.settings.batch_bytes)?;
            if !std::mem::replace(&mut queue.busy, true) {
                self.cluster.runtime.spawn(start(self.clone(), bucket));
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
            Gathered::ByKey(batch, _) => return Ok(batch.finish_as(writer)),
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

    async fn send(&self, bucket: TableBucket, records: Vec<u8>, takes_back: bool) -> Answer<()> {
        let patience = self.cluster.settings.request_timeout;
        let timeout_ms = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        let (table_id, partition_id) = (bucket.table.0, bucket.partition.map(|p| p.0));
        let request = if self.table.has_primary_key() {
            let part = PutKvBucketRequest { partition_id, bucket_id: bucket.bucket, records: records.into() };
            let overwrite = self.overwrite.then_some(PutKvRequest::OVERWRITE);
            let agg_mode = if takes_back { Some(PutKvRequest::TAKE_BACK) } else { overwrite };
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
            for end in ends {
                let joins = |b: &Gathered| {
                    matches!(b, Gathered::ByKey(_, takes_back) if *takes_back == end.takes_back)
                        && b.bytes() + (end.row - start) <= batch_bytes
                };
                if !queue.gathered.back().is_some_and(joins) {
                    let batch = KvBatchWriter::new(table.schema_id(), (-1, -1));
                    queue.gathered.push_back(Gathered::ByKey(Box::new(batch), end.takes_back));
                }
                if let Some(Gathered::ByKey(batch, _)) = queue.gathered.back_mut() {
                    let key = bytes.get(start..end.key).unwrap_or_default();
                    let row = bytes.get(end.key..end.row).filter(|row| !row.is_empty());
                    batch.push(key, row)?;
                }
                start = end.row;
            }
        }
    }
    Ok(())
}

/// Boxed, for a bucket's sending may begin that of another.
fn start(outbox: Arc<Outbox>, bucket: TableBucket) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(drain(outbox, bucket))
}

/// Sends a bucket's batches one after the other until there are none.
async fn drain(outbox: Arc<Outbox>, bucket: TableBucket) {
    while let Some((gathered, sequence)) = outbox.next(bucket) {
        let bytes = gathered.bytes();
        let kept = bucket.partition.map(|_| gathered.clone());
        let outcome = match (outbox.clone().deliver(bucket, gathered, sequence).await, kept) {
            (Err(refusal), Some(kept)) if is_partition_gone(&refusal.error) => {
                match outbox.relocate(bucket, kept).await {
                    Ok(()) => continue,
                    Err(refusal) => Err(refusal),
                }
            }
            (Err(refusal), _) if refusal.code == ErrorCode::TableNotExist => {
                Err(Refusal { error: dropped(outbox.table.path()), ..refusal })
            }
            (outcome, _) => outcome,
        };
        outbox.settle(bucket, bytes, outcome);
    }
}

impl Outbox {
    async fn deliver(self: Arc<Self>, bucket: TableBucket, gathered: Gathered, sequence: i32) -> Answer<()> {
        let sealing = self.clone();
        let takes_back = matches!(gathered, Gathered::ByKey(_, true));
        // Packing takes time that the threads of sockets do not have.
        let sealed = tokio::task::spawn_blocking(move || sealing.seal(gathered, sequence)).await;
        match sealed {
            Ok(records) => self.send(bucket, records?, takes_back).await,
            Err(_) => Err(Error::internal("a defect of the client stopped the packing of rows").into()),
        }
    }

    /// A bucket's partition was dropped. Rows that were not acknowledged go into the partition of the same values, which is made anew; where
    /// it may not be, they went with the old one.
    async fn relocate(self: &Arc<Self>, bucket: TableBucket, gathered: Gathered) -> Answer<()> {
        let known = bucket.partition.and_then(|p| self.lock().partitions.get(&p).cloned());
        let home = match &known {
            Some((values, _)) => Some(create(&self.cluster, &self.table, values).await?),
            None => None,
        };
        let mut state = self.lock();
        state.gone.extend(bucket.partition);
        let Some(old) = state.queues.get_mut(&bucket) else { return Ok(()) };
        let rows: Vec<Gathered> = std::iter::once(gathered).chain(old.gathered.drain(..)).collect();
        let room = std::mem::take(&mut old.room);
        let (Some(home), Some((values, buckets))) = (home, known) else {
            self.cluster.room.give_back(room);
            return Ok(());
        };
        if home.buckets != buckets || home.partition == bucket.partition {
            self.cluster.room.give_back(room);
            let message = format!(
                "partition {} was dropped and made anew with {} buckets instead of {buckets} while rows were on their way; write them again",
                values.join("$"),
                home.buckets
            );
            return Err(Error::new(ErrorKind::Busy, Subject::Partition, message).into());
        }
        let place = home.bucket(&self.table, bucket.bucket);
        state.moved.insert(bucket, place);
        if let Some(partition) = home.partition {
            state.learn(partition, values, buckets);
        }
        let queue = state.queues.entry(place).or_default();
        queue.room += room;
        queue.gathered.extend(rows);
        if !std::mem::replace(&mut queue.busy, true) {
            self.cluster.runtime.spawn(start(self.clone(), place));
        }
        Ok(())
    }
}

pub(crate) fn is_partition_gone(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound && error.subject() == Subject::Partition
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_base::TableId;

    fn bucket(partition: i64) -> TableBucket {
        TableBucket { table: TableId(1), partition: Some(PartitionId(partition)), bucket: 0 }
    }

    #[test]
    fn rows_of_a_partition_made_anew_stay_behind_those_of_the_dropped_one() {
        let mut state = State::default();
        state.learn(PartitionId(1), vec!["a".to_owned()], 1);
        state.learn(PartitionId(2), vec!["b".to_owned()], 1);
        state.queues.insert(bucket(1), Queue { busy: true, ..Queue::default() });
        assert_eq!([state.queue_for(bucket(1)), state.queue_for(bucket(2))], [bucket(1), bucket(2)]);
        state.learn(PartitionId(3), vec!["a".to_owned()], 1);
        assert_eq!(state.queue_for(bucket(3)), bucket(1));
        // Once those have joined the new partition's queue, rows go there by either name.
        state.moved.insert(bucket(1), bucket(3));
        assert_eq!([state.queue_for(bucket(1)), state.queue_for(bucket(3))], [bucket(3), bucket(3)]);
        state.learn(PartitionId(4), vec!["a".to_owned()], 1);
        state.queues.insert(bucket(3), Queue { busy: true, ..Queue::default() });
        assert_eq!(state.queue_for(bucket(4)), bucket(3));
        state.queues.insert(bucket(3), Queue::default());
        assert_eq!(state.queue_for(bucket(4)), bucket(4));
    }
}
