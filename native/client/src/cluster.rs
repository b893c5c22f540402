//! The servers behind an address: who they are, who leads which bucket, and one connection to each that all handles of the process share.
//!
//! Long polls have a connection of their own, so that writes and lookups never stand behind them. What is known of leaders is forgotten when a
//! request shows that it is wrong.

use crate::channel::Channel;
use crate::refusal::{Answer, Refusal};
use crate::runtime;
use crate::settings::{Address, Settings};
use sluice_base::{Error, ErrorKind, PartitionId, Result, Subject, TableBucket, TableId};
use sluice_row::TablePath;
use sluice_wire::message::{self, BucketMetadata, MetadataRequest, MetadataResponse, ServerNode};
use sluice_wire::{ApiKey, Body, ErrorCode};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// The first pause before a request is sent again; each further one is twice as long.
pub(crate) const PAUSE_MIN: Duration = Duration::from_millis(20);
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(1);
/// How long opening tries while nobody listens: a server may just be starting.
const OPEN_PATIENCE: Duration = Duration::from_secs(5);

/// Which of two connections to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    Requests,
    /// Fetches, which may wait for rows.
    Fetches,
}

/// Who is to answer a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum To<'a> {
    /// Whoever can be reached.
    Any,
    /// Any server that holds buckets.
    Tablet,
    /// The server that changes the catalog.
    Coordinator,
    /// The leader of a bucket of this table.
    Leader(&'a TablePath, TableBucket),
}

type Slot = Arc<tokio::sync::Mutex<Option<Arc<Channel>>>>;

#[derive(Debug, Default)]
struct Nodes {
    coordinator: Option<Address>,
    tablets: BTreeMap<i32, Address>,
}

/// A cluster, of one server or more.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) settings: Settings,
    pub(crate) runtime: Handle,
    pub(crate) room: crate::room::Room,
    nodes: Mutex<Nodes>,
    links: Mutex<BTreeMap<(Address, Lane), Slot>>,
    leaders: Mutex<HashMap<TableBucket, i32>>,
    paths: Mutex<HashMap<TableId, TablePath>>,
}

static CLUSTERS: Mutex<Vec<Weak<Cluster>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn address(node: &ServerNode) -> Option<Address> {
    u16::try_from(node.port).ok().map(|port| Address { host: node.host.clone(), port })
}

pub(crate) fn wire_path(path: &TablePath) -> message::TablePath {
    message::TablePath { database_name: path.database.clone(), table_name: path.table.clone() }
}

impl Cluster {
    /// The cluster of these settings; all handles of the process share it.
    ///
    /// # Errors
    /// `Io` about `Store` when no server can be reached; `Unauthorized`.
    pub(crate) fn open(settings: Settings) -> Result<Arc<Self>> {
        let runtime = runtime::handle()?;
        let shared = {
            let mut all = lock(&CLUSTERS);
            all.retain(|known| known.strong_count() > 0);
            let found = all.iter().filter_map(Weak::upgrade).find(|c| c.settings == settings);
            found.unwrap_or_else(|| {
                let cluster = Arc::new(Self {
                    room: crate::room::Room::new(settings.buffer_bytes),
                    settings,
                    runtime,
                    nodes: Mutex::default(),
                    links: Mutex::default(),
                    leaders: Mutex::default(),
                    paths: Mutex::default(),
                });
                all.push(Arc::downgrade(&cluster));
                cluster
            })
        };
        shared.block_on(shared.first_contact())?;
        Ok(shared)
    }

    /// Runs a request from a caller's thread to its end.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    async fn first_contact(&self) -> Answer<()> {
        let begun = Instant::now();
        let mut pause = PAUSE_MIN;
        loop {
            match self.find_nodes().await {
                Err(refusal) if refusal.heals() && begun.elapsed() + pause < OPEN_PATIENCE => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                done => return done,
            }
        }
    }

    /// A connection to a server, made if there is none.
    async fn channel(&self, address: &Address, lane: Lane) -> Answer<Arc<Channel>> {
        let slot = lock(&self.links).entry((address.clone(), lane)).or_default().clone();
        let mut slot = slot.lock().await;
        if let Some(open) = slot.as_ref().filter(|c| !c.is_over()) {
            return Ok(open.clone());
        }
        *slot = None;
        let opened = Arc::new(Channel::open(address, &self.settings).await?);
        Ok(slot.insert(opened).clone())
    }

    /// A connection to any server that answers.
    async fn any(&self) -> Answer<Arc<Channel>> {
        let tablets: Vec<Address> = lock(&self.nodes).tablets.values().cloned().collect();
        let mut failed = None;
        for address in tablets.iter().chain(&self.settings.servers) {
            match self.channel(address, Lane::Requests).await {
                Ok(channel) => return Ok(channel),
                Err(refusal) if refusal.heals() => failed = Some(refusal),
                Err(refusal) => return Err(refusal),
            }
        }
        Err(failed.unwrap_or_else(|| Refusal::network("there is no server to ask", false)))
    }

    async fn find_nodes(&self) -> Answer<()> {
        let channel = self.any().await?;
        let told: MetadataResponse =
            channel.ask(ApiKey::GetMetadata, &MetadataRequest::default(), self.settings.request_timeout).await?;
        self.learn_nodes(&told);
        Ok(())
    }

    fn learn_nodes(&self, told: &MetadataResponse) {
        let mut nodes = lock(&self.nodes);
        if let Some(coordinator) = told.coordinator_server.as_ref().and_then(address) {
            nodes.coordinator = Some(coordinator);
        }
        if !told.tablet_servers.is_empty() {
            nodes.tablets =
                told.tablet_servers.iter().filter_map(|node| Some((node.node_id, address(node)?))).collect();
        }
    }

    /// Whether the servers know a request, as the last one asked said.
    pub(crate) async fn knows(&self, key: ApiKey) -> Answer<bool> {
        Ok(self.any().await?.knows(key))
    }

    /// A connection to a server that holds buckets.
    async fn tablet(&self) -> Answer<Arc<Channel>> {
        if lock(&self.nodes).tablets.is_empty() {
            self.find_nodes().await?;
        }
        let tablets: Vec<Address> = lock(&self.nodes).tablets.values().cloned().collect();
        let mut failed = None;
        for address in &tablets {
            match self.channel(address, Lane::Requests).await {
                Ok(channel) => return Ok(channel),
                Err(refusal) => failed = Some(refusal),
            }
        }
        Err(failed.unwrap_or_else(|| Refusal::network("the cluster has no server for buckets now", false)))
    }

    async fn coordinator(&self) -> Answer<Arc<Channel>> {
        let known = lock(&self.nodes).coordinator.clone();
        let address = match known {
            Some(address) => address,
            None => {
                self.find_nodes().await?;
                let found = lock(&self.nodes).coordinator.clone();
                found.ok_or_else(|| Refusal::network("the cluster has no coordinator now", false))?
            }
        };
        self.channel(&address, Lane::Requests).await
    }

    /// A connection to a server by its number.
    pub(crate) async fn node(&self, id: i32, lane: Lane) -> Answer<Arc<Channel>> {
        let address = lock(&self.nodes).tablets.get(&id).cloned();
        match address {
            Some(address) => self.channel(&address, lane).await,
            None => Err(Refusal::network(format!("server {id} is not in the cluster now"), false)),
        }
    }

    /// Remembers where a table is that only its id will be told of.
    pub(crate) fn note_path(&self, id: TableId, path: &TablePath) {
        lock(&self.paths).insert(id, path.clone());
    }

    pub(crate) fn path_of(&self, id: TableId) -> Option<TablePath> {
        lock(&self.paths).get(&id).cloned()
    }

    /// Which server leads a bucket.
    pub(crate) async fn leader(&self, path: &TablePath, bucket: TableBucket) -> Answer<i32> {
        if let Some(leader) = lock(&self.leaders).get(&bucket) {
            return Ok(*leader);
        }
        // Nobody leads those that only the lake has; a server of ours is alone and reads them.
        let any = lock(&self.nodes).tablets.keys().next().copied();
        if let Some(server) = any.filter(|_| bucket.partition.is_some_and(PartitionId::is_of_lake)) {
            return Ok(server);
        }
        let partitions_id = bucket.partition.iter().map(|p| p.0).collect();
        let request =
            MetadataRequest { table_path: vec![wire_path(path)], partitions_id, ..MetadataRequest::default() };
        let told: MetadataResponse =
            self.any().await?.ask(ApiKey::GetMetadata, &request, self.settings.request_timeout).await?;
        self.learn_nodes(&told);
        let table = told.table_metadata.first();
        if table.is_none_or(|t| t.table_id != bucket.table.0) {
            return Err(Refusal::own(dropped(path)));
        }
        let own = table.filter(|_| bucket.partition.is_none()).map(|t| (None, &t.bucket_metadata));
        let parts = told.partition_metadata.iter().map(|p| (Some(p.partition_id), &p.bucket_metadata));
        for (partition, buckets) in own.into_iter().chain(parts) {
            self.learn_leaders(bucket.table, partition, buckets);
        }
        let found = lock(&self.leaders).get(&bucket).copied();
        found.ok_or_else(|| {
            let message = format!("{bucket} of {path} has no leader now");
            Refusal::told(ErrorCode::LeaderNotAvailable.number(), Some(message))
        })
    }

    pub(crate) fn learn_leaders(&self, table: TableId, partition: Option<i64>, buckets: &[BucketMetadata]) {
        let mut leaders = lock(&self.leaders);
        for told in buckets {
            let bucket =
                TableBucket { table, partition: partition.map(sluice_base::PartitionId), bucket: told.bucket_id };
            if let Some(leader) = told.leader_id {
                leaders.insert(bucket, leader);
            }
        }
    }

    /// What was known of a bucket's leader is wrong.
    pub(crate) fn forget(&self, bucket: &TableBucket) {
        lock(&self.leaders).remove(bucket);
    }

    async fn channel_to(&self, to: To<'_>) -> Answer<Arc<Channel>> {
        match to {
            To::Any => self.any().await,
            To::Tablet => self.tablet().await,
            To::Coordinator => self.coordinator().await,
            To::Leader(path, bucket) => {
                let leader = self.leader(path, bucket).await?;
                self.node(leader, Lane::Requests).await
            }
        }
    }

    /// Asks once.
    pub(crate) async fn try_ask<A: Body>(&self, to: To<'_>, key: ApiKey, body: &impl Body) -> Answer<A> {
        let channel = self.channel_to(to).await?;
        channel.ask(key, body, self.settings.request_timeout).await
    }

    /// After a failure: what is known may be wrong.
    pub(crate) async fn doubt(&self, to: To<'_>, refusal: &Refusal) {
        if let To::Leader(_, bucket) = to {
            self.forget(&bucket);
        }
        if matches!(to, To::Coordinator) {
            lock(&self.nodes).coordinator = None;
        }
        if refusal.code == ErrorCode::Network {
            // The next try says what is wrong.
            let _ = self.find_nodes().await;
        }
    }

    /// Asks until there is an answer, a refusal for good, or no more time. `check` finds the refusals inside an answer.
    pub(crate) async fn ask_checked<A: Body, T>(
        &self,
        to: To<'_>,
        key: ApiKey,
        body: &impl Body,
        check: impl Fn(A) -> Answer<T>,
    ) -> Answer<T> {
        let begun = Instant::now();
        let mut pause = PAUSE_MIN;
        loop {
            let refusal = match self.try_ask(to, key, body).await.and_then(&check) {
                Ok(answer) => return Ok(answer),
                Err(refusal) => refusal,
            };
            if !refusal.heals() || begun.elapsed() + pause >= self.settings.request_timeout {
                return Err(refusal);
            }
            self.doubt(to, &refusal).await;
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// The same for an answer that holds no refusals.
    pub(crate) async fn ask<A: Body>(&self, to: To<'_>, key: ApiKey, body: &impl Body) -> Answer<A> {
        self.ask_checked(to, key, body, Ok).await
    }

    /// Asks for a change that must not be made twice: again only when the server cannot have got it.
    pub(crate) async fn change<A: Body>(&self, key: ApiKey, body: &impl Body) -> Answer<A> {
        let begun = Instant::now();
        let mut pause = PAUSE_MIN;
        loop {
            match self.try_ask(To::Coordinator, key, body).await {
                Err(refusal) if refusal.heals() && !refusal.sent => {
                    if begun.elapsed() + pause >= self.settings.request_timeout {
                        return Err(refusal);
                    }
                    self.doubt(To::Coordinator, &refusal).await;
                }
                Err(refusal) if refusal.code == ErrorCode::Network => {
                    let error =
                        refusal.error.context("nobody can tell whether the change was made; look, then try again");
                    return Err(Refusal { error, ..refusal });
                }
                done => return done,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

/// The table that a handle was opened on is not there any more.
pub(crate) fn dropped(path: &TablePath) -> Error {
    Error::new(ErrorKind::NotFound, Subject::Table, format!("table {path} was dropped"))
}
