//! Listening, accepting, stopping.

use crate::Config;
use crate::authorizer::Authorizer;
use crate::caller::{Caller, Door};
use crate::clients::Clients;
use crate::connection::serve;
use crate::counters::Counters;
use crate::endpoint::Endpoint;
use crate::http;
use crate::limits::{DRAIN_MAX, STRANGERS_MAX};
use crate::node::Node;
use crate::scans::RowScans;
use crate::stop::Stop;
use crate::troubles::Troubles;
use sluice_base::{Clock, Error, Result, SystemClock};
use sluice_store::LocalStore;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

/// After the system refused a connection (out of files), the next one is tried so much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    doors: Vec<(TcpListener, SocketAddr, Arc<Door>)>,
    node: Arc<Node>,
    http: Option<(TcpListener, SocketAddr)>,
    stop: (watch::Sender<bool>, Stop),
}

impl Server {
    /// Opens the store and listens. Clients that connect from here on are served as soon as [`Server::run`] runs.
    ///
    /// # Errors
    /// Those of opening the store; `Io` naming the address when it cannot be listened on.
    pub async fn bind(config: &Config) -> Result<Self> {
        let (dir, options) = (config.data_dir.clone(), config.store.all().clone());
        let opened = tokio::task::spawn_blocking(move || LocalStore::open_shared(&dir, &options)).await;
        let store = opened.map_err(|e| Error::internal(format!("opening the store was stopped: {e}")))??;
        let exempt = config.listeners.iter().any(|listener| listener.exempt);
        let access = config.access.clone();
        let authorizer = access.map(|settings| Authorizer::open(settings, &store, exempt)).transpose()?;
        let mut doors = Vec::with_capacity(config.listeners.len());
        for listener in &config.listeners {
            let (socket, address) = listen(&listener.bind).await?;
            let told = listener.advertised.as_ref();
            let door = Door {
                name: listener.name.clone(),
                host: told.unwrap_or(&listener.bind).host.clone(),
                port: told.map_or(address.port(), |a| a.port),
                users: listener.users.clone(),
                exempt: listener.exempt,
                strangers: Semaphore::new(STRANGERS_MAX),
            };
            doors.push((socket, address, Arc::new(door)));
        }
        let http = match &config.http {
            Some(endpoint) => Some(listen(endpoint).await?),
            None => None,
        };
        let node = Node {
            store: Arc::new(store),
            settings: config.given.clone(),
            memory: Arc::new(Semaphore::new(config.limits.memory_kib_max as usize)),
            authorizer,
            limits: config.limits.clone(),
            counters: Counters::new(),
            clients: Clients::default(),
            troubles: Troubles::default(),
            doors: doors.iter().map(|(_, _, door)| door.clone()).collect(),
            started_ms: SystemClock.now_ms(),
            scans: RowScans::default(),
        };
        Ok(Self { doors, node: Arc::new(node), http, stop: Stop::new() })
    }

    /// The addresses that it listens on, in the order of the setting.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.doors.iter().map(|(_, address, _)| *address).collect()
    }

    /// Whether the store was lost and has been brought back from its remote place.
    #[must_use]
    pub fn restored(&self) -> bool {
        self.node.store.is_restored()
    }

    /// Where `/health` and `/metrics` are.
    #[must_use]
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(|(_, address)| *address)
    }

    /// What clients are told to connect to, one sentence's part for each listener: `host:port`, and with several its name and protocol.
    #[must_use]
    pub fn advertised(&self) -> String {
        let several = self.doors.len() > 1;
        let told = |(_, _, door): &(TcpListener, SocketAddr, Arc<Door>)| {
            let name = if several { format!(" ({} {})", door.name, door.protocol()) } else { String::new() };
            format!("{}:{}{name}", door.host, door.port)
        };
        self.doors.iter().map(told).collect::<Vec<_>>().join(" and ")
    }

    /// Serves until `shutdown` is done; then takes no more requests, answers those it has (for ten seconds at most) and closes the store.
    ///
    /// # Errors
    /// What kept rows from becoming durable when the store closed; the log has them all the same.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<()> {
        let Self { doors, node, http, stop: (sender, stop) } = self;
        let mut aside = JoinSet::new();
        if let Some((listener, _)) = http {
            aside.spawn(http::serve(node.clone(), listener));
        }
        let (comers, mut coming) = mpsc::channel(1);
        for (listener, _, door) in doors {
            aside.spawn(accept(listener, door, comers.clone()));
        }
        drop(comers);
        let places = Arc::new(Semaphore::new(node.limits.connections_max));
        let mut connections = JoinSet::new();
        tokio::pin!(shutdown);
        loop {
            while connections.try_join_next().is_some() {}
            let (stream, address, door) = tokio::select! {
                comer = coming.recv() => match comer {
                    Some(comer) => comer,
                    None => break,
                },
                () = &mut shutdown => break,
            };
            // Too many connections: this one is closed at once.
            let Ok(place) = places.clone().try_acquire_owned() else {
                node.counters.connections_refused.add(1);
                continue;
            };
            let (node, stop) = (node.clone(), stop.clone());
            node.counters.connections.add(1);
            connections.spawn(async move {
                node.counters.connections_open.add(1);
                let caller = Arc::new(Caller::new(door, address));
                let visit = node.clients.enter(caller.clone());
                serve(node.clone(), stream, caller, stop).await;
                drop(visit);
                node.counters.connections_open.subtract(1);
                drop(place);
            });
        }
        aside.abort_all();
        // Nobody listens when there are no connections.
        let _ = sender.send(true);
        let drained = async { while connections.join_next().await.is_some() {} };
        let late = tokio::time::timeout(DRAIN_MAX, drained).await.is_err();
        if late {
            connections.abort_all();
        }
        let closing = tokio::task::spawn_blocking(move || node.store.close()).await;
        closing.map_err(|e| Error::internal(format!("closing the store was stopped: {e}")))?
    }
}

type Comer = (TcpStream, SocketAddr, Arc<Door>);

/// Takes connections until it is dropped.
async fn accept(listener: TcpListener, door: Arc<Door>, comers: mpsc::Sender<Comer>) {
    loop {
        match listener.accept().await {
            // Nobody takes them any more when the server stops.
            Ok((stream, address)) => drop(comers.send((stream, address, door.clone())).await),
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn listen(endpoint: &Endpoint) -> Result<(TcpListener, SocketAddr)> {
    let cannot = |e| Error::io(format_args!("listen on {}:{}", endpoint.host, endpoint.port), e);
    let listener = TcpListener::bind((endpoint.host.as_str(), endpoint.port)).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    Ok((listener, address))
}
