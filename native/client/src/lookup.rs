//! Lookups by key and by prefix. One request to a server is under way for a lookup at a time; what threads ask meanwhile goes with the next.

use crate::closing::Closing;
use crate::cluster::{Cluster, PAUSE_MAX, PAUSE_MIN, To};
use crate::outbox::is_partition_gone;
use crate::refusal::{Answer, Refusal, part};
use crate::router::{Home, Missing, Router};
use crate::table::{RemoteTable, pick};
use crate::values::{Wanted, decode};
use arrow_array::RecordBatch;
use arrow_schema::DataType as ArrowType;
use bytes::Bytes;
use sluice_api::{Lookup, LookupOptions, LookupRows};
use sluice_base::{Error, PartitionId, Result, Subject, TableBucket};
use sluice_row::{KeyEncoder, KeyFormat};
use sluice_wire::ApiKey;
use sluice_wire::message::{
    LookupBucketRequest, LookupRequest, LookupResponse, PrefixLookupBucketRequest, PrefixLookupRequest,
    PrefixLookupResponse,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;

/// The stored values that each key found.
type Found = Vec<Vec<Bytes>>;

/// An open lookup; threads share it.
pub(crate) struct RemoteLookup {
    cluster: Arc<Cluster>,
    table: Arc<RemoteTable>,
    closed: Closing,
    columns: Vec<(String, ArrowType)>,
    wanted: Wanted,
    key: KeyPart,
    bucket_key: KeyPart,
    partition_key: Vec<usize>,
    router: Mutex<Router>,
    lane: Arc<Lane>,
}

/// An encoder and where its columns stand in the batches of keys.
struct KeyPart {
    positions: Vec<usize>,
    encoder: KeyEncoder,
}

impl KeyPart {
    fn new(table: &RemoteTable, format: KeyFormat, wanted: &[usize], given: &[usize]) -> Result<Self> {
        let positions = wanted.iter().filter_map(|i| given.iter().position(|g| g == i)).collect();
        Ok(Self { positions, encoder: table.key_encoder(format, wanted)? })
    }
}

/// Keys of one call in one bucket.
struct Asked {
    bucket: TableBucket,
    keys: Vec<Bytes>,
    reply: oneshot::Sender<Answer<Found>>,
}

/// Where questions gather.
struct Lane {
    cluster: Arc<Cluster>,
    table: Arc<RemoteTable>,
    prefix: bool,
    waiting: Mutex<(bool, Vec<Asked>)>,
    /// Partitions that were found to be dropped.
    gone: Mutex<BTreeSet<PartitionId>>,
}

impl Lane {
    fn ask(self: &Arc<Self>, asked: Vec<Asked>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.1.extend(asked);
        if !std::mem::replace(&mut waiting.0, true) {
            let lane = self.clone();
            self.cluster.runtime.spawn(async move { while lane.turn().await {} });
        }
    }

    /// Asks what has gathered; whether there was anything.
    async fn turn(self: &Arc<Self>) -> bool {
        let gathered = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.0 = !waiting.1.is_empty();
            std::mem::take(&mut waiting.1)
        };
        let mut by_bucket: BTreeMap<TableBucket, Vec<Asked>> = BTreeMap::new();
        for asked in gathered {
            by_bucket.entry(asked.bucket).or_default().push(asked);
        }
        let any = !by_bucket.is_empty();
        // Buckets are asked side by side; the slowest one ends the turn.
        let asking: Vec<_> = by_bucket
            .into_iter()
            .map(|(bucket, asked)| {
                let lane = self.clone();
                tokio::spawn(async move { lane.ask_bucket(bucket, asked).await })
            })
            .collect();
        for one in asking {
            // A defect in it has dropped the replies, which those who wait see.
            let _ = one.await;
        }
        any
    }

    async fn ask_bucket(&self, bucket: TableBucket, asked: Vec<Asked>) {
        let keys: Vec<Bytes> = asked.iter().flat_map(|a| a.keys.iter().cloned()).collect();
        match self.patiently(bucket, &keys).await {
            Ok(found) => {
                let mut found = found.into_iter();
                for one in asked {
                    let own = found.by_ref().take(one.keys.len()).collect();
                    // Who asked may have gone.
                    let _ = one.reply.send(Ok(own));
                }
            }
            Err(refusal) => {
                for one in asked {
                    let (code, sent, e) = (refusal.code, refusal.sent, &refusal.error);
                    let error = Error::new(e.kind(), e.subject(), e.message());
                    let _ = one.reply.send(Err(Refusal { code, error, sent }));
                }
            }
        }
    }

    async fn patiently(&self, bucket: TableBucket, keys: &[Bytes]) -> Answer<Found> {
        let (begun, mut pause) = (Instant::now(), PAUSE_MIN);
        let to = To::Leader(self.table.path(), bucket);
        loop {
            let refusal = match self.once(to, bucket, keys).await {
                // What is in no partition is not found.
                Err(refusal) if is_partition_gone(&refusal.error) => {
                    self.gone.lock().unwrap_or_else(PoisonError::into_inner).extend(bucket.partition);
                    return Ok(vec![Vec::new(); keys.len()]);
                }
                Err(refusal) => refusal,
                Ok(found) if found.len() == keys.len() => return Ok(found),
                Ok(found) => {
                    let message = format!("{} answers to {} keys of {bucket}", found.len(), keys.len());
                    return Err(Error::internal(message).into());
                }
            };
            if !refusal.heals() || begun.elapsed() + pause >= self.cluster.settings.request_timeout {
                return Err(refusal);
            }
            self.cluster.doubt(to, &refusal).await;
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    async fn once(&self, to: To<'_>, bucket: TableBucket, keys: &[Bytes]) -> Answer<Found> {
        let nothing = || Refusal::network("the server answered without a word about the keys", true);
        let (table_id, partition_id, bucket_id) = (bucket.table.0, bucket.partition.map(|p| p.0), bucket.bucket);
        let keys = keys.to_vec();
        if self.prefix {
            let buckets_req = vec![PrefixLookupBucketRequest { partition_id, bucket_id, keys }];
            let request = PrefixLookupRequest { table_id, buckets_req };
            let answer: PrefixLookupResponse = self.cluster.try_ask(to, ApiKey::PrefixLookup, &request).await?;
            let told = answer.buckets_resp.into_iter().next().ok_or_else(nothing)?;
            part(told.error_code, told.error_message)?;
            return Ok(told.value_lists.into_iter().map(|list| list.values).collect());
        }
        let buckets_req = vec![LookupBucketRequest { partition_id, bucket_id, keys }];
        let request = LookupRequest { table_id, buckets_req, ..LookupRequest::default() };
        let answer: LookupResponse = self.cluster.try_ask(to, ApiKey::Lookup, &request).await?;
        let told = answer.buckets_resp.into_iter().next().ok_or_else(nothing)?;
        part(told.error_code, told.error_message)?;
        let value = |v: sluice_wire::message::Value| v.values.filter(|b| !b.is_empty()).into_iter().collect();
        Ok(told.values.into_iter().map(value).collect())
    }
}

impl RemoteLookup {
    pub(crate) fn open(
        cluster: Arc<Cluster>,
        table: RemoteTable,
        options: &LookupOptions,
        closed: Closing,
    ) -> Result<Self> {
        let given = positions(&table, &options.key_columns)?;
        let prefix = kind_of(&table, &given)?;
        let wanted = Wanted::new(&table, options.projection.as_deref())?;
        let key_columns = if prefix { &table.bucket_key } else { &table.row_key };
        let fields = given.iter().filter_map(|i| table.arrow.fields().get(*i));
        let columns = fields.map(|f| (f.name().clone(), f.data_type().clone())).collect();
        let key = KeyPart::new(&table, table.key_format, key_columns, &given)?;
        let bucket_key = KeyPart::new(&table, table.bucket_format, &table.bucket_key, &given)?;
        let partition_key = table.partition_key.iter().filter_map(|i| given.iter().position(|g| g == i)).collect();
        let table = Arc::new(table);
        Ok(Self {
            router: Mutex::new(Router::new(&table)),
            lane: Arc::new(Lane {
                cluster: cluster.clone(),
                table: table.clone(),
                prefix,
                waiting: Mutex::default(),
                gone: Mutex::default(),
            }),
            cluster,
            table,
            closed,
            columns,
            wanted,
            key,
            bucket_key,
            partition_key,
        })
    }

    fn check(&self, keys: &RecordBatch) -> Result<()> {
        let same = keys.num_columns() == self.columns.len()
            && keys.columns().iter().zip(&self.columns).all(|(c, (_, t))| c.data_type() == t);
        if same {
            return Ok(());
        }
        let want: Vec<String> = self.columns.iter().map(|(name, t)| format!("{name} {t}")).collect();
        Err(Error::invalid(Subject::Column, format!("the keys must be the columns {}", want.join(", "))))
    }

    /// The encoded keys by bucket, each with the row that it stands in; keys with a NULL or without a partition are left out.
    fn keys(&self, batch: &RecordBatch) -> Result<BTreeMap<TableBucket, Vec<(usize, Bytes)>>> {
        let columns = pick(batch.columns(), &self.key.positions)?;
        let bucket_columns = pick(batch.columns(), &self.bucket_key.positions)?;
        let bound = self.key.encoder.bind(&columns)?;
        let bound_bucket = self.bucket_key.encoder.bind(&bucket_columns)?;
        let partitions = pick(batch.columns(), &self.partition_key)?;
        let rows = batch.num_rows();
        let mut router = self.router.lock().unwrap_or_else(PoisonError::into_inner);
        // One that was dropped may be there again under another id.
        let gone = std::mem::take(&mut *self.lane.gone.lock().unwrap_or_else(PoisonError::into_inner));
        gone.into_iter().for_each(|partition| router.forget(partition));
        let homes = router.route(&self.cluster, &self.table, &partitions, rows, |_| Missing::Nowhere)?;
        drop(router);
        let mut by_bucket: BTreeMap<TableBucket, Vec<(usize, Bytes)>> = BTreeMap::new();
        let mut bytes = Vec::new();
        for (row, home) in homes.iter().enumerate() {
            let Some(home): &Option<Home> = home else { continue };
            if bound.has_null(row) {
                continue;
            }
            bytes.clear();
            let bucket = if home.buckets < 2 {
                0
            } else {
                bound_bucket.encode(row, &mut bytes)?;
                self.table.bucket_function.bucket(&bytes, home.buckets)
            };
            let mut key = Vec::new();
            bound.encode(row, &mut key)?;
            by_bucket.entry(home.bucket(&self.table, bucket)).or_default().push((row, Bytes::from(key)));
        }
        Ok(by_bucket)
    }

    /// What each row of the batch found.
    fn find(&self, keys: BTreeMap<TableBucket, Vec<(usize, Bytes)>>, rows: usize) -> Result<Found> {
        let (mut asked, mut answers) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        for (bucket, keys) in keys {
            let (reply, answer) = oneshot::channel();
            let (rows, keys): (Vec<usize>, Vec<Bytes>) = keys.into_iter().unzip();
            asked.push(Asked { bucket, keys, reply });
            answers.push((rows, answer));
        }
        self.lane.ask(asked);
        let mut found = vec![Vec::new(); rows];
        for (rows, answer) in answers {
            let values = self.cluster.block_on(answer);
            let values = values.map_err(|_| Error::internal("a defect of the client stopped a lookup"))??;
            for (row, values) in rows.into_iter().zip(values) {
                if let Some(slot) = found.get_mut(row) {
                    *slot = values;
                }
            }
        }
        Ok(found)
    }
}

fn positions(table: &RemoteTable, names: &[String]) -> Result<Vec<usize>> {
    let mut positions = Vec::with_capacity(names.len());
    for name in names {
        let position = table.schema().index_of(name);
        let position = position
            .ok_or_else(|| Error::invalid(Subject::Column, format!("table {} has no column '{name}'", table.path())))?;
        if positions.contains(&position) {
            return Err(Error::invalid(Subject::Column, format!("key column '{name}' is named twice")));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// Whether the columns make a prefix lookup; else they are the whole key.
fn kind_of(table: &RemoteTable, given: &[usize]) -> Result<bool> {
    if !table.has_primary_key() {
        let message = format!("table {} has no primary key, so nothing can be looked up in it", table.path());
        return Err(Error::invalid(Subject::Table, message));
    }
    let same = |wanted: &[usize]| wanted.len() == given.len() && wanted.iter().all(|w| given.contains(w));
    if same(&table.primary_key) {
        return Ok(false);
    }
    let is_prefix = table.row_key.starts_with(&table.bucket_key) && table.bucket_key.len() < table.row_key.len();
    let prefix = [&table.bucket_key[..], &table.partition_key].concat();
    if is_prefix && table.key_format == KeyFormat::Compacted && same(&prefix) {
        return Ok(true);
    }
    let names = |positions: &[usize]| {
        let names = positions.iter().filter_map(|i| table.schema().columns.get(*i)).map(|c| c.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let mut legal = format!("its primary key ({})", names(&table.primary_key));
    if is_prefix {
        let partitions = if table.is_partitioned() { " with the partition columns" } else { "" };
        legal += &format!(" or its bucket key{partitions} ({})", names(&prefix));
    }
    let message = format!("lookups in table {} go by {legal}, not by ({})", table.path(), names(given));
    Err(Error::invalid(Subject::Column, message))
}

impl Lookup for RemoteLookup {
    fn lookup(&self, keys: &RecordBatch) -> Result<LookupRows> {
        self.closed.check()?;
        self.check(keys)?;
        let count = keys.num_rows();
        let found = self.find(self.keys(keys)?, count)?;
        let mut ends = Vec::with_capacity(count);
        let mut end = 0_u32;
        for values in &found {
            let more = u32::try_from(values.len()).ok().and_then(|n| end.checked_add(n));
            end = more.ok_or_else(|| Error::invalid(Subject::Row, "a lookup found over 4 billion rows"))?;
            ends.push(end);
        }
        let rows = decode(&self.cluster, &self.table, &self.wanted, found.iter().flatten().map(AsRef::as_ref))?;
        Ok(LookupRows { rows, ends })
    }
}
