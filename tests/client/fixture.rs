//! A server in this process and a store that is reached over its socket; tables and rows are those of the tests of one store, which run here too.
//!
//! `SLUICE_CLIENT=plain` leaves out the requests of our own, as if the server were another's; `SLUICE_CLIENT=host:port` is another server.

pub use crate::bucket::{
    Row, Table, WAIT, assert_error, batch, buckets, column, columns, descriptor, finish, int_column, ints, of, options,
    path, read, row, rows_of, strings,
};
use sluice_api::Connection;
use sluice_base::TableId;
use sluice_client::RemoteStore;
use sluice_row::TableDescriptor;
use sluice_server::{Config, Server};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

pub const MODE: &str = "SLUICE_CLIENT";

/// A running server. Dropping it stops it as SIGTERM would.
pub struct Running {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// `port` 0 is any; what clients are told to connect to is `advertised`, if given.
    pub fn start(dir: &Path, port: u16, advertised: Option<SocketAddr>) -> Self {
        let advertised = advertised.map(|a| format!("FLUSS://{a}"));
        let more: Vec<(&str, &str)> = advertised.iter().map(|a| ("advertised.listeners", a.as_str())).collect();
        Self::with(dir, port, &more)
    }

    /// One with more settings.
    pub fn with(dir: &Path, port: u16, more: &[(&str, &str)]) -> Self {
        let mut given = options(more);
        given.insert("data.dir".to_owned(), dir.join("store").display().to_string());
        given.insert("bind.listeners".to_owned(), format!("FLUSS://127.0.0.1:{port}"));
        let config = Config::from_settings(given).unwrap();
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let server = Server::bind(&config).await.unwrap();
                tell.send(server.addresses()[0]).unwrap();
                server.run(async { drop(stopped.await) }).await.unwrap();
            });
        });
        Self { address: told.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
    }
}

/// What a connection to a server is opened with.
pub fn connection(address: SocketAddr, more: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut all = options(more);
    all.insert("bootstrap.servers".to_owned(), address.to_string());
    all
}

pub fn is_plain() -> bool {
    std::env::var(MODE).is_ok()
}

/// The servers of others that the tests are to run against.
fn other() -> Option<String> {
    std::env::var(MODE).ok().filter(|mode| mode != "plain")
}

pub fn connect(address: SocketAddr, more: &[(&str, &str)]) -> RemoteStore {
    let options = connection(address, more);
    if is_plain() { RemoteStore::open_plain(&options).unwrap() } else { RemoteStore::open(&options).unwrap() }
}

/// Waits for what a server does when it finds time.
pub fn eventually(is_so: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < WAIT * 3, "it never came");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

pub struct Home {
    pub store: RemoteStore,
    _server: Option<Running>,
    _dir: tempfile::TempDir,
}

pub fn home() -> Home {
    let dir = tempfile::tempdir().unwrap();
    if let Some(servers) = other() {
        let store = RemoteStore::open(&options(&[("bootstrap.servers", &servers)])).unwrap();
        // A cluster that has just started has nobody yet to give buckets to.
        eventually(|| store.create_table(&path("ready"), &descriptor(false), true).is_ok());
        // What the test before has left there.
        for table in store.list_tables("fluss").unwrap() {
            store.drop_table(&path(&table), true).unwrap();
        }
        for database in store.list_databases().unwrap().iter().filter(|name| *name != "fluss") {
            store.drop_database(database, true, true).unwrap();
        }
        return Home { store, _server: None, _dir: dir };
    }
    let server = Running::start(dir.path(), 0, None);
    Home { store: connect(server.address, &[]), _server: Some(server), _dir: dir }
}

/// One whose server has a lake.
pub fn home_with_lake() -> Home {
    let dir = tempfile::tempdir().unwrap();
    let lake = dir.path().join("lake");
    let server = Running::with(dir.path(), 0, &[("datalake.paimon.warehouse", lake.to_str().unwrap())]);
    Home { store: connect(server.address, &[]), _server: Some(server), _dir: dir }
}

impl Home {
    pub fn create(&self, table: &str, descriptor: &TableDescriptor) -> Table<'_> {
        self.store.create_table(&path(table), descriptor, false).unwrap();
        self.table(table)
    }

    pub fn table(&self, table: &str) -> Table<'_> {
        let info = self.store.table(&path(table)).unwrap();
        Table { store: &self.store, path: path(table), id: TableId(info.table_id), buckets: info.bucket_count() }
    }
}
