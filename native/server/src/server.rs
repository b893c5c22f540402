//! Listening, accepting, stopping.

use crate::Config;
use crate::config::Endpoint;
use crate::connection::serve;
use crate::counters::Counters;
use crate::http;
use crate::limits::DRAIN_MAX;
use crate::node::Node;
use crate::scans::RowScans;
use crate::stop::Stop;
use sluice_base::{Error, Result};
use sluice_store::LocalStore;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// After the system refused a connection (out of files), the next one is tried so much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    node: Arc<Node>,
    address: SocketAddr,
    http: Option<(TcpListener, SocketAddr)>,
    stop: (watch::Sender<bool>, Stop),
}

impl Server {
    /// Opens the store and listens. Clients that connect from here on are served as soon as [`Server::run`] runs.
    ///
    /// # Errors
    /// Those of opening the store; `Io` naming the address when it cannot be listened on.
    pub async fn bind(config: &Config) -> Result<Self> {
        let (dir, options) = (config.data_dir.clone(), config.store.clone());
        let opened = tokio::task::spawn_blocking(move || LocalStore::open_shared(&dir, &options)).await;
        let store = opened.map_err(|e| Error::internal(format!("opening the store was stopped: {e}")))??;
        let bind = &config.bind;
        let (listener, address) = listen(bind).await?;
        let http = match &config.http {
            Some(endpoint) => Some(listen(endpoint).await?),
            None => None,
        };
        let advertised = config.advertised.as_ref();
        let node = Node {
            store: Arc::new(store),
            host: advertised.unwrap_or(bind).host.clone(),
            port: advertised.map_or(address.port(), |a| a.port),
            settings: config.given.clone(),
            memory: Arc::new(Semaphore::new(config.limits.memory_kib_max as usize)),
            limits: config.limits.clone(),
            counters: Counters::new(),
            scans: RowScans::default(),
        };
        Ok(Self { listener, node: Arc::new(node), address, http, stop: Stop::new() })
    }

    /// The address that it listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where `/health` and `/metrics` are.
    #[must_use]
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(|(_, address)| *address)
    }

    /// What clients are told to connect to.
    #[must_use]
    pub fn advertised(&self) -> (&str, u16) {
        (&self.node.host, self.node.port)
    }

    /// Serves until `shutdown` is done; then takes no more requests, answers those it has (for ten seconds at most) and closes the store.
    ///
    /// # Errors
    /// What kept rows from becoming durable when the store closed; the log has them all the same.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<()> {
        let Self { listener, node, http, stop: (sender, stop), .. } = self;
        let mut aside = JoinSet::new();
        if let Some((listener, _)) = http {
            aside.spawn(http::serve(node.clone(), listener));
        }
        let places = Arc::new(Semaphore::new(node.limits.connections_max));
        let mut connections = JoinSet::new();
        tokio::pin!(shutdown);
        loop {
            while connections.try_join_next().is_some() {}
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut shutdown => break,
            };
            match (accepted, places.clone().try_acquire_owned()) {
                (Ok((stream, _)), Ok(place)) => {
                    let (node, stop) = (node.clone(), stop.clone());
                    node.counters.connections.add(1);
                    connections.spawn(async move {
                        node.counters.connections_open.add(1);
                        serve(node.clone(), stream, stop).await;
                        node.counters.connections_open.subtract(1);
                        drop(place);
                    });
                }
                // Too many connections: this one is closed at once.
                (Ok(_), Err(_)) => node.counters.connections_refused.add(1),
                (Err(_), _) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
        drop(listener);
        // Nobody listens when there are no connections.
        let _ = sender.send(true);
        let drained = async { while connections.join_next().await.is_some() {} };
        aside.abort_all();
        let late = tokio::time::timeout(DRAIN_MAX, drained).await.is_err();
        if late {
            connections.abort_all();
        }
        let closing = tokio::task::spawn_blocking(move || node.store.close()).await;
        closing.map_err(|e| Error::internal(format!("closing the store was stopped: {e}")))?
    }
}

async fn listen(endpoint: &Endpoint) -> Result<(TcpListener, SocketAddr)> {
    let cannot = |e| Error::io(format_args!("listen on {}:{}", endpoint.host, endpoint.port), e);
    let listener = TcpListener::bind((endpoint.host.as_str(), endpoint.port)).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    Ok((listener, address))
}
